//! A peer that shakes hands as it should, and then writes what it likes.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use rmi::{Node, RemoteRef};
use rmi_transport::{
    Accepted, Body, Call, Endpoint, Failure, Frame, FrameBuffer, FrameLimits, Goodbye, Hello,
    Origin, Outcome, PeerLimits, Reference, Relation, Shaken, Target, Thread, Wire, decode, dial,
    greet, transport_for,
};

use super::PATIENCE;

/// Of the node, at target 0.
pub const LOOKUP: u32 = 1;
/// Of every object.
pub const PING: u32 = 1;
pub const ENTER: u32 = 2;
pub const EXIT: u32 = 3;

static INCARNATION: AtomicU64 = AtomicU64::new(1);

fn hello(incarnation: u64) -> Hello {
    Hello {
        incarnation,
        thread_origin: 1,
        codec: 1,
        codec_fingerprint: 0x0200_0100,
        limits: PeerLimits { frame_bytes_max: 1 << 20 },
        features: 0,
        name: "attacker".to_owned(),
        endpoints: Vec::new(),
    }
}

pub struct Attacker {
    pub wire: Box<dyn Wire>,
    received: BytesMut,
    /// Frames that were read and not yet acknowledged.
    unacknowledged: AtomicU64,
    pub incarnation: u64,
}

impl Attacker {
    pub async fn connect(node: &Node) -> Self {
        let incarnation = INCARNATION.fetch_add(1, Ordering::SeqCst);
        Self::connect_as(node, incarnation).await.expect("the node welcomes strangers")
    }

    /// Connects as who was there before, perhaps; nothing if the node does not want it now.
    pub async fn connect_as(node: &Node, incarnation: u64) -> Option<Self> {
        let endpoint = node.endpoint().expect("it listens");
        let wire = transport_for(endpoint).dial(endpoint).await.expect("it can be reached");
        let relation = Relation::Fresh { peer: node.id().0 };
        let welcome = dial(wire, hello(incarnation), relation, PATIENCE).await.ok()?;
        let Shaken { wire, received, .. } = welcome.go(0).await.ok()?;
        Some(Self { wire, received, unacknowledged: AtomicU64::new(0), incarnation })
    }

    /// The other end of a connection that a node has dialled.
    pub async fn welcome(wire: Box<dyn Wire>) -> Self {
        let incarnation = INCARNATION.fetch_add(1, Ordering::SeqCst);
        let greeting =
            greet(wire, hello(incarnation), PATIENCE).await.expect("the node says hello");
        let accepted = Accepted { session: 1, received: 0, connections: 0 };
        let shaken = greeting.welcome(accepted).await;
        let Shaken { wire, received, .. } = shaken.expect("the node proceeds");
        Self { wire, received, unacknowledged: AtomicU64::new(0), incarnation }
    }

    /// Passes for a home: has `dupe` look up an object, and answers as `described`.
    pub async fn looked_up_by<R: RemoteRef>(dupe: &Node, described: &Frame) -> (Self, R) {
        let at: Endpoint = "inproc://auto".parse().expect("an endpoint");
        let mut listener = transport_for(&at).listen(&at).await.expect("it can be listened at");
        let uri = format!("{}/anything", listener.endpoint());
        let dupe = dupe.clone();
        let asked = tokio::spawn(async move { dupe.lookup::<R>(uri).await });
        let mut home = Self::welcome(listener.accept().await.expect("it is dialled")).await;
        let number = home.called().await.call;
        let answer = Body::Answer { call: number, outcome: Outcome::Ok };
        home.send(&Frame {
            references: described.references.clone(),
            payload: described.payload.clone(),
            ..frame(answer)
        })
        .await;
        let found = asked.await.expect("the lookup ends").expect("it was answered");
        (home, found)
    }

    pub fn write(&self, bytes: &[u8]) {
        assert_eq!(self.wire.try_write(bytes).expect("there is room"), bytes.len());
    }

    /// Writes a frame, which acknowledges what was read; waits for room. What nobody will read is of no interest.
    pub async fn send(&self, frame: &Frame) {
        let mut frames = FrameBuffer::with_bytes_max(1 << 20);
        let ack = frame.ack + self.unacknowledged.swap(0, Ordering::SeqCst);
        Frame { ack, ..frame.clone() }.encode(&mut frames).expect("a frame of at most 1 MiB");
        let mut bytes = frames.as_slice();
        while !bytes.is_empty() {
            match self.wire.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let _ = poll_fn(|cx| self.wire.poll_writable(cx)).await;
                }
                Err(_) => return,
            }
        }
    }

    /// The next frame, or nothing once the stream has ended.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            let frame = decode(&mut self.received, &FrameLimits::default());
            if let Some(frame) = frame.expect("the node writes frames") {
                self.unacknowledged.fetch_add(1, Ordering::SeqCst);
                return Some(frame);
            }
            let read = poll_fn(|cx| self.wire.poll_read(cx, &mut self.received));
            match tokio::time::timeout(PATIENCE, read).await.expect("the node says something") {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// What the node calls next.
    pub async fn called(&mut self) -> Call {
        loop {
            let frame = self.next().await.expect("the node goes on");
            if let Body::Call(call) = frame.body {
                return call;
            }
        }
    }

    /// The answer to call `number`.
    pub async fn answer(&mut self, number: u64) -> Frame {
        loop {
            let frame = self.next().await.expect("the node goes on");
            if matches!(frame.body, Body::Answer { call, .. } if call == number) {
                return frame;
            }
        }
    }

    /// What the node answers to a lookup of `name`, and its export index of what is found.
    pub async fn lookup(&mut self, name: &str) -> (Frame, u64) {
        self.send(&lookup(name)).await;
        let answer = self.answer(1).await;
        assert_eq!(outcome(&answer), Outcome::Ok);
        match answer.references.as_slice() {
            [Reference::Described(described)] => {
                let index = described.index;
                (answer, index)
            }
            others => panic!("one new reference is expected: {others:?}"),
        }
    }

    /// Leaves as one should, so that the node lets go at once.
    pub async fn leaves(mut self) {
        let (reason, text) = (Goodbye::Unused, String::new());
        self.send(&frame(Body::Goodbye { reason, text })).await;
        while self.next().await.is_some() {}
    }

    /// The node says why it ends this session, and does.
    pub async fn ends_sent_away(mut self, why: Goodbye, because: &str) {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("no goodbye: {because}"));
            if let Body::Goodbye { reason, text } = frame.body {
                assert_eq!(reason, why, "{text}");
                assert!(text.contains(because), "{text:?} does not tell of {because:?}");
                break;
            }
        }
        assert!(self.next().await.is_none(), "the connection goes on");
    }
}

pub fn frame(body: Body) -> Frame {
    let (references, releases) = (Default::default(), Vec::new());
    let notices = Vec::new();
    Frame { ack: 0, wants_ack: false, body, references, notices, releases, payload: Bytes::new() }
}

/// A call of `method` at export `index`, on a distributed thread of the attacker's.
pub fn call(number: u64, index: u64, method: u32) -> Frame {
    let thread = Some(Thread { origin: Origin::Sender, number: 4 });
    let target = Target::Export(index);
    frame(Body::Call(Call { call: number, target, method, fingerprint: 0, thread }))
}

/// Call 1: of the node, for what is bound as `name`.
pub fn lookup(name: &str) -> Frame {
    let length = u8::try_from(name.len()).ok().filter(|length| *length <= 250);
    let mut payload = vec![length.expect("longer ones take another encoding")];
    payload.extend_from_slice(name.as_bytes());
    Frame { payload: payload.into(), ..call(1, 0, LOOKUP) }
}

pub fn outcome(answer: &Frame) -> Outcome {
    let Body::Answer { outcome, .. } = answer.body else {
        panic!("no answer: {:?}", answer.body);
    };
    outcome
}

/// What a call failed of.
pub fn failure(answer: &Frame) -> Failure {
    assert_eq!(outcome(answer), Outcome::Failed);
    Failure::decode(&answer.payload).expect("a failure in the agreed form")
}
