//! Random histories of one entry, and of one session, against plain counting.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rmi_gc::{
    Bridge, Entry, ExportIndex, Fate, FrameNumber, Ledger, NodeId, ObjectId, ObjectIndex, Sent,
};

const HOME: NodeId = NodeId(0);
const US: NodeId = NodeId(9);
const OBJECT: ObjectId = ObjectId { home: HOME, index: ObjectIndex(1) };

#[derive(Clone, Debug)]
enum Event {
    Acquired,
    Dropped,
    Received(NodeId),
    Sent(NodeId),
    RolledBack(NodeId),
    Unpinned(NodeId),
    Released(NodeId),
    Gone(NodeId),
}

fn event() -> impl Strategy<Value = Event> {
    let peer = (0..4_u64).prop_map(NodeId);
    prop_oneof![
        2 => Just(Event::Acquired),
        4 => Just(Event::Dropped),
        3 => peer.clone().prop_map(Event::Received),
        4 => peer.clone().prop_map(Event::Sent),
        1 => peer.clone().prop_map(Event::RolledBack),
        2 => peer.clone().prop_map(Event::Unpinned),
        3 => peer.clone().prop_map(Event::Released),
        1 => peer.prop_map(Event::Gone),
    ]
}

/// What plain counting says about a bridge.
#[derive(Default)]
struct Books {
    local: u32,
    shares: BTreeMap<NodeId, u32>,
    pins: BTreeMap<NodeId, u32>,
    /// References received and not yet released, by sender.
    received: BTreeMap<NodeId, u32>,
}

impl Books {
    fn keeps(&self) -> bool {
        let held = |counts: &BTreeMap<NodeId, u32>| counts.values().any(|count| *count > 0);
        self.local > 0 || held(&self.shares) || held(&self.pins)
    }

    fn owe(&mut self, to: NodeId, count: u32) {
        let received = self.received.entry(to).or_default();
        assert!(*received >= count, "more was released to {to} than came from it");
        *received -= count;
    }
}

/// Every node's index for the object is its own number.
fn index_at(node: NodeId) -> ExportIndex {
    ExportIndex(node.0 + 1)
}

/// Takes one step in both; `None` once the entry is gone.
fn step(entry: &mut Entry, books: &mut Books, event: &Event) -> Option<()> {
    let fate = match *event {
        Event::Acquired => {
            entry.handle_acquired();
            books.local += 1;
            Fate::Kept
        }
        Event::Dropped if books.local > 0 => {
            books.local -= 1;
            entry.handle_dropped()
        }
        Event::Received(from) => {
            *books.received.entry(from).or_default() += 1;
            books.local += 1;
            let owed = entry.reference_received(OBJECT, from, index_at(from));
            if let Some(release) = owed.expect("the sender behaves").release {
                assert_eq!(release.index, index_at(release.to));
                books.owe(release.to, release.count);
            }
            Fate::Kept
        }
        Event::Sent(to) | Event::RolledBack(to) if books.local > 0 => {
            let Ok(sent) = entry.reference_sent(OBJECT, to, || index_at(US)) else {
                return Some(());
            };
            if matches!(event, Event::RolledBack(_)) {
                entry.send_rolled_back(to, sent)
            } else {
                match sent {
                    Sent::Described { .. } => {
                        assert_eq!(books.shares.insert(to, 1).unwrap_or(0), 0)
                    }
                    Sent::Known { .. } => *books.shares.get_mut(&to).expect("it knows") += 1,
                    Sent::Yours { index } => assert_eq!(index, index_at(to)),
                    Sent::YoursByKey => *books.pins.entry(to).or_default() += 1,
                }
                Fate::Kept
            }
        }
        Event::Unpinned(by) if books.pins.get(&by).is_some_and(|pins| *pins > 0) => {
            *books.pins.get_mut(&by).expect("there are some") -= 1;
            entry.unpinned(by, 1)
        }
        Event::Released(by) => {
            let share = books.shares.entry(by).or_default();
            let released = entry.released(by, 1);
            assert_eq!(released.is_ok(), *share > 0, "a release needs a share");
            *share = share.saturating_sub(1);
            released.unwrap_or(Fate::Kept)
        }
        Event::Gone(peer) => {
            books.shares.remove(&peer);
            books.pins.remove(&peer);
            books.received.remove(&peer);
            entry.peer_gone(OBJECT, peer)
        }
        Event::Dropped | Event::Sent(_) | Event::RolledBack(_) | Event::Unpinned(_) => Fate::Kept,
    };
    assert_eq!(entry.is_kept(), books.keeps());
    match fate {
        Fate::Kept => assert!(books.keeps(), "an entry that nothing keeps says so"),
        Fate::Gone { release, .. } => {
            assert!(!books.keeps(), "an entry that something keeps is gone");
            if let Some(release) = release {
                books.owe(release.to, release.count);
            }
            assert!(books.received.values().all(|count| *count == 0), "all is given back");
            return None;
        }
    }
    Some(())
}

proptest! {
    #[test]
    fn an_entry_lives_while_counting_says_so_and_gives_all_back(
        from in (0..4_u64).prop_map(NodeId),
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut entry = Entry::Bridge(Bridge::new(OBJECT, from, index_at(from), 2));
        let mut books = Books { local: 1, ..Books::default() };
        books.received.insert(from, 1);
        let _ = events.iter().try_for_each(|event| step(&mut entry, &mut books, event));
    }

    /// Both ends of a session: what the sender would call known, the receiver knows, however late it hears.
    #[test]
    fn a_session_forgets_no_meaning_too_early_and_none_for_ever(
        steps in prop::collection::vec((0..4_u8, 1..4_u64), 0..120),
    ) {
        let mut session = Session::new();
        for (kind, index) in steps {
            match kind {
                0 => session.send(ExportIndex(index)),
                1 => session.release(ExportIndex(index)),
                2 => session.account_one_frame(),
                _ => session.hear_acknowledgement(),
            }
        }
        session.release_everything();
        prop_assert!(session.ledger.is_empty());
        prop_assert!(session.shares.values().all(|count| *count == 0));
    }
}

/// A sender's shares, a receiver's ledger, and the releases on their way back. References arrive at once.
struct Session {
    shares: BTreeMap<ExportIndex, u32>,
    held: BTreeMap<ExportIndex, u32>,
    ledger: Ledger<()>,
    frames: Vec<Vec<(ExportIndex, u32)>>,
    accounted: u64,
}

impl Session {
    fn new() -> Self {
        Self {
            shares: BTreeMap::new(),
            held: BTreeMap::new(),
            ledger: Ledger::new(),
            frames: Vec::new(),
            accounted: 0,
        }
    }

    fn send(&mut self, index: ExportIndex) {
        let object = ObjectId { home: HOME, index: ObjectIndex(index.0) };
        let share = self.shares.entry(index).or_default();
        *share += 1;
        if *share == 1 {
            self.ledger.described(index, object, ()).expect("it means the same");
        } else {
            assert_eq!(self.ledger.known(index), Ok((object, ())));
        }
        *self.held.entry(index).or_default() += 1;
    }

    fn release(&mut self, index: ExportIndex) {
        let held = self.held.remove(&index).unwrap_or(0);
        if held > 0 {
            self.ledger.owe(index, held);
            let (mut frame, number) = (Vec::new(), self.frames.len() as u64 + 1);
            self.ledger.take_releases(FrameNumber(number), usize::MAX, |index, count| {
                frame.push((index, count));
            });
            self.frames.push(frame);
        }
    }

    fn account_one_frame(&mut self) {
        let next = usize::try_from(self.accounted).expect("few frames");
        if let Some(frame) = self.frames.get(next) {
            for (index, count) in frame {
                *self.shares.get_mut(index).expect("it was sent") -= count;
            }
            self.accounted += 1;
        }
    }

    fn hear_acknowledgement(&mut self) {
        let accounted = FrameNumber(self.accounted);
        self.ledger.acknowledged(accounted, |_, _| unreachable!("nothing was pinned"));
    }

    fn release_everything(&mut self) {
        let held: Vec<_> = self.held.keys().copied().collect();
        held.into_iter().for_each(|index| self.release(index));
        (0..self.frames.len()).for_each(|_| self.account_one_frame());
        self.hear_acknowledgement();
    }
}
