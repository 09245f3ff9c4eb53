//! What stands between us and one peer.

use crate::imports::Imports;
use crate::notices::Notices;
use crate::pins::Pins;
use crate::releases::Releases;
use crate::{ExportIndex, FrameNumber, News, Notice, ObjectId, PeerMisbehaved};

/// What stands between us and one peer, for one session: the meanings of its export indices, the releases it is owed,
/// and the frames whose acknowledgement something waits for.
///
/// `D` is what a runtime remembers of a described object besides its id; it is cloned for every reference received.
///
/// Frames have one order. Writing: references are counted and named, then the handles that the message held are
/// dropped, then releases are taken, so that a release may ride on the very frame whose writing dropped the last handle.
/// Receiving: the acknowledgement first, then references in order, then releases, and the payload last.
///
/// # Examples
///
/// ```
/// use rmi_gc::{ExportIndex, FrameNumber, Ledger, NodeId, ObjectId, ObjectIndex};
///
/// let object = ObjectId { home: NodeId(1), index: ObjectIndex(17) };
/// let mut ledger = Ledger::new();
/// ledger.described(ExportIndex(17), object, "Account")?;
/// assert_eq!(ledger.known(ExportIndex(17))?, (object, "Account"));
///
/// // Both references go: one merged release, and the meaning outlives it until the peer is known to have seen it.
/// ledger.owe(ExportIndex(17), 1);
/// ledger.owe(ExportIndex(17), 1);
/// let mut written = Vec::new();
/// ledger.take_releases(FrameNumber(1), 100, |index, count| written.push((index, count)));
/// assert_eq!(written, [(ExportIndex(17), 2)]);
/// assert_eq!(ledger.remembered(), 1);
/// ledger.acknowledged(FrameNumber(1), |_, _| unreachable!("nothing was pinned"));
/// assert!(ledger.is_empty());
/// # Ok::<(), rmi_gc::PeerMisbehaved>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Ledger<D> {
    imports: Imports<D>,
    releases: Releases,
    pins: Pins,
    notices: Notices<D>,
}

impl<D: Clone> Ledger<D> {
    /// The ledger of a session on which nothing was sent.
    #[expect(
        clippy::new_without_default,
        reason = "a ledger begins with its session, not anywhere"
    )]
    pub fn new() -> Self {
        Self {
            imports: Imports::new(),
            releases: Releases::new(),
            pins: Pins::new(),
            notices: Notices::new(),
        }
    }

    /// A reference arrived that the peer named by its `index`, with a description: remembers the meaning.
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved::IndexMeansAnother`]: the index is remembered, for another object.
    /// - [`PeerMisbehaved::TooManyReferences`]: they cannot be counted.
    pub fn described(
        &mut self,
        index: ExportIndex,
        object: ObjectId,
        what: D,
    ) -> Result<(), PeerMisbehaved> {
        self.imports.described(index, object, what)
    }

    /// A reference arrived that the peer named by its `index` alone: what that means.
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved::UnknownIndex`]: it means nothing here.
    /// - [`PeerMisbehaved::TooManyReferences`]: they cannot be counted.
    pub fn known(&mut self, index: ExportIndex) -> Result<(ObjectId, D), PeerMisbehaved> {
        self.imports.known(index)
    }

    /// The peer is owed a release of `count` references received under its `index`. Merged per index.
    pub fn owe(&mut self, index: ExportIndex, count: u32) {
        self.releases.owe(index, count);
    }

    /// Whether a release waits to be written.
    pub fn owes(&self) -> bool {
        !self.releases.is_empty()
    }

    /// The merged releases that wait to be written.
    pub fn owed(&self) -> impl Iterator<Item = (ExportIndex, u32)> {
        self.releases.iter()
    }

    /// How many merged releases wait to be written.
    pub fn owed_indices(&self) -> usize {
        self.releases.indices()
    }

    /// The peer, home of `object`, is to be asked to adopt us; `what` is remembered until it answers. Asked once at a time.
    pub fn ask_adoption(&mut self, object: ObjectId, what: D) {
        self.notices.ask(object, what);
    }

    /// What is remembered of an object that the peer was asked for, and has not answered.
    pub fn asked(&self, object: ObjectId) -> Option<&D> {
        self.notices.asked(object)
    }

    /// How many adoptions the peer was asked for and has not answered.
    pub fn unanswered(&self) -> usize {
        self.notices.unanswered()
    }

    /// The peer is owed an answer: its adoption as holder of `object` was counted
    /// ([`Entry::adopts`](crate::Entry::adopts)).
    pub fn owe_adopted(&mut self, object: ObjectId) {
        self.notices.owe_adopted(object);
    }

    /// The peer is owed an answer: `object` is gone, or its key was wrong.
    pub fn owe_gone(&mut self, object: ObjectId) {
        self.notices.owe(Notice::Gone { object });
    }

    /// The peer is to be told about the path of our entry `index`. Of what is not yet written, the last counts.
    pub fn tell(&mut self, index: ExportIndex, news: News) {
        self.notices.tell(index, news);
    }

    /// Whether an adoption, an answer or news of a path waits to be written.
    pub fn has_notices(&self) -> bool {
        self.notices.wait_to_be_written()
    }

    /// Adoptions by us that wait to be written: references that are counted already.
    pub fn owed_adopted(&self) -> usize {
        self.notices.owed_adopted()
    }

    /// The adoptions to confirm on the frame that is written now. It takes all of them, and in front of its references: those
    /// may rely on them.
    pub fn take_adopted(&mut self) -> Vec<ObjectId> {
        self.notices.take_adopted()
    }

    /// Takes up to `max` notices for the frame that is written now.
    pub fn take_notices(&mut self, max: usize) -> Vec<Notice> {
        self.notices.take(max)
    }

    /// The peer adopted us: one reference received under `index`, and what was remembered of the object.
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved::NotAsked`]: it was not asked.
    /// - Those of [`described`](Self::described).
    pub fn adopted(&mut self, index: ExportIndex, object: ObjectId) -> Result<D, PeerMisbehaved> {
        let what = self.notices.answered(object)?;
        self.imports.described(index, object, what.clone())?;
        Ok(what)
    }

    /// The peer says that an object, for which it was asked to adopt us, is gone.
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved::NotAsked`]: it was not asked.
    pub fn gone(&mut self, object: ObjectId) -> Result<(), PeerMisbehaved> {
        self.notices.answered(object).map(drop)
    }

    /// What the peer's `index` means, if anything: news about one that was released meanwhile crossed the release.
    pub fn meaning(&self, index: ExportIndex) -> Option<ObjectId> {
        self.imports.object(index)
    }

    /// Takes up to `max` merged releases to write on `frame`.
    ///
    /// A meaning whose last received reference is thereby released is forgotten once `frame` is acknowledged: until
    /// then the peer may still name the index without describing it.
    pub fn take_releases(
        &mut self,
        frame: FrameNumber,
        max: usize,
        mut write: impl FnMut(ExportIndex, u32),
    ) {
        for _ in 0..max {
            let Some((index, count)) = self.releases.take_next() else { return };
            self.imports.released(index, count, frame);
            write(index, count);
        }
    }

    /// `frame`, being written, carries a pinned reference to `object`.
    pub fn pinned(&mut self, frame: FrameNumber, object: ObjectId) {
        self.pins.pinned(frame, object);
    }

    /// `frame` was rolled back before it left: its pins were taken back, and its number goes to the next frame.
    pub fn unpin_rolled_back(&mut self, frame: FrameNumber) {
        self.pins.rolled_back(frame);
    }

    /// Everything up to `up_to` is acknowledged: forgets meanings, and calls `unpin` for entries that those frames
    /// pinned, perhaps more than once for an entry.
    pub fn acknowledged(&mut self, up_to: FrameNumber, mut unpin: impl FnMut(ObjectId, u32)) {
        self.imports.acknowledged(up_to);
        while let Some((object, count)) = self.pins.take_acknowledged(up_to) {
            unpin(object, count);
        }
    }

    /// Whether something waits for an acknowledgement: a pin, or a meaning whose releases are in flight.
    pub fn awaits_acknowledgement(&self) -> bool {
        self.imports.awaits_acknowledgement() || !self.pins.is_empty()
    }

    /// How many meanings are kept, live or awaiting an acknowledgement.
    pub fn remembered(&self) -> usize {
        self.imports.remembered()
    }

    /// Whether nothing stands between us and the peer.
    pub fn is_empty(&self) -> bool {
        !self.owes()
            && !self.awaits_acknowledgement()
            && self.remembered() == 0
            && self.notices.is_empty()
    }
}
