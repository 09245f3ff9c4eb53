//! A world that keeps a transcript.

use std::fmt::Write as _;

use expect_test::Expect;
use rmi_gc::{
    Frame, NodeId, Notice, ObjectId, ObjectIndex, PeerMisbehaved, Rules, Waiting, WireReference,
};

use crate::world::{A, Action, Letter, World, next_incarnation};

/// The one object.
pub(crate) const OBJECT: ObjectId = ObjectId { home: A, index: ObjectIndex(1) };

/// A world with one object at `A`, and what was seen of it.
pub(crate) struct Script {
    world: World,
    transcript: String,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::among(3)
    }

    pub(crate) fn among(nodes: usize) -> Self {
        Self { world: World::new(nodes, &[A], Rules::default()), transcript: String::new() }
    }

    pub(crate) fn step(&mut self, action: Action) -> &mut Self {
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
            Action::Open { one, other } => format!("{one} and {other} have a session"),
            Action::Cut { one, other } => format!("{one} and {other} lose their connection"),
            Action::Heal { one, other } => format!("{one} and {other} have a connection again"),
            Action::Crash { node } => format!("{node} crashes"),
            Action::Restart { node } => format!("{} is back as {}", node, next_incarnation(*node)),
            Action::Learn { node, home } => format!("{node} learns that {home} is no more"),
            Action::Adopt { node, object } => format!("{node} wants to be adopted for {object}"),
            Action::Guess { thief, object } => format!("{thief} guesses the key of {object}"),
            Action::Leave { node } => format!("{node} is about to leave"),
            Action::Oversleep { node } => format!("{node} slept for longer than the grace"),
            Action::Expire { node } => format!("at {node}, the grace is over"),
        };
        for object in &effects.arrived {
            write!(line, "; {object} arrives").expect("a string takes all");
        }
        for object in &effects.lost {
            write!(line, "; {object} is lost").expect("a string takes all");
        }
        for (object, waiting) in &effects.waiting {
            match waiting {
                Waiting::GoOn => {}
                Waiting::Fail => write!(line, "; {object} is broken").expect("a string takes all"),
            }
        }
        for object in &effects.freed {
            write!(line, "; {object} is FREED").expect("a string takes all");
        }
        Ok(line)
    }

    fn newest(&self, from: NodeId, to: NodeId) -> String {
        self.world.link(from, to).lane.back().map_or_else(String::new, letter)
    }

    pub(crate) fn send(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Send { from, to, objects: vec![OBJECT] })
    }

    pub(crate) fn begin(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Draft { from, to, objects: vec![OBJECT] })
    }

    pub(crate) fn write(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Write { from, to })
    }

    pub(crate) fn roll_back(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::RollBack { from, to })
    }

    pub(crate) fn arrive(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Deliver { from, to })
    }

    /// A reference is sent and arrives.
    pub(crate) fn pass(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.send(from, to).arrive(from, to)
    }

    pub(crate) fn drop(&mut self, node: NodeId) -> &mut Self {
        self.step(Action::Drop { node, object: OBJECT })
    }

    /// Owed releases leave and arrive.
    pub(crate) fn flush(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Flush { from, to }).arrive(from, to)
    }

    pub(crate) fn acknowledge(&mut self, from: NodeId, to: NodeId) -> &mut Self {
        self.step(Action::Acknowledge { from, to }).arrive(from, to)
    }

    pub(crate) fn give_up(&mut self, by: NodeId, peer: NodeId) -> &mut Self {
        self.step(Action::GiveUp { by, peer }).step(Action::Notice { node: peer, peer: by })
    }

    pub(crate) fn open(&mut self, one: NodeId, other: NodeId) -> &mut Self {
        self.step(Action::Open { one, other })
    }

    pub(crate) fn cut(&mut self, one: NodeId, other: NodeId) -> &mut Self {
        self.step(Action::Cut { one, other })
    }

    pub(crate) fn heal(&mut self, one: NodeId, other: NodeId) -> &mut Self {
        self.step(Action::Heal { one, other })
    }

    /// A node crashes, and all others give it up.
    pub(crate) fn crash(&mut self, node: NodeId) -> &mut Self {
        self.step(Action::Crash { node });
        let alive: Vec<_> = self.world.nodes().filter(|by| self.world.is_alive(*by)).collect();
        for by in alive {
            self.step(Action::GiveUp { by, peer: node });
        }
        self
    }

    /// A node that crashed is back, and has another name from now on.
    pub(crate) fn restart(&mut self, node: NodeId) -> &mut Self {
        self.step(Action::Restart { node })
    }

    pub(crate) fn learn(&mut self, node: NodeId, home: NodeId) -> &mut Self {
        self.step(Action::Learn { node, home })
    }

    /// A node that was given nothing asks to be adopted, and is answered.
    pub(crate) fn guess(&mut self, thief: NodeId) -> &mut Self {
        self.world.thief = Some(thief);
        self.step(Action::Guess { thief, object: OBJECT })
            .arrive(thief, OBJECT.home)
            .flush(OBJECT.home, thief)
    }

    pub(crate) fn adopt(&mut self, node: NodeId) -> &mut Self {
        self.step(Action::Adopt { node, object: OBJECT })
    }

    /// Notices leave and arrive, there and back.
    pub(crate) fn ask(&mut self, node: NodeId, home: NodeId) -> &mut Self {
        self.flush(node, home).flush(home, node)
    }

    pub(crate) fn expire(&mut self, node: NodeId) -> &mut Self {
        self.step(Action::Expire { node })
    }

    /// Shows all that the nodes share.
    pub(crate) fn tables(&mut self) -> &mut Self {
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

    pub(crate) fn reads(&mut self, transcript: Expect) {
        transcript.assert_eq(&self.transcript);
    }
}

fn number(letter: &Letter) -> String {
    match letter {
        Letter::Frame { frame, .. } => frame.number.to_string(),
        Letter::Acknowledgement(_) => String::from("an acknowledgement"),
        Letter::Guess(_) => String::from("a guess"),
    }
}

fn letter(letter: &Letter) -> String {
    let Frame { number, ack, adopted, references, notices, releases } = match letter {
        Letter::Acknowledgement(up_to) => return format!("ack {up_to}"),
        Letter::Guess(object) => return format!("adopt me for {object}, with a wrong key"),
        Letter::Frame { frame, .. } => frame,
    };
    let mut line = format!("{number} ack {ack}");
    for object in adopted {
        write!(line, ", adopted for {object}").expect("a string takes all");
    }
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
    for notice in notices {
        let said = match notice {
            Notice::Adopt { object } => format!("adopt me for {object}"),
            Notice::Gone { object } => format!("{object} is gone"),
            Notice::Path { index, news } => format!("{news:?} my {index}"),
        };
        write!(line, ", {said}").expect("a string takes all");
    }
    for release in releases {
        write!(line, ", release {} ×{}", release.index, release.count).expect("a string takes all");
    }
    line
}
