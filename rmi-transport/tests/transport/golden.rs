//! The bytes of the protocol, one file for each message. A file that changes is a change of the
//! protocol.

use std::fmt::Write;

use bytes::{Bytes, BytesMut};
use expect_test::{ExpectFile, expect_file};
use rmi_transport::{
    Accepted, Body, Call, Description, Failure, Frame, FrameLimits, Goodbye, Handshake, News,
    Notice, Origin, Outcome, Reference, Refusal, Relation, Stranger, Target, Thread, decode,
};

use crate::fixtures::{bare, encoded, hello, ping};

const KEY: [u8; 16] = *b"0123456789abcdef";

/// The bytes, sixteen to a line, and what they mean.
fn transcript(bytes: &[u8], meaning: &str) -> String {
    let mut text = format!("{} bytes\n\n", bytes.len());
    for line in bytes.chunks(16) {
        let hex: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let ascii: String = line.iter().map(|byte| shown(*byte)).collect();
        writeln!(text, "{:47}  {ascii}", hex.join(" ")).unwrap();
    }
    writeln!(text, "\n{meaning}").unwrap();
    text
}

fn shown(byte: u8) -> char {
    if byte.is_ascii_graphic() { char::from(byte) } else { '.' }
}

fn check(expected: &ExpectFile, frame: &Frame) {
    let bytes = encoded(frame);
    let mut buffer = BytesMut::from(&bytes[..]);
    let decoded = decode(&mut buffer, &FrameLimits::default()).unwrap().unwrap();
    assert_eq!(&decoded, frame);
    assert!(buffer.is_empty());
    expected.assert_eq(&transcript(&bytes, &meaning(&decoded)));
}

/// A frame in words, a row on each line.
fn meaning(frame: &Frame) -> String {
    let mut lines = vec![format!("ack: {}, wants_ack: {}", frame.ack, frame.wants_ack)];
    lines.push(format!("{:?}", frame.body));
    lines.extend(frame.references.iter().map(|reference| format!("{reference:?}")));
    lines.extend(frame.notices.iter().map(|notice| format!("{notice:?}")));
    let release = |(index, count)| format!("Release {{ index: {index}, count: {count} }}");
    lines.extend(frame.releases.iter().copied().map(release));
    lines.push(format!("payload: {:?}", frame.payload));
    lines.join("\n")
}

fn call(call: u64, target: Target, thread: Option<Thread>) -> Frame {
    let call = Call { call, target, method: 0x1122_3344, fingerprint: 0x5566_7788, thread };
    bare(Body::Call(call))
}

#[test]
fn the_bytes_of_calls_are_as_written_down() {
    check(&expect_file!["../golden/call-ping.txt"], &ping());
    let one_way =
        Frame { payload: Bytes::from_static(b"argument"), ..call(0, Target::Export(0), None) };
    check(&expect_file!["../golden/call-one-way-to-the-node.txt"], &one_way);
    let coming_home = Some(Thread { origin: Origin::Receiver, number: 300 });
    let by_key = call(300, Target::Object { index: 17, key: KEY }, coming_home);
    check(&expect_file!["../golden/call-by-key-coming-home.txt"], &by_key);
    let elsewhere = Some(Thread { origin: Origin::Other(0xfeed_f00d), number: 1 });
    check(
        &expect_file!["../golden/call-of-a-foreign-thread.txt"],
        &call(2, Target::Export(1), elsewhere),
    );
}

#[test]
fn the_bytes_of_answers_are_as_written_down() {
    let answer = |outcome| bare(Body::Answer { call: 1, outcome });
    check(&expect_file!["../golden/answer-ok.txt"], &Frame { ack: 1, ..answer(Outcome::Ok) });
    let error = Frame { payload: Bytes::from_static(b"overdrawn"), ..answer(Outcome::Err) };
    check(&expect_file!["../golden/answer-err.txt"], &error);
    let failure = Failure {
        kind: 4,
        executed: 0,
        message: "no such method".to_owned(),
        interface: Some("Account".to_owned()),
        method: None,
        object: Some("o17".to_owned()),
    };
    let mut payload = Vec::new();
    failure.encode(&mut payload);
    assert_eq!(Failure::decode(&payload), Ok(failure), "W24");
    let failed = Frame { payload: payload.into(), ..answer(Outcome::Failed) };
    check(&expect_file!["../golden/answer-failed.txt"], &failed);
}

#[test]
fn the_bytes_of_the_other_kinds_are_as_written_down() {
    check(&expect_file!["../golden/cancel.txt"], &bare(Body::Cancel { call: 9 }));
    let acknowledging = Frame { ack: 200, wants_ack: true, ..bare(Body::Control) };
    check(&expect_file!["../golden/control.txt"], &acknowledging);
    for (file, reason) in [
        (expect_file!["../golden/goodbye-shutting-down.txt"], Goodbye::ShuttingDown),
        (expect_file!["../golden/goodbye-violation.txt"], Goodbye::ProtocolViolation),
        (expect_file!["../golden/goodbye-limit.txt"], Goodbye::LimitReached),
        (expect_file!["../golden/goodbye-unused.txt"], Goodbye::Unused),
    ] {
        check(&file, &bare(Body::Goodbye { reason, text: "until later".to_owned() }));
    }
}

#[test]
fn the_bytes_of_the_tables_are_as_written_down() {
    let here = Description {
        index: 7,
        home: None,
        object: 7,
        key: KEY,
        interfaces: vec![0x0123_4567_89ab_cdef].into(),
        endpoints: Vec::new(),
        depth: 0,
    };
    let elsewhere = Description {
        index: 8,
        home: Some(0xa11c_e000),
        object: 130,
        key: KEY,
        interfaces: vec![1, 2].into(),
        endpoints: vec!["tcp://a:1".to_owned(), "unix:///b".to_owned()],
        depth: 2,
    };
    let references = vec![
        Reference::Described(Box::new(here)),
        Reference::Described(Box::new(elsewhere)),
        Reference::Known { index: 7 },
        Reference::Yours { index: 4 },
        Reference::YoursByKey { index: 5, key: KEY },
    ];
    let payload = Bytes::from_static(b"five references");
    let frame = Frame { references: references.into(), payload, ..ping() };
    check(&expect_file!["../golden/table-of-references.txt"], &frame);
    let releases = vec![(1, 1), (200, 70_000)];
    let frame = Frame { releases: releases.clone(), ..bare(Body::Control) };
    check(&expect_file!["../golden/table-of-releases.txt"], &frame);
    let path = |index, news| Notice::Path { index, news };
    let notices = vec![
        Notice::Adopted { index: 1 },
        Notice::Adopt { index: 200, key: KEY },
        Notice::Gone { index: 3 },
        path(4, News::Reroot),
        path(5, News::Confirm),
        path(6, News::Leaving),
    ];
    let frame = Frame { notices, ..bare(Body::Control) };
    check(&expect_file!["../golden/table-of-notices.txt"], &frame);
    let adopting = call(1, Target::Object { index: 17, key: KEY }, None);
    let notices = vec![Notice::Adopt { index: 17, key: KEY }];
    check(&expect_file!["../golden/call-to-be-adopted.txt"], &Frame { notices, ..adopting });
    let both = Frame { references: vec![Reference::Known { index: 1 }].into(), releases, ..ping() };
    check(&expect_file!["../golden/tables-both.txt"], &both);
}

#[test]
fn the_bytes_of_the_hand_shake_are_as_written_down() {
    let (ours, theirs) = (hello(0xd1a1), hello(0xacce));
    let (peer, session) = (0xacce, 0x5e55_1041);
    for (file, relation) in [
        (expect_file!["../golden/hand-shake-hello.txt"], Relation::Unknown),
        (expect_file!["../golden/hand-shake-hello-fresh.txt"], Relation::Fresh { peer }),
        (
            expect_file!["../golden/hand-shake-hello-resume.txt"],
            Relation::Resume { peer, session, connections: 3 },
        ),
    ] {
        let (_, bytes) = Handshake::dial(ours.clone(), relation);
        file.assert_eq(&transcript(&bytes, &format!("{relation:?}\nHello from {ours:?}")));
    }

    let relation = Relation::Resume { peer, session, connections: 3 };
    let (mut dialler, bytes) = Handshake::dial(ours, relation);
    let mut acceptor = Handshake::accept(theirs.clone());
    acceptor.handle_input(&mut BytesMut::from(&bytes[..])).unwrap();
    let accepted = Accepted { session, received: 300, connections: 2 };
    let welcome = acceptor.welcome(accepted);
    let meaning = format!("{accepted:?}\nWelcome from {theirs:?}");
    expect_file!["../golden/hand-shake-welcome.txt"].assert_eq(&transcript(&welcome, &meaning));

    dialler.handle_input(&mut BytesMut::from(&welcome[..])).unwrap();
    expect_file!["../golden/hand-shake-go.txt"]
        .assert_eq(&transcript(&dialler.go(17), "Go, having received 17"));

    let refusal = dialler.refuse(Refusal::Full, "128 peers are enough");
    expect_file!["../golden/hand-shake-refuse.txt"]
        .assert_eq(&transcript(&refusal, "Refuse: Full, \"128 peers are enough\""));
}

#[test]
fn the_bytes_for_strangers_are_as_written_down() {
    for (file, stranger) in [
        (expect_file!["../golden/stranger-http.txt"], Stranger::Http),
        (expect_file!["../golden/stranger-tls.txt"], Stranger::Tls),
        (expect_file!["../golden/stranger-ssh.txt"], Stranger::Ssh),
        (expect_file!["../golden/stranger-other.txt"], Stranger::Other(b"\x01\x02hi".to_vec())),
    ] {
        file.assert_eq(&transcript(&stranger.refusal(), &format!("because {stranger}")));
    }
}
