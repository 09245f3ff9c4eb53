//! Writers that come back late, or with bad news.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};

use bytes::BytesMut;
use parking_lot::Mutex;
use rmi_transport::{Body, Endpoint, Event, Frame, Link, Outcome, Wire};

use crate::fixtures::{bare, drive_to_end, link_over, receive, wires};

fn send(link: &Link) {
    let sent = link.enqueue(|outgoing| {
        let (call, ack) = outgoing.numbering.next_frame();
        let body = Body::Answer { call, outcome: Outcome::Ok };
        Frame { ack, ..bare(body) }.encode(&mut outgoing.frames)
    });
    sent.unwrap().unwrap();
    link.flush();
}

/// A wire on which writing takes until the test says how it ends. Nothing is ever read.
struct SlowWire {
    /// Tells that somebody has begun to write.
    begun: Sender<()>,
    ends: Mutex<Receiver<io::Result<usize>>>,
}

fn slow_wire() -> (Box<SlowWire>, Receiver<()>, Sender<io::Result<usize>>) {
    let ((begun, has_begun), (end, ends)) = (channel(), channel());
    (Box::new(SlowWire { begun, ends: Mutex::new(ends) }), has_begun, end)
}

impl Wire for SlowWire {
    fn poll_read(&self, _: &mut Context<'_>, _: &mut BytesMut) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.send(()).unwrap();
        let end = self.ends.lock().recv();
        end.unwrap_or(Ok(bytes.len())).map(|count| count.min(bytes.len()))
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn peer(&self) -> String {
        "slow".to_owned()
    }
}

#[tokio::test]
async fn a_writer_that_comes_back_from_a_lost_wire_goes_on_with_the_next() {
    for (name, end) in [
        ("all was written", Ok(usize::MAX)),
        ("the socket was full", Err(io::ErrorKind::WouldBlock.into())),
        ("it was closed", Err(io::ErrorKind::BrokenPipe.into())),
    ] {
        let (wire, has_begun, ends) = slow_wire();
        let link = Arc::new(link_over(wire));
        let writer = std::thread::spawn({
            let link = Arc::clone(&link);
            move || send(&link)
        });
        has_begun.recv().unwrap();
        link.detach(io::ErrorKind::TimedOut.into());
        assert_eq!(drive_to_end(&link).await.unwrap().kind(), io::ErrorKind::TimedOut);
        let parked = link.park();
        let (near, far) = wires(&Endpoint::InProcess("auto".to_owned())).await;
        link.attach(near, BytesMut::new(), parked.epoch, 0).unwrap();
        // What the writer holds comes first, so the next frame waits for it.
        send(&link);
        assert_eq!(link.last_handed_over(), 1, "{name}");
        assert_eq!(link.bytes_unacknowledged(), 0, "{name}");
        ends.send(end).unwrap();
        writer.join().unwrap();
        let far = link_over(far);
        let bodies: Vec<_> = receive(&far, 2).await.into_iter().map(|frame| frame.body).collect();
        let want = [1, 2].map(|call| Body::Answer { call, outcome: Outcome::Ok });
        assert_eq!(bodies, want, "{name} (W32)");
        assert!(link.is_attached(), "{name}");
        assert_eq!((link.last_handed_over(), link.bytes_unsent()), (2, 0), "{name}");
    }
}

#[tokio::test]
async fn a_writer_that_comes_back_to_a_link_without_a_wire_leaves_its_frames_for_the_next() {
    let (wire, has_begun, ends) = slow_wire();
    let link = Arc::new(link_over(wire));
    let writer = std::thread::spawn({
        let link = Arc::clone(&link);
        move || send(&link)
    });
    has_begun.recv().unwrap();
    link.detach(io::ErrorKind::TimedOut.into());
    link.park();
    ends.send(Err(io::ErrorKind::WouldBlock.into())).unwrap();
    writer.join().unwrap();
    assert!(link.bytes_unacknowledged() > 0, "W33");
    let (near, far) = wires(&Endpoint::InProcess("auto".to_owned())).await;
    link.attach(near, BytesMut::new(), 1, 0).unwrap();
    assert_eq!(receive(&link_over(far), 1).await.len(), 1, "W32");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_waits_is_told_of_a_failure_to_write() {
    let (wire, _has_begun, ends) = slow_wire();
    let link = Arc::new(link_over(wire));
    let (waits, is_waiting) = tokio::sync::oneshot::channel();
    let driver = tokio::spawn({
        let link = Arc::clone(&link);
        let (mut waits, mut buffer) = (Some(waits), BytesMut::new());
        async move {
            poll_fn(|cx| {
                let polled = link.poll(cx, &mut buffer);
                if let (true, Some(waits)) = (polled.is_pending(), waits.take()) {
                    waits.send(()).unwrap();
                }
                polled
            })
            .await
        }
    });
    is_waiting.await.unwrap();
    ends.send(Err(io::ErrorKind::BrokenPipe.into())).unwrap();
    send(&link);
    let told = driver.await.unwrap();
    let broken = |why: &io::Error| why.kind() == io::ErrorKind::BrokenPipe;
    assert!(matches!(&told, Event::Lost(why) if broken(why)), "{told:?}");
}

#[tokio::test]
async fn a_link_that_is_closed_while_somebody_writes_ends_once_that_is_written() {
    let (wire, has_begun, ends) = slow_wire();
    let link = Arc::new(link_over(wire));
    let writer = std::thread::spawn({
        let link = Arc::clone(&link);
        move || send(&link)
    });
    has_begun.recv().unwrap();
    send(&link);
    link.close();
    assert_eq!(link.last_handed_over(), 2, "it may still be");
    ends.send(Ok(usize::MAX)).unwrap();
    ends.send(Ok(usize::MAX)).unwrap();
    writer.join().unwrap();
    assert_eq!(has_begun.try_iter().count(), 1, "what was flushed before is written");
    assert_eq!((link.last_handed_over(), link.bytes_unacknowledged()), (2, 0));
    assert!(drive_to_end(&link).await.is_none());
}
