//! S5: what a peer may not say, and that saying it gains nothing.

use rmi_gc::{
    Collector, ExportIndex, Frame, FrameNumber, Millis, News, NodeId, Notice, ObjectId,
    ObjectIndex, PeerMisbehaved, WireReference, WireRelease,
};

/// The node under test, the peer that lies to it, and one that does not.
const US: NodeId = NodeId(0xa);
const LIAR: NodeId = NodeId(0xb);
const FRIEND: NodeId = NodeId(0xc);

/// Ours, given to the liar; ours, given to the friend; ours, given to nobody.
const GIVEN: ObjectId = ObjectId { home: US, index: ObjectIndex(1) };
const WITHHELD: ObjectId = ObjectId { home: US, index: ObjectIndex(2) };
const PRIVATE: ObjectId = ObjectId { home: US, index: ObjectIndex(3) };
/// Ours once.
const GONE: ObjectId = ObjectId { home: US, index: ObjectIndex(98) };
/// The liar's, received from it as its `x7` and passed on to the friend as our `x4`.
const THEIRS: ObjectId = ObjectId { home: LIAR, index: ObjectIndex(7) };
const THEIR_INDEX: ExportIndex = ExportIndex(7);
const RELAYED_INDEX: ExportIndex = ExportIndex(4);

fn node() -> Collector {
    let mut node = Collector::new(US);
    assert_eq!([node.export(), node.export(), node.export()], [GIVEN, WITHHELD, PRIVATE]);
    let described = WireReference::Described { index: THEIR_INDEX, object: THEIRS, depth: 1 };
    let effects = node.receive(LIAR, &frame(1, [described], [])).expect("it is no lie yet");
    assert_eq!(effects.arrived, [THEIRS]);
    for (to, object) in [(LIAR, GIVEN), (FRIEND, WITHHELD), (FRIEND, THEIRS)] {
        let draft = node.draft(to, &[object]).expect("it may be passed on");
        let _ = node.write(draft);
    }
    node
}

fn frame<const N: usize, const M: usize>(
    number: u64,
    references: [WireReference; N],
    releases: [(ExportIndex, u32); M],
) -> Frame {
    let releases = releases.map(|(index, count)| WireRelease { index, count });
    Frame {
        number: FrameNumber(number),
        ack: FrameNumber(0),
        references: references.into(),
        releases: releases.into(),
        ..Frame::default()
    }
}

#[test]
fn a_peer_may_say_what_it_was_sent() {
    for (name, saying) in [
        ("its own again", frame(2, [WireReference::Known { index: THEIR_INDEX }], [])),
        ("ours", frame(2, [WireReference::Yours { index: GIVEN.index.into() }], [])),
        ("ours by key", frame(2, [WireReference::YoursByKey { object: GIVEN }], [])),
        ("a release", frame(2, [], [(GIVEN.index.into(), 1)])),
    ] {
        assert!(node().receive(LIAR, &saying).is_ok(), "{name}");
    }
}

#[test]
fn a_peer_can_name_only_what_it_was_sent() {
    let yours = |object: ObjectId| WireReference::Yours { index: object.index.into() };
    let unknown = |index: u64| PeerMisbehaved::UnknownIndex(ExportIndex(index));
    let nowhere = ExportIndex(99);
    let elsewhere = ObjectId { home: FRIEND, index: ObjectIndex(1) };
    for (name, reference, want) in [
        ("what another was given", yours(WITHHELD), unknown(2)),
        ("what nobody was given", yours(PRIVATE), unknown(3)),
        (
            "a bridge that another was given",
            WireReference::Yours { index: RELAYED_INDEX },
            PeerMisbehaved::UnknownIndex(RELAYED_INDEX),
        ),
        ("what is not there", WireReference::Yours { index: nowhere }, unknown(99)),
        ("what it never described", WireReference::Known { index: nowhere }, unknown(99)),
        (
            "its index as another object",
            WireReference::Described { index: THEIR_INDEX, object: elsewhere, depth: 2 },
            PeerMisbehaved::IndexMeansAnother {
                index: THEIR_INDEX,
                means: THEIRS,
                described: elsewhere,
            },
        ),
        (
            "its object by another index",
            WireReference::Described { index: nowhere, object: THEIRS, depth: 1 },
            PeerMisbehaved::TwoIndicesForOne { object: THEIRS, known: THEIR_INDEX, named: nowhere },
        ),
        (
            "ours as its own",
            WireReference::Described { index: nowhere, object: GIVEN, depth: 1 },
            PeerMisbehaved::DescribedOurOwn(GIVEN),
        ),
        (
            "ours, that is not there, as its own",
            WireReference::Described { index: nowhere, object: GONE, depth: 1 },
            PeerMisbehaved::DescribedOurOwn(GONE),
        ),
        (
            "another's by key",
            WireReference::YoursByKey { object: elsewhere },
            PeerMisbehaved::NotOurs(elsewhere),
        ),
    ] {
        assert_eq!(node().receive(LIAR, &frame(2, [reference], [])), Err(want), "{name}");
    }
}

#[test]
fn a_peer_can_release_only_its_own() {
    for (name, index, count, want) in [
        ("another's", WITHHELD.index.into(), 1, PeerMisbehaved::UnknownIndex(ExportIndex(2))),
        ("nobody's", PRIVATE.index.into(), 1, PeerMisbehaved::UnknownIndex(ExportIndex(3))),
        ("a child's", RELAYED_INDEX, 1, PeerMisbehaved::UnknownIndex(RELAYED_INDEX)),
        ("more than its own", GIVEN.index.into(), 2, PeerMisbehaved::ReleasedTooMany),
        ("nothing", GIVEN.index.into(), 0, PeerMisbehaved::ReleasedNothing),
    ] {
        assert_eq!(node().receive(LIAR, &frame(2, [], [(index, count)])), Err(want), "{name}");
    }
}

#[test]
fn a_peer_can_answer_only_what_it_was_asked() {
    let asked_not = PeerMisbehaved::NotAsked(THEIRS);
    let elsewhere = ObjectId { home: FRIEND, index: ObjectIndex(1) };
    for (name, adopted, notice, want) in [
        ("adopts unasked", Some(THEIRS), None, asked_not),
        ("adopts for another", Some(elsewhere), None, PeerMisbehaved::NotAsked(elsewhere)),
        ("is gone unasked", None, Some(Notice::Gone { object: THEIRS }), asked_not),
        (
            "says that another's is gone",
            None,
            Some(Notice::Gone { object: elsewhere }),
            PeerMisbehaved::NotAsked(elsewhere),
        ),
        (
            "wants to be adopted by one who is not the home",
            None,
            Some(Notice::Adopt { object: elsewhere }),
            PeerMisbehaved::NotOurs(elsewhere),
        ),
    ] {
        let mut lie = frame(2, [], []);
        lie.adopted.extend(adopted);
        lie.notices.extend(notice);
        assert_eq!(node().receive(LIAR, &lie), Err(want), "{name}");
    }
}

#[test]
fn news_of_an_index_that_means_nothing_changes_nothing() {
    for (name, index) in [("unknown", ExportIndex(99)), ("of the home", THEIR_INDEX)] {
        let mut news = frame(2, [], []);
        news.notices.push(Notice::Path { index, news: News::Reroot });
        let (mut told, before) = (node(), node());
        assert!(told.receive(LIAR, &news).is_ok(), "{name}");
        assert_eq!(told.snapshot(), before.snapshot(), "{name}");
    }
}

#[test]
fn a_liar_that_is_given_up_costs_others_nothing() {
    let mut node = node();
    let lie = frame(2, [], [(GIVEN.index.into(), 2)]);
    assert_eq!(node.receive(LIAR, &lie), Err(PeerMisbehaved::ReleasedTooMany));
    let effects = node.peer_gone(LIAR, Millis(0));
    assert!(effects.freed.is_empty(), "local handles keep all");
    let share = node.entry(WITHHELD).map(|entry| entry.share_of(FRIEND));
    assert_eq!(share, Some(1));
    assert!(node.ledger(LIAR).is_none(), "the next frame begins a new session");
}
