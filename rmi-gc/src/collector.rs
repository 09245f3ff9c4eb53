//! The entries and ledgers of one node, joined: facts in, effects out.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Bridge, CannotForward, Entry, EntrySnapshot, ExportIndex, Fate, Forwarding, Frame, FrameNumber,
    Home, Ledger, Millis, NodeId, ObjectId, ObjectIndex, PeerMisbehaved, Policy, Sent, Snapshot,
    Timings, Waiting, WireReference, WireRelease,
};

/// The collector of one node, over one table.
///
/// Every method is one step. A frame is written in two, as a runtime does it: [`draft`](Self::draft) counts and names
/// the references, [`write`](Self::write) lets the frame go. Between them the node may receive, drop and write to other
/// peers, but not to this one.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Collector {
    pub(crate) node: NodeId,
    pub(crate) entries: BTreeMap<ObjectId, Entry>,
    /// Bridges that were passed on, by the number under which they were.
    passed_on: BTreeMap<ExportIndex, ObjectId>,
    pub(crate) sessions: BTreeMap<NodeId, Session>,
    pub(crate) next_index: u64,
    /// Peers whose session was given up and not opened anew.
    pub(crate) given_up: BTreeSet<NodeId>,
    pub(crate) rules: Rules,
}

/// What a node was set up with.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Rules {
    /// Who counts.
    pub policy: Policy,
    /// As in [`Timings::depth_max`](crate::Timings::depth_max).
    pub depth_max: u8,
    /// As in [`Timings::grace`](crate::Timings::grace).
    pub grace: Millis,
    /// What is done wrong, in tests of the tests.
    #[cfg(feature = "mutants")]
    pub mutant: Option<crate::Mutant>,
}

impl Default for Rules {
    /// Those of the default policy and timings.
    fn default() -> Self {
        let Timings { depth_max, grace, .. } = Timings::default();
        Self {
            policy: Policy::default(),
            depth_max,
            grace,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }
}

/// What a step did besides changing the tables.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
#[must_use = "objects that are freed are to be dropped"]
pub struct Effects {
    /// Received references, in order; each is a local handle now.
    pub arrived: Vec<ObjectId>,
    /// Received references to own objects that are gone. Only a session that was lost in between gets them there.
    pub lost: Vec<ObjectId>,
    /// Own objects to drop.
    pub freed: Vec<ObjectId>,
    /// Objects for which sends may have waited, and what becomes of those.
    pub waiting: Vec<(ObjectId, Waiting)>,
}

impl Effects {
    pub(crate) fn absorb(&mut self, more: Self) {
        let Self { arrived, lost, freed, waiting } = more;
        self.arrived.extend(arrived);
        self.lost.extend(lost);
        self.freed.extend(freed);
        self.waiting.extend(waiting);
    }
}

/// A frame that was begun: its references are counted, and its message holds one local handle for each.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[must_use = "a draft is written, rolled back, or abandoned with its session"]
pub struct Draft {
    to: NodeId,
    frame: Frame,
    sent: Vec<(ObjectId, Sent)>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Session {
    /// What is remembered of a described object is its depth.
    pub(crate) ledger: Ledger<u8>,
    written: FrameNumber,
    received: FrameNumber,
    /// The last acknowledgement that was written.
    told: FrameNumber,
}

impl Collector {
    /// A node that shares nothing.
    pub fn new(node: NodeId) -> Self {
        Self {
            node,
            entries: BTreeMap::new(),
            passed_on: BTreeMap::new(),
            sessions: BTreeMap::new(),
            next_index: 1,
            given_up: BTreeSet::new(),
            rules: Rules::default(),
        }
    }

    /// The same, under other rules.
    pub fn with_rules(node: NodeId, rules: Rules) -> Self {
        Self { rules, ..Self::new(node) }
    }

    /// Shares a new object of this node; there is one local handle.
    pub fn export(&mut self) -> ObjectId {
        let index = fresh(&mut self.next_index);
        let id = ObjectId { home: self.node, index: ObjectIndex(index.0) };
        self.entries.insert(id, Entry::Home(Home::new()));
        id
    }

    /// A local handle is cloned.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn clone_handle(&mut self, object: ObjectId) {
        self.held(object).handle_acquired();
    }

    /// A local handle is dropped.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn drop_handle(&mut self, object: ObjectId) -> Effects {
        let fate = self.held(object).handle_dropped();
        let mut effects = Effects::default();
        self.settle(object, fate, &mut effects);
        effects
    }

    /// Begins a frame to `to` that carries references to `objects`.
    ///
    /// # Errors
    ///
    /// - [`CannotForward`]: one of them is an orphan. Nothing is changed.
    ///
    /// # Panics
    ///
    /// If one of them has no local handle.
    pub fn draft(&mut self, to: NodeId, objects: &[ObjectId]) -> Result<Draft, CannotForward> {
        let session = self.session(to);
        let frame = Frame {
            number: session.written.next(),
            ack: session.received,
            references: Vec::with_capacity(objects.len()),
            ..Frame::default()
        };
        let mut draft = Draft { to, frame, sent: Vec::with_capacity(objects.len()) };
        for &object in objects {
            match self.name(to, object) {
                Ok(sent) => draft.push(object, sent),
                Err(error) => {
                    let effects = self.roll_back(draft);
                    debug_assert!(effects.freed.is_empty(), "the caller holds its handles");
                    return Err(error);
                }
            }
            let by_key = matches!(draft.sent.last(), Some((_, Sent::YoursByKey)));
            #[cfg(feature = "mutants")]
            let by_key = by_key && self.pins(object);
            if by_key {
                self.session(to).ledger.pinned(draft.frame.number, object);
            }
        }
        Ok(draft)
    }

    /// Lets the frame go, with as many releases as are owed.
    pub fn write(&mut self, draft: Draft) -> (Frame, Effects) {
        let Draft { to, mut frame, sent } = draft;
        let mut effects = Effects::default();
        for (object, _) in sent {
            let fate = self.held(object).handle_dropped();
            self.settle(object, fate, &mut effects);
        }
        let session = self.session(to);
        session.written = frame.number;
        session.told = session.told.max(frame.ack);
        frame.adopted = session.ledger.take_adopted();
        frame.notices = session.ledger.take_notices(usize::MAX);
        session.ledger.take_releases(frame.number, usize::MAX, |index, count| {
            frame.releases.push(WireRelease { index, count });
        });
        (frame, effects)
    }

    /// The frame certainly never leaves.
    pub fn roll_back(&mut self, draft: Draft) -> Effects {
        let Draft { to, frame, sent } = draft;
        self.session(to).ledger.unpin_rolled_back(frame.number);
        let mut effects = Effects::default();
        for (object, sent) in sent {
            let fate = self.held(object).send_rolled_back(to, sent);
            debug_assert_eq!(fate, Fate::Kept, "the message holds a handle");
            let fate = self.held(object).handle_dropped();
            self.settle(object, fate, &mut effects);
        }
        effects
    }

    /// The session was given up while a frame was begun on it: only the message's handles are left to drop.
    pub fn abandon(&mut self, draft: Draft) -> Effects {
        let mut effects = Effects::default();
        for (object, _) in draft.sent {
            let fate = self.held(object).handle_dropped();
            self.settle(object, fate, &mut effects);
        }
        effects
    }

    /// A frame with nothing but the releases and notices that are owed to `to`, if any are.
    pub fn flush(&mut self, to: NodeId) -> Option<Frame> {
        let ledger = &self.session(to).ledger;
        if !ledger.owes() && !ledger.has_notices() {
            return None;
        }
        let draft = self.draft(to, &[]).ok()?;
        Some(self.write(draft).0)
    }

    /// What to acknowledge to `to` without a frame, if it was not yet. Such an acknowledgement is not acknowledged.
    pub fn acknowledge(&mut self, to: NodeId) -> Option<FrameNumber> {
        if !self.has_news_for(to) {
            return None;
        }
        let session = self.session(to);
        session.told = session.received;
        Some(session.told)
    }

    /// The last frame of `from` that has taken effect here.
    pub fn received_from(&self, from: NodeId) -> FrameNumber {
        self.sessions.get(&from).map_or_else(FrameNumber::default, |session| session.received)
    }

    /// Whether something took effect that was not acknowledged to `to` yet.
    pub fn has_news_for(&self, to: NodeId) -> bool {
        self.sessions.get(&to).is_some_and(|session| session.received > session.told)
    }

    /// The peer `by` acknowledged all frames up to `up_to`.
    pub fn acknowledged(&mut self, by: NodeId, up_to: FrameNumber) -> Effects {
        let mut unpinned = Vec::new();
        self.session(by).ledger.acknowledged(up_to, |object, count| unpinned.push((object, count)));
        let mut effects = Effects::default();
        for (object, count) in unpinned {
            let fate = self.held(object).unpinned(by, count);
            self.settle(object, fate, &mut effects);
        }
        effects
    }

    /// A frame arrives: the acknowledgement takes effect first, then what was adopted, then the references in order, then the
    /// notices, then the releases.
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved`]: part of the frame has taken effect; the caller gives the session up
    ///   ([`peer_gone`](Self::peer_gone)).
    pub fn receive(&mut self, from: NodeId, frame: &Frame) -> Result<Effects, PeerMisbehaved> {
        let mut effects = self.acknowledged(from, frame.ack);
        for object in &frame.adopted {
            self.was_adopted(from, *object, &mut effects)?;
        }
        for reference in &frame.references {
            self.reference_arrived(from, *reference, &mut effects)?;
        }
        for notice in &frame.notices {
            self.notice_arrived(from, *notice, &mut effects)?;
        }
        for WireRelease { index, count } in &frame.releases {
            let object = self.given(from, *index)?;
            let fate = self.held(object).released(from, *count)?;
            self.settle(object, fate, &mut effects);
        }
        self.session(from).received = frame.number;
        Ok(effects)
    }

    /// The node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The entry of an object, if there is one.
    pub fn entry(&self, object: ObjectId) -> Option<&Entry> {
        self.entries.get(&object)
    }

    /// The ledger of the session with `peer`, if anything happened on it.
    pub fn ledger(&self, peer: NodeId) -> Option<&Ledger<u8>> {
        self.sessions.get(&peer).map(|session| &session.ledger)
    }

    /// What is shared now.
    pub fn snapshot(&self) -> Snapshot {
        let all = self.entries.iter().map(|(id, entry)| EntrySnapshot::new(*id, entry.view()));
        let (exports, bridges) = all.partition(|entry| entry.id.home == self.node);
        let ledgers = || self.sessions.values().map(|session| &session.ledger);
        Snapshot {
            node: self.node,
            exports,
            bridges,
            owed_releases: ledgers().map(Ledger::owed_indices).sum(),
            remembered: ledgers().map(Ledger::remembered).sum(),
        }
    }

    /// Counts one reference for a frame to `to`, and the handle of its message.
    fn name(&mut self, to: NodeId, object: ObjectId) -> Result<Sent, CannotForward> {
        #[cfg(feature = "mutants")]
        self.before_naming(object);
        let depth_max = self.rules.policy.depth_max(self.rules.depth_max);
        let Self { entries, next_index, passed_on, .. } = self;
        let entry = entries.get_mut(&object).expect(HELD);
        match entry.forwarding(object, to, depth_max) {
            Forwarding::Now => {}
            Forwarding::AfterAdoption => return Err(CannotForward::Suspect),
            Forwarding::Never => return Err(CannotForward::Broken),
        }
        let sent = entry.reference_sent(object, to, || fresh(next_index))?;
        entry.handle_acquired();
        match (entry, sent) {
            (Entry::Bridge(_), Sent::Described { index, .. } | Sent::Known { index }) => {
                passed_on.insert(index, object);
            }
            (Entry::Bridge(_), Sent::Yours { .. } | Sent::YoursByKey) | (Entry::Home(_), _) => {}
        }
        Ok(sent)
    }

    fn reference_arrived(
        &mut self,
        from: NodeId,
        reference: WireReference,
        effects: &mut Effects,
    ) -> Result<(), PeerMisbehaved> {
        let object = match reference {
            WireReference::Described { index, object, depth } => {
                if object.home == self.node {
                    return Err(PeerMisbehaved::DescribedOurOwn(object));
                }
                self.session(from).ledger.described(index, object, depth)?;
                self.bridge(from, index, object, depth, effects)?
            }
            WireReference::Known { index } => {
                let (object, depth) = self.session(from).ledger.known(index)?;
                self.bridge(from, index, object, depth, effects)?
            }
            WireReference::Yours { index } => {
                let object = self.given(from, index)?;
                self.held(object).handle_acquired();
                object
            }
            WireReference::YoursByKey { object } => {
                if object.home != self.node {
                    return Err(PeerMisbehaved::NotOurs(object));
                }
                let Some(entry) = self.entries.get_mut(&object) else {
                    effects.lost.push(object);
                    return Ok(());
                };
                entry.handle_acquired();
                object
            }
        };
        effects.arrived.push(object);
        Ok(())
    }

    /// Rule 3.
    fn bridge(
        &mut self,
        from: NodeId,
        index: ExportIndex,
        object: ObjectId,
        depth: u8,
        effects: &mut Effects,
    ) -> Result<ObjectId, PeerMisbehaved> {
        match self.entries.entry(object) {
            Slot::Vacant(vacant) => {
                let bridge = Bridge::new(object, from, index, depth);
                let Rules { policy, depth_max, .. } = self.rules;
                let at_once = policy.adopts_at_receipt(bridge.depth(), depth_max);
                vacant.insert(Entry::Bridge(bridge));
                if at_once {
                    effects.absorb(self.adoption_wanted(object));
                }
            }
            Slot::Occupied(mut known) => {
                #[cfg(feature = "mutants")]
                if self.rules.takes_any_parent(known.get_mut(), object, from, index) {
                    return Ok(object);
                }
                let orders = known.get_mut().reference_received(object, from, index)?;
                self.carry_out(object, orders, effects);
            }
        }
        Ok(object)
    }

    /// The object that `peer` names by our export index, if it was given it.
    fn given(&self, peer: NodeId, index: ExportIndex) -> Result<ObjectId, PeerMisbehaved> {
        let at_home = ObjectId { home: self.node, index: ObjectIndex(index.0) };
        let object = self.passed_on.get(&index).copied().unwrap_or(at_home);
        let entry = self.entries.get(&object).filter(|entry| entry.was_given_to(peer));
        entry.map(|_| object).ok_or(PeerMisbehaved::UnknownIndex(index))
    }

    pub(crate) fn settle(&mut self, object: ObjectId, fate: Fate, effects: &mut Effects) {
        let Fate::Gone { export, release } = fate else { return };
        self.entries.remove(&object);
        if let Some(index) = export {
            self.passed_on.remove(&index);
        }
        if let Some(release) = release {
            self.session(release.to).ledger.owe(release.index, release.count);
        }
        if object.home == self.node {
            effects.freed.push(object);
        }
    }

    pub(crate) fn held(&mut self, object: ObjectId) -> &mut Entry {
        self.entries.get_mut(&object).expect(HELD)
    }

    pub(crate) fn session(&mut self, peer: NodeId) -> &mut Session {
        self.sessions.entry(peer).or_insert_with(|| Session {
            ledger: Ledger::new(),
            written: FrameNumber::default(),
            received: FrameNumber::default(),
            told: FrameNumber::default(),
        })
    }
}

impl Draft {
    /// The references that the frame carries.
    pub fn references(&self) -> &[WireReference] {
        &self.frame.references
    }

    fn push(&mut self, object: ObjectId, sent: Sent) {
        self.frame.references.push(WireReference::new(object, sent));
        self.sent.push((object, sent));
    }
}

const HELD: &str = "an entry stays while a handle, a share or a pin keeps it";

fn fresh(next_index: &mut u64) -> ExportIndex {
    let index = *next_index;
    *next_index += 1;
    ExportIndex(index)
}
