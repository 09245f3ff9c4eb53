//! Real processes on loopback that are killed, stopped and cut off.

mod actor;
mod process;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use actor::{DEPTH_MAX, GRACE_MS, HIERARCHICAL, VIA};
use process::Process;
use support::let_pass;
use support::proxy::Proxy;

/// The grace of [`support::impatient`].
const GRACE: Duration = Duration::from_secs(2);

/// Not a test of its own: where the others find their processes.
#[test]
fn a_child_process_plays_its_role() {
    actor::play();
}

fn processes<const N: usize>(names: [&'static str; N]) -> [Process; N] {
    names.map(|name| Process::start(name, &[]))
}

/// `home` exports the item, and `holder` alone holds it.
fn hand_over(home: &mut Process, holder: &mut Process) {
    home.must("export");
    holder.must(&format!("fetch {}", home.uri("item")));
    home.must("unbind item");
}

fn give(from: &mut Process, to: &mut Process) {
    from.must(&format!("give {}", to.uri("hands")));
    assert_eq!(to.ask("holds"), "true");
}

/// Only the hands are left of everything.
fn is_quiet(snapshot: &str) -> bool {
    snapshot.contains("exports 1, bridges 0, releases owed 0, indices remembered 0")
}

/// The last holder lets go: the object is dropped, once, and nothing is left anywhere.
fn part(home: &mut Process, last: &mut Process) {
    assert_eq!(home.ask("dropped"), "0", "it is held");
    last.must("drop");
    home.until("dropped", |count| count == "1");
    home.until("snapshot", is_quiet);
    last.until("snapshot", is_quiet);
    assert_eq!(home.ask("dropped"), "1", "once");
}

#[test]
fn a_middle_is_killed_before_the_last_has_called_and_the_last_keeps_the_object() {
    let [mut home, mut middle, mut last] = processes(["home", "middle", "last"]);
    hand_over(&mut home, &mut middle);
    give(&mut middle, &mut last);
    middle.kill();
    assert_eq!(last.ask("call"), "touched 1");
    // Also when nothing is left of the middle.
    home.until("snapshot", |snapshot| !snapshot.contains("estate"));
    assert_eq!(last.ask("call"), "touched 2");
    part(&mut home, &mut last);
}

#[test]
fn the_middles_of_a_chain_are_killed_in_every_order_and_the_last_keeps_the_object() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    std::thread::scope(|scope| {
        for order in orders {
            scope.spawn(move || kill_the_middles(order));
        }
    });
}

/// A chain of depth 4 that only doubt makes shorter, and three of its nodes killed at once.
fn kill_the_middles(order: [usize; 3]) {
    // Rule 16: three times detection, lease and adoption, and a tenth.
    let environment = [(HIERARCHICAL, ""), (DEPTH_MAX, "4"), (GRACE_MS, "6000")];
    let start = |name| Process::start(name, &environment);
    let [mut home, mut last] = ["home", "last"].map(start);
    let mut middles = ["first", "second", "third"].map(start);
    hand_over(&mut home, &mut middles[0]);
    let [first, second, third] = &mut middles;
    give(first, second);
    give(second, third);
    give(third, &mut last);
    for middle in [&mut *first, second, third] {
        middle.must("drop");
    }
    let chain = last.ask("snapshot");
    assert!(chain.contains("depth 4"), "{order:?}: {chain}");
    for which in order {
        middles[which].kill();
    }
    home.until("snapshot", |snapshot| snapshot.contains("estate"));
    home.until("snapshot", |snapshot| !snapshot.contains("estate"));
    assert_eq!(last.ask("call"), "touched 1", "{order:?}");
    part(&mut home, &mut last);
}

#[test]
fn a_holder_is_killed_and_what_it_held_is_dropped_once() {
    let [mut home, mut holder] = processes(["home", "holder"]);
    hand_over(&mut home, &mut holder);
    holder.kill();
    home.until("snapshot", |snapshot| snapshot.contains("estate"));
    assert_eq!(home.ask("dropped"), "0", "not before the grace is over");
    home.until("dropped", |count| count == "1");
    home.until("snapshot", is_quiet);
    assert_eq!(home.ask("dropped"), "1");
}

#[test]
fn the_home_is_killed_and_each_holder_is_told_which_node_it_was() {
    let [mut home, mut one, mut two] = processes(["home", "one", "two"]);
    hand_over(&mut home, &mut one);
    give(&mut one, &mut two);
    let address = home.endpoint().trim_start_matches("tcp://").to_owned();
    home.kill();
    for holder in [&mut one, &mut two] {
        let answer = holder.ask("call");
        let is_definite = ["Disconnected", "NoSuchObject", "Unreachable"]
            .iter()
            .any(|kind| answer.starts_with(&format!("error {kind}, executed")));
        assert!(is_definite, "{answer}");
        assert!(answer.contains(&address), "it names {address}: {answer}");
        holder.must("drop");
    }
    one.until("snapshot", is_quiet);
    two.until("snapshot", is_quiet);
}

#[test]
fn the_home_is_stopped_for_three_times_the_grace_and_no_holder_loses_anything() {
    let [mut home, mut one, mut two] = processes(["home", "one", "two"]);
    hand_over(&mut home, &mut one);
    give(&mut one, &mut two);
    home.stop();
    let_pass(3 * GRACE);
    home.go_on();
    for holder in [&mut one, &mut two] {
        let answer = holder.until("call", |answer| !answer.starts_with("error Disconnected"));
        assert!(answer.starts_with("touched "), "{answer}");
    }
    assert_eq!(home.ask("dropped"), "0");
    one.must("drop");
    part(&mut home, &mut two);
}

#[test]
fn a_holder_is_stopped_for_three_times_the_grace_and_is_adopted_again_if_the_object_lives() {
    let [mut home, mut holder] = processes(["home", "holder"]);
    home.must("export");
    holder.must(&format!("fetch {}", home.uri("item")));
    holder.stop();
    let_pass(3 * GRACE);
    assert!(!home.ask("snapshot").contains("estate"), "it was given up long ago");
    holder.go_on();
    let answer = holder.until("call", |answer| !answer.starts_with("error Disconnected"));
    assert_eq!(answer, "touched 1");
    home.must("unbind item");
    part(&mut home, &mut holder);
}

#[test]
fn a_holder_is_stopped_for_three_times_the_grace_and_is_told_that_the_object_is_gone() {
    let [mut home, mut holder] = processes(["home", "holder"]);
    hand_over(&mut home, &mut holder);
    holder.stop();
    home.until("dropped", |count| count == "1");
    let_pass(GRACE);
    holder.go_on();
    let answer = holder.until("call", |answer| !answer.starts_with("error Disconnected"));
    assert!(answer.starts_with("error NoSuchObject, executed No"), "{answer}");
    holder.must("drop");
    holder.until("snapshot", is_quiet);
    assert_eq!(home.ask("dropped"), "1");
}

#[test]
fn a_middle_is_stopped_for_longer_than_the_lease_and_both_keep_the_object() {
    let start = |name| Process::start(name, &[(HIERARCHICAL, "")]);
    let [mut home, mut middle, mut last] = ["home", "middle", "last"].map(start);
    hand_over(&mut home, &mut middle);
    give(&mut middle, &mut last);
    middle.stop();
    // The last one has found its own way.
    last.until("snapshot", |snapshot| snapshot.contains("depth 1"));
    assert_eq!(last.ask("call"), "touched 1");
    middle.go_on();
    let answer = middle.until("call", |answer| !answer.starts_with("error Disconnected"));
    assert_eq!(answer, "touched 2");
    middle.must("drop");
    part(&mut home, &mut last);
}

#[test]
fn a_connection_swallows_everything_and_what_was_held_over_it_is_dropped() {
    let runtime = support::runtime();
    // It cannot go round the proxy either: it reaches nobody.
    let mut home = Process::start("home", &[(VIA, "127.0.0.1:1")]);
    let endpoint = home.endpoint().parse().unwrap();
    let proxy = runtime.block_on(Proxy::before(&endpoint));
    let mut holder = Process::start("holder", &[(VIA, proxy.address())]);
    hand_over(&mut home, &mut holder);
    assert_eq!(holder.ask("call"), "touched 1");
    proxy.swallow();
    home.until("dropped", |count| count == "1");
    home.until("snapshot", is_quiet);
    let answer = holder.ask("call");
    assert!(answer.starts_with("error "), "{answer}");
}
