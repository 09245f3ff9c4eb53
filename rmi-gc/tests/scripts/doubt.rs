//! Paths are in doubt: rules 13 to 15 and 18.

use expect_test::expect;

use crate::script::Script;
use crate::world::{A, Action, B, C, D};

#[test]
fn rule_13_a_connection_that_comes_back_confirms_the_path_and_the_children() {
    Script::among(4)
        .pass(A, B)
        .pass(B, C)
        .pass(C, D)
        .give_up(A, C)
        .cut(B, C)
        .flush(C, D)
        .tables()
        .heal(B, C)
        .flush(C, D)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c sends d #1 ack #0, my x1 is o1@a at depth 3
            d gets #1 of c; o1@a arrives
            a gives c up
            c notices that a gave it up
            b and c lose their connection
            c flushes to d #2 ack #0, Reroot my x1
            d gets #2 of c
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children d ×1  parent b x1 ×1  depth 2  Suspect
                d: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent c x1 ×1  depth 3  Adopting, in doubt
            b and c have a connection again
            c flushes to d #3 ack #0, Confirm my x1
            d gets #3 of c
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children d ×1  parent b x1 ×1  depth 2
                d: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent c x1 ×1  depth 3
        "#]]);
}

#[test]
fn rule_13_a_lost_home_is_told_to_the_children_who_are_adopted_themselves() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(A)
        .give_up(A, B)
        .flush(B, C)
        .ask(C, A)
        .flush(C, B)
        .expire(A)
        .tables()
        .open(A, B)
        .ask(B, A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a drops o1@a
            a gives b up
            b notices that a gave it up
            b flushes to c #2 ack #0, Reroot my x1
            c gets #2 of b
            c flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of c
            a flushes to c #1 ack #1, adopted for o1@a
            c gets #1 of a
            c flushes to b #1 ack #2, release x1 ×1
            b gets #1 of c
            at a, the grace is over
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children c ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  Suspect
                c: exports 0, bridges 1, releases owed 0, indices remembered 2
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
            a and b have a session
            b flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of b
            a flushes to b #1 ack #1, adopted for o1@a
            b gets #1 of a
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  children b ×1, c ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 2
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
        "#]]);
}

#[test]
fn rule_14_reroot_is_passed_on_and_confirm_as_well() {
    Script::among(4)
        .pass(A, B)
        .pass(B, C)
        .pass(C, D)
        .give_up(A, C)
        .give_up(A, D)
        .give_up(A, B)
        .flush(B, C)
        .flush(C, D)
        .tables()
        .open(A, B)
        .ask(B, A)
        .flush(B, C)
        .flush(C, D)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c sends d #1 ack #0, my x1 is o1@a at depth 3
            d gets #1 of c; o1@a arrives
            a gives c up
            c notices that a gave it up
            a gives d up
            d notices that a gave it up
            a gives b up
            b notices that a gave it up
            b flushes to c #2 ack #0, Reroot my x1
            c gets #2 of b
            c flushes to d #2 ack #0, Reroot my x1
            d gets #2 of c
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  estate of b
                b: exports 0, bridges 1, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children c ×1  Suspect
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children d ×1  parent b x1 ×1  depth 2  Suspect
                d: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent c x1 ×1  depth 3  Suspect
            a and b have a session
            b flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of b
            a flushes to b #1 ack #1, adopted for o1@a
            b gets #1 of a
            b flushes to c #3 ack #0, Confirm my x1
            c gets #3 of b
            c flushes to d #3 ack #0, Confirm my x1
            d gets #3 of c
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children d ×1  parent b x1 ×1  depth 2
                d: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent c x1 ×1  depth 3
        "#]]);
}

#[test]
fn rule_15_a_voluntary_adoption_is_called_off_when_the_home_is_lost() {
    Script::new().pass(A, B).pass(B, C).adopt(C).tables().give_up(A, C).tables().reads(expect![[
        r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            c wants to be adopted for o1@a
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent b x1 ×1  depth 2  Adopting
            a gives c up
            c notices that a gave it up
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent b x1 ×1  depth 2
        "#
    ]]);
}

#[test]
fn rule_15_an_adoption_in_doubt_is_tried_again_over_a_new_session() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .drop(A)
        .crash(B)
        .give_up(C, A)
        .tables()
        .open(A, C)
        .ask(C, A)
        .expire(A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            a drops o1@a
            b crashes
            a gives b up
            c gives b up
            c gives a up
            a notices that c gave it up
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 0  estate of b
                b: empty
                c: exports 0, bridges 1, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  Suspect
            a and c have a session
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
        "#]]);
}

#[test]
fn rule_18_an_oversleeper_asks_before_it_believes() {
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .step(Action::Oversleep { node: B })
        .tables()
        .ask(B, A)
        .flush(B, C)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            b slept for longer than the grace
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×1
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×1  depth 1  Adopting, in doubt
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent b x1 ×1  depth 2
            b flushes to a #1 ack #1, adopt me for o1@a
            a gets #1 of b
            a flushes to b #2 ack #1, adopted for o1@a
            b gets #2 of a
            b flushes to c #2 ack #0, Confirm my x1
            c gets #2 of b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children b ×2
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children c ×1  parent a x1 ×2  depth 1
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent b x1 ×1  depth 2
        "#]]);
}
