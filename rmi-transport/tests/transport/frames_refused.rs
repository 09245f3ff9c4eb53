//! The negative space of frames: whatever a peer may send that is not one.

use bytes::BytesMut;
use rmi_transport::frame::FRAME_BYTES_MAX;
use rmi_transport::{
    Body, Description, Failure, Frame, FrameError, FrameLimits, Goodbye, News, Notice, Reference,
    decode,
};

use crate::fixtures::{bare, encoded, ping};

const LIMITS: FrameLimits = FrameLimits {
    frame_bytes_max: FRAME_BYTES_MAX,
    references_max: 4,
    releases_max: 4,
    notices_max: 4,
    interfaces_max: 2,
    endpoints_max: 2,
    text_bytes_max: 16,
};

fn refused(bytes: &[u8]) -> Result<Option<Frame>, FrameError> {
    let mut buffer = BytesMut::from(bytes);
    let result = decode(&mut buffer, &LIMITS);
    if !matches!(result, Ok(Some(_))) {
        assert_eq!(buffer, bytes, "the buffer is as it was");
    }
    result
}

/// A frame of all that can be in one.
fn full() -> Frame {
    let description = |home: Option<u64>| {
        Reference::Described(Box::new(Description {
            index: 300,
            home,
            object: 300,
            key: [7; 16],
            interfaces: vec![1, 2].into(),
            endpoints: home.map_or_else(Vec::new, |_| vec!["tcp://a:1".to_owned()]),
            depth: 1,
        }))
    };
    let references = vec![
        description(None),
        description(Some(9)),
        Reference::YoursByKey { index: 1, key: [8; 16] },
    ];
    let references = references.into();
    let notices = vec![
        Notice::Adopt { index: 300, key: [9; 16] },
        Notice::Path { index: 300, news: News::Reroot },
    ];
    Frame { references, notices, releases: vec![(300, 300)], wants_ack: true, ..ping() }
}

#[test]
fn a_frame_that_has_not_all_come_is_waited_for() {
    let whole = encoded(&full());
    for cut in 0..whole.len() {
        assert_eq!(refused(&whole[..cut]), Ok(None), "cut at {cut} (W15)");
    }
    assert_eq!(refused(&whole), Ok(Some(full())));
}

#[test]
fn a_frame_that_says_it_is_shorter_than_it_is_is_refused() {
    let goodbye = Body::Goodbye { reason: Goodbye::Unused, text: "bye".to_owned() };
    for whole in [encoded(&full()), encoded(&bare(goodbye))] {
        let (prefix, body) = if whole[0] & 0x80 == 0 { (1, &whole[1..]) } else { (2, &whole[2..]) };
        assert_eq!(body.len(), whole.len() - prefix);
        for cut in 0..body.len() {
            let mut bytes = vec![(cut & 0x7f) as u8];
            if cut > 0x7f {
                bytes = vec![(cut & 0x7f) as u8 | 0x80, (cut >> 7) as u8];
            }
            bytes.extend_from_slice(&body[..cut]);
            let got = refused(&bytes);
            assert!(matches!(got, Err(FrameError::Truncated(_))), "cut at {cut}: {got:?} (W15)");
        }
    }
}

/// A frame of these bytes, with its length in front.
fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(body.len()).unwrap()];
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn bytes_that_are_no_frame_are_refused_with_the_reason() {
    use FrameError::*;
    let flags = |kind, flags| Err(UnknownFlags { kind, flags });
    let tag = |what, tag| Err(UnknownTag { what, tag });
    for (name, body, want) in [
        ("W15: nothing", &[][..], Err(Truncated("kind"))),
        ("W15: a kind only", &[4], Err(Truncated("flags"))),
        ("W15: no acknowledgement", &[4, 0], Err(Truncated("acknowledgement"))),
        ("W1: an overlong integer", &[4, 0, 0x80, 0], Err(BadVarint("acknowledgement"))),
        ("W16: kind 0 is reserved", &[0, 0, 0], Err(UnknownKind(0))),
        ("W16: kind 6 is not known", &[6, 0, 0], Err(UnknownKind(6))),
        ("W16: a flag that does not exist", &[4, 0x80, 0], flags(4, 0x80)),
        ("W16: a key flag on a cancel", &[3, 0x08, 0, 1], flags(3, 0x08)),
        ("W18: an answer both Err and Failed", &[2, 0x18, 0, 1], flags(2, 0x18)),
        ("W17: a call that breaks off", &[1, 0, 0, 1, 2, 0, 0, 0], Err(Truncated("method"))),
        (
            "W17: an origin that does not exist",
            &[1, 0x10, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1],
            tag("thread origin", 4),
        ),
        ("W19: bytes behind a cancel", &[3, 0, 0, 1, 9, 9], Err(TrailingBytes { bytes: 2 })),
        ("W20: bytes behind a control", &[4, 0, 0, 9], Err(TrailingBytes { bytes: 1 })),
        ("W21: bytes behind a goodbye", &[5, 0, 0, 1, 0, 9], Err(TrailingBytes { bytes: 1 })),
        ("W21: a reason that does not exist", &[5, 0, 0, 9, 0], tag("reason", 9)),
        ("W2: not UTF-8", &[5, 0, 0, 1, 2, 0xc3, 0x28], Err(BadText("reason"))),
        (
            "W2: a text past the limit",
            &[5, 0, 0, 1, 17],
            Err(TextTooLong { what: "reason", bytes: 17, bytes_max: 16 }),
        ),
        ("W2: a text past the end", &[5, 0, 0, 1, 16, b'x'], Err(Truncated("reason"))),
        ("W22: no references", &[4, 0x02, 0, 0], Err(EmptyTable("references"))),
        ("W22: a row that does not exist", &[4, 0x02, 0, 1, 6, 1], tag("reference", 6)),
        (
            "W26: one reference too many",
            &[4, 0x02, 0, 5],
            Err(TooMany { what: "references", count: 5, count_max: 4 }),
        ),
        (
            "W26: 2^35 references",
            &[4, 0x02, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
            Err(TooMany { what: "references", count: 1 << 35, count_max: 4 }),
        ),
        ("W26: more rows than bytes", &[4, 0x02, 0, 4, 3, 1], Err(Truncated("references"))),
        ("W38: no notices", &[4, 0x20, 0, 0], Err(EmptyTable("notices"))),
        ("W38: a notice that does not exist", &[4, 0x20, 0, 1, 7, 1], tag("notice", 7)),
        (
            "W26: one notice too many",
            &[4, 0x20, 0, 5],
            Err(TooMany { what: "notices", count: 5, count_max: 4 }),
        ),
        (
            "W17: a caller to be adopted by what it does not name by key",
            &[1, 0x40, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            Err(UnknownFlags { kind: 1, flags: 0x40 }),
        ),
        ("W23: no releases", &[4, 0x04, 0, 0], Err(EmptyTable("releases"))),
        (
            "W23: more releases than 32 bits count",
            &[4, 0x04, 0, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x10],
            Err(OutOfRange { what: "releases", value: 1 << 32 }),
        ),
        (
            "W26: one release too many",
            &[4, 0x04, 0, 5],
            Err(TooMany { what: "releases", count: 5, count_max: 4 }),
        ),
    ] {
        assert_eq!(refused(&framed(body)), want, "{name}");
    }
}

#[test]
fn a_description_past_a_limit_is_refused() {
    let described = |interfaces: usize, endpoints: usize| {
        let description = Description {
            index: 1,
            home: Some(2),
            object: 3,
            key: [4; 16],
            interfaces: vec![5; interfaces].into(),
            endpoints: vec!["x".to_owned(); endpoints],
            depth: 6,
        };
        let references = vec![Reference::Described(Box::new(description))];
        let references = references.into();
        refused(&encoded(&Frame { references, ..bare(Body::Control) }))
    };
    assert!(matches!(described(2, 2), Ok(Some(_))));
    for (got, what) in [(described(3, 2), "interfaces"), (described(2, 3), "endpoints")] {
        assert_eq!(got, Err(FrameError::TooMany { what, count: 3, count_max: 2 }), "W26");
    }
}

#[test]
fn a_length_past_the_limit_is_refused_before_the_frame_is_awaited() {
    let bytes_max = FRAME_BYTES_MAX;
    for (name, bytes, want) in [
        ("4 GiB", &[0x80, 0x80, 0x80, 0x80, 0x10][..], 1_u64 << 32),
        ("one past the limit", &[0x81, 0x80, 0x80, 0x08], u64::from(bytes_max) + 1),
    ] {
        assert_eq!(refused(bytes), Err(FrameError::TooLarge { bytes: want, bytes_max }), "{name}");
    }
    assert_eq!(refused(&[0x80, 0x80, 0x80, 0x08]), Ok(None), "at the limit (W15)");
    let endless = Err(FrameError::BadVarint("length"));
    assert_eq!(refused(&[0xff; 5]), endless, "a length that goes on (W15)");
    assert_eq!(refused(&[0x80, 0x00]), endless, "an overlong length (W1)");
}

#[test]
fn a_payload_that_is_no_failure_is_refused_with_the_reason() {
    use FrameError::*;
    for (name, payload, want) in [
        ("nothing", &[][..], Truncated("failure")),
        ("an unknown part", &[1, 0, 0x08, 0], UnknownTag { what: "failure's parts", tag: 8 }),
        ("no message", &[1, 0, 0], Truncated("failure")),
        ("a part that is missing", &[1, 0, 0x01, 0], Truncated("failure")),
        ("bytes at the end", &[1, 0, 0, 0, 9], TrailingBytes { bytes: 1 }),
        ("not UTF-8", &[1, 0, 0, 1, 0xff], BadText("failure")),
    ] {
        assert_eq!(Failure::decode(payload), Err(want), "{name} (W24)");
    }
}
