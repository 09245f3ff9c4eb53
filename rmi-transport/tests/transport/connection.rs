//! The shell around a wire: frames of many senders, full sockets, and ends.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use rmi_transport::{Body, Connection, Endpoint, Event, Frame, FrameLimits, Outcome, Wire, decode};

use crate::fixtures::{bare, drive_to_end, endpoints, receive, wires};

async fn connections(at: &Endpoint) -> (Arc<Connection>, Arc<Connection>) {
    let (dialled, accepted) = wires(at).await;
    let connection = |wire| Arc::new(Connection::new(wire, BytesMut::new()));
    (connection(dialled), connection(accepted))
}

/// A frame that tells who sent it, and the how manyth it is.
fn numbered(sender: u64, number: u64) -> Frame {
    let payload = Bytes::from(vec![sender as u8; (number % 300) as usize]);
    let body = Body::Answer { call: number, outcome: Outcome::Ok };
    Frame { ack: sender, payload, ..bare(body) }
}

fn send(connection: &Connection, frame: &Frame) {
    let sent = connection.enqueue(|outgoing| frame.encode(&mut outgoing.frames));
    sent.unwrap().unwrap();
    connection.flush();
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
        let (near, far) = connections(&endpoint).await;
        let driver = tokio::spawn({
            let near = Arc::clone(&near);
            async move { drive_to_end(&near).await.unwrap() }
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
        for task in senders.into_iter().chain([driver]) {
            task.await.unwrap();
        }
        // Only now that nobody can be writing any more: bytes on their way count as buffered.
        assert_eq!(near.bytes_buffered(), 0, "{endpoint}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_full_socket_does_not_take_is_sent_once_there_is_room() {
    for endpoint in endpoints("full") {
        let (near, far) = connections(&endpoint).await;
        let driver = tokio::spawn({
            let near = Arc::clone(&near);
            async move { drive_to_end(&near).await }
        });
        let mut sent = 0;
        while near.bytes_buffered() < 1 << 20 {
            send(&near, &numbered(0, sent));
            sent += 1;
        }
        check_numbered(receive(&far, sent as usize).await, 1, sent);
        far.close();
        driver.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_closed_wakes_its_driver_and_ends_for_the_peer() {
    for endpoint in endpoints("close") {
        let (near, far) = connections(&endpoint).await;
        let drivers = [Arc::clone(&near), Arc::clone(&far)]
            .map(|connection| tokio::spawn(async move { drive_to_end(&connection).await }));
        near.close();
        for driver in drivers {
            driver.await.unwrap().unwrap();
        }
        assert!(near.is_closed(), "{endpoint}");
        assert_eq!(near.enqueue(|_| ()), None, "{endpoint}");
        near.flush();
        near.close();
    }
}

#[tokio::test]
async fn what_was_flushed_before_closing_still_arrives() {
    for endpoint in endpoints("flushed") {
        let (near, far) = connections(&endpoint).await;
        send(&near, &numbered(0, 0));
        near.close();
        check_numbered(receive(&far, 1).await, 1, 1);
        drive_to_end(&far).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_is_woken_from_outside_a_runtime() {
    let (near, _far) = connections(&Endpoint::InProcess("auto".to_owned())).await;
    let driver = tokio::spawn({
        let near = Arc::clone(&near);
        async move { poll_fn(|cx| near.poll(cx, &mut BytesMut::new())).await }
    });
    std::thread::spawn(move || near.wake()).join().unwrap();
    assert_eq!(driver.await.unwrap().unwrap(), Event::Woken);
}

#[tokio::test]
async fn what_came_behind_the_hand_shake_is_read_first() {
    let (near, far) = wires(&Endpoint::InProcess("auto".to_owned())).await;
    far.try_write(b" and after").unwrap();
    let near = Connection::new(near, BytesMut::from(&b"before"[..]));
    let mut read = BytesMut::new();
    assert_eq!(poll_fn(|cx| near.poll(cx, &mut read)).await.unwrap(), Event::Read(6));
    assert_eq!(poll_fn(|cx| near.poll(cx, &mut read)).await.unwrap(), Event::Read(10));
    assert_eq!(&read[..], b"before and after");
}

#[tokio::test]
async fn a_failure_to_write_closes_the_connection_once_the_last_words_are_read() {
    let (near, far) = connections(&Endpoint::InProcess("auto".to_owned())).await;
    send(&far, &numbered(7, 0));
    drop(far);
    send(&near, &numbered(0, 0));
    assert!(near.is_closed());
    assert_eq!(receive(&near, 1).await, [numbered(7, 0)]);
    let failure = drive_to_end(&near).await.unwrap_err();
    assert_eq!(failure.kind(), io::ErrorKind::BrokenPipe);
    drive_to_end(&near).await.unwrap();
    assert_eq!(near.bytes_buffered(), 0);
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
    let connection = Connection::new(Box::new(wire), BytesMut::new());
    for number in 0..50 {
        send(&connection, &numbered(0, number));
    }
    let mut never = BytesMut::new();
    poll_fn(|cx| {
        assert!(connection.poll(cx, &mut never).is_pending());
        if connection.bytes_buffered() == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let mut bytes = BytesMut::from(&written.lock()[..]);
    let frame = || decode(&mut bytes, &FrameLimits::default()).unwrap();
    check_numbered(std::iter::from_fn(frame).collect(), 1, 50);
}
