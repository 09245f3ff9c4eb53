//! The rules of an entry, one by one, and what is no rule.

use rmi_gc::{
    Bridge, CannotForward, Entry, ExportIndex, Fate, Home, NodeId, ObjectId, ObjectIndex, Parent,
    PeerMisbehaved, RECEIVED_MAX, Release, Sent, Standing, State,
};

/// The home of the object.
const A: NodeId = NodeId(0xa);
const B: NodeId = NodeId(0xb);
const C: NodeId = NodeId(0xc);
const D: NodeId = NodeId(0xd);
const OBJECT: ObjectId = ObjectId { home: A, index: ObjectIndex(17) };
/// The indices of the object at `A` and at `B`, and at the node under test.
const AT_A: ExportIndex = ExportIndex(17);
const AT_B: ExportIndex = ExportIndex(2);
const HERE: ExportIndex = ExportIndex(3);

fn home() -> Entry {
    Entry::Home(Home::new())
}

fn bridge_from(from: NodeId, index: ExportIndex) -> Entry {
    Entry::Bridge(Bridge::new(OBJECT, from, index, 2))
}

fn from_home() -> Entry {
    bridge_from(A, AT_A)
}

/// A bridge below `B`, as seen by its own node.
fn from_b() -> Entry {
    bridge_from(B, AT_B)
}

fn suspect() -> Entry {
    let mut entry = from_b();
    assert_eq!(entry.peer_gone(OBJECT, B), Fate::Kept);
    entry
}

fn broken() -> Entry {
    let mut entry = from_home();
    assert_eq!(entry.peer_gone(OBJECT, A), Fate::Kept);
    entry
}

fn send(entry: &mut Entry, to: NodeId) -> Result<Sent, CannotForward> {
    entry.reference_sent(OBJECT, to, || HERE)
}

fn receive(
    entry: &mut Entry,
    from: NodeId,
    index: ExportIndex,
) -> Result<Option<Release>, PeerMisbehaved> {
    entry.reference_received(OBJECT, from, index).map(|orders| orders.release)
}

fn owed(to: NodeId, index: ExportIndex, count: u32) -> Release {
    Release { to, index, count }
}

fn gone(export: Option<ExportIndex>, release: Option<Release>) -> Fate {
    Fate::Gone { export, release }
}

#[test]
fn entries_are_small() {
    let sizes = [size_of::<Bridge>(), size_of::<Home>(), size_of::<Entry>()];
    println!("bytes of a bridge, of an object at home, of an entry: {sizes:?}");
    assert!(sizes[0] <= 112 && sizes[1] <= 64 && sizes[2] <= 112, "{sizes:?}");
}

#[test]
fn rule_1_a_child_is_told_what_the_object_is_once_while_it_is_counted() {
    for (name, mut entry, index, depth) in [
        ("home", home(), AT_A, 1),
        ("depth 1", from_home(), HERE, 2),
        ("depth 2", from_b(), HERE, 3),
    ] {
        let described = Ok(Sent::Described { index, depth });
        assert_eq!(send(&mut entry, C), described, "{name}: first");
        assert_eq!(send(&mut entry, C), Ok(Sent::Known { index }), "{name}: second");
        assert_eq!(send(&mut entry, D), described, "{name}: first to another");
        assert_eq!((entry.share_of(C), entry.share_of(D)), (2, 1), "{name}");
        assert_eq!(entry.released(C, 2), Ok(Fate::Kept), "{name}");
        assert!(!entry.was_given_to(C), "{name}");
        assert_eq!(send(&mut entry, C), described, "{name}: after all were released");
    }
}

#[test]
fn rule_1_an_export_index_is_drawn_once() {
    let mut entry = from_home();
    assert_eq!(send(&mut entry, C), Ok(Sent::Described { index: HERE, depth: 2 }));
    let drawn_again = || unreachable!("an entry keeps its number");
    let sent = entry.reference_sent(OBJECT, D, drawn_again);
    assert_eq!(sent, Ok(Sent::Described { index: HERE, depth: 2 }));
}

#[test]
fn rule_1_a_depth_beyond_counting_stays_there() {
    let mut entry = Entry::Bridge(Bridge::new(OBJECT, B, AT_B, u8::MAX));
    assert_eq!(send(&mut entry, C), Ok(Sent::Described { index: HERE, depth: u8::MAX }));
}

#[test]
fn rule_1_a_roll_back_takes_back_its_own_reference_and_nothing_else() {
    for (name, mut entry, to) in [
        ("home to a child", home(), C),
        ("bridge to a child", from_home(), C),
        ("bridge to its parent", from_b(), B),
        ("bridge to the home by key", from_b(), A),
    ] {
        for already in 0..2 {
            for _ in 0..already {
                let _ = send(&mut entry, to).expect("it may be passed on");
            }
            let mut sending = entry.clone();
            let sent = send(&mut sending, to).expect("it may be passed on");
            assert_eq!(sending.send_rolled_back(to, sent), Fate::Kept, "{name}");
            // A number that was drawn stays drawn.
            assert_eq!(sending.view(), entry.view(), "{name}, after {already} others");
        }
    }
}

#[test]
fn rule_1_a_roll_back_may_be_the_end_of_an_entry() {
    let mut entry = from_b();
    let sent = send(&mut entry, C).expect("it may be passed on");
    assert_eq!(entry.handle_dropped(), Fate::Kept);
    assert_eq!(entry.send_rolled_back(C, sent), gone(Some(HERE), Some(owed(B, AT_B, 1))));
}

#[test]
fn rule_1_an_orphan_passes_nothing_on() {
    for (entry, error) in [(suspect(), CannotForward::Suspect), (broken(), CannotForward::Broken)] {
        for to in [A, B, C] {
            let mut sending = entry.clone();
            assert_eq!(send(&mut sending, to), Err(error), "to {to}");
            assert_eq!(sending, entry, "{error:?} counts nothing");
        }
    }
}

#[test]
fn rule_2_a_parent_and_a_home_are_named_their_own_and_not_counted() {
    for (name, mut entry, to, want, pins) in [
        ("the home is the parent", from_home(), A, Sent::Yours { index: AT_A }, 0),
        ("the parent is not the home", from_b(), B, Sent::Yours { index: AT_B }, 0),
        ("the home is not the parent", from_b(), A, Sent::YoursByKey, 1),
    ] {
        assert_eq!(send(&mut entry, to), Ok(want), "{name}");
        let view = entry.view();
        assert!(view.children.is_empty(), "{name}");
        assert_eq!(view.pins.get(&to).copied().unwrap_or(0), pins, "{name}");
    }
}

#[test]
fn rule_2_pins_keep_an_entry_until_their_frames_are_acknowledged() {
    let mut entry = from_b();
    for _ in 0..3 {
        assert_eq!(send(&mut entry, A), Ok(Sent::YoursByKey));
    }
    assert_eq!(entry.handle_dropped(), Fate::Kept);
    assert!(entry.is_kept());
    assert_eq!(entry.view().state, State::Counting, "what has no children is no zombie");
    assert_eq!(entry.unpinned(A, 2), Fate::Kept);
    assert_eq!(entry.unpinned(A, 1), gone(None, Some(owed(B, AT_B, 1))));
}

#[test]
fn rule_3_a_first_reference_makes_a_bridge_below_its_sender() {
    for (name, from, said, depth) in [
        ("the home is one hop away, whatever it says", A, 9, 1),
        ("another is not the home, whatever it says", B, 0, 2),
        ("another", B, 5, 5),
    ] {
        let entry = Entry::Bridge(Bridge::new(OBJECT, from, AT_B, said));
        let view = entry.view();
        assert_eq!(view.parent, Some(Parent { peer: from, index: AT_B, received: 1 }), "{name}");
        assert_eq!((view.local, view.depth), (1, depth), "{name}");
        assert_eq!((view.standing, view.state), (Standing::Confirmed, State::Counting), "{name}");
    }
}

#[test]
fn rule_3_a_known_object_keeps_one_parent() {
    let parent = |peer, index, received| Some(Parent { peer, index, received });
    for (name, mut entry, (from, index), owes, new_parent, standing) in [
        ("from the parent", from_b(), (B, AT_B), None, parent(B, AT_B, 2), Standing::Confirmed),
        (
            "from another",
            from_b(),
            (C, ExportIndex(5)),
            Some(owed(C, ExportIndex(5), 1)),
            parent(B, AT_B, 1),
            Standing::Confirmed,
        ),
        (
            "from the home",
            from_b(),
            (A, AT_A),
            Some(owed(B, AT_B, 1)),
            parent(A, AT_A, 1),
            Standing::Confirmed,
        ),
        (
            "from another, to a suspect",
            suspect(),
            (C, ExportIndex(5)),
            Some(owed(C, ExportIndex(5), 1)),
            None,
            Standing::Suspect,
        ),
        (
            "from the old parent, to a suspect",
            suspect(),
            (B, AT_B),
            Some(owed(B, AT_B, 1)),
            None,
            Standing::Suspect,
        ),
        (
            "from the home, to a suspect",
            suspect(),
            (A, AT_A),
            None,
            parent(A, AT_A, 1),
            Standing::Confirmed,
        ),
        (
            "from another, to a broken one",
            broken(),
            (B, AT_B),
            Some(owed(B, AT_B, 1)),
            None,
            Standing::Broken,
        ),
        (
            "from the home, to a broken one",
            broken(),
            (A, AT_A),
            None,
            parent(A, AT_A, 1),
            Standing::Confirmed,
        ),
    ] {
        assert_eq!(receive(&mut entry, from, index), Ok(owes), "{name}");
        assert_eq!(entry.parent(), new_parent, "{name}");
        assert_eq!(entry.standing(), standing, "{name}");
        assert_eq!(entry.local_handles(), 2, "{name}");
        assert_eq!(
            entry.view().depth,
            if from == A { 1 } else { 2 }.min(entry.view().depth),
            "{name}"
        );
    }
}

#[test]
fn rule_3_what_a_parent_sends_without_end_is_given_back_in_between() {
    let mut entry = from_b();
    for received in 2..=RECEIVED_MAX {
        assert_eq!(receive(&mut entry, B, AT_B), Ok(None), "{received}");
        assert_eq!(entry.handle_dropped(), Fate::Kept);
    }
    let rest = Some(owed(B, AT_B, RECEIVED_MAX));
    assert_eq!(receive(&mut entry, B, AT_B), Ok(rest));
    assert_eq!(entry.parent(), Some(Parent { peer: B, index: AT_B, received: 1 }));
    assert_eq!(receive(&mut entry, B, AT_B), Ok(None));
}

#[test]
fn rule_3_a_wrong_name_is_a_violation_that_changes_nothing() {
    let two = |named| PeerMisbehaved::TwoIndicesForOne { object: OBJECT, known: AT_B, named };
    for (name, entry, from, index, want) in [
        ("our own object", home(), B, AT_B, PeerMisbehaved::DescribedOurOwn(OBJECT)),
        ("another index of the parent", from_b(), B, ExportIndex(9), two(ExportIndex(9))),
    ] {
        let mut receiving = entry.clone();
        assert_eq!(receive(&mut receiving, from, index), Err(want), "{name}");
        assert_eq!(receiving, entry, "{name}");
    }
}

#[test]
fn rule_4_the_last_handle_releases_all_that_was_received() {
    let mut twice = from_b();
    assert_eq!(receive(&mut twice, B, AT_B), Ok(None));
    assert_eq!(twice.handle_dropped(), Fate::Kept);
    for (name, mut entry, want) in [
        ("home", home(), gone(None, None)),
        ("bridge", from_b(), gone(None, Some(owed(B, AT_B, 1)))),
        ("bridge that received two", twice, gone(None, Some(owed(B, AT_B, 2)))),
        ("suspect", suspect(), gone(None, None)),
        ("broken", broken(), gone(None, None)),
    ] {
        entry.handle_acquired();
        assert_eq!(entry.handle_dropped(), Fate::Kept, "{name}");
        assert_eq!(entry.handle_dropped(), want, "{name}");
        assert!(!entry.is_kept(), "{name}");
    }
}

#[test]
fn rule_5_a_zombie_goes_with_its_last_child() {
    for (name, mut entry, want, zombie) in [
        ("home", home(), gone(None, None), State::Counting),
        ("bridge", from_home(), gone(Some(HERE), Some(owed(A, AT_A, 1))), State::Zombie),
    ] {
        for to in [B, C, C] {
            let _ = send(&mut entry, to).expect("it may be passed on");
        }
        assert_eq!(entry.handle_dropped(), Fate::Kept, "{name}");
        assert_eq!(entry.view().state, zombie, "{name}");
        assert_eq!(entry.released(C, 1), Ok(Fate::Kept), "{name}");
        assert_eq!(entry.released(B, 1), Ok(Fate::Kept), "{name}");
        assert_eq!(entry.released(C, 1), Ok(want), "{name}");
    }
}

#[test]
fn rule_5_a_release_of_what_was_not_sent_is_a_violation_that_changes_nothing() {
    for (name, by, count, want) in [
        ("one too many", C, 3, PeerMisbehaved::ReleasedTooMany),
        ("far too many", C, u32::MAX, PeerMisbehaved::ReleasedTooMany),
        ("of nothing", C, 0, PeerMisbehaved::ReleasedNothing),
        ("by a node that has none", D, 1, PeerMisbehaved::ReleasedUnshared),
        ("by the parent", B, 1, PeerMisbehaved::ReleasedUnshared),
    ] {
        for mut entry in [home(), from_b()] {
            let _ = (send(&mut entry, C), send(&mut entry, C));
            let before = entry.clone();
            assert_eq!(entry.released(by, count), Err(want), "{name}");
            assert_eq!(entry, before, "{name}");
        }
    }
}

#[test]
fn rule_11_a_bridge_that_relays_is_no_zombie() {
    let mut entry = from_home();
    assert!(entry.first_passing_on() && !entry.is_relaying());
    entry.relay_built();
    assert!(!entry.first_passing_on() && entry.is_relaying());
    assert_eq!(entry.view().state, State::Relaying);
    let _ = send(&mut entry, C).expect("it may be passed on");
    assert_eq!(entry.handle_dropped(), Fate::Kept);
    assert_eq!(entry.view().state, State::Relaying);
    assert!(!home().first_passing_on() && !home().is_relaying());
}

#[test]
fn a_peer_that_is_given_up_holds_nothing_any_more() {
    for (name, mut entry, peer, parent, standing) in [
        ("a child", from_b(), C, Some(B), Standing::Confirmed),
        ("the home, not the parent", from_b(), A, Some(B), Standing::Confirmed),
        ("the parent, not the home", from_b(), B, None, Standing::Suspect),
        ("the home, the parent", from_home(), A, None, Standing::Broken),
        ("a stranger", from_b(), D, Some(B), Standing::Confirmed),
    ] {
        let _ = (send(&mut entry, C), send(&mut entry, A));
        assert_eq!(entry.peer_gone(OBJECT, peer), Fate::Kept, "{name}");
        let view = entry.view();
        assert_eq!(view.parent.map(|parent| parent.peer), parent, "{name}");
        assert_eq!(view.standing, standing, "{name}");
        assert!(!view.children.contains_key(&peer) && !view.pins.contains_key(&peer), "{name}");
    }
}

#[test]
fn a_peer_that_is_given_up_may_be_the_last_to_keep_an_entry() {
    for (name, mut entry, want) in [
        ("home", home(), gone(None, None)),
        ("bridge", from_b(), gone(Some(HERE), Some(owed(B, AT_B, 1)))),
    ] {
        let _ = send(&mut entry, C).expect("it may be passed on");
        assert_eq!(entry.handle_dropped(), Fate::Kept, "{name}");
        assert_eq!(entry.peer_gone(OBJECT, C), want, "{name}");
    }
}
