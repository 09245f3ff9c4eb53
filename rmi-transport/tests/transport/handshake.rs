//! Two nodes get to know each other: the state machine alone, and over wires.

use std::future::poll_fn;
use std::time::Duration;

use bytes::BytesMut;
use rmi_transport::{
    Endpoint, Handshake, HandshakeError, Hello, Progress, Refusal, Verdict, Wire,
    shake_as_acceptor, shake_as_dialler,
};

use crate::fixtures::{endpoints, hello, wires};

const LIMIT: Duration = Duration::from_secs(30);

fn in_process() -> Endpoint {
    Endpoint::InProcess("auto".to_owned())
}

fn proceed(_: &Hello) -> Verdict {
    Verdict::Proceed
}

#[test]
fn both_learn_about_each_other_and_frames_may_follow_at_once() {
    let (mut dialler, bytes) = Handshake::dial(hello(1));
    let mut acceptor = Handshake::accept(hello(2));
    let mut to_acceptor = BytesMut::from(&bytes[..]);
    assert_eq!(acceptor.handle_input(&mut to_acceptor).unwrap(), Progress::Greeted(hello(1)));
    assert_eq!(acceptor.handle_input(&mut to_acceptor).unwrap(), Progress::More, "our turn");
    let mut to_dialler = BytesMut::from(&acceptor.welcome()[..]);
    assert_eq!(dialler.handle_input(&mut to_dialler).unwrap(), Progress::Welcomed(hello(2)));
    to_acceptor.extend_from_slice(&dialler.go());
    to_acceptor.extend_from_slice(b"frames");
    assert_eq!(acceptor.handle_input(&mut to_acceptor).unwrap(), Progress::Confirmed);
    assert_eq!(acceptor.handle_input(&mut to_acceptor).unwrap(), Progress::More, "all done");
    assert_eq!(&to_acceptor[..], b"frames", "W5");
}

#[test]
fn a_refusal_is_told_at_every_stage() {
    let refused = |handshake: &mut Handshake, refusal: &[u8]| match handshake
        .handle_input(&mut BytesMut::from(refusal))
    {
        Err(HandshakeError::Refused { reason, text, .. }) => (reason, text),
        other => panic!("{other:?}"),
    };
    let want = || (Refusal::Yielded, "mine is used".to_owned());
    let (mut dialler, bytes) = Handshake::dial(hello(1));
    let mut acceptor = Handshake::accept(hello(2));
    let refusal = acceptor.clone().refuse(Refusal::Yielded, "mine is used");
    assert_eq!(refused(&mut dialler.clone(), &refusal), want(), "instead of a welcome (W9)");
    assert_eq!(refused(&mut acceptor.clone(), &refusal), want(), "instead of a hello (W9)");
    acceptor.handle_input(&mut BytesMut::from(&bytes[..])).unwrap();
    dialler.handle_input(&mut BytesMut::from(&acceptor.welcome()[..])).unwrap();
    assert_eq!(refused(&mut acceptor, &refusal), want(), "instead of a go (W9)");
}

#[test]
fn a_hello_that_says_too_much_is_shortened() {
    let mut talkative = hello(1);
    talkative.name = "n".repeat(5_000);
    talkative.endpoints = (0..100).map(|n| format!("{n:1000}")).collect();
    let (_, bytes) = Handshake::dial(talkative.clone());
    let mut acceptor = Handshake::accept(hello(2));
    let Progress::Greeted(heard) = acceptor.handle_input(&mut BytesMut::from(&bytes[..])).unwrap()
    else {
        panic!("not greeted");
    };
    assert_eq!(heard.name.len(), 1024, "W2");
    assert_eq!(heard.endpoints, talkative.endpoints[..3], "W6");
}

#[tokio::test]
async fn nodes_shake_hands_over_every_transport() {
    for endpoint in endpoints("shake") {
        let (dialled, accepted) = wires(&endpoint).await;
        let (dialler, acceptor) = tokio::join!(
            shake_as_dialler(&*dialled, hello(1), proceed, LIMIT),
            shake_as_acceptor(&*accepted, hello(2), proceed, LIMIT),
        );
        assert_eq!(dialler.unwrap(), (hello(2), BytesMut::new()), "{endpoint}");
        assert_eq!(acceptor.unwrap(), (hello(1), BytesMut::new()), "{endpoint}");
    }
}

#[tokio::test]
async fn what_comes_behind_a_hand_shake_is_handed_on() {
    let (dialled, accepted) = wires(&in_process()).await;
    let dialler = async {
        shake_as_dialler(&*dialled, hello(1), proceed, LIMIT).await.unwrap();
        dialled.try_write(b"frames").unwrap();
    };
    // The dialler is polled last, so that `go` and the frames come in one read.
    let acceptor = shake_as_acceptor(&*accepted, hello(2), proceed, LIMIT);
    let (acceptor, ()) = tokio::join!(acceptor, dialler);
    assert_eq!(&acceptor.unwrap().1[..], b"frames");
}

#[tokio::test]
async fn whoever_decides_against_it_says_so_to_the_other() {
    let full = |_: &Hello| Verdict::Refuse(Refusal::Full);
    let (dialled, accepted) = wires(&in_process()).await;
    let (dialler, acceptor) = tokio::join!(
        shake_as_dialler(&*dialled, hello(1), proceed, LIMIT),
        shake_as_acceptor(&*accepted, hello(2), full, LIMIT),
    );
    assert!(matches!(dialler, Err(HandshakeError::Refused { reason: Refusal::Full, .. })));
    assert!(matches!(acceptor, Err(HandshakeError::Declined { reason: Refusal::Full })));

    let yielded = |_: &Hello| Verdict::Refuse(Refusal::Yielded);
    let (dialled, accepted) = wires(&in_process()).await;
    let (dialler, acceptor) = tokio::join!(
        shake_as_dialler(&*dialled, hello(1), yielded, LIMIT),
        shake_as_acceptor(&*accepted, hello(2), proceed, LIMIT),
    );
    assert!(matches!(dialler, Err(HandshakeError::Declined { reason: Refusal::Yielded })));
    assert!(matches!(acceptor, Err(HandshakeError::Refused { reason: Refusal::Yielded, .. })));
}

async fn read_to_end(wire: &dyn Wire) -> Vec<u8> {
    let mut read = BytesMut::new();
    while poll_fn(|cx| wire.poll_read(cx, &mut read)).await.unwrap() > 0 {}
    read.to_vec()
}

#[tokio::test]
async fn a_stranger_is_answered_in_its_own_language() {
    for (said, heard) in [
        (&b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..], &b"HTTP/1.1 400 Bad Request\r\n"[..]),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x15\x03"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", b"This port speaks rmi, not SSH."),
        (b"MAIL FROM:<>\r\n", b"\0rmi"),
    ] {
        let (stranger, accepted) = wires(&endpoints("stranger")[0]).await;
        stranger.try_write(said).unwrap();
        let error = shake_as_acceptor(&*accepted, hello(2), proceed, LIMIT).await.unwrap_err();
        assert!(matches!(error, HandshakeError::NotRmi { .. }), "{error} (W10)");
        drop(accepted);
        let answer = read_to_end(&*stranger).await;
        assert!(answer.starts_with(heard), "{} (W10)", answer.escape_ascii());
    }
}

#[tokio::test]
async fn a_dialler_that_has_reached_a_stranger_says_what_it_is() {
    let (dialled, stranger) = wires(&in_process()).await;
    stranger.try_write(b"SSH-2.0-OpenSSH_9.6\r\n").unwrap();
    let error = shake_as_dialler(&*dialled, hello(1), proceed, LIMIT).await.unwrap_err();
    assert_eq!(error.to_string(), "the peer does not speak rmi: it seems to be SSH");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_says_nothing_is_not_waited_for_longer_than_the_limit() {
    let (dialled, accepted) = wires(&in_process()).await;
    let acceptor = shake_as_acceptor(&*accepted, hello(2), proceed, LIMIT).await;
    assert!(matches!(acceptor, Err(HandshakeError::TimedOut { limit_ms: 30_000 })));
    let dialler = shake_as_dialler(&*dialled, hello(1), proceed, LIMIT).await;
    assert!(matches!(dialler, Err(HandshakeError::TimedOut { .. })));
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_not_waited_for() {
    let (dialled, accepted) = wires(&in_process()).await;
    drop(dialled);
    let acceptor = shake_as_acceptor(&*accepted, hello(2), proceed, LIMIT).await;
    assert!(matches!(acceptor, Err(HandshakeError::Truncated)));
}
