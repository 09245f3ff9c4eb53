//! The ledger of a session: meanings, releases, pins.

use rmi_gc::{ExportIndex, FrameNumber, Ledger, NodeId, ObjectId, ObjectIndex, PeerMisbehaved};

const HOME: NodeId = NodeId(0xa);
const X: ExportIndex = ExportIndex(1);
const Y: ExportIndex = ExportIndex(2);
const Z: ExportIndex = ExportIndex(3);

fn object(n: u64) -> ObjectId {
    ObjectId { home: HOME, index: ObjectIndex(n) }
}

/// A ledger that was described object 1 as `X`.
fn ledger() -> Ledger<&'static str> {
    let mut ledger = Ledger::new();
    ledger.described(X, object(1), "first").expect("the index is new");
    ledger
}

fn take(ledger: &mut Ledger<&'static str>, frame: u64, max: usize) -> Vec<(ExportIndex, u32)> {
    let mut taken = Vec::new();
    ledger.take_releases(FrameNumber(frame), max, |index, count| taken.push((index, count)));
    taken
}

fn acknowledge(ledger: &mut Ledger<&'static str>, up_to: u64) -> Vec<(ObjectId, u32)> {
    let mut unpinned = Vec::new();
    ledger.acknowledged(FrameNumber(up_to), |object, count| unpinned.push((object, count)));
    unpinned
}

#[test]
fn an_index_means_what_it_was_described_as() {
    let mut ledger = ledger();
    assert_eq!(ledger.known(X), Ok((object(1), "first")));
    assert_eq!(ledger.described(X, object(1), "anew"), Ok(()));
    assert_eq!(ledger.known(X), Ok((object(1), "anew")), "the last description counts");
}

#[test]
fn an_index_that_means_nothing_or_another_is_a_violation() {
    let mut ledger = ledger();
    let before = ledger.clone();
    assert_eq!(ledger.known(Y), Err(PeerMisbehaved::UnknownIndex(Y)));
    let (means, described) = (object(1), object(2));
    let want = PeerMisbehaved::IndexMeansAnother { index: X, means, described };
    assert_eq!(ledger.described(X, object(2), "second"), Err(want));
    assert_eq!(ledger, before, "nothing was counted");
}

#[test]
fn a_meaning_outlives_its_releases_until_they_are_acknowledged() {
    let mut ledger = ledger();
    ledger.owe(X, 1);
    assert_eq!(take(&mut ledger, 4, 9), [(X, 1)]);
    assert!(!ledger.owes() && ledger.awaits_acknowledgement());
    acknowledge(&mut ledger, 3);
    assert_eq!(ledger.remembered(), 1, "frame 4 is not acknowledged");
    acknowledge(&mut ledger, 4);
    assert_eq!(ledger.known(X), Err(PeerMisbehaved::UnknownIndex(X)));
    assert!(ledger.is_empty());
}

#[test]
fn a_meaning_stays_while_references_are_not_released() {
    let mut ledger = ledger();
    let _ = ledger.known(X).expect("it was described");
    ledger.owe(X, 1);
    assert_eq!(take(&mut ledger, 1, 9), [(X, 1)]);
    assert!(!ledger.awaits_acknowledgement(), "another reference is held");
    acknowledge(&mut ledger, 1);
    assert_eq!(ledger.remembered(), 1);
}

#[test]
fn a_reference_that_crosses_the_last_release_brings_its_meaning_back_to_life() {
    let mut ledger = ledger();
    ledger.owe(X, 1);
    assert_eq!(take(&mut ledger, 1, 9), [(X, 1)]);
    assert_eq!(ledger.known(X), Ok((object(1), "first")));
    acknowledge(&mut ledger, 1);
    assert_eq!(ledger.remembered(), 1, "the crossing reference is held");

    // Released again, on a later frame: it is that frame which counts.
    ledger.owe(X, 1);
    assert_eq!(take(&mut ledger, 2, 9), [(X, 1)]);
    acknowledge(&mut ledger, 1);
    assert_eq!(ledger.remembered(), 1);
    acknowledge(&mut ledger, 2);
    assert!(ledger.is_empty());
}

#[test]
fn an_acknowledgement_of_a_first_last_release_does_not_forget_what_a_second_still_needs() {
    let mut ledger = ledger();
    for frame in 1..=2 {
        ledger.owe(X, 1);
        assert_eq!(take(&mut ledger, frame, 9), [(X, 1)]);
        if frame == 1 {
            let _ = ledger.known(X).expect("frame 1 is not acknowledged");
        }
    }
    acknowledge(&mut ledger, 1);
    assert_eq!(ledger.remembered(), 1, "the peer may not know of the second release");
    acknowledge(&mut ledger, 2);
    assert!(ledger.is_empty());
}

#[test]
fn releases_merge_per_index() {
    let mut ledger = ledger();
    ledger.described(Y, object(2), "second").expect("the index is new");
    let _ = ledger.known(X).expect("it was described");
    for index in [X, Y, X] {
        ledger.owe(index, 1);
    }
    assert_eq!(ledger.owed_indices(), 2);
    assert_eq!(ledger.owed().collect::<Vec<_>>(), [(X, 2), (Y, 1)]);
    assert_eq!(take(&mut ledger, 1, 9), [(X, 2), (Y, 1)]);
    assert!(!ledger.owes());
}

#[test]
fn releases_that_find_no_room_come_first_on_the_next_frame() {
    let mut ledger = ledger();
    for (index, n) in [(Y, 2), (Z, 3)] {
        ledger.described(index, object(n), "another").expect("the index is new");
    }
    let _ = ledger.known(X).expect("it was described");
    for index in [X, Y, Z] {
        ledger.owe(index, 1);
    }
    assert_eq!(take(&mut ledger, 1, 0), []);
    assert_eq!(take(&mut ledger, 1, 2), [(X, 1), (Y, 1)]);
    ledger.owe(X, 1);
    assert_eq!(take(&mut ledger, 2, 1), [(Z, 1)], "before one that is owed only since");
    assert_eq!(take(&mut ledger, 3, 1), [(X, 1)]);
}

#[test]
fn pins_go_with_their_frames() {
    let mut ledger = Ledger::new();
    for (frame, n) in [(1, 1), (2, 1), (2, 2), (3, 1)] {
        ledger.pinned(FrameNumber(frame), object(n));
    }
    assert_eq!(acknowledge(&mut ledger, 0), []);
    assert_eq!(acknowledge(&mut ledger, 2), [(object(1), 2), (object(2), 1)]);
    assert_eq!(acknowledge(&mut ledger, 2), [], "an acknowledgement may come twice");
    assert!(ledger.awaits_acknowledgement());
    assert_eq!(acknowledge(&mut ledger, 9), [(object(1), 1)]);
    assert!(ledger.is_empty());
}

#[test]
fn a_frame_that_was_rolled_back_pins_nothing() {
    let mut ledger = Ledger::new();
    ledger.pinned(FrameNumber(1), object(1));
    ledger.pinned(FrameNumber(2), object(1));
    ledger.pinned(FrameNumber(2), object(2));
    ledger.unpin_rolled_back(FrameNumber(2));
    assert_eq!(acknowledge(&mut ledger, 2), [(object(1), 1)]);
    ledger.unpin_rolled_back(FrameNumber(2));
    assert!(ledger.is_empty(), "a frame without pins may be rolled back too");
}
