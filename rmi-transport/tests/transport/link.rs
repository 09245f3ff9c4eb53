//! The shell around one wire: frames of many senders, full sockets, and ends.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use rmi_transport::{Body, Endpoint, Event, Frame, FrameLimits, Link, Outcome, Wire, decode};

use crate::fixtures::{bare, drive_to_end, endpoints, link_over, receive, wires};

async fn links(at: &Endpoint) -> (Arc<Link>, Arc<Link>) {
    let (dialled, accepted) = wires(at).await;
    (Arc::new(link_over(dialled)), Arc::new(link_over(accepted)))
}

/// A frame that tells who sent it, and the how manyth it is.
fn numbered(sender: u64, number: u64) -> Frame {
    let payload = Bytes::from(vec![sender as u8; (number % 300) as usize]);
    let body = Body::Answer { call: number, outcome: Outcome::Ok };
    Frame { ack: sender, payload, ..bare(body) }
}

fn enqueue(link: &Link, frame: &Frame) {
    let sent = link.enqueue(|outgoing| {
        outgoing.numbering.next_frame();
        frame.encode(&mut outgoing.frames)
    });
    sent.unwrap().unwrap();
}

fn send(link: &Link, frame: &Frame) {
    enqueue(link, frame);
    link.flush();
}

/// Checks that the frames of every sender have come whole, all, and in order.
fn check_numbered(frames: Vec<Frame>, senders: u64, each: u64) {
    let mut next: HashMap<u64, u64> = HashMap::new();
    for frame in frames {
        let number = next.entry(frame.ack).or_default();
        assert_eq!(frame, numbered(frame.ack, *number));
        *number += 1;
    }
    assert_eq!(next, (0..senders).map(|sender| (sender, each)).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn frames_of_many_senders_stay_whole_and_all_arrive() {
    const SENDERS: u64 = 8;
    const EACH: u64 = 500;
    for endpoint in endpoints("many-senders") {
        let (near, far) = links(&endpoint).await;
        let driver = tokio::spawn({
            let near = Arc::clone(&near);
            async move { drive_to_end(&near).await }
        });
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let near = Arc::clone(&near);
                tokio::spawn(async move {
                    for number in 0..EACH {
                        send(&near, &numbered(sender, number));
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        check_numbered(receive(&far, (SENDERS * EACH) as usize).await, SENDERS, EACH);
        far.close();
        for sender in senders {
            sender.await.unwrap();
        }
        assert!(driver.await.unwrap().is_some(), "{endpoint}");
        // Only now that nobody can be writing any more: bytes on their way count as buffered.
        assert_eq!(near.bytes_unsent(), 0, "{endpoint}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_full_socket_does_not_take_is_sent_once_there_is_room() {
    for endpoint in endpoints("full") {
        let (near, far) = links(&endpoint).await;
        let driver = tokio::spawn({
            let near = Arc::clone(&near);
            async move { drive_to_end(&near).await }
        });
        let mut sent = 0;
        while near.bytes_unsent() < 1 << 20 {
            send(&near, &numbered(0, sent));
            sent += 1;
        }
        check_numbered(receive(&far, sent as usize).await, 1, sent);
        far.close();
        assert!(driver.await.unwrap().is_some(), "{endpoint}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_closed_wakes_its_driver_and_loses_its_peer_the_wire() {
    for endpoint in endpoints("close") {
        let (near, far) = links(&endpoint).await;
        let [near_driver, far_driver] = [Arc::clone(&near), Arc::clone(&far)]
            .map(|link| tokio::spawn(async move { drive_to_end(&link).await }));
        near.close();
        assert!(near_driver.await.unwrap().is_none(), "{endpoint}");
        let why = far_driver.await.unwrap().unwrap();
        assert_eq!(why.kind(), io::ErrorKind::UnexpectedEof, "{endpoint}");
        assert!(near.is_closed() && !far.is_closed() && !far.is_attached(), "{endpoint}");
        assert_eq!(near.enqueue(|_| ()), None, "{endpoint}");
        near.flush();
        near.close();
    }
}

#[tokio::test]
async fn what_was_flushed_before_closing_still_arrives() {
    for endpoint in endpoints("flushed") {
        let (near, far) = links(&endpoint).await;
        send(&near, &numbered(0, 0));
        near.close();
        check_numbered(receive(&far, 1).await, 1, 1);
        assert!(drive_to_end(&far).await.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_is_woken_from_outside_a_runtime() {
    let (near, _far) = links(&Endpoint::InProcess("auto".to_owned())).await;
    let driver = tokio::spawn({
        let near = Arc::clone(&near);
        async move { poll_fn(|cx| near.poll(cx, &mut BytesMut::new())).await }
    });
    std::thread::spawn(move || near.wake()).join().unwrap();
    assert!(matches!(driver.await.unwrap(), Event::Woken));
}

#[tokio::test]
async fn what_came_behind_the_hand_shake_is_read_first() {
    let (near, far) = wires(&Endpoint::InProcess("auto".to_owned())).await;
    far.try_write(b" and after").unwrap();
    let link = Link::new();
    link.attach(near, BytesMut::from(&b"before"[..]), 0, 0).unwrap();
    let mut read = BytesMut::new();
    assert!(matches!(poll_fn(|cx| link.poll(cx, &mut read)).await, Event::Read(6)));
    assert!(matches!(poll_fn(|cx| link.poll(cx, &mut read)).await, Event::Read(10)));
    assert_eq!(&read[..], b"before and after");
}

#[tokio::test]
async fn a_failure_to_write_loses_the_wire_once_the_last_words_are_read() {
    let (near, far) = links(&Endpoint::InProcess("auto".to_owned())).await;
    send(&far, &numbered(7, 0));
    drop(far);
    send(&near, &numbered(0, 0));
    assert!(!near.is_attached() && !near.is_closed());
    assert_eq!(receive(&near, 1).await, [numbered(7, 0)]);
    let failure = drive_to_end(&near).await.unwrap();
    assert_eq!(failure.kind(), io::ErrorKind::BrokenPipe);
    let again = drive_to_end(&near).await.unwrap();
    assert_eq!(again.kind(), io::ErrorKind::NotConnected, "it was told");
    assert_eq!(near.bytes_unsent(), 0);
    assert!(near.bytes_unacknowledged() > 0, "the peer may have received it");
}

/// A wire that takes three bytes at a time, and pauses after each time.
#[derive(Default)]
struct NarrowWire {
    written: Arc<Mutex<Vec<u8>>>,
    tries: AtomicUsize,
}

impl Wire for NarrowWire {
    fn poll_read(&self, _: &mut Context<'_>, _: &mut BytesMut) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.tries.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => {
                let taken = &bytes[..bytes.len().min(3)];
                self.written.lock().extend_from_slice(taken);
                Ok(taken.len())
            }
            1 => Err(io::ErrorKind::Interrupted.into()),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn peer(&self) -> String {
        "narrow".to_owned()
    }
}

#[tokio::test]
async fn frames_stay_whole_when_they_are_written_in_small_parts() {
    let wire = NarrowWire::default();
    let written = Arc::clone(&wire.written);
    let link = link_over(Box::new(wire));
    for number in 0..50 {
        send(&link, &numbered(0, number));
    }
    let mut never = BytesMut::new();
    poll_fn(|cx| {
        assert!(link.poll(cx, &mut never).is_pending());
        if link.bytes_unsent() == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let mut bytes = BytesMut::from(&written.lock()[..]);
    let frame = || decode(&mut bytes, &FrameLimits::default()).unwrap();
    check_numbered(std::iter::from_fn(frame).collect(), 1, 50);
}
