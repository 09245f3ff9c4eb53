//! That each rule is alive: situations that some run must meet.
//!
//! They are seen on steps, not on states: a state does not tell by which step it was reached first. Of the rules of `docs/GC.md`, 11
//! is about calls, which the model has none of.

use std::sync::atomic::{AtomicU64, Ordering};

use stateright::Property;

use crate::space::{Budget, Model, Setup, State};

pub(crate) use crate::watch::Step;

/// What was seen in any run.
#[derive(Default)]
pub(crate) struct Witnesses {
    seen: AtomicU64,
    sought: Vec<Witness>,
}

macro_rules! witnesses {
    ($($name:ident = $what:literal,)*) => {
        /// A situation.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Witness {
            $(#[doc = $what] $name),*
        }

        impl Witness {
            const NAMES: &[&str] = &[$($what),*];

            fn property(self) -> Property<Model> {
                match self {
                    $(Self::$name => Property::sometimes($what, |model: &Model, _: &State| {
                        model.witnesses.has(Self::$name)
                    }),)*
                }
            }
        }
    };
}

witnesses! {
    RolledBack = "1: a frame is rolled back",
    HeldBack = "1: a reference waits until its bridge is out of doubt",
    WentOn = "1: what waited goes on",
    Failed = "1: what waited fails",
    CameHome = "2: a reference comes home from a child of the home",
    CameHomeByKey = "2: a reference comes home by key",
    CameBack = "2: a reference comes back to a parent that is not the home",
    Pinned = "2: only a pin keeps a bridge",
    ReceivedAgain = "3: a reference is received again from the parent",
    KnownFromAnother = "3: a reference is known from another",
    HomeBecameParent = "3: the home becomes the parent by sending",
    OwedByOrphan = "3: an orphan owes back what another sends",
    Zombie = "4: a bridge is a zombie",
    Climbed = "5: a release climbs the tree",
    Merged = "6: releases are merged",
    Rode = "6: a release rides on a frame with references",
    ReleaseCrossed = "6: a release crosses a reference",
    AskedAtReceipt = "7: a holder asks at receipt",
    Adopted = "7, 9: a holder is adopted that wanted to be",
    AdoptedInDoubt = "7, 9: a bridge in doubt is adopted",
    EstateClaimed = "8: an estate is claimed",
    Denied = "8: an adoption is denied",
    AdoptedTooLate = "9: an adoption comes too late",
    AdoptedTwice = "9: an adoption finds the home as the parent",
    Broken = "10: an object is gone",
    EstateExpired = "12: an estate expires",
    EstateOfPins = "12: a pin becomes an estate",
    EstateOnly = "12: only an estate keeps a bridge",
    AdoptedWithoutParent = "13: a bridge without parent is adopted",
    HomeLostAsParent = "13: the session with the home, the parent, is given up",
    ConnectionBack = "13: the connection to the parent is back",
    SuspectConfirmed = "13: from Suspect, too",
    NewIncarnation = "13: the home is a new incarnation",
    PassedByNew = "13: a new incarnation shares an object of its own",
    ReceivedByNew = "13: a new incarnation receives a reference",
    RerootPassedOn = "14: Reroot is passed on",
    ConfirmedByParent = "14: Confirm ends doubt",
    BackToConfirmed = "15: a voluntary adoption is called off",
    BackToSuspect = "15: a bridge in doubt loses the session with its home",
    Retried = "15: the adoption is tried again",
    AdoptedDeep = "16: a bridge passes on after its adoption only",
    Left = "17: a child is asked to be adopted",
    Overslept = "18: bridges of an oversleeper are in doubt",
}

impl Witnesses {
    /// Those that a setup must meet.
    pub(crate) fn of(setup: &Setup) -> Self {
        Self { seen: AtomicU64::new(0), sought: sought(setup) }
    }

    pub(crate) fn properties(&self) -> impl Iterator<Item = Property<Model>> {
        self.sought.iter().map(|witness| witness.property())
    }

    pub(crate) fn watch(&self, step: &Step<'_>) {
        if !self.sought.iter().all(|witness| self.has(*witness)) {
            step.tell(self);
        }
    }

    pub(crate) fn see(&self, witness: Witness, seen: bool) {
        if seen {
            self.seen.fetch_or(1 << witness as u8, Ordering::Relaxed);
        }
    }

    fn has(&self, witness: Witness) -> bool {
        self.seen.load(Ordering::Relaxed) & 1 << witness as u8 != 0
    }
}

fn sought(setup: &Setup) -> Vec<Witness> {
    use Witness::*;
    let Budget { sends, roll_backs, give_ups, cuts, crashes, restarts, leaves, sleeps, guesses } =
        setup.budget;
    let lost = give_ups + cuts;
    let far = setup.chain;
    let mut all = vec![Zombie, Climbed];
    let mut when = |fits: bool, what: &[Witness]| {
        if fits {
            all.extend(what);
        }
    };
    when(sends > 0, &[CameHome]);
    when(sends > 2 && crashes == 0, &[CameHomeByKey, Pinned, KnownFromAnother, HomeBecameParent]);
    when(sends > 2 && crashes == 0, &[ReceivedAgain, ReleaseCrossed, CameBack]);
    when(sends > 3, &[Merged, Rode]);
    when(roll_backs > 0, &[RolledBack]);
    when(setup.policy.adopts_at_receipt(2, setup.depth_max), &[AskedAtReceipt]);
    when(setup.depth_max < 3, &[AdoptedDeep]);
    when(setup.idle, &[Adopted]);
    when(setup.idle && give_ups > 0, &[BackToConfirmed]);
    when(lost > 0, &[HeldBack, WentOn, AdoptedInDoubt, EstateClaimed, EstateExpired, EstateOnly]);
    when(lost > 0, &[AdoptedTooLate, AdoptedWithoutParent, HomeLostAsParent, ConfirmedByParent]);
    when(far && lost > 0, &[RerootPassedOn]);
    when(cuts > 0, &[ConnectionBack]);
    when(cuts > 0 && lost > 1, &[SuspectConfirmed]);
    when(lost > 1 && sends > 2, &[Broken, Failed, EstateOfPins, BackToSuspect, Retried]);
    when(lost > 1 && sends > 2, &[OwedByOrphan, AdoptedTwice]);
    when(crashes > 0, &[EstateExpired]);
    when(setup.home_crashes, &[NewIncarnation, Failed]);
    when(restarts > 0, &[ReceivedByNew]);
    when(restarts > 0 && setup.home_crashes, &[PassedByNew]);
    when(leaves > 0, &[Left]);
    when(sleeps > 0, &[Overslept]);
    when(guesses > 0, &[Denied]);
    all
}

#[test]
fn every_rule_has_a_witness_but_that_about_calls() {
    for rule in (1..=18).filter(|rule| *rule != 11) {
        let rule = rule.to_string();
        let is_of_it = |name: &&&str| {
            let (rules, _) = name.split_once(':').expect("a witness names its rules");
            rules.split(", ").any(|other| other == rule)
        };
        assert!(Witness::NAMES.iter().find(is_of_it).is_some(), "rule {rule}");
    }
}
