//! Peers that speak something else, or speak it wrongly: a clear end of that session alone, and
//! the node serves on.

mod support;

use std::time::Duration;

use rmi::{Limits, Node, RemoteRef, Result, enter, remote};
use rmi_transport::{Body, Call, Frame, Goodbye, Notice, Outcome, Reference, Target};
use support::attacker::{self, Attacker, ENTER, EXIT, PING, failure, frame, outcome};
use support::{Drops, PATIENCE, Token, dialling, impatient, lookup, until, until_empty};
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
        let builder = impatient().listen("tcp://127.0.0.1:0").limits(limits);
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

/// A call of what no object has.
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
        let attacker = Attacker::connect(&victim.node).await;
        attacker.write(bytes);
        attacker.ends_sent_away(Goodbye::ProtocolViolation, because).await;
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
        let attacker = Attacker::connect(&victim.node).await;
        attacker.send(&frame).await;
        attacker.ends_sent_away(Goodbye::ProtocolViolation, because).await;
    }
    victim.stays_well().await;
}

/// Rule 8: adoption is for those who were given the reference, and with it the key.
#[tokio::test]
async fn who_guesses_a_key_is_not_adopted() {
    let victim = Victim::new().await;
    let mut attacker = Attacker::connect(&victim.node).await;
    let mut guess = frame(Body::Control);
    guess.notices.push(Notice::Adopt { index: 1, key: [7; 16] });
    attacker.send(&guess).await;
    assert_eq!(attacker.next().await.unwrap().notices, [Notice::Gone { index: 1 }]);
    let exports = victim.node.gc().snapshot().exports;
    assert_eq!(exports[0].children.keys().collect::<Vec<_>>(), [&victim.honest.id()]);
    attacker.leaves().await;
    victim.stays_well().await;
}

#[tokio::test]
async fn a_guessed_key_is_denied_and_a_wrong_payload_fails_its_call() {
    let victim = Victim::new().await;
    let mut attacker = Attacker::connect(&victim.node).await;
    attacker.send(&call(Target::Object { index: 1, key: [7; 16] })).await;
    let frame = attacker.next().await.unwrap();
    let failure = failure(&frame);
    assert!(!failure.message.contains("07070707"), "the key is told: {failure:?}");

    // A lookup whose name claims to be 2^32 bytes long.
    let payload = bytes::Bytes::from_static(&[253, 0, 0, 0, 0, 1, 0, 0, 0]);
    let lookup = Frame { payload, ..attacker::lookup("") };
    attacker.send(&lookup).await;
    let frame = attacker.next().await.unwrap();
    assert_eq!(frame.body, Body::Answer { call: 1, outcome: Outcome::Failed });
    drop(attacker);
    victim.stays_well().await;
}

#[tokio::test]
async fn a_truncated_frame_is_the_end_of_a_connection_and_of_nothing_else() {
    let victim = Victim::new().await;
    let attacker = Attacker::connect(&victim.node).await;
    attacker.write(&[20, 1, 0, 0, 1]);
    attacker.wire.shut_down();
    drop(attacker);
    victim.stays_well().await;
}

#[tokio::test]
async fn entering_without_an_answer_and_leaving_with_one_end_that_session_alone() {
    let victim = Victim::new().await;
    for (number, method) in [(0, ENTER), (7, EXIT)] {
        let mut attacker = Attacker::connect(&victim.node).await;
        let (_, index) = attacker.lookup("echo").await;
        attacker.send(&attacker::call(1, index, ENTER)).await;
        assert_eq!(outcome(&attacker.answer(1).await), Outcome::Ok);
        attacker.send(&attacker::call(number, index, method)).await;
        let because = "an answer to leaving a monitor";
        attacker.ends_sent_away(Goodbye::ProtocolViolation, because).await;
        // What it held is free again.
        drop(enter(&victim.echo).await.unwrap());
    }
    victim.stays_well().await;
}

/// A node that carries calls of an attacker to the object of another.
struct Between {
    victim: Victim,
    relay: Node,
    far: EchoRef,
}

impl Between {
    async fn new() -> Self {
        let relay = impatient().listen("tcp://127.0.0.1:0").start().await.unwrap();
        let victim = Victim::new().await;
        let far: EchoRef = lookup(&relay, &victim.node, "echo").await;
        relay.bind("echo", &far).unwrap();
        Self { victim, relay, far }
    }

    async fn stays_well(self) {
        assert_eq!(self.far.echo("and here?".to_owned()).await.unwrap(), "and here?");
        drop(enter(&self.far).await.unwrap());
        drop(self.far);
        self.relay.unbind("echo");
        until_empty(&[&self.relay]).await;
        self.relay.shutdown().await;
        self.victim.stays_well().await;
    }
}

#[tokio::test]
async fn leaving_by_a_relay_what_one_never_entered_does_not_hurt_the_relay() {
    let between = Between::new().await;
    let mut attacker = Attacker::connect(&between.relay).await;
    let (_, index) = attacker.lookup("echo").await;
    let before = between.relay.stats().calls_received;
    attacker.send(&attacker::call(0, index, EXIT)).await;
    until("the relay was called", || between.relay.stats().calls_received > before).await;
    attacker.leaves().await;
    between.stays_well().await;
}

#[tokio::test]
async fn leaving_with_an_answer_by_a_relay_leaves_nothing_behind() {
    let between = Between::new().await;
    let mut attacker = Attacker::connect(&between.relay).await;
    let (_, index) = attacker.lookup("echo").await;
    for _ in 0..3 {
        attacker.send(&attacker::call(1, index, ENTER)).await;
        assert_eq!(outcome(&attacker.answer(1).await), Outcome::Ok);
    }
    attacker.send(&attacker::call(7, index, EXIT)).await;
    let because = "an answer to leaving a monitor";
    attacker.ends_sent_away(Goodbye::ProtocolViolation, because).await;
    between.stays_well().await;
}

/// Lets its own name go when it is called, and panics when it is dropped.
struct Bomb(Node, Token);

impl Echo for Bomb {
    async fn echo(&self, text: String) -> Result<String> {
        let _ = &self.1;
        self.0.unbind("bomb");
        Ok(text)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped")
    }
}

/// Called by its key by one who holds no share of it, the object is let go by its own handler.
#[tokio::test]
async fn a_panic_in_the_drop_of_an_object_ends_no_session() {
    let victim = Victim::new().await;
    let drops = Drops::default();
    let bomb: EchoRef = victim.node.export(Bomb(victim.node.clone(), drops.token()));
    victim.node.bind("bomb", &bomb).unwrap();
    let mut attacker = Attacker::connect(&victim.node).await;
    let (described, index) = attacker.lookup("bomb").await;
    // How a call of it looks, an honest node shows to one that passes for its home.
    let dupe = dialling().await;
    let (mut home, far) = Attacker::looked_up_by::<EchoRef>(&dupe, &described).await;
    let calling = tokio::spawn(async move { far.echo(String::new()).await });
    let (head, payload) = loop {
        let frame = home.next().await.unwrap();
        if let Body::Call(head) = frame.body {
            break (head, frame.payload);
        }
    };
    drop(bomb);
    let Some(Reference::Described(description)) = described.references.first() else {
        panic!("it is described")
    };
    let target = Target::Object { index: description.object, key: description.key };
    let mut release = frame(Body::Control);
    release.releases.push((index, 1));
    attacker.send(&release).await;
    let body = Body::Call(Call { call: 2, target, thread: None, ..head });
    attacker.send(&Frame { payload, ..frame(body) }).await;
    assert_eq!(outcome(&attacker.answer(2).await), Outcome::Ok);
    drops.reach(1).await;
    // The session goes on.
    let (_, index) = attacker.lookup("echo").await;
    attacker.send(&attacker::call(3, index, PING)).await;
    assert_eq!(outcome(&attacker.answer(3).await), Outcome::Ok);
    attacker.leaves().await;
    home.leaves().await;
    assert!(calling.await.unwrap().unwrap_err().is_disconnect());
    until_empty(&[&dupe]).await;
    victim.stays_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_again_keeps_its_new_shares_while_its_old_ones_are_taken_away() {
    let home = impatient().listen("tcp://127.0.0.1:0").start().await.unwrap();
    // Taking a peer's shares away takes a while.
    let many: Vec<EchoRef> = (0..20_000).map(|_| home.export(Parrot)).collect();
    let echo: EchoRef = home.export(Parrot);
    home.bind("echo", &echo).unwrap();
    for round in 0..10 {
        let mut attacker = Attacker::connect(&home).await;
        attacker.lookup("echo").await;
        let text = String::new();
        attacker.send(&frame(Body::Goodbye { reason: Goodbye::Unused, text })).await;
        let mut again = loop {
            match Attacker::connect_as(&home, attacker.incarnation).await {
                Some(again) => break again,
                None => tokio::task::yield_now().await,
            }
        };
        let (_, index) = again.lookup("echo").await;
        for number in 1..=100 {
            again.send(&attacker::call(number, index, PING)).await;
            let answer = again.answer(number).await;
            assert_eq!(outcome(&answer), Outcome::Ok, "round {round}: the share is gone");
        }
        let exports = home.gc().snapshot().exports;
        let shared = exports.iter().find(|export| export.id == echo.id()).unwrap();
        let children: Vec<_> = shared.children.values().collect();
        assert_eq!(children, [&1], "round {round}");
        again.leaves().await;
        until("it has left", || home.stats().sessions == 0).await;
    }
    drop((many, echo));
    home.unbind("echo");
    until_empty(&[&home]).await;
}
