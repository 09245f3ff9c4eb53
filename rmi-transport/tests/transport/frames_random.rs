//! Any frame is read as it was written, and any bytes are read without harm.

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rmi_transport::{
    Body, Call, Description, Failure, Frame, FrameLimits, Goodbye, News, Notice, Origin, Outcome,
    Reference, Target, Thread, decode,
};

use crate::fixtures::encoded;

fn origin() -> impl Strategy<Value = Origin> {
    prop_oneof![Just(Origin::Sender), Just(Origin::Receiver), any::<u64>().prop_map(Origin::Other)]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        any::<u64>().prop_map(Target::Export),
        any::<(u64, [u8; 16])>().prop_map(|(index, key)| Target::Object { index, key }),
    ]
}

fn call() -> impl Strategy<Value = Body> {
    let thread = (origin(), any::<u64>()).prop_map(|(origin, number)| Thread { origin, number });
    (any::<u64>(), target(), any::<(u32, u32)>(), option::of(thread)).prop_map(
        |(call, target, (method, fingerprint), thread)| {
            Body::Call(Call { call, target, method, fingerprint, thread })
        },
    )
}

fn answer() -> impl Strategy<Value = Body> {
    let outcome = prop_oneof![Just(Outcome::Ok), Just(Outcome::Err), Just(Outcome::Failed)];
    (any::<u64>(), outcome).prop_map(|(call, outcome)| Body::Answer { call, outcome })
}

fn without_payload() -> impl Strategy<Value = Body> {
    let reason = prop_oneof![
        Just(Goodbye::ShuttingDown),
        Just(Goodbye::ProtocolViolation),
        Just(Goodbye::LimitReached),
        Just(Goodbye::Unused),
    ];
    prop_oneof![
        any::<u64>().prop_map(|call| Body::Cancel { call }),
        Just(Body::Control),
        (reason, "\\PC{0,40}").prop_map(|(reason, text)| Body::Goodbye { reason, text }),
    ]
}

fn description() -> impl Strategy<Value = Description> {
    (
        any::<(u64, Option<u64>, u64, [u8; 16], u8)>(),
        vec(any::<u64>(), 0..4),
        vec("\\PC{0,20}", 0..4),
    )
        .prop_map(|((index, home, object, key, depth), interfaces, endpoints)| {
            let (object, endpoints) = match home {
                Some(_) => (object, endpoints),
                None => (index, Vec::new()),
            };
            let interfaces = interfaces.into();
            Description { index, home, object, key, interfaces, endpoints, depth }
        })
}

fn reference() -> impl Strategy<Value = Reference> {
    prop_oneof![
        description().prop_map(|description| Reference::Described(Box::new(description))),
        any::<u64>().prop_map(|index| Reference::Known { index }),
        any::<u64>().prop_map(|index| Reference::Yours { index }),
        any::<(u64, [u8; 16])>().prop_map(|(index, key)| Reference::YoursByKey { index, key }),
    ]
}

fn notice() -> impl Strategy<Value = Notice> {
    let news = prop_oneof![Just(News::Reroot), Just(News::Confirm), Just(News::Leaving)];
    prop_oneof![
        any::<u64>().prop_map(|index| Notice::Adopted { index }),
        any::<(u64, [u8; 16])>().prop_map(|(index, key)| Notice::Adopt { index, key }),
        any::<u64>().prop_map(|index| Notice::Gone { index }),
        (any::<u64>(), news).prop_map(|(index, news)| Notice::Path { index, news }),
    ]
}

/// Notices of a frame; sometimes the first asks for what the call is about.
fn notices(body: &Body, by_flag: bool, mut notices: Vec<Notice>) -> Vec<Notice> {
    if let (true, Body::Call(Call { target: Target::Object { index, key }, .. })) = (by_flag, body)
    {
        notices.insert(0, Notice::Adopt { index: *index, key: *key });
    }
    notices
}

fn frame() -> impl Strategy<Value = Frame> {
    let body = prop_oneof![
        (call(), vec(any::<u8>(), 0..300)),
        (answer(), vec(any::<u8>(), 0..300)),
        (without_payload(), Just(Vec::new())),
    ];
    let tables = (
        vec(reference(), 0..6),
        any::<bool>(),
        vec(notice(), 0..6),
        vec(any::<(u64, u32)>(), 0..6),
    );
    (any::<(u64, bool)>(), body, tables).prop_map(
        |((ack, wants_ack), (body, payload), (references, by_flag, rows, releases))| Frame {
            ack,
            wants_ack,
            notices: notices(&body, by_flag, rows),
            body,
            references: references.into(),
            releases,
            payload: Bytes::from(payload),
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    let text = || option::of("\\PC{0,20}");
    (any::<(u8, u8)>(), "\\PC{0,20}", (text(), text(), text())).prop_map(
        |((kind, executed), message, (interface, method, object))| Failure {
            kind,
            executed,
            message,
            interface,
            method,
            object,
        },
    )
}

/// What a frame's lists have allocated, as far as it can be seen from outside.
fn bytes_allocated(frame: &Frame) -> usize {
    let described = |reference: &Reference| match reference {
        Reference::Described(description) => {
            size_of::<Description>()
                + description.interfaces.capacity() * 8
                + description.endpoints.capacity() * size_of::<String>()
                + description.endpoints.iter().map(String::capacity).sum::<usize>()
        }
        Reference::Known { .. } | Reference::Yours { .. } | Reference::YoursByKey { .. } => 0,
    };
    frame.references.capacity() * size_of::<Reference>()
        + frame.references.iter().map(described).sum::<usize>()
        + frame.notices.capacity() * size_of::<Notice>()
        + frame.releases.capacity() * size_of::<(u64, u32)>()
}

proptest! {
    #[test]
    fn a_frame_is_read_as_it_was_written(frames in vec(frame(), 1..4)) {
        let bytes: Vec<u8> = frames.iter().flat_map(encoded).collect();
        let mut buffer = BytesMut::from(&bytes[..]);
        for frame in frames {
            prop_assert_eq!(decode(&mut buffer, &FrameLimits::default()), Ok(Some(frame)));
        }
        prop_assert!(buffer.is_empty());
    }

    #[test]
    fn a_failure_is_read_as_it_was_written(failure in failure()) {
        let mut payload = Vec::new();
        failure.encode(&mut payload);
        prop_assert_eq!(Failure::decode(&payload), Ok(failure));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..200)) {
        read_without_harm(&bytes)?;
        let _ = Failure::decode(&bytes);
    }

    #[test]
    fn a_frame_with_any_change_is_read_without_harm(
        frame in frame(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = encoded(&frame);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        read_without_harm(&bytes)?;
    }
}

/// Reads frames until there are none: it takes no more memory than a small multiple of the bytes
/// that are there (W26), and what was read is written the same again (W1: one form each).
fn read_without_harm(bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut buffer = BytesMut::from(bytes);
    loop {
        let before = bytes.len() - buffer.len();
        let Ok(Some(frame)) = decode(&mut buffer, &FrameLimits::default()) else { return Ok(()) };
        let after = bytes.len() - buffer.len();
        prop_assert!(bytes_allocated(&frame) <= 32 * (after - before));
        prop_assert_eq!(encoded(&frame), &bytes[before..after]);
    }
}
