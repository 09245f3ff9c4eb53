//! Frames are rolled back, acknowledgements are slow, sessions are lost.

use expect_test::expect;

use crate::script::Script;
use crate::world::{A, B, C, D};

#[test]
fn a_roll_back_takes_back_its_own_reference_only() {
    Script::new()
        .pass(A, B)
        .begin(A, B)
        .tables()
        .roll_back(A, B)
        .tables()
        .begin(B, C)
        .roll_back(B, C)
        .pass(B, C)
        .begin(C, A)
        .roll_back(C, A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            a begins a frame to b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 2  children b ×2
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
                c: empty
            a rolls the frame to b back
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
                c: empty
            b begins a frame to c
            b rolls the frame to c back
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c begins a frame to a
            c rolls the frame to a back
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent b x1 ×1  depth 2
        "#]]);
}

#[test]
fn a_pin_holds_until_a_slow_acknowledgement() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(A)
        .drop(B)
        .send(C, A)
        .drop(C)
        .tables()
        .arrive(C, A)
        .acknowledge(A, C)
        .flush(C, B)
        .flush(B, A)
        .tables()
        .drop(A)
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a drops o1@a
            b drops o1@a
            c sends a #1 ack #0, your o1@a by key
            c drops o1@a
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Zombie  local 0  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 0  pins a ×1  parent b x1 ×1  depth 2
            a gets #1 of c; o1@a arrives
            a tells c ack #1
            c gets an acknowledgement of a
            c flushes to b #1 ack #1, release x1 ×1
            b gets #1 of c
            b flushes to a #1 ack #1, release x1 ×1
            a gets #1 of b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1
                b: exports 0, bridges 0, releases owed 0, indices remembered 1
                c: exports 0, bridges 0, releases owed 0, indices remembered 1
            a drops o1@a; o1@a is FREED
        "#]]);
}

#[test]
fn an_orphan_takes_no_other_parent_and_owes_the_reference_back() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .give_up(A, B)
        .pass(A, C)
        .pass(C, B)
        .tables()
        .drop(B)
        .drop(B)
        .flush(B, C)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a gives b up
            b notices that a gave it up
            a sends c #1 ack #0, my x1 is o1@a at depth 1
            c gets #1 of a; o1@a arrives
            c sends b #1 ack #1, my x1 is o1@a at depth 2, release x1 ×1
            b gets #1 of c; o1@a arrives
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children c ×1  estate of b
                b: exports 0, bridges 1, releases owed 1, indices remembered 1
                  o1@a  Counting  local 2  Suspect
                c: exports 0, bridges 1, releases owed 0, indices remembered 2
                  o1@a  Counting  local 2  children b ×1  parent a x1 ×1  depth 1
            b drops o1@a
            b drops o1@a
            b flushes to c #2 ack #1, Reroot my x1, release x1 ×1
            c gets #2 of b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children c ×1  estate of b
                b: exports 0, bridges 0, releases owed 0, indices remembered 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 2  parent a x1 ×1  depth 1
        "#]]);
}

#[test]
fn a_reference_that_comes_home_too_late_is_lost_and_nothing_else() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(A)
        .give_up(A, B)
        .expire(A)
        .send(C, A)
        .drop(C)
        .arrive(C, A)
        .acknowledge(A, C)
        .flush(C, B)
        .drop(B)
        .acknowledge(B, C)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a drops o1@a
            a gives b up
            b notices that a gave it up
            at a, the grace is over; o1@a is FREED
            c sends a #1 ack #0, your o1@a by key
            c drops o1@a
            a gets #1 of c; o1@a is lost
            a tells c ack #1
            c gets an acknowledgement of a
            c flushes to b #1 ack #1, release x1 ×1
            b gets #1 of c
            b drops o1@a
            b tells c ack #1
            c gets an acknowledgement of b
                a: empty
                b: empty
                c: empty
        "#]]);
}

#[test]
fn an_orphan_takes_its_grandchild_for_no_parent() {
    Script::among(4).pass(A, B).pass(B, C).pass(C, D).give_up(A, B).pass(D, B).tables().reads(
        expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c sends d #1 ack #0, my x1 is o1@a at depth 3
            d gets #1 of c; o1@a arrives
            a gives b up
            b notices that a gave it up
            d sends b #1 ack #0, my x1 is o1@a at depth 4
            b gets #1 of d; o1@a arrives
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  estate of b
                b: exports 0, bridges 1, releases owed 1, indices remembered 1
                  o1@a  Counting  local 2  children c ×1  Suspect
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children d ×1  parent b x1 ×1  depth 2
                d: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children b ×1  parent c x1 ×1  depth 3
        "#]],
    );
}
