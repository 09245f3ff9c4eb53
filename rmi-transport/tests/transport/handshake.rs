//! Two nodes get to know each other: the state machine alone, and over wires.

use std::future::poll_fn;
use std::time::Duration;

use bytes::BytesMut;
use rmi_transport::{
    Accepted, Endpoint, Greeting, Handshake, HandshakeError, Progress, Refusal, Relation, Shaken,
    Welcome, Wire, dial, greet,
};

use crate::fixtures::{endpoints, hello, new_session, wires};

const LIMIT: Duration = Duration::from_secs(30);

fn in_process() -> Endpoint {
    Endpoint::InProcess("auto".to_owned())
}

/// Node 1 dials, and goes, having received so many frames.
async fn dial_and_go(
    wire: Box<dyn Wire>,
    relation: Relation,
    received: u64,
) -> Result<Shaken, HandshakeError> {
    dial(wire, hello(1), relation, LIMIT).await?.go(received).await
}

/// Node 2 accepts, and welcomes.
async fn greet_and_welcome(
    wire: Box<dyn Wire>,
    accepted: Accepted,
) -> Result<Shaken, HandshakeError> {
    greet(wire, hello(2), LIMIT).await?.welcome(accepted).await
}

#[test]
fn both_learn_about_each_other_and_frames_may_follow_at_once() {
    let (mut dialler, bytes) = Handshake::dial(hello(1), Relation::Unknown);
    let mut acceptor = Handshake::accept(hello(2));
    let mut to_acceptor = BytesMut::from(&bytes[..]);
    let greeted = Progress::Greeted(hello(1), Relation::Unknown);
    assert_eq!(acceptor.handle_input(&mut to_acceptor).unwrap(), greeted);
    assert_eq!(acceptor.handle_input(&mut to_acceptor).unwrap(), Progress::More, "our turn");
    let mut to_dialler = BytesMut::from(&acceptor.welcome(new_session())[..]);
    let welcomed = Progress::Welcomed(hello(2), new_session());
    assert_eq!(dialler.handle_input(&mut to_dialler).unwrap(), welcomed);
    to_acceptor.extend_from_slice(&dialler.go(0));
    to_acceptor.extend_from_slice(b"frames");
    let confirmed = Progress::Confirmed { received: 0 };
    assert_eq!(acceptor.handle_input(&mut to_acceptor).unwrap(), confirmed);
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
    let (mut dialler, bytes) = Handshake::dial(hello(1), Relation::Unknown);
    let mut acceptor = Handshake::accept(hello(2));
    let refusal = acceptor.clone().refuse(Refusal::Yielded, "mine is used");
    assert_eq!(refused(&mut dialler.clone(), &refusal), want(), "instead of a welcome (W9)");
    assert_eq!(refused(&mut acceptor.clone(), &refusal), want(), "instead of a hello (W9)");
    acceptor.handle_input(&mut BytesMut::from(&bytes[..])).unwrap();
    dialler.handle_input(&mut BytesMut::from(&acceptor.welcome(new_session())[..])).unwrap();
    assert_eq!(refused(&mut acceptor, &refusal), want(), "instead of a go (W9)");
}

#[test]
fn a_hello_that_says_too_much_is_shortened() {
    let mut talkative = hello(1);
    talkative.name = "n".repeat(5_000);
    talkative.endpoints = (0..100).map(|n| format!("{n:1000}")).collect();
    let resume = Relation::Resume { peer: 2, session: 1, connections: 1 };
    let (_, bytes) = Handshake::dial(talkative.clone(), resume);
    let mut acceptor = Handshake::accept(hello(2));
    let Progress::Greeted(heard, _) =
        acceptor.handle_input(&mut BytesMut::from(&bytes[..])).unwrap()
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
            dial_and_go(dialled, Relation::Unknown, 0),
            greet_and_welcome(accepted, new_session()),
        );
        for (shaken, peer) in [(dialler.unwrap(), 2), (acceptor.unwrap(), 1)] {
            assert_eq!(shaken.hello, hello(peer), "{endpoint}");
            assert_eq!(shaken.relation, Relation::Unknown, "{endpoint}");
            assert_eq!(shaken.accepted, new_session(), "{endpoint}");
            assert_eq!(shaken.peer_received, 0, "{endpoint}");
            assert!(shaken.received.is_empty(), "{endpoint}");
        }
    }
}

#[tokio::test]
async fn whoever_resumes_learns_how_far_the_other_has_come() {
    let (dialled, accepted) = wires(&in_process()).await;
    let relation = Relation::Resume { peer: 2, session: 5, connections: 3 };
    let of_acceptor = Accepted { session: 5, received: 300, connections: 2 };
    let (dialler, acceptor) =
        tokio::join!(dial_and_go(dialled, relation, 17), greet_and_welcome(accepted, of_acceptor),);
    let (dialler, acceptor) = (dialler.unwrap(), acceptor.unwrap());
    assert_eq!((dialler.peer_received, acceptor.peer_received), (300, 17), "W31");
    for shaken in [dialler, acceptor] {
        assert_eq!((shaken.relation, shaken.accepted), (relation, of_acceptor), "W30");
    }
}

#[tokio::test]
async fn either_looks_at_the_other_before_it_goes_on() {
    let (dialled, accepted) = wires(&in_process()).await;
    let fresh = Relation::Fresh { peer: 2 };
    let acceptor = async {
        let greeting: Greeting = greet(accepted, hello(2), LIMIT).await.unwrap();
        assert_eq!((greeting.hello(), greeting.relation()), (&hello(1), fresh));
        assert!(greeting.peer().starts_with("accepted at inproc://"));
        greeting.welcome(new_session()).await.unwrap();
    };
    let dialler = async {
        let welcome: Welcome = dial(dialled, hello(1), fresh, LIMIT).await.unwrap();
        assert_eq!((welcome.hello(), welcome.accepted()), (&hello(2), new_session()));
        assert!(welcome.peer().starts_with("inproc://"));
        welcome.go(0).await.unwrap()
    };
    tokio::join!(acceptor, dialler);
}

#[tokio::test]
async fn what_comes_behind_a_hand_shake_is_handed_on() {
    let (dialled, accepted) = wires(&in_process()).await;
    let dialler = async {
        let shaken = dial_and_go(dialled, Relation::Unknown, 0).await.unwrap();
        shaken.wire.try_write(b"frames").unwrap();
        shaken
    };
    // The dialler is polled last, so that `go` and the frames come in one read.
    let (acceptor, _dialler) = tokio::join!(greet_and_welcome(accepted, new_session()), dialler);
    assert_eq!(&acceptor.unwrap().received[..], b"frames", "W5");
}

#[tokio::test]
async fn whoever_decides_against_it_says_so_to_the_other() {
    for reason in [Refusal::Full, Refusal::NoSuchSession, Refusal::AlreadyConnected] {
        let (dialled, accepted) = wires(&in_process()).await;
        let acceptor = async { greet(accepted, hello(2), LIMIT).await.unwrap().refuse(reason) };
        let relation = Relation::Resume { peer: 2, session: 5, connections: 1 };
        let (dialler, acceptor) = tokio::join!(dial(dialled, hello(1), relation, LIMIT), acceptor);
        match (dialler.unwrap_err(), acceptor) {
            (
                HandshakeError::Refused { reason: told, from: 2, .. },
                HandshakeError::Declined { reason: said },
            ) => assert_eq!((told, said), (reason, reason), "W9"),
            other => panic!("{other:?} (W9)"),
        }
    }
    let (dialled, accepted) = wires(&in_process()).await;
    let dialler = async {
        dial(dialled, hello(1), Relation::Unknown, LIMIT).await.unwrap().refuse(Refusal::Yielded)
    };
    let (dialler, acceptor) = tokio::join!(dialler, greet_and_welcome(accepted, new_session()));
    assert!(matches!(dialler, HandshakeError::Declined { reason: Refusal::Yielded }));
    assert!(matches!(
        acceptor,
        Err(HandshakeError::Refused { reason: Refusal::Yielded, from: 1, .. })
    ));
}

#[tokio::test]
async fn whoever_reaches_another_run_of_a_node_is_told() {
    let (dialled, accepted) = wires(&in_process()).await;
    let (dialler, acceptor) = tokio::join!(
        dial(dialled, hello(1), Relation::Fresh { peer: 3 }, LIMIT),
        greet(accepted, hello(2), LIMIT),
    );
    let other = Refusal::OtherIncarnation;
    match (dialler.unwrap_err(), acceptor.unwrap_err()) {
        (
            HandshakeError::Refused { reason: told, from: 2, .. },
            HandshakeError::Declined { reason: said },
        ) => assert_eq!((told, said), (other, other), "W30"),
        errors => panic!("{errors:?} (W30)"),
    }
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
        let error = greet(accepted, hello(2), LIMIT).await.unwrap_err();
        assert!(matches!(error, HandshakeError::NotRmi { .. }), "{error} (W10)");
        let answer = read_to_end(&*stranger).await;
        assert!(answer.starts_with(heard), "{} (W10)", answer.escape_ascii());
    }
}

#[tokio::test]
async fn a_dialler_that_has_reached_a_stranger_says_what_it_is() {
    let (dialled, stranger) = wires(&in_process()).await;
    stranger.try_write(b"SSH-2.0-OpenSSH_9.6\r\n").unwrap();
    let error = dial(dialled, hello(1), Relation::Unknown, LIMIT).await.unwrap_err();
    assert_eq!(error.to_string(), "the peer does not speak rmi: it seems to be SSH");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_says_nothing_is_not_waited_for_longer_than_the_limit() {
    let (dialled, accepted) = wires(&in_process()).await;
    let acceptor = greet(accepted, hello(2), LIMIT).await;
    assert!(matches!(acceptor, Err(HandshakeError::TimedOut { limit_ms: 30_000 })));
    drop(dialled);
    let (dialled, _silent) = wires(&in_process()).await;
    let dialler = dial(dialled, hello(1), Relation::Unknown, LIMIT).await;
    assert!(matches!(dialler, Err(HandshakeError::TimedOut { .. })));
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_for_the_whole_hand_shake() {
    let (dialled, accepted) = wires(&in_process()).await;
    let began = tokio::time::Instant::now();
    let acceptor = async {
        let greeting = greet(accepted, hello(2), LIMIT).await.unwrap();
        tokio::time::advance(LIMIT / 2).await;
        greeting.welcome(new_session()).await
    };
    // The dialler never goes.
    let dialler = dial(dialled, hello(1), Relation::Unknown, LIMIT);
    let (acceptor, _welcome) = tokio::join!(acceptor, dialler);
    assert!(matches!(acceptor, Err(HandshakeError::TimedOut { .. })));
    assert!(began.elapsed() < LIMIT + LIMIT / 4, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_not_waited_for() {
    let (dialled, accepted) = wires(&in_process()).await;
    drop(dialled);
    let acceptor = greet(accepted, hello(2), LIMIT).await;
    assert!(matches!(acceptor, Err(HandshakeError::Truncated)));
}
