//! Small calls are small on the wire, and what is too large never gets there.

use bytes::Bytes;
use rmi_transport::frame::{
    ENDPOINTS_MAX, FRAME_BYTES_LEAST, INTERFACES_MAX, NOTICES_MAX, RELEASES_MAX, TEXT_BYTES_MAX,
};
use rmi_transport::{
    Body, Description, Failure, Frame, FrameBuffer, Goodbye, Head, Notice, Outcome, Reference,
    TooLarge,
};

use crate::fixtures::{bare, encoded, ping};

#[test]
fn a_ping_and_its_answer_are_small() {
    assert_eq!(encoded(&ping()).len(), 16);
    let answer = Frame { ack: 1, ..bare(Body::Answer { call: 1, outcome: Outcome::Ok }) };
    assert_eq!(encoded(&answer).len(), 5);
}

#[test]
fn a_frame_at_the_limit_is_written_and_one_past_it_leaves_no_trace() {
    let mut frames = FrameBuffer::with_bytes_max(100);
    let empty = encoded(&ping()).len() - 1;
    let filled = |bytes: usize| Frame { payload: vec![0; bytes - empty].into(), ..ping() };
    assert_eq!(filled(100).encode(&mut frames), Ok(101));
    let before = frames.as_slice().to_vec();
    let want = TooLarge { what: "bytes of a message", size: 101, size_max: 100 };
    assert_eq!(filled(101).encode(&mut frames), Err(want), "W25");
    assert_eq!(frames.as_slice(), before);
    assert_eq!(filled(100).encode(&mut frames), Ok(101));
    assert_eq!(frames.len(), 202);
}

#[test]
fn a_writer_that_is_dropped_leaves_no_trace() {
    let mut frames = FrameBuffer::new();
    ping().encode(&mut frames).unwrap();
    let before = frames.as_slice().to_vec();
    let mut writer = frames.begin(&Head { ack: 5, wants_ack: true, body: Body::Control });
    writer.reference(&Reference::Known { index: 1 });
    writer.release(2, 3);
    drop(writer);
    assert_eq!(frames.as_slice(), before);
    ping().encode(&mut frames).unwrap();
    assert_eq!(frames.as_slice(), before.repeat(2));
}

fn described(interfaces: u32, endpoints: u32, endpoint_bytes: u32) -> Result<usize, TooLarge> {
    let mut frames = FrameBuffer::with_bytes_max(u32::MAX);
    let mut writer = frames.begin(&Head { ack: 0, wants_ack: false, body: Body::Control });
    writer.reference(&Reference::Described(Box::new(Description {
        index: 1,
        home: Some(2),
        object: 3,
        key: [4; 16],
        interfaces: vec![5; interfaces as usize].into(),
        endpoints: vec!["x".repeat(endpoint_bytes as usize); endpoints as usize],
        depth: 6,
    })));
    writer.finish(&[])
}

#[test]
fn what_no_receiver_has_to_accept_is_not_sent() {
    assert!(described(INTERFACES_MAX, ENDPOINTS_MAX, TEXT_BYTES_MAX).is_ok());
    for (got, what, size_max) in [
        (described(INTERFACES_MAX + 1, 1, 1), "interfaces of an object", INTERFACES_MAX),
        (described(1, ENDPOINTS_MAX + 1, 1), "endpoints of a node", ENDPOINTS_MAX),
        (described(1, 1, TEXT_BYTES_MAX + 1), "bytes of an endpoint", TEXT_BYTES_MAX),
    ] {
        let size_max = u64::from(size_max);
        assert_eq!(got, Err(TooLarge { what, size: size_max + 1, size_max }), "W26");
    }
    let mut frames = FrameBuffer::with_bytes_max(u32::MAX);
    let head = Head { ack: 0, wants_ack: false, body: Body::Control };
    for (rows, fits) in [(NOTICES_MAX, true), (NOTICES_MAX + 1, false)] {
        let mut writer = frames.begin(&head);
        for _ in 0..rows {
            writer.notice(&Notice::Gone { index: 1 });
        }
        assert_eq!(writer.finish(&[]).is_ok(), fits, "{rows} notices (W26)");
    }
    for (rows, fits) in [(RELEASES_MAX, true), (RELEASES_MAX + 1, false)] {
        let mut writer = frames.begin(&head);
        for _ in 0..rows {
            writer.release(1, 1);
        }
        assert_eq!(writer.finish(&[]).is_ok(), fits, "{rows} releases (W26)");
    }
}

#[test]
fn texts_for_people_are_cut_so_that_they_always_fit() {
    let long = "ä".repeat(TEXT_BYTES_MAX as usize);
    let kept = "ä".repeat(TEXT_BYTES_MAX as usize / 2);
    let all = Some(long.clone());
    let failure = Failure {
        kind: 1,
        executed: 1,
        message: long.clone(),
        interface: all.clone(),
        method: all.clone(),
        object: all,
    };
    let mut payload = Vec::new();
    failure.encode(&mut payload);
    let read = Failure::decode(&payload).unwrap();
    assert_eq!((&read.message, read.object.as_ref()), (&kept, Some(&kept)), "W2");

    let mut frames = FrameBuffer::with_bytes_max(FRAME_BYTES_LEAST);
    let failed = bare(Body::Answer { call: u64::MAX, outcome: Outcome::Failed });
    let failed = Frame { payload: Bytes::from(payload), ack: u64::MAX, ..failed };
    assert!(failed.encode(&mut frames).is_ok(), "W8");
    let goodbye = Body::Goodbye { reason: Goodbye::LimitReached, text: long };
    assert!(bare(goodbye).encode(&mut frames).is_ok(), "W8");
}
