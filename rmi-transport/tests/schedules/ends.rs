//! The two ends of a session, each driven by a thread of its own.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use rmi_transport::sync::Mutex;
use rmi_transport::sync::explore::wires;
use rmi_transport::{Awaited, Body, Event, Frame, FrameLimits, Link, NotAttached, Outcome, decode};
use shuttle::future::block_on;
use shuttle::thread;
use tokio::sync::Notify;

/// One end: what it has received.
pub(crate) struct End {
    pub(crate) link: Link,
    received: Mutex<Vec<Bytes>>,
    has_received: Notify,
    fault: Option<Fault>,
}

/// What a test of these tests has them do wrong.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// A driver keeps what has not become a whole frame when its wire is lost.
    KeepsHalves,
    /// A sender numbers a frame in one step, and writes it in the next.
    NumbersFirst,
}

/// Both, and the wires between them.
#[derive(Clone)]
pub(crate) struct Ends {
    pub(crate) ends: [Arc<End>; 2],
    /// How many bytes a wire holds.
    bytes_max: usize,
    /// How many times they were connected.
    connections: Arc<AtomicUsize>,
}

/// The threads that serve the ends; they end when the links are closed.
pub(crate) struct Serving(Vec<thread::JoinHandle<()>>);

impl Serving {
    pub(crate) fn end(self) {
        self.0.into_iter().for_each(|thread| thread.join().expect("it serves until it is over"));
    }
}

impl End {
    fn new(fault: Option<Fault>) -> Arc<Self> {
        let (link, received) = (Link::new(), Mutex::default());
        Arc::new(Self { link, received, has_received: Notify::new(), fault })
    }

    /// Sends one frame with this payload; false if the link is closed.
    pub(crate) fn send(&self, payload: &[u8]) -> bool {
        let numbered = match self.fault {
            Some(Fault::NumbersFirst) => self.link.number(|numbering| numbering.next_frame()),
            Some(Fault::KeepsHalves) | None => None,
        };
        let sent = self.link.enqueue(|outgoing| {
            let next = || outgoing.numbering.next_frame();
            let (call, ack) = numbered.unwrap_or_else(next);
            let frame = Frame {
                ack,
                wants_ack: false,
                body: Body::Answer { call, outcome: Outcome::Ok },
                references: Default::default(),
                notices: Vec::new(),
                releases: Vec::new(),
                payload: Bytes::copy_from_slice(payload),
            };
            frame.encode(&mut outgoing.frames).expect("it fits");
        });
        self.link.flush();
        sent.is_some()
    }

    /// Takes a whole frame: it is the next one.
    fn take(&self, frame: Frame) {
        let Body::Answer { call: number, .. } = frame.body else { panic!("{:?}", frame.body) };
        self.link.acknowledged(frame.ack).expect("it was sent");
        self.link.number(|numbering| {
            assert_eq!(number, numbering.received() + 1, "every frame once, in order (W32)");
            numbering.taken(false, frame.payload.len());
        });
        self.received.lock().push(frame.payload);
        self.has_received.notify_one();
    }

    /// Waits until so many frames have come, and gives them.
    pub(crate) fn until_received(&self, count: usize) -> Vec<Bytes> {
        block_on(async {
            while self.received.lock().len() < count {
                self.has_received.notified().await;
            }
        });
        self.received.lock().clone()
    }

    /// The one thread that drives the link, over all its wires, until it is closed.
    fn drive(&self) {
        let mut buffer = BytesMut::new();
        loop {
            match block_on(poll_fn(|cx| self.link.poll(cx, &mut buffer))) {
                Event::Read(_) => {
                    while let Some(frame) = decode(&mut buffer, &FrameLimits::default()).unwrap() {
                        self.take(frame);
                    }
                }
                Event::Woken => {}
                Event::Lost(_) => {
                    if self.fault != Some(Fault::KeepsHalves) {
                        buffer.clear();
                    }
                    self.link.park();
                    if !self.is_attached_again() {
                        return;
                    }
                }
                Event::Closed => return,
            }
        }
    }

    fn is_attached_again(&self) -> bool {
        loop {
            match block_on(poll_fn(|cx| self.link.poll_attached(cx))) {
                Awaited::Attached => return true,
                Awaited::Woken => {}
                Awaited::Closed => return false,
            }
        }
    }
}

impl Ends {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self::with(bytes_max, None)
    }

    pub(crate) fn with(bytes_max: usize, fault: Option<Fault>) -> Self {
        let ends = [End::new(fault), End::new(fault)];
        Self { ends, bytes_max, connections: Arc::default() }
    }

    /// Two threads drive, and one connects the ends whenever both are parked.
    pub(crate) fn serve(&self) -> Serving {
        let drivers = self.ends.iter().map(|end| {
            let end = Arc::clone(end);
            thread::spawn(move || end.drive())
        });
        let mut threads: Vec<_> = drivers.collect();
        let ends = self.clone();
        threads.push(thread::spawn(move || while ends.connect() {}));
        Serving(threads)
    }

    /// Waits until both ends are parked and gives them new wires; false once one is closed.
    pub(crate) fn connect(&self) -> bool {
        let [near, far] = &self.ends;
        let parked = [block_on(near.link.parked()), block_on(far.link.parked())];
        let [Some(near_parked), Some(far_parked)] = parked else { return false };
        let [near_wire, far_wire] = wires(self.bytes_max);
        let attach = |end: &End, wire, epoch, peer_received| match end.link.attach(
            wire,
            BytesMut::new(),
            epoch,
            peer_received,
        ) {
            Ok(()) => true,
            Err(NotAttached::Closed) => false,
            Err(error @ (NotAttached::AnotherWasFirst | NotAttached::Impossible(_))) => {
                panic!("there is nobody else to attach a wire: {error}")
            }
        };
        self.connections.fetch_add(1, Ordering::Relaxed);
        attach(near, near_wire, near_parked.epoch, far_parked.received)
            & attach(far, far_wire, far_parked.epoch, near_parked.received)
    }

    /// The near end's wire is lost now, if it has one.
    pub(crate) fn cut(&self) {
        self.ends[0].link.detach(io::ErrorKind::TimedOut.into());
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn close(&self) {
        self.ends.iter().for_each(|end| end.link.close());
    }
}
