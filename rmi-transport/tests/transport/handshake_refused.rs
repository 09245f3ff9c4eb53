//! The negative space of the hand-shake: whatever a peer may send that is not one.

use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use rmi_transport::{
    Accepted, Handshake, HandshakeError, Hello, PROTOCOL_VERSION, PeerLimits, Progress, Refusal,
    Relation, Stranger,
};

use crate::fixtures::{hello, new_session};

/// An acceptor that is past the first step.
trait WelcomeTo {
    fn welcome_to(&mut self, greeting: &[u8], accepted: Accepted) -> Vec<u8>;
}

impl WelcomeTo for Handshake {
    fn welcome_to(&mut self, greeting: &[u8], accepted: Accepted) -> Vec<u8> {
        self.handle_input(&mut BytesMut::from(greeting)).unwrap();
        self.welcome(accepted)
    }
}

/// What an acceptor makes of these bytes.
fn accept(bytes: &[u8]) -> Result<Progress, HandshakeError> {
    Handshake::accept(hello(2)).handle_input(&mut BytesMut::from(bytes))
}

fn greeting(hello: &Hello) -> Vec<u8> {
    Handshake::dial(hello.clone(), Relation::Unknown).1
}

/// A message of our version.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\0rmi\x01\x00".to_vec();
    bytes.push(kind);
    bytes.extend_from_slice(&u16::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The body of a hello up to its name.
fn hello_up_to_name() -> Vec<u8> {
    let whole = greeting(&Hello { name: String::new(), endpoints: Vec::new(), ..hello(1) });
    whole[9..whole.len() - 2].to_vec()
}

#[test]
fn a_message_that_has_not_all_come_is_waited_for() {
    let whole = greeting(&hello(1));
    for cut in 0..whole.len() {
        assert_eq!(accept(&whole[..cut]).unwrap(), Progress::More, "cut at {cut} (W4)");
    }
    assert_eq!(accept(&whole).unwrap(), Progress::Greeted(hello(1), Relation::Unknown));
}

#[test]
fn a_message_that_says_it_is_shorter_than_it_is_is_refused() {
    let want = "malformed hand-shake: a message that breaks off";
    let relations = [
        Relation::Unknown,
        Relation::Fresh { peer: 2 },
        Relation::Resume { peer: 2, session: 3, connections: 4 },
    ];
    for relation in relations {
        let (_, whole) = Handshake::dial(hello(1), relation);
        let body = &whole[9..];
        for cut in 0..body.len() {
            let error = accept(&message(1, &body[..cut])).unwrap_err();
            assert_eq!(error.to_string(), want, "{relation:?} cut at {cut} (W7)");
        }
    }
    let welcome = Handshake::accept(hello(2)).welcome_to(&greeting(&hello(1)), new_session());
    for cut in 0..welcome.len() - 9 {
        let (mut dialler, _) = Handshake::dial(hello(1), Relation::Unknown);
        let cut_off = message(2, &welcome[9..9 + cut]);
        let error = dialler.handle_input(&mut BytesMut::from(&cut_off[..])).unwrap_err();
        assert_eq!(error.to_string(), want, "a welcome cut at {cut} (W7)");
    }
    for cut in 0..8 {
        let mut acceptor = Handshake::accept(hello(2));
        acceptor.welcome_to(&greeting(&hello(1)), new_session());
        let go = message(3, &[0; 8][..cut]);
        let error = acceptor.handle_input(&mut BytesMut::from(&go[..])).unwrap_err();
        assert_eq!(error.to_string(), want, "a go cut at {cut} (W7)");
    }
}

#[test]
fn what_a_later_revision_adds_at_the_end_is_passed_over() {
    let mut body = greeting(&hello(1))[9..].to_vec();
    body.extend_from_slice(b"more");
    assert_eq!(
        accept(&message(1, &body)).unwrap(),
        Progress::Greeted(hello(1), Relation::Unknown),
        "W7"
    );
}

#[test]
fn bytes_that_are_no_hello_are_refused_with_the_reason() {
    let with = |tail: &[u8]| message(1, &[&hello_up_to_name(), tail].concat());
    let malformed = |why| format!("malformed hand-shake: {why}");
    let too_large = "a hand-shake message of 65535 bytes, where 4096 are accepted";
    for (name, bytes, want) in [
        ("W4: kind 0", message(0, &[]), malformed("a message of an unknown kind")),
        ("W4: kind 5", message(5, &[]), malformed("a message of an unknown kind")),
        ("W5: a go first", message(3, &[0; 8]), malformed("a message out of turn")),
        ("W7: relation 3", message(1, &[3; 100]), malformed("an unknown relation")),
        ("W6: a length past the limit", b"\0rmi\x01\0\x01\xff\xff".to_vec(), too_large.to_owned()),
        (
            "W2: a name that is not UTF-8",
            with(&[1, 0xff, 0]),
            malformed("a text that is not UTF-8"),
        ),
        ("W2: a name too long", with(&[0x81, 0x08]), malformed("a text that is too long")),
        ("W7: 17 endpoints", with(&[0, 17]), malformed("too many endpoints")),
        (
            "W7: 2^35 endpoints",
            with(&[0, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
            malformed("too many endpoints"),
        ),
        ("W1: an overlong length", with(&[0x80, 0]), malformed("a bad integer")),
    ] {
        let error = accept(&bytes).unwrap_err();
        assert_eq!(error.to_string(), want, "{name}");
        assert_eq!(reason_told(&error), Refusal::Malformed, "{name}");
    }
    let welcome = Handshake::accept(hello(2)).welcome_to(&greeting(&hello(1)), new_session());
    let error = accept(&welcome).unwrap_err();
    assert_eq!(error.to_string(), malformed("a message out of turn"), "a welcome first (W5)");
}

/// The reason that a peer is told for `error`.
fn reason_told(error: &HandshakeError) -> Refusal {
    let (mut peer, _) = Handshake::dial(hello(1), Relation::Unknown);
    match peer.handle_input(&mut BytesMut::from(&error.refusal(7)[..])) {
        Err(HandshakeError::Refused { reason, .. }) => reason,
        other => panic!("{other:?} for {error}"),
    }
}

#[test]
fn strangers_are_recognized() {
    for (bytes, want) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], Stranger::Http),
        (b"POST /", Stranger::Http),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Stranger::Http),
        (b"HTTP/1.1 400 Bad Request\r\n", Stranger::Http),
        (b"\x16\x03\x01\x02\x00", Stranger::Tls),
        (b"\x15\x03\x03\x00\x02", Stranger::Tls),
        (b"SSH-2.0-x\r\n", Stranger::Ssh),
        (b"\0\0\0\0", Stranger::Other(vec![0; 4])),
        (b"HELO me", Stranger::Other(b"HELO me".to_vec())),
        (&[b'x'; 100], Stranger::Other(vec![b'x'; 16])),
    ] {
        match accept(bytes) {
            Err(HandshakeError::NotRmi { saw }) => assert_eq!(saw, want, "W10"),
            other => panic!("{other:?} for {} (W10)", bytes.escape_ascii()),
        }
    }
}

#[test]
fn another_version_is_refused_and_understands_the_refusal() {
    let mut later = greeting(&hello(1));
    later[4] = 2;
    // What a later version sends behind the header, this one cannot know.
    later.truncate(9);
    let error = accept(&later).unwrap_err();
    let mismatch =
        |theirs| format!("protocol version {PROTOCOL_VERSION} here, {theirs} at the peer");
    assert_eq!(error.to_string(), mismatch(2), "W4");
    assert_eq!(reason_told(&error), Refusal::Version, "W4");

    let mut refusal = error.refusal(7);
    refusal[4] = 7;
    let (mut dialler, _) = Handshake::dial(hello(1), Relation::Unknown);
    let error = dialler.handle_input(&mut BytesMut::from(&refusal[..])).unwrap_err();
    assert_eq!(error.to_string(), mismatch(7), "refused by version 7 (W4)");
}

#[test]
fn another_codec_is_refused() {
    for theirs in [Hello { codec: 2, ..hello(1) }, Hello { codec_fingerprint: 1, ..hello(1) }] {
        let error = accept(&greeting(&theirs)).unwrap_err();
        assert!(matches!(error, HandshakeError::CodecMismatch { .. }), "{error} (W8)");
        assert_eq!(reason_told(&error), Refusal::Codec, "W8");
    }
}

#[test]
fn a_peer_that_accepts_too_little_is_refused() {
    let limited = |frame_bytes_max| Hello { limits: PeerLimits { frame_bytes_max }, ..hello(1) };
    assert!(accept(&greeting(&limited(8192))).is_ok(), "W8");
    let error = accept(&greeting(&limited(8191))).unwrap_err();
    assert!(matches!(error, HandshakeError::LimitTooSmall { bytes: 8191, .. }), "{error} (W8)");
}

#[test]
fn a_reason_that_is_not_known_is_passed_on_as_a_number() {
    let (mut dialler, _) = Handshake::dial(hello(1), Relation::Unknown);
    let refusal = message(4, &[200, 7, 0, 0, 0, 0, 0, 0, 0, 2, b'n', b'o']);
    match dialler.handle_input(&mut BytesMut::from(&refusal[..])) {
        Err(HandshakeError::Refused { reason: Refusal::Unknown(200), text, .. }) => {
            assert_eq!(text, "no", "W9");
        }
        other => panic!("{other:?} (W9)"),
    }
}

/// What a dialler with `relation` to node 2 makes of the welcome of node `from`.
fn welcomed(relation: Relation, from: u64, accepted: Accepted) -> Result<Progress, String> {
    let (mut dialler, _) = Handshake::dial(hello(1), relation);
    let welcome = Handshake::accept(hello(from)).welcome_to(&greeting(&hello(1)), accepted);
    dialler.handle_input(&mut BytesMut::from(&welcome[..])).map_err(|error| error.to_string())
}

#[test]
fn a_welcome_that_does_not_answer_the_hello_is_refused() {
    let fresh = Relation::Fresh { peer: 2 };
    let resume = Relation::Resume { peer: 2, session: 5, connections: 1 };
    let new = new_session();
    let resumed = Accepted { session: 5, received: 9, connections: 1 };
    for relation in [Relation::Unknown, fresh] {
        assert!(welcomed(relation, 2, new).is_ok(), "{relation:?} (W30)");
    }
    assert!(welcomed(Relation::Unknown, 3, new).is_ok(), "W30");
    assert!(welcomed(resume, 2, resumed).is_ok(), "W30");
    let malformed = |why| Err(format!("malformed hand-shake: {why}"));
    for (name, relation, from, accepted, why) in [
        ("another peer", fresh, 3, new, "a welcome from another incarnation"),
        ("another peer, resuming", resume, 3, resumed, "a welcome from another incarnation"),
        (
            "another session",
            resume,
            2,
            Accepted { session: 6, ..resumed },
            "a welcome to another session",
        ),
        ("not empty", Relation::Unknown, 2, resumed, "a new session that is not empty"),
        (
            "connected before",
            fresh,
            2,
            Accepted { connections: 1, ..new },
            "a new session that is not empty",
        ),
    ] {
        assert_eq!(welcomed(relation, from, accepted), malformed(why), "{name} (W30)");
    }
}

#[test]
fn a_go_to_a_new_session_that_has_received_frames_is_refused() {
    let mut acceptor = Handshake::accept(hello(2));
    acceptor.welcome_to(&greeting(&hello(1)), new_session());
    let go = message(3, &1_u64.to_le_bytes());
    let error = acceptor.handle_input(&mut BytesMut::from(&go[..])).unwrap_err();
    let want = "malformed hand-shake: a new session that is not empty";
    assert_eq!(error.to_string(), want, "W30");
}

#[test]
fn whoever_means_another_incarnation_is_told_who_listens_here() {
    for relation in
        [Relation::Fresh { peer: 3 }, Relation::Resume { peer: 3, session: 5, connections: 1 }]
    {
        let (mut dialler, bytes) = Handshake::dial(hello(1), relation);
        let error = accept(&bytes).unwrap_err();
        let other = Refusal::OtherIncarnation;
        assert!(matches!(error, HandshakeError::Declined { reason } if reason == other), "W30");
        match dialler.handle_input(&mut BytesMut::from(&error.refusal(2)[..])) {
            Err(HandshakeError::Refused { reason, from: 2, .. }) if reason == other => {}
            told => panic!("{told:?} (W30)"),
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..200), kind in 0_u8..6) {
        let _ = accept(&bytes);
        let _ = accept(&message(kind, &bytes));
    }
}
