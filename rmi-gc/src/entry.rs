//! One node's record of one object, wherever it lives: the only door a table needs.

use crate::bridge::pass_on;
use crate::{
    Bridge, CannotForward, EntryView, ExportIndex, Fate, Home, NodeId, ObjectId, Orders, Parent,
    PeerMisbehaved, Sent, Standing, State,
};

/// What keeps one object alive at one node.
///
/// A table holds one for each object, under a lock of its own: each method is one step. The methods that take an
/// [`ObjectId`] take the one under which the table holds the entry, which an entry does not store again.
///
/// # Examples
///
/// ```
/// use rmi_gc::{Bridge, Entry, ExportIndex, Fate, NodeId, ObjectId, ObjectIndex, Release, Sent};
///
/// let (home, child) = (NodeId(1), NodeId(3));
/// let id = ObjectId { home, index: ObjectIndex(17) };
///
/// // A reference comes from the home, is passed on, and our own handle is dropped: the entry is a zombie.
/// let mut entry = Entry::Bridge(Bridge::new(id, home, ExportIndex(17), 1));
/// let sent = entry.reference_sent(id, child, || ExportIndex(4));
/// assert_eq!(sent, Ok(Sent::Described { index: ExportIndex(4), depth: 2 }));
/// assert_eq!(entry.handle_dropped(), Fate::Kept);
///
/// // The child releases what it was sent. Nothing keeps the entry: it goes, and the release climbs to the home.
/// let release = Release { to: home, index: ExportIndex(17), count: 1 };
/// let gone = Fate::Gone { export: Some(ExportIndex(4)), release: Some(release) };
/// assert_eq!(entry.released(child, 1), Ok(gone));
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Entry {
    /// The object lives here.
    Home(Home),
    /// The object lives elsewhere.
    Bridge(Bridge),
}

impl Entry {
    /// There is another local handle: of a clone, of a lookup, of a reference that came home or back to the parent of
    /// its sender.
    ///
    /// # Panics
    ///
    /// At the 2³²nd handle. Each takes memory while it lives, so that a program that leaks them gets here, and no other.
    pub fn handle_acquired(&mut self) {
        let local = self.local_mut();
        *local = local.checked_add(1).expect("handles that live at once are fewer than 2^32");
    }

    /// A local handle is gone.
    pub fn handle_dropped(&mut self) -> Fate {
        let local = self.local_mut();
        debug_assert!(*local > 0, "a handle that was never counted was dropped");
        *local = local.saturating_sub(1);
        self.fate()
    }

    /// A reference arrives that the sender names by its own export index (rule 3). There is one more local handle.
    ///
    /// From the parent, it is one more received. From another node, it is owed back; but the home, if it is the sender,
    /// becomes the parent, as if it had adopted the bridge, and what came from the old parent is owed to it. An orphan takes no parent but the home: any
    /// other sender may be a child of its own, and the two would keep each other for ever.
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved::DescribedOurOwn`]: the object lives here, and the sender called it its own to share.
    /// - [`PeerMisbehaved::TwoIndicesForOne`]: the parent uses another index than before.
    /// - [`PeerMisbehaved::TooManyReferences`]: they cannot be counted.
    pub fn reference_received(
        &mut self,
        id: ObjectId,
        from: NodeId,
        index: ExportIndex,
    ) -> Result<Orders, PeerMisbehaved> {
        match self {
            Self::Home(_) => Err(PeerMisbehaved::DescribedOurOwn(id)),
            Self::Bridge(bridge) => {
                let local = bridge.local.checked_add(1).ok_or(PeerMisbehaved::TooManyReferences)?;
                let orders = bridge.reference_received(id, from, index)?;
                bridge.local = local;
                Ok(orders)
            }
        }
    }

    /// A reference is put on a frame to `to`, in the step that queues the frame (rules 1 and 2).
    ///
    /// `fresh` numbers a bridge that is passed on for the first time. From here until the frame is written or rolled
    /// back, no other frame to `to` may be written, and the acknowledgement that the frame carries may not cover frames
    /// of `to` that are accounted after this step: its name is chosen against what is counted now.
    ///
    /// # Errors
    ///
    /// - [`CannotForward::Suspect`], [`CannotForward::Broken`]: this is an orphan. Nothing was counted.
    pub fn reference_sent(
        &mut self,
        id: ObjectId,
        to: NodeId,
        fresh: impl FnOnce() -> ExportIndex,
    ) -> Result<Sent, CannotForward> {
        match self {
            Self::Home(home) => Ok(pass_on(&mut home.children, to, id.index.into(), 0)),
            Self::Bridge(bridge) => bridge.reference_sent(id, to, fresh),
        }
    }

    /// The frame certainly never leaves: takes back the one reference that was `sent`, and nothing else.
    ///
    /// Not to be called once the session is given up: [`peer_gone`](Self::peer_gone) has taken everything back.
    pub fn send_rolled_back(&mut self, to: NodeId, sent: Sent) -> Fate {
        let counts = match (&mut *self, sent) {
            (_, Sent::Yours { .. }) => return self.fate(),
            (Self::Home(_), Sent::YoursByKey) => {
                debug_assert!(false, "a home names no object as its peer's");
                return self.fate();
            }
            (Self::Bridge(bridge), Sent::YoursByKey) => &mut bridge.pins,
            (Self::Bridge(bridge), Sent::Described { .. } | Sent::Known { .. }) => {
                &mut bridge.children
            }
            (Self::Home(home), Sent::Described { .. } | Sent::Known { .. }) => &mut home.children,
        };
        // A peer that released what it never saw has left nothing to take back; its next release tells.
        let _ = counts.take(to, 1);
        self.fate()
    }

    /// Of the frames to `by` that pin this entry, `count` were acknowledged.
    pub fn unpinned(&mut self, by: NodeId, count: u32) -> Fate {
        if let Self::Bridge(bridge) = self {
            let unpinned = bridge.pins.take(by, count);
            debug_assert!(unpinned.is_some(), "a frame that pinned nothing was acknowledged");
        }
        self.fate()
    }

    /// The peer reports that `count` of the references it was sent are gone (rule 5).
    ///
    /// # Errors
    ///
    /// - [`PeerMisbehaved::ReleasedUnshared`], [`PeerMisbehaved::ReleasedTooMany`],
    ///   [`PeerMisbehaved::ReleasedNothing`]: it has none, not so many, or says nothing. Nothing was changed.
    pub fn released(&mut self, by: NodeId, count: u32) -> Result<Fate, PeerMisbehaved> {
        match self {
            Self::Home(home) => home.released(by, count),
            Self::Bridge(bridge) => bridge.released(by, count),
        }
    }

    /// The session with `peer` was given up, at a node that neither keeps estates nor adopts: what it held is taken back at
    /// once, and what came from it is in doubt until the home sends it again, or broken if it was the home.
    ///
    /// A node that adopts says [`session_given_up`](Self::session_given_up) instead.
    pub fn peer_gone(&mut self, id: ObjectId, peer: NodeId) -> Fate {
        match self {
            Self::Home(home) => {
                home.children.remove(peer);
            }
            Self::Bridge(bridge) => bridge.peer_gone(id, peer),
        }
        self.fate()
    }

    /// Whether `peer` may name this entry by our export index.
    pub fn was_given_to(&self, peer: NodeId) -> bool {
        self.share_of(peer) > 0
    }

    /// References sent to `peer` and not yet released.
    pub fn share_of(&self, peer: NodeId) -> u32 {
        match self {
            Self::Home(home) => home.children.of(peer),
            Self::Bridge(bridge) => bridge.children.of(peer),
        }
    }

    /// Where the references here are counted. `None` at home, and for an orphan.
    pub fn parent(&self) -> Option<Parent> {
        match self {
            Self::Home(_) => None,
            Self::Bridge(bridge) => bridge.parent,
        }
    }

    /// Whether the entry can count on its path to the home, which a home always can.
    pub fn standing(&self) -> Standing {
        match self {
            Self::Home(_) => Standing::Confirmed,
            Self::Bridge(bridge) => bridge.standing,
        }
    }

    /// Live local handles.
    pub fn local_handles(&self) -> u32 {
        match self {
            Self::Home(home) => home.local,
            Self::Bridge(bridge) => bridge.local,
        }
    }

    /// Whether local handles, children, estates or pins keep it. One that nothing keeps has said so by its [`Fate`].
    pub fn is_kept(&self) -> bool {
        match self {
            Self::Home(home) => home.is_kept(),
            Self::Bridge(bridge) => bridge.is_kept(),
        }
    }

    /// Whether a bridge is about to take on its proxy role by passing its reference on, to whomever, under
    /// [`BridgeInit::Eager`](crate::BridgeInit::Eager): the home is asked first, then [`relay_built`](Self::relay_built).
    pub fn first_passing_on(&self) -> bool {
        match self {
            Self::Home(_) => false,
            Self::Bridge(bridge) => !bridge.relay,
        }
    }

    /// The bridge has taken on its proxy role (rule 11), for as long as it lives.
    pub fn relay_built(&mut self) {
        match self {
            Self::Home(_) => debug_assert!(false, "an object needs no relay at its home"),
            Self::Bridge(bridge) => bridge.relay = true,
        }
    }

    /// Whether the bridge has taken on its proxy role.
    pub fn is_relaying(&self) -> bool {
        match self {
            Self::Home(_) => false,
            Self::Bridge(bridge) => bridge.relay,
        }
    }

    /// What a snapshot shows of it.
    pub fn view(&self) -> EntryView {
        match self {
            Self::Home(home) => EntryView {
                local: home.local,
                children: home.children.to_map(),
                pins: Default::default(),
                estate: home.estate.to_map(),
                parent: None,
                depth: 0,
                standing: Standing::Confirmed,
                state: State::Counting,
            },
            Self::Bridge(bridge) => EntryView {
                local: bridge.local,
                children: bridge.children.to_map(),
                pins: bridge.pins.to_map(),
                estate: bridge.estate.to_map(),
                parent: bridge.parent,
                depth: bridge.depth,
                standing: bridge.standing,
                state: match (bridge.relay, bridge.is_zombie()) {
                    (true, _) => State::Relaying,
                    (false, true) => State::Zombie,
                    (false, false) => State::Counting,
                },
            },
        }
    }

    pub(crate) fn fate(&self) -> Fate {
        match self {
            Self::Home(home) => home.fate(),
            Self::Bridge(bridge) => bridge.fate(),
        }
    }

    fn local_mut(&mut self) -> &mut u32 {
        match self {
            Self::Home(home) => &mut home.local,
            Self::Bridge(bridge) => &mut bridge.local,
        }
    }
}
