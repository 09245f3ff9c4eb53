//! The worlds that are explored, each with all that can go wrong in it.

use rmi_gc::Policy;

use crate::space::{Budget, Setup};
use crate::world::{A, B, C, D};
use crate::{LARGER, bound, check};

/// As many references sent, and nothing that goes wrong.
pub(crate) fn sends(sends: u8) -> Budget {
    Budget { sends, ..Budget::default() }
}

#[test]
fn one_object_is_passed_around() {
    check("passing", Setup { budget: sends(3), ..Setup::default() });
}

#[test]
fn frames_carry_a_reference_twice() {
    check("twice", Setup { budget: sends(3), copies: 2, ..Setup::default() });
}

#[test]
fn frames_are_begun_and_rolled_back() {
    let budget = Budget { roll_backs: 1, ..sends(3) };
    check("roll-back", Setup { budget, drafts: true, ..Setup::default() });
}

#[test]
fn one_object_is_passed_among_four_nodes() {
    check("four nodes", Setup { budget: sends(2), nodes: 4, ..Setup::default() });
}

#[test]
fn two_objects_are_never_confused() {
    check("two objects", Setup { budget: sends(2), homes: &[A, A], ..Setup::default() });
}

#[test]
fn two_objects_are_in_trouble_together() {
    for (homes, name) in [(&[A, A], ""), (&[A, B], ", two homes")] {
        let two = Setup { homes, ..Setup::default() };
        for (what, budget) in [
            ("two, give-up", Budget { give_ups: 1, ..sends(1) }),
            ("two, cut", Budget { cuts: 1, ..sends(1) }),
            ("two, crash", Budget { crashes: 1, ..sends(1) }),
        ] {
            check(&format!("{what}{name}"), Setup { budget, ..two });
        }
        check(
            &format!("two, adopting{name}"),
            Setup { policy: Policy::Adopting, idle: true, budget: sends(1), ..two },
        );
    }
}

#[test]
fn a_session_is_given_up() {
    check("give-up", Setup { budget: Budget { give_ups: 1, ..sends(2) }, ..Setup::default() });
}

#[test]
fn sessions_are_given_up_one_after_another() {
    check("two give-ups", Setup { budget: Budget { give_ups: 2, ..sends(1) }, ..Setup::default() });
}

#[test]
fn sessions_are_given_up_under_begun_frames() {
    let budget = Budget { give_ups: 1, ..sends(1) };
    check("begun, given up", Setup { budget, drafts: true, ..Setup::default() });
}

#[test]
fn connections_are_lost() {
    check("cut", Setup { budget: Budget { cuts: 1, ..sends(1) }, ..Setup::default() });
    check("two cuts", Setup { budget: Budget { cuts: 2, ..sends(1) }, ..Setup::default() });
}

#[test]
fn four_nodes_give_up_a_session() {
    let budget = Budget { give_ups: 1, ..sends(1) };
    check("four, give-up", Setup { nodes: 4, budget, ..Setup::default() });
}

#[test]
fn a_chain_breaks() {
    let chain = Setup { nodes: 4, chain: true, ..Setup::default() };
    check("chain, two crashes", Setup { budget: Budget { crashes: 2, ..sends(0) }, ..chain });
    if LARGER + bound() == 0 {
        return;
    }
    for (name, budget) in [
        ("chain, crash, leave", Budget { crashes: 1, leaves: 1, ..sends(0) }),
        ("chain, give-up", Budget { give_ups: 1, ..sends(0) }),
        ("chain, cut", Budget { cuts: 1, ..sends(0) }),
    ] {
        check(name, Setup { budget, ..chain });
    }
    let keeper = Setup { keeper: Some(D), ..chain };
    check(
        "chain, crash, give-up, keeper",
        Setup { budget: Budget { crashes: 1, give_ups: 1, ..sends(0) }, ..keeper },
    );
    if bound() == 0 {
        return;
    }
    for (name, budget) in [
        ("chain, crash, give-up", Budget { crashes: 1, give_ups: 1, ..sends(0) }),
        ("chain, crash, cut", Budget { crashes: 1, cuts: 1, ..sends(0) }),
        ("chain, sleep, give-up", Budget { sleeps: 1, give_ups: 1, ..sends(0) }),
        ("chain, two give-ups", Budget { give_ups: 2, ..sends(0) }),
    ] {
        check(name, Setup { budget, ..chain });
    }
}

#[test]
fn a_node_crashes() {
    check("crash", Setup { budget: Budget { crashes: 1, ..sends(2) }, ..Setup::default() });
    let budget = Budget { crashes: 1, give_ups: 1, ..sends(1) };
    check("crash, give-up", Setup { budget, ..Setup::default() });
    check(
        "crash, cut",
        Setup { budget: Budget { cuts: 1, give_ups: 0, ..budget }, ..Setup::default() },
    );
}

#[test]
fn two_of_four_nodes_crash() {
    let budget = Budget { crashes: 2, ..sends(1) };
    check("four, two crashes", Setup { nodes: 4, budget, ..Setup::default() });
}

#[test]
fn the_home_crashes() {
    let budget = Budget { crashes: 1, ..sends(2) };
    check("home crash", Setup { budget, home_crashes: true, ..Setup::default() });
}

#[test]
fn a_crashed_node_is_back_as_another() {
    let budget = Budget { crashes: 1, restarts: 1, ..sends(2) };
    check("holder restarts", Setup { budget, ..Setup::default() });
    let budget = Budget { sends: 1, ..budget };
    check("home restarts", Setup { budget, home_crashes: true, ..Setup::default() });
    let budget = Budget { cuts: 1, ..budget };
    check("holder restarts, cut", Setup { budget, ..Setup::default() });
}

#[test]
fn a_guessed_key_gains_nothing() {
    let budget = Budget { guesses: 2, ..sends(2) };
    check("thief", Setup { nodes: 4, thief: Some(D), budget, ..Setup::default() });
}

#[test]
fn a_node_leaves() {
    let budget = Budget { crashes: 1, leaves: 1, ..sends(1) };
    check("leave", Setup { budget, ..Setup::default() });
}

#[test]
fn a_node_oversleeps() {
    let budget = Budget { sleeps: 1, ..sends(1) };
    check("oversleep", Setup { budget, ..Setup::default() });
}

#[test]
fn a_depth_bound_holds_references_back() {
    let setup = Setup { policy: Policy::Adopting, depth_max: 2, nodes: 4, ..Setup::default() };
    check("depth 2", Setup { budget: sends(2), ..setup });
}

#[test]
fn holders_are_adopted() {
    let setup = Setup { policy: Policy::Adopting, idle: true, ..Setup::default() };
    check("adopting", Setup { budget: sends(2), ..setup });
    let keeps = Setup { keeper: Some(C), ..setup };
    check("adopting, keeper", Setup { budget: sends(2), ..keeps });
    let budget = Budget { give_ups: 1, ..sends(1) };
    check("adopting, give-up, keeper", Setup { budget, ..keeps });
}

#[test]
fn holders_are_listed_at_receipt() {
    check("listing", Setup { budget: sends(2), policy: Policy::Listing, ..Setup::default() });
}
