//! Holders are adopted by the home: rules 7 to 10, 12, 16 and 17.

use expect_test::expect;

use crate::script::{OBJECT, Script};
use crate::world::{A, Action, B, C, D};

#[test]
fn rule_7_an_adoption_rides_on_the_next_frame_and_its_answer() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(B)
        .adopt(C)
        .pass(C, A)
        .pass(A, C)
        .flush(C, B)
        .flush(B, A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            b drops o1@a
            c wants to be adopted for o1@a
            c sends a #1 ack #0, your o1@a by key, adopt me for o1@a
            a gets #1 of c; o1@a arrives
            a sends c #1 ack #1, adopted for o1@a, my x1
            c gets #1 of a; o1@a arrives
            c flushes to b #1 ack #1, release x1 ×1
            b gets #1 of c
            b flushes to a #1 ack #1, release x1 ×1
            a gets #1 of b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 2  children c ×2
                b: exports 0, bridges 0, releases owed 0, indices remembered 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 2
                  o1@a  Counting  local 2  parent a x1 ×2  depth 1
        "#]]);
}

#[test]
fn rule_9_an_adoption_that_comes_too_late_is_released_at_once() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .adopt(C)
        .flush(C, A)
        .drop(C)
        .flush(A, C)
        .flush(C, A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c wants to be adopted for o1@a
            c flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of c
            c drops o1@a
            a flushes to c #1 ack #1, adopted for o1@a
            c gets #1 of a
            c flushes to a #2 ack #1, release x1 ×1
            a gets #2 of c
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 0, releases owed 1, indices remembered 2
        "#]]);
}

#[test]
fn rule_9_a_reference_from_the_home_counts_as_adoption_and_the_answer_as_one_more() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .adopt(C)
        .send(A, C)
        .flush(C, A)
        .arrive(A, C)
        .flush(A, C)
        .tables()
        .drop(C)
        .drop(C)
        .flush(C, A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c wants to be adopted for o1@a
            a sends c #1 ack #0, my x1 is o1@a at depth 1
            c flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of c
            c gets #1 of a; o1@a arrives
            a flushes to c #2 ack #1, adopted for o1@a
            c gets #2 of a
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1, c ×2
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 1, indices remembered 2
                  o1@a  Counting  local 2  parent a x1 ×2  depth 1
            c drops o1@a
            c drops o1@a
            c flushes to a #2 ack #2, release x1 ×2
            a gets #2 of c
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 0, releases owed 1, indices remembered 2
        "#]]);
}

#[test]
fn rule_10_and_12_an_object_is_gone_after_grace_and_its_holder_is_told() {
    Script::new().pass(A, B).drop(A).give_up(A, B).expire(A).open(A, B).ask(B, A).tables().reads(
        expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            a drops o1@a
            a gives b up
            b notices that a gave it up
            at a, the grace is over; o1@a is FREED
            a and b have a session
            b flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of b
            a flushes to b #1 ack #1, o1@a is gone
            b gets #1 of a; o1@a is broken
                a: empty
                b: exports 0, bridges 1, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  Broken
                c: empty
        "#]],
    );
}

#[test]
fn rule_12_a_crash_in_the_middle_costs_the_last_holder_nothing() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(A)
        .crash(B)
        .tables()
        .ask(C, A)
        .expire(A)
        .tables()
        .drop(C)
        .flush(C, A)
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a drops o1@a
            b crashes
            a gives b up
            c gives b up
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  estate of b
                b: empty
                c: exports 0, bridges 1, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  Adopting, in doubt
            c flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of c
            a flushes to c #1 ack #1, adopted for o1@a
            c gets #1 of a
            at a, the grace is over
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children c ×1
                b: empty
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
            c drops o1@a
            c flushes to a #2 ack #1, release x1 ×1
            a gets #2 of c; o1@a is FREED
        "#]]);
}

#[test]
fn rule_12_a_middle_node_crashes_after_the_one_above_it() {
    Script::among(4)
        .pass(A, B)
        .pass(B, C)
        .pass(C, D)
        .drop(A)
        .crash(B)
        .crash(C)
        .ask(D, A)
        .expire(A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c sends d #1 ack #0, my x1 is o1@a at depth 3
            d gets #1 of c; o1@a arrives
            a drops o1@a
            b crashes
            a gives b up
            c gives b up
            d gives b up
            c crashes
            a gives c up
            d gives c up
            d flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of d
            a flushes to d #1 ack #1, adopted for o1@a
            d gets #1 of a
            at a, the grace is over
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children d ×1
                b: empty
                c: empty
                d: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
        "#]]);
}

#[test]
fn rule_8_a_holder_that_comes_back_claims_its_estate() {
    Script::new().pass(A, B).drop(A).give_up(A, B).tables().open(A, B).ask(B, A).tables().reads(
        expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            a drops o1@a
            a gives b up
            b notices that a gave it up
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  estate of b
                b: exports 0, bridges 1, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  Suspect
                c: empty
            a and b have a session
            b flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of b
            a flushes to b #1 ack #1, adopted for o1@a
            b gets #1 of a
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
                c: empty
        "#]],
    );
}

#[test]
fn rule_17_a_node_that_leaves_asks_its_children_to_be_adopted_first() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(A)
        .drop(B)
        .step(Action::Leave { node: B })
        .flush(B, C)
        .ask(C, A)
        .flush(C, B)
        .flush(B, A)
        .crash(B)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a drops o1@a
            b drops o1@a
            b is about to leave
            b flushes to c #2 ack #0, Leaving my x1
            c gets #2 of b
            c flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of c
            a flushes to c #1 ack #1, adopted for o1@a
            c gets #1 of a
            c flushes to b #1 ack #2, release x1 ×1
            b gets #1 of c
            b flushes to a #1 ack #1, release x1 ×1
            a gets #1 of b
            b crashes
            a gives b up
            c gives b up
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children c ×1
                b: empty
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
        "#]]);
}

#[test]
fn rule_13_a_home_that_is_another_incarnation_has_lost_its_objects() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .crash(A)
        .step(Action::Learn { node: C, home: A })
        .step(Action::Learn { node: B, home: A })
        .drop(C)
        .flush(C, B)
        .drop(B)
        .tables()
        .step(Action::Adopt { node: B, object: OBJECT })
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a crashes
            b gives a up
            c gives a up
            c learns that a is no more; o1@a is broken
            b learns that a is no more; o1@a is broken
            c drops o1@a
            c flushes to b #1 ack #1, release x1 ×1
            b gets #1 of c
            b drops o1@a
                a: empty
                b: empty
                c: exports 0, bridges 0, releases owed 0, indices remembered 1
            b wants to be adopted for o1@a
        "#]]);
}
