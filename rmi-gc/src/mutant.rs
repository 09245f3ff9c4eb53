//! Deliberate faults of the joiner, to show that the model catches them. Built for tests only.

use crate::estate::Estate;
use crate::{Collector, Entry, ExportIndex, NodeId, ObjectId, Orders, Parent, Rules, Standing};

/// What the joiner does wrong.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Mutant {
    /// A bridge whose path is in doubt passes references on.
    OrphanForwards,
    /// Every entry that is passed on gets the same number.
    IndexReused,
    /// A reference to the home, which is not the parent, pins nothing.
    NoPin,
    /// Pins for a peer that is given up are let go.
    PinsGoAtOnce,
    /// A bridge whose parent is given up keeps it.
    StaleParent,
    /// A bridge takes whoever sends a reference for its parent, and keeps the old one's count.
    TwoParents,
    /// An orphan takes whoever sends a reference for its parent.
    OrphanTakesAnyParent,
    /// A bridge that loses its home as parent does not tell its children.
    HomeLossNotTold,
    /// The session with the home is lost while adopting, and the adoption is waited for.
    AdoptionNotRetried,
    /// An adoption that comes when the entry is gone is kept.
    LateAdoptionKept,
    /// An adoption releases nothing to the old parent.
    OldParentNotReleased,
    /// Nothing is kept of a peer that is given up.
    NoEstate,
}

impl Collector {
    fn mutant(&self, mutant: Mutant) -> bool {
        self.rules.mutant == Some(mutant)
    }

    pub(crate) fn before_naming(&mut self, object: ObjectId) {
        if self.mutant(Mutant::IndexReused) {
            self.next_index = 1;
        }
        if !self.mutant(Mutant::OrphanForwards) {
            return;
        }
        match self.held(object) {
            Entry::Bridge(bridge) if bridge.standing != Standing::Broken => {
                bridge.standing = Standing::Confirmed;
            }
            Entry::Bridge(_) | Entry::Home(_) => {}
        }
    }

    /// Whether the reference that was just named pins its entry.
    pub(crate) fn pins(&mut self, object: ObjectId) -> bool {
        let lets_go = self.mutant(Mutant::NoPin);
        match self.held(object) {
            Entry::Bridge(bridge) if lets_go => drop(bridge.pins.take(object.home, 1)),
            Entry::Bridge(_) | Entry::Home(_) => {}
        }
        !lets_go
    }

    pub(crate) fn before_giving_up(&mut self, peer: NodeId) {
        if !self.mutant(Mutant::PinsGoAtOnce) {
            return;
        }
        for entry in self.entries.values_mut() {
            if let Entry::Bridge(bridge) = entry {
                bridge.pins.remove(peer);
            }
        }
    }
}

impl Rules {
    pub(crate) fn after_giving_up(
        &self,
        before: &Entry,
        after: &mut Entry,
        orders: Orders,
    ) -> Orders {
        let mutant = |mutant| self.mutant == Some(mutant);
        match after {
            Entry::Home(home) if mutant(Mutant::NoEstate) => {
                home.estate = Estate::default();
                return Orders::fate(home.fate());
            }
            Entry::Bridge(bridge) if mutant(Mutant::NoEstate) => {
                bridge.estate = Estate::default();
                return Orders { fate: bridge.fate(), ..orders };
            }
            Entry::Bridge(bridge) if mutant(Mutant::StaleParent) => {
                bridge.parent = before.parent();
            }
            Entry::Home(_) | Entry::Bridge(_) => {}
        }
        let below_home = matches!(before, Entry::Bridge(bridge) if bridge.depth == 1);
        if below_home && mutant(Mutant::HomeLossNotTold) {
            return Orders { tell: None, ..orders };
        }
        orders
    }

    pub(crate) fn after_adoption(&self, orders: Orders) -> Orders {
        if self.mutant == Some(Mutant::OldParentNotReleased) {
            return Orders { release: None, ..orders };
        }
        orders
    }

    /// Whether a wrong parent was taken.
    pub(crate) fn takes_any_parent(
        &self,
        entry: &mut Entry,
        object: ObjectId,
        from: NodeId,
        index: ExportIndex,
    ) -> bool {
        let Entry::Bridge(bridge) = entry else { return false };
        let takes = match bridge.parent {
            Some(parent) => self.mutant == Some(Mutant::TwoParents) && parent.peer != from,
            None => self.mutant == Some(Mutant::OrphanTakesAnyParent),
        };
        if takes && from != object.home {
            bridge.local += 1;
            bridge.parent = Some(Parent { peer: from, index, received: 1 });
            bridge.standing = Standing::Confirmed;
            return true;
        }
        false
    }
}
