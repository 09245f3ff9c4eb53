//! Links that lose one wire after the other, wherever that may be.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rmi_transport::frame::FRAME_BYTES_MAX;
use rmi_transport::{
    Awaited, Body, Endpoint, Event, Frame, FrameLimits, Link, NotAttached, Outcome, SessionError,
    Wire, decode,
};

use crate::fixtures::{bare, drive_to_end, link_over, receive, wires};

fn in_process() -> Endpoint {
    Endpoint::InProcess("auto".to_owned())
}

fn severed() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

/// Sends an answer that says its own number.
fn send(link: &Link, payload: usize) {
    let sent = link.enqueue(|outgoing| {
        let (number, ack) = outgoing.numbering.next_frame();
        let body = Body::Answer { call: number, outcome: Outcome::Ok };
        let payload = Bytes::from(vec![number as u8; payload]);
        Frame { ack, payload, ..bare(body) }.encode(&mut outgoing.frames)
    });
    sent.unwrap().unwrap();
    link.flush();
}

/// Says nothing but how much was received.
fn acknowledge(link: &Link) {
    send(link, 0);
}

/// Takes a frame: it is the next one, whole.
fn take(link: &Link, frame: &Frame) {
    let Body::Answer { call: number, .. } = frame.body else { panic!("{:?}", frame.body) };
    assert!(frame.payload.iter().all(|byte| *byte == number as u8));
    link.acknowledged(frame.ack).unwrap();
    let pressing = link.number(|numbering| {
        assert_eq!(number, numbering.received() + 1, "every frame once, in order (W32)");
        numbering.taken(false, frame.payload.len());
        numbering.ack_pressing()
    });
    if pressing == Some(true) {
        acknowledge(link);
    }
}

/// A wire of which both ends fail once so many bytes have been written at either.
struct Frail {
    wire: Box<dyn Wire>,
    shared: Arc<Shared>,
}

struct Shared {
    bytes_left: AtomicUsize,
    severed: AtomicBool,
}

async fn frail_wires(bytes: usize) -> [Box<dyn Wire>; 2] {
    let (near, far) = wires(&in_process()).await;
    let shared = Shared { bytes_left: AtomicUsize::new(bytes), severed: AtomicBool::new(false) };
    let shared = Arc::new(shared);
    [near, far].map(|wire| Box::new(Frail { wire, shared: Arc::clone(&shared) }) as Box<dyn Wire>)
}

impl Wire for Frail {
    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<usize>> {
        if self.shared.severed.load(Ordering::SeqCst) {
            // What is under way is lost, too.
            return Poll::Ready(Err(severed()));
        }
        self.wire.poll_read(cx, into)
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let take = |left: usize| left.checked_sub(bytes.len().min(left)).filter(|_| left > 0);
        let (some, all) = (Ordering::SeqCst, bytes.len());
        match self.shared.bytes_left.fetch_update(some, some, take) {
            Ok(left) => {
                let (now, _later) = bytes.split_at(all.min(left));
                let written = self.wire.try_write(now);
                // What the pipe had no room for is not counted.
                let refused = now.len() - *written.as_ref().unwrap_or(&0);
                self.shared.bytes_left.fetch_add(refused, Ordering::SeqCst);
                written
            }
            Err(_) => {
                self.shared.severed.store(true, Ordering::SeqCst);
                self.wire.shut_down();
                Err(severed())
            }
        }
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire.poll_writable(cx)
    }

    fn shut_down(&self) {
        self.wire.shut_down();
    }

    fn peer(&self) -> String {
        self.wire.peer()
    }
}

/// Drives `link` over all of its wires, until it is closed.
async fn drive(link: Arc<Link>) {
    let mut buffer = BytesMut::new();
    loop {
        match poll_fn(|cx| link.poll(cx, &mut buffer)).await {
            Event::Read(_) => {
                while let Some(frame) = decode(&mut buffer, &FrameLimits::default()).unwrap() {
                    take(&link, &frame);
                }
            }
            Event::Woken => {}
            Event::Closed => return,
            Event::Lost(_) => {
                buffer.clear();
                link.park();
                match poll_fn(|cx| link.poll_attached(cx)).await {
                    Awaited::Attached | Awaited::Woken => {}
                    Awaited::Closed => return,
                }
            }
        }
    }
}

/// Gives both links another wire as soon as both have parked, and so on, until they are closed.
/// The last of the budgets is used for ever.
async fn connect(links: [Arc<Link>; 2], mut budgets: impl Iterator<Item = usize>) -> usize {
    for count in 0.. {
        let (Some(near), Some(far)) = (links[0].parked().await, links[1].parked().await) else {
            return count;
        };
        assert_eq!(near.epoch, far.epoch);
        let [to_near, to_far] = frail_wires(budgets.next().unwrap_or(usize::MAX)).await;
        for (link, wire, parked, peer) in
            [(&links[0], to_near, near, far), (&links[1], to_far, far, near)]
        {
            match link.attach(wire, BytesMut::new(), parked.epoch, peer.received) {
                Ok(()) | Err(NotAttached::Closed) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    unreachable!("for ever")
}

/// A sequence of numbers that looks random, and is the same for each seed.
fn random(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

async fn until(what: &str, seed: u64, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let limit = Duration::from_secs(60);
    let waited = tokio::time::timeout(limit, waiting).await;
    assert!(waited.is_ok(), "{what}: not within {limit:?}; seed {seed}");
}

fn received(link: &Link) -> u64 {
    link.number(|numbering| numbering.received()).unwrap()
}

fn sent(link: &Link) -> u64 {
    link.number(|numbering| numbering.sent()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_of_many_threads_all_arrive_once_and_in_order_over_wires_that_are_cut() {
    const SENDERS: u64 = 3;
    const EACH: u64 = 700;
    for seed in 1..=8_u64 {
        let links = [Arc::new(Link::new()), Arc::new(Link::new())];
        for link in &links {
            link.enqueue(|outgoing| outgoing.frames.set_bytes_max(FRAME_BYTES_MAX));
        }
        let drivers = links.clone().map(|link| tokio::spawn(drive(link)));
        let mut budget = random(seed * 0x9e37_79b9);
        let budgets =
            (0..80).map(move |wire| [9, 300, 5_000, 60_000][wire % 4] + budget(999) as usize);
        let connecting = tokio::spawn(connect(links.clone(), budgets));
        let senders: Vec<_> = (0..2 * SENDERS)
            .map(|sender| {
                let link = Arc::clone(&links[(sender % 2) as usize]);
                let mut random = random(seed * 1_000 + sender + 1);
                std::thread::spawn(move || {
                    for _ in 0..EACH {
                        let payload = if random(50) == 0 { 40_000 } else { random(200) };
                        send(&link, payload as usize);
                        if random(300) == 0 {
                            link.detach(severed());
                        }
                    }
                })
            })
            .collect();
        for sender in senders {
            tokio::task::spawn_blocking(|| sender.join().unwrap()).await.unwrap();
        }
        for (link, peer) in [(&links[0], &links[1]), (&links[1], &links[0])] {
            until("all arrive", seed, || received(peer) == sent(link)).await;
        }
        // Each acknowledges all that it has received; nobody acknowledges the last.
        for (link, peer) in [(&links[0], &links[1]), (&links[1], &links[0])] {
            acknowledge(link);
            until("all are acknowledged", seed, || peer.bytes_unacknowledged() < 20).await;
            until("nothing is left to send", seed, || peer.bytes_unsent() == 0).await;
        }
        for link in &links {
            link.close();
        }
        let [near, far] = drivers;
        assert!(near.await.is_ok() && far.await.is_ok(), "seed {seed}");
        let wires = connecting.await.unwrap();
        assert!(wires > 10, "{wires} wires; seed {seed}");
    }
}

#[tokio::test]
async fn what_is_enqueued_without_a_wire_is_sent_once_there_is_one() {
    let link = Link::new();
    send(&link, 10);
    assert!(!link.is_attached() && !link.is_closed());
    assert!(link.bytes_unsent() > 10);
    assert_eq!((link.bytes_unacknowledged(), link.last_handed_over()), (0, 0));
    let (near, far) = wires(&in_process()).await;
    link.attach(near, BytesMut::new(), 0, 0).unwrap();
    assert_eq!(link.last_handed_over(), 1);
    assert_eq!(receive(&link_over(far), 1).await.len(), 1);
    assert_eq!(link.bytes_unsent(), 0);
    assert!(link.bytes_unacknowledged() > 10, "W33");
}

#[tokio::test]
async fn what_the_peer_has_not_received_is_resent_before_anything_new() {
    let (near, far) = wires(&in_process()).await;
    let link = link_over(near);
    for _ in 1..=3 {
        send(&link, 5);
    }
    // The peer has taken one of them.
    drop(far);
    assert!(drive_to_end(&link).await.is_some());
    let parked = link.park();
    assert_eq!((parked.epoch, parked.received), (1, 0));
    send(&link, 6);
    let (near, far) = wires(&in_process()).await;
    link.attach(near, BytesMut::new(), 1, 1).unwrap();
    assert_eq!(link.last_known_received(), 1);
    let frames = receive(&link_over(far), 3).await;
    let want = |call| Body::Answer { call, outcome: Outcome::Ok };
    let bodies = frames.into_iter().map(|frame| frame.body);
    assert!(bodies.eq([2, 3, 4].map(want)), "W32");
}

#[tokio::test]
async fn a_wire_is_attached_only_where_the_link_was_parked_for_it() {
    let (near, _far) = wires(&in_process()).await;
    let link = Arc::new(link_over(near));
    send(&link, 5);
    let attach = async |epoch, peer_received| {
        let (wire, _) = wires(&in_process()).await;
        link.attach(wire, BytesMut::new(), epoch, peer_received)
    };
    assert_eq!(attach(1, 0).await, Err(NotAttached::AnotherWasFirst), "it has a wire");
    link.detach(severed());
    assert!(!link.is_attached());
    assert_eq!(attach(1, 0).await, Err(NotAttached::AnotherWasFirst), "not yet parked");
    let waiting = tokio::spawn({
        let link = Arc::clone(&link);
        async move { link.parked().await }
    });
    assert_eq!(drive_to_end(&link).await.unwrap().kind(), io::ErrorKind::ConnectionReset);
    let parked = link.park();
    assert_eq!(waiting.await.unwrap(), Some(parked));
    assert_eq!(link.parked().await, Some(parked), "at once");
    assert_eq!(attach(0, 0).await, Err(NotAttached::AnotherWasFirst), "an old hand-shake");
    let impossible = SessionError::ResumedImpossibly { received: 2, least: 0, most: 1 };
    assert_eq!(attach(1, 2).await, Err(NotAttached::Impossible(impossible)), "W31");
    assert_eq!(attach(1, 1).await, Ok(()));
    link.detach(severed());
    link.park();
    let impossible = SessionError::ResumedImpossibly { received: 0, least: 1, most: 1 };
    assert_eq!(attach(2, 0).await, Err(NotAttached::Impossible(impossible)), "W31");
    link.close();
    assert_eq!(attach(2, 1).await, Err(NotAttached::Closed));
    assert_eq!(link.parked().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parked_driver_is_told_of_a_wire_of_wakes_and_of_the_end() {
    let link = Arc::new(Link::new());
    let awaited = || {
        let link = Arc::clone(&link);
        tokio::spawn(async move { poll_fn(|cx| link.poll_attached(cx)).await })
    };
    let driver = awaited();
    link.wake();
    assert_eq!(driver.await.unwrap(), Awaited::Woken);
    let driver = awaited();
    let (near, _far) = wires(&in_process()).await;
    let name = near.peer();
    link.attach(near, BytesMut::new(), 0, 0).unwrap();
    assert_eq!(driver.await.unwrap(), Awaited::Attached);
    assert_eq!(link.peer(), name);
    link.park();
    assert_eq!(link.peer(), name, "of the last wire");
    let driver = awaited();
    link.close();
    assert_eq!(driver.await.unwrap(), Awaited::Closed);
}

#[tokio::test]
async fn a_wire_that_is_given_up_ends_for_the_peer() {
    let (near, far) = wires(&in_process()).await;
    let (near, far) = (link_over(near), link_over(far));
    near.detach(severed());
    near.detach(io::ErrorKind::Other.into());
    assert_eq!(drive_to_end(&far).await.unwrap().kind(), io::ErrorKind::UnexpectedEof);
    let why = drive_to_end(&near).await.unwrap();
    assert_eq!(why.kind(), io::ErrorKind::ConnectionReset, "the first reason");
}

#[tokio::test]
async fn a_link_that_is_closed_keeps_nothing_and_knows_what_was_never_sent() {
    let (near, _far) = wires(&in_process()).await;
    let link = link_over(near);
    send(&link, 5);
    link.detach(severed());
    link.park();
    send(&link, 5);
    link.close();
    assert_eq!((link.bytes_unsent(), link.bytes_unacknowledged()), (0, 0));
    assert_eq!((link.last_handed_over(), link.last_known_received()), (1, 0));
    assert!(drive_to_end(&link).await.is_none());
}
