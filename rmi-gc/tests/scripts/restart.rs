//! A node that crashed is back at its place, as a new incarnation; and one asks for what it was never given.

use expect_test::expect;
use rmi_gc::ObjectId;

use crate::script::{OBJECT, Script};
use crate::world::{A, Action, B, C, next_incarnation};

#[test]
fn a_holder_that_is_back_has_no_claim_on_what_it_left() {
    let again = next_incarnation(B);
    Script::new()
        .pass(A, B)
        .crash(B)
        .restart(B)
        .pass(A, again)
        .tables()
        .expire(A)
        .drop(A)
        .drop(again)
        .flush(again, A)
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b crashes
            a gives b up
            c gives b up
            b is back as n00001b
            a sends n00001b #1 ack #0, my x1 is o1@a at depth 1
            n00001b gets #1 of a; o1@a arrives
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children n00001b ×1  estate of b
                b: empty
                c: empty
                n00001b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent a x1 ×1  depth 1
            at a, the grace is over
            a drops o1@a
            n00001b drops o1@a
            n00001b flushes to a #1 ack #1, release x1 ×1
            a gets #1 of n00001b; o1@a is FREED
        "#]]);
}

#[test]
fn a_home_that_is_back_shares_other_objects_under_the_same_numbers() {
    let again = next_incarnation(A);
    Script::new()
        .pass(A, B)
        .crash(A)
        .restart(A)
        .learn(B, A)
        .step(Action::Send {
            from: again,
            to: B,
            objects: vec![ObjectId { home: again, ..OBJECT }],
        })
        .arrive(again, B)
        .tables()
        .drop(B)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            a crashes
            b gives a up
            c gives a up
            a is back as n00001a
            b learns that a is no more; o1@a is broken
            n00001a sends b #1 ack #0, my x1 is o1@n00001a at depth 1
            b gets #1 of n00001a; o1@n00001a arrives
                a: empty
                b: exports 0, bridges 2, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  Broken
                  o1@n00001a  Counting  local 1  parent n00001a x1 ×1  depth 1
                c: empty
                n00001a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@n00001a  Counting  local 1  children b ×1
            b drops o1@a
                a: empty
                b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@n00001a  Counting  local 1  parent n00001a x1 ×1  depth 1
                c: empty
                n00001a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@n00001a  Counting  local 1  children b ×1
        "#]]);
}

#[test]
fn frames_of_the_old_incarnation_touch_nothing() {
    let again = next_incarnation(B);
    Script::new()
        .pass(A, B)
        .pass(B, C)
        .send(B, C)
        .step(Action::Crash { node: B })
        .restart(B)
        .step(Action::GiveUp { by: C, peer: B })
        .step(Action::GiveUp { by: A, peer: B })
        .ask(C, A)
        .pass(C, again)
        .expire(A)
        .tables()
        .reads(expect![[r#"
            a sends b #1 ack #0, my x1 is o1@a at depth 1
            b gets #1 of a; o1@a arrives
            b sends c #1 ack #0, my x1 is o1@a at depth 2
            c gets #1 of b; o1@a arrives
            b sends c #2 ack #0, my x1
            b crashes
            b is back as n00001b
            c gives b up
            a gives b up
            c flushes to a #1 ack #0, adopt me for o1@a
            a gets #1 of c
            a flushes to c #1 ack #1, adopted for o1@a
            c gets #1 of a
            c sends n00001b #1 ack #0, my x1 is o1@a at depth 2
            n00001b gets #1 of c; o1@a arrives
            at a, the grace is over
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children c ×1
                b: empty
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children n00001b ×1  parent a x1 ×1  depth 1
                n00001b: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  parent c x1 ×1  depth 2
        "#]]);
}

#[test]
fn who_guesses_a_key_is_not_counted() {
    Script::new().pass(A, B).guess(C).tables().drop(A).drop(B).flush(B, A).reads(expect![[r#"
        a sends b #1 ack #0, my x1 is o1@a at depth 1
        b gets #1 of a; o1@a arrives
        c guesses the key of o1@a
        a gets a guess of c
        a flushes to c #1 ack #0, o1@a is gone
        c gets #1 of a
            a: exports 1, bridges 0, releases owed 0, indices remembered 0
              o1@a  Counting  local 1  children b ×1
            b: exports 0, bridges 1, releases owed 0, indices remembered 1
              o1@a  Counting  local 1  parent a x1 ×1  depth 1
            c: empty
        a drops o1@a
        b drops o1@a
        b flushes to a #1 ack #1, release x1 ×1
        a gets #1 of b; o1@a is FREED
    "#]]);
}
