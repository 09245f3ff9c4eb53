//! Peers that speak something else, or speak it wrongly: a clear end of that session alone, and
//! the node serves on.

mod support;

use std::time::Duration;

use bytes::BytesMut;
use rmi::{Limits, Node, Result, remote};
use rmi_transport::{
    Body, Call, Endpoint, Frame, FrameBuffer, FrameLimits, Goodbye, Hello, Outcome, PeerLimits,
    Reference, Target, Verdict, Wire, decode, shake_as_dialler, transport_for,
};
use support::{PATIENCE, dialling, lookup, until, until_empty};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[remote]
trait Echo {
    async fn echo(&self, text: String) -> Result<String>;
}

struct Parrot;

impl Echo for Parrot {
    async fn echo(&self, text: String) -> Result<String> {
        Ok(text)
    }
}

/// A node that is attacked, and an honest one beside that must not notice.
struct Victim {
    node: Node,
    honest: Node,
    echo: EchoRef,
}

impl Victim {
    async fn new() -> Self {
        let limits = Limits { handshake_time_max: Duration::from_millis(200), ..Limits::default() };
        let builder = Node::builder().listen("tcp://127.0.0.1:0").limits(limits);
        let node = builder.start().await.unwrap();
        node.bind("echo", &node.export::<EchoRef, _, _>(Parrot)).unwrap();
        let honest = dialling().await;
        let echo = lookup(&honest, &node, "echo").await;
        Self { node, honest, echo }
    }

    fn address(&self) -> String {
        self.node.endpoint().unwrap().to_string().trim_start_matches("tcp://").to_owned()
    }

    /// The honest node is served on, and nothing of the attacker's is left.
    async fn stays_well(self) {
        assert_eq!(self.echo.echo("still there?".to_owned()).await.unwrap(), "still there?");
        until("only the honest session is open", || self.node.stats().sessions == 1).await;
        drop(self.echo);
        self.node.unbind("echo");
        until_empty(&[&self.node, &self.honest]).await;
    }
}

/// A peer that shakes hands as it should, and then writes what it likes.
struct Attacker {
    wire: Box<dyn Wire>,
    received: BytesMut,
}

impl Attacker {
    async fn connect(victim: &Victim) -> Self {
        static INCARNATION: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let endpoint: Endpoint = victim.node.endpoint().unwrap().clone();
        let wire = transport_for(&endpoint).dial(&endpoint).await.unwrap();
        let hello = Hello {
            incarnation: INCARNATION.fetch_add(1, std::sync::atomic::Ordering::SeqCst),
            thread_origin: 1,
            codec: 1,
            codec_fingerprint: 0x0200_0100,
            limits: PeerLimits { frame_bytes_max: 1 << 20 },
            features: 0,
            name: "attacker".to_owned(),
            endpoints: Vec::new(),
        };
        let go = |_: &Hello| Verdict::Proceed;
        let (_, received) = shake_as_dialler(&*wire, hello, go, PATIENCE).await.unwrap();
        Self { wire, received }
    }

    fn write(&self, bytes: &[u8]) {
        assert_eq!(self.wire.try_write(bytes).unwrap(), bytes.len());
    }

    fn send(&self, frame: &Frame) {
        let mut frames = FrameBuffer::with_bytes_max(1 << 20);
        frame.encode(&mut frames).unwrap();
        self.write(frames.as_slice());
    }

    /// The next frame, or nothing once the stream has ended.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = decode(&mut self.received, &FrameLimits::default()).unwrap() {
                return Some(frame);
            }
            let read = std::future::poll_fn(|cx| self.wire.poll_read(cx, &mut self.received));
            match tokio::time::timeout(PATIENCE, read).await.expect("the node says something") {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The node says that we broke the protocol, and ends this session.
    async fn ends_sent_away(mut self, because: &str) {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("no goodbye: {because}"));
            if let Body::Goodbye { reason, text } = frame.body {
                assert_eq!(reason, Goodbye::ProtocolViolation, "{text}");
                assert!(text.contains(because), "{text:?} does not tell of {because:?}");
                break;
            }
        }
        assert!(self.next().await.is_none(), "the connection goes on");
    }
}

fn frame(body: Body) -> Frame {
    let (references, releases) = (Default::default(), Vec::new());
    let payload = bytes::Bytes::new();
    Frame { ack: 0, wants_ack: false, body, references, releases, payload }
}

fn call(target: Target) -> Frame {
    frame(Body::Call(Call { call: 1, target, method: 99, fingerprint: 0, thread: None }))
}

#[tokio::test]
async fn strangers_are_refused_in_their_own_words() {
    let victim = Victim::new().await;
    let table: [(&str, &[u8], &[u8]); 4] = [
        ("HTTP", b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", b"HTTP/1.1 400"),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x15\x03"),
        ("SSH", b"SSH-2.0-OpenSSH_9.2\r\n", b""),
        ("noise", b"\xff\xfe\xfd\xfc\xfb\xfa", b""),
    ];
    for (name, greeting, answer) in table {
        let mut stranger = TcpStream::connect(victim.address()).await.unwrap();
        stranger.write_all(greeting).await.unwrap();
        let mut heard = Vec::new();
        // A reset is an end as good as any.
        let _ = tokio::time::timeout(PATIENCE, stranger.read_to_end(&mut heard)).await.unwrap();
        assert!(heard.starts_with(answer), "{name} was told {:?}", String::from_utf8_lossy(&heard));
    }
    victim.stays_well().await;
}

#[tokio::test]
async fn one_who_connects_and_says_nothing_is_dropped_in_time() {
    let victim = Victim::new().await;
    let mut silent = TcpStream::connect(victim.address()).await.unwrap();
    let mut heard = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, silent.read_to_end(&mut heard)).await.unwrap();
    let mut slow = TcpStream::connect(victim.address()).await.unwrap();
    slow.write_all(b"\0rm").await.unwrap();
    let _ = tokio::time::timeout(PATIENCE, slow.read_to_end(&mut heard)).await.unwrap();
    victim.stays_well().await;
}

#[tokio::test]
async fn malformed_frames_end_that_session_alone() {
    let victim = Victim::new().await;
    let table: [(&str, &[u8]); 5] = [
        ("4294967", &[0xff, 0xff, 0xff, 0xff, 0x0f, 1]),
        ("kind", &[3, 0, 0, 0]),
        ("kind", &[3, 200, 0, 0]),
        ("flags", &[3, 3, 0xff, 0]),
        ("frame", &[2, 1, 0]),
    ];
    for (because, bytes) in table {
        let attacker = Attacker::connect(&victim).await;
        attacker.write(bytes);
        attacker.ends_sent_away(because).await;
    }
    victim.stays_well().await;
}

#[tokio::test]
async fn naming_what_one_was_never_given_ends_that_session_alone() {
    let victim = Victim::new().await;
    let with_reference = |reference| {
        let mut frame = call(Target::Export(0));
        frame.references.push(reference);
        frame
    };
    let with_release = |index, count| {
        let mut frame = frame(Body::Control);
        frame.releases.push((index, count));
        frame
    };
    let mut acknowledges = frame(Body::Control);
    acknowledges.ack = 5;
    let answer = Body::Answer { call: 7, outcome: Outcome::Ok };
    for (because, frame) in [
        ("export index 1", call(Target::Export(1))),
        ("export index 77", call(Target::Export(77))),
        ("never sent", with_release(1, 1)),
        ("never sent", with_release(99, 1)),
        ("means nothing", with_reference(Reference::Known { index: 3 })),
        ("export index 1", with_reference(Reference::Yours { index: 1 })),
        ("call 7", frame(answer)),
        ("acknowledged 5", acknowledges),
    ] {
        let attacker = Attacker::connect(&victim).await;
        attacker.send(&frame);
        attacker.ends_sent_away(because).await;
    }
    victim.stays_well().await;
}

#[tokio::test]
async fn a_guessed_key_is_denied_and_a_wrong_payload_fails_its_call() {
    let victim = Victim::new().await;
    let mut attacker = Attacker::connect(&victim).await;
    attacker.send(&call(Target::Object { index: 1, key: [7; 16] }));
    let frame = attacker.next().await.unwrap();
    assert_eq!(frame.body, Body::Answer { call: 1, outcome: Outcome::Failed });
    let failure = rmi_transport::Failure::decode(&frame.payload).unwrap();
    assert!(!failure.message.contains("07070707"), "the key is told: {failure:?}");

    // A lookup whose name claims to be 2^32 bytes long.
    let mut lookup = call(Target::Export(0));
    let Body::Call(head) = &mut lookup.body else { unreachable!("it is a call") };
    head.method = 1;
    lookup.payload = bytes::Bytes::from_static(&[253, 0, 0, 0, 0, 1, 0, 0, 0]);
    attacker.send(&lookup);
    let frame = attacker.next().await.unwrap();
    assert_eq!(frame.body, Body::Answer { call: 1, outcome: Outcome::Failed });
    drop(attacker);
    victim.stays_well().await;
}

#[tokio::test]
async fn a_truncated_frame_is_the_end_of_a_connection_and_of_nothing_else() {
    let victim = Victim::new().await;
    let attacker = Attacker::connect(&victim).await;
    attacker.write(&[20, 1, 0, 0, 1]);
    attacker.wire.shut_down();
    drop(attacker);
    victim.stays_well().await;
}
