//! References are passed on, come home, return, and are dropped.

use expect_test::expect;

use crate::script::Script;
use crate::world::{A, Action, B, C};

#[test]
fn a_zombie_counts_until_its_child_releases_and_the_release_climbs() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(A)
        .drop(B)
        .tables()
        .drop(C)
        .flush(C, B)
        .flush(B, A)
        .tables()
        .acknowledge(B, C)
        .acknowledge(A, B)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a drops o1@a
            b drops o1@a
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Zombie  local 0  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent b x1 ×1  depth 2
            c drops o1@a
            c flushes to b #1 ack #1, release x1 ×1
            b gets #1 of c
            b flushes to a #1 ack #1, release x1 ×1
            a gets #1 of b; o1@a is FREED
                a: empty
                b: exports 0, bridges 0, releases owed 0, indices remembered 1
                c: exports 0, bridges 0, releases owed 0, indices remembered 1
            b tells c ack #1
            c gets an acknowledgement of b
            a tells b ack #1
            b gets an acknowledgement of a
                a: empty
                b: empty
                c: empty
        "#]]);
}

#[test]
fn a_reference_that_comes_home_is_a_local_handle_and_counts_for_nobody() {
    Script::new().pass(A, B).drop(A).pass(B, A).drop(B).flush(B, A).tables().drop(A).reads(
        expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            a drops o1@a
            b sends a #1 ack #1, your x1
            a gets #1 of b; o1@a arrives
            b drops o1@a
            b flushes to a #2 ack #1, release x1 ×1
            a gets #2 of b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1
                b: exports 0, bridges 0, releases owed 0, indices remembered 1
                c: empty
            a drops o1@a; o1@a is FREED
        "#]],
    );
}

#[test]
fn a_reference_comes_home_while_the_last_holder_lets_go_on_the_same_frame() {
    Script::new()
        .pass(A, B)
        .drop(A)
        .begin(B, A)
        .drop(B)
        .write(B, A)
        .arrive(B, A)
        .tables()
        .drop(A)
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            a drops o1@a
            b begins a frame to a
            b drops o1@a
            b sends a #1 ack #1, your x1, release x1 ×1
            a gets #1 of b; o1@a arrives
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1
                b: exports 0, bridges 0, releases owed 0, indices remembered 1
                c: empty
            a drops o1@a; o1@a is FREED
        "#]]);
}

#[test]
fn a_reference_returns_through_the_parent_and_wakes_a_zombie() {
    Script::new().pass(A, B).pass(B, C).drop(B).tables().pass(C, B).tables().reads(expect![[r#"
        a sends b #1 ack #0, my x1 is o1@a at depth 1
        b gets #1 of a; o1@a arrives
        b sends c #1 ack #0, my x1 is o1@a at depth 2
        c gets #1 of b; o1@a arrives
        b drops o1@a
            a: exports 1, bridges 0, releases owed 0, indices remembered 0
              o1@a  Counting  local 1  children b ×1
            b: exports 0, bridges 1, releases owed 0, indices remembered 1
              o1@a  Zombie  local 0  children c ×1  parent a x1 ×1  depth 1
            c: exports 0, bridges 1, releases owed 0, indices remembered 1
              o1@a  Counting  local 1  parent b x1 ×1  depth 2
        c sends b #1 ack #1, your x1
        b gets #1 of c; o1@a arrives
            a: exports 1, bridges 0, releases owed 0, indices remembered 0
              o1@a  Counting  local 1  children b ×1
            b: exports 0, bridges 1, releases owed 0, indices remembered 1
              o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
            c: exports 0, bridges 1, releases owed 0, indices remembered 1
              o1@a  Counting  local 1  parent b x1 ×1  depth 2
    "#]]);
}

#[test]
fn a_reference_that_is_known_from_another_keeps_its_parent() {
    Script::new().pass(A, B).pass(A, C).pass(B, C).tables().flush(C, B).tables().reads(expect![[
        r#"
        a sends b #1 ack #0, my x1 is o1@a at depth 1
        b gets #1 of a; o1@a arrives
        a sends c #1 ack #0, my x1 is o1@a at depth 1
        c gets #1 of a; o1@a arrives
        b sends c #1 ack #0, my x1 is o1@a at depth 2
        c gets #1 of b; o1@a arrives
            a: exports 1, bridges 0, releases owed 0, indices remembered 0
              o1@a  Counting  local 1  children b ×1, c ×1
            b: exports 0, bridges 1, releases owed 0, indices remembered 1
              o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
            c: exports 0, bridges 1, releases owed 1, indices remembered 2
              o1@a  Counting  local 2  parent a x1 ×1  depth 1
        c flushes to b #1 ack #1, release x1 ×1
        b gets #1 of c
            a: exports 1, bridges 0, releases owed 0, indices remembered 0
              o1@a  Counting  local 1  children b ×1, c ×1
            b: exports 0, bridges 1, releases owed 0, indices remembered 1
              o1@a  Counting  local 1  parent a x1 ×1  depth 1
            c: exports 0, bridges 1, releases owed 0, indices remembered 2
              o1@a  Counting  local 2  parent a x1 ×1  depth 1
    "#
    ]]);
}

#[test]
fn the_home_as_a_late_sender_becomes_the_parent() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .pass(A, C)
        .tables()
        .flush(C, B)
        .drop(B)
        .flush(B, A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a sends c #1 ack #0, my x1 is o1@a at depth 1
            c gets #1 of a; o1@a arrives
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1, c ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 1, indices remembered 2
                  o1@a  Counting  local 2  parent a x1 ×1  depth 1
            c flushes to b #1 ack #1, release x1 ×1
            b gets #1 of c
            b drops o1@a
            b flushes to a #1 ack #1, release x1 ×1
            a gets #1 of b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children c ×1
                b: exports 0, bridges 0, releases owed 0, indices remembered 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 2
                  o1@a  Counting  local 2  parent a x1 ×1  depth 1
        "#]]);
}

#[test]
fn a_release_crosses_a_reference_that_is_not_described_again() {
    Script::new()
        .pass(A, B)
        .drop(B)
        .step(Action::Flush { from: B, to: A })
        .send(A, B)
        .arrive(B, A)
        .arrive(A, B)
        .tables()
        .send(A, B)
        .arrive(A, B)
        .drop(B)
        .drop(B)
        .flush(B, A)
        .acknowledge(A, B)
        .send(A, B)
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b drops o1@a
            b flushes to a #1 ack #1, release x1 ×1
            a sends b #2 ack #0, my x1
            a gets #1 of b
            b gets #2 of a; o1@a arrives
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
                c: empty
            a sends b #3 ack #1, my x1
            b gets #3 of a; o1@a arrives
            b drops o1@a
            b drops o1@a
            b flushes to a #2 ack #3, release x1 ×2
            a gets #2 of b
            a tells b ack #2
            b gets an acknowledgement of a
            a sends b #4 ack #2, my x1 is o1@a at depth 1
        "#]]);
}
