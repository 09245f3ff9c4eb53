//! Whole situations with their transcripts, to be read and reviewed as such.
//!
//! `UPDATE_EXPECT=1 cargo test -p rmi-gc --test scripts` writes them anew.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use rmi_gc::{Frame, NodeId, ObjectId, ObjectIndex, PeerMisbehaved, WireReference};

mod world;

use world::{A, Action, B, C, D, Letter, World};

const OBJECT: ObjectId = ObjectId { home: A, index: ObjectIndex(1) };

/// A world with one object at `A`, and what was seen of it.
struct Script {
    world: World,
    transcript: String,
}

impl Script {
    fn new() -> Self {
        Self::among(3)
    }

    fn among(nodes: usize) -> Self {
        Self { world: World::new(nodes, 1), transcript: String::new() }
    }

    fn step(&mut self, action: Action) -> &mut Self {
        match self.take(&action) {
            Ok(line) => self.note(&line),
            Err(violation) => self.note(&format!("{action:?}: peer {violation}")),
        }
    }

    fn take(&mut self, action: &Action) -> Result<String, PeerMisbehaved> {
        let mut arriving = None;
        if let Action::Deliver { from, to } = action {
            arriving = self.world.link(*from, *to).lane.front().map(number);
        }
        let effects = self.world.step(action)?;
        let mut line = match action {
            Action::Send { from, to, .. } | Action::Write { from, to } => {
                format!("{from} sends {to} {}", self.newest(*from, *to))
            }
            Action::Flush { from, to } => {
                format!("{from} flushes to {to} {}", self.newest(*from, *to))
            }
            Action::Acknowledge { from, to } => {
                format!("{from} tells {to} {}", self.newest(*from, *to))
            }
            Action::Draft { from, to, .. } => format!("{from} begins a frame to {to}"),
            Action::RollBack { from, to } => format!("{from} rolls the frame to {to} back"),
            Action::Deliver { from, to } => {
                format!("{to} gets {} of {from}", arriving.unwrap_or_default())
            }
            Action::Drop { node, object } => format!("{node} drops {object}"),
            Action::GiveUp { by, peer } => format!("{by} gives {peer} up"),
            Action::Notice { node, peer } => format!("{node} notices that {peer} gave it up"),
        };
        for object in &effects.arrived {
            write!(line, "; {object} arrives").expect("a string takes all");
        }
        for object in &effects.lost {
            write!(line, "; {object} is lost").expect("a string takes all");
        }
        for object in &effects.freed {
            write!(line, "; {object} is FREED").expect("a string takes all");
        }
        Ok(line)
    }

    fn newest(&self, from: NodeId, to: NodeId) -> String {
        self.world.link(from, to).lane.back().map_or_else(String::new, letter)
    }

    fn send(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Send { from, to, objects: vec![OBJECT] })
    }

    fn begin(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Draft { from, to, objects: vec![OBJECT] })
    }

    fn write(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Write { from, to })
    }

    fn roll_back(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::RollBack { from, to })
    }

    fn arrive(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Deliver { from, to })
    }

    /// A reference is sent and arrives.
    fn pass(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.send(from, to).arrive(from, to)
    }

    fn drop(&mut self, node: NodeId) -> &mut Self {
        self.step(Action::Drop { node, object: OBJECT })
    }

    /// Owed releases leave and arrive.
    fn flush(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Flush { from, to }).arrive(from, to)
    }

    fn acknowledge(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Acknowledge { from, to }).arrive(from, to)
    }

    fn give_up(&mut self, by: NodeId, peer: NodeId) -> &mut Self {
        self.step(Action::GiveUp { by, peer }).step(Action::Notice { node: peer, peer: by })
    }

    /// Shows all that the nodes share.
    fn tables(&mut self) -> &mut Self {
        let tables: Vec<_> =
            self.world.nodes().map(|node| self.world.node(node).snapshot().to_string()).collect();
        for table in tables {
            self.note(&format!("    {}", table.replace('\n', "\n    ")));
        }
        self
    }

    fn note(&mut self, line: &str) -> &mut Self {
        let short = line.replace("n00000", "");
        writeln!(self.transcript, "{short}").expect("a string takes all");
        self
    }

    fn reads(&mut self, transcript: Expect) {
        transcript.assert_eq(&self.transcript);
    }
}

fn number(letter: &Letter) -> String {
    match letter {
        Letter::Frame { frame, .. } => frame.number.to_string(),
        Letter::Acknowledgement(_) => String::from("an acknowledgement"),
    }
}

fn letter(letter: &Letter) -> String {
    let Frame { number, ack, references, releases } = match letter {
        Letter::Acknowledgement(up_to) => return format!("ack {up_to}"),
        Letter::Frame { frame, .. } => frame,
    };
    let mut line = format!("{number} ack {ack}");
    for reference in references {
        let name = match reference {
            WireReference::Described { index, object, depth } => {
                format!("my {index} is {object} at depth {depth}")
            }
            WireReference::Known { index } => format!("my {index}"),
            WireReference::Yours { index } => format!("your {index}"),
            WireReference::YoursByKey { object } => format!("your {object} by key"),
        };
        write!(line, ", {name}").expect("a string takes all");
    }
    for release in releases {
        write!(line, ", release {} ×{}", release.index, release.count).expect("a string takes all");
    }
    line
}

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
    Script::new().pass(A, B).pass(A, C).pass(B, C).tables().flush(C, B).tables().reads(expect![[r#"
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
    "#]]);
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
                  o1@a  Counting  local 1  children c ×1
                b: exports 0, bridges 1, releases owed 1, indices remembered 1
                  o1@a  Counting  local 2  Broken
                c: exports 0, bridges 1, releases owed 0, indices remembered 2
                  o1@a  Counting  local 2  children b ×1  parent a x1 ×1  depth 1
            b drops o1@a
            b drops o1@a
            b flushes to c #2 ack #1, release x1 ×1
            c gets #2 of b
                a: exports 1, bridges 0, releases owed 0, indices remembered 0
                  o1@a  Counting  local 1  children c ×1
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
            a gives b up; o1@a is FREED
            b notices that a gave it up
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
                  o1@a  Counting  local 1
                b: exports 0, bridges 1, releases owed 1, indices remembered 1
                  o1@a  Counting  local 2  children c ×1  Broken
                c: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children d ×1  parent b x1 ×1  depth 2
                d: exports 0, bridges 1, releases owed 0, indices remembered 1
                  o1@a  Counting  local 1  children b ×1  parent c x1 ×1  depth 3
        "#]],
    );
}
