//! Two outboxes at both ends of wires that are cut at any byte, in any order of events: every
//! frame is taken exactly once, in order. Without sockets, threads or time.

use std::collections::VecDeque;
use std::io;

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Batch, Outbox, Written};
use crate::frame::{Body, FRAME_BYTES_MAX, Frame, FrameLimits, Outcome, decode};

/// One end.
struct End {
    outbox: Outbox,
    /// Somebody writes this, out of the lock.
    writer: Option<Batch>,
    /// What was read of the present wire and is not a whole frame yet.
    read: BytesMut,
    /// Takes no frame, and has told how many it has taken.
    parked: bool,
    /// The wire that it is attached to, or was last.
    wire: usize,
}

/// The bytes on their way to each end.
#[derive(Default)]
struct Pipes {
    to: [VecDeque<u8>; 2],
    cut: bool,
}

struct World {
    ends: [End; 2],
    wires: Vec<Pipes>,
}

/// What happens next; numbers are taken modulo whatever is possible.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send { end: usize, payload: usize },
    RollBack { end: usize },
    Begin { end: usize },
    Write { end: usize, bytes: usize },
    Deliver { end: usize, bytes: usize },
    Cut,
    Notice { end: usize },
    Resume,
    ResumeOneSided { end: usize },
}

fn steps() -> impl Strategy<Value = Step> {
    let end = 0..2_usize;
    let bytes = prop_oneof![0..40_usize, 0..1_000_usize, Just(usize::MAX)];
    let payload = prop_oneof![50 => 0..30_usize, 5 => 0..2_000_usize, 1 => 15_000..80_000_usize];
    prop_oneof![
        6 => (end.clone(), payload).prop_map(|(end, payload)| Step::Send { end, payload }),
        1 => end.clone().prop_map(|end| Step::RollBack { end }),
        4 => end.clone().prop_map(|end| Step::Begin { end }),
        6 => (end.clone(), bytes.clone()).prop_map(|(end, bytes)| Step::Write { end, bytes }),
        6 => (end.clone(), bytes).prop_map(|(end, bytes)| Step::Deliver { end, bytes }),
        1 => Just(Step::Cut),
        2 => end.clone().prop_map(|end| Step::Notice { end }),
        3 => Just(Step::Resume),
        1 => end.prop_map(|end| Step::ResumeOneSided { end }),
    ]
}

impl World {
    fn new() -> Self {
        let end = || {
            let mut outbox = Outbox::default();
            outbox.outgoing.frames.set_bytes_max(FRAME_BYTES_MAX);
            End { outbox, writer: None, read: BytesMut::new(), parked: true, wire: 0 }
        };
        World { ends: [end(), end()], wires: vec![Pipes { cut: true, ..Pipes::default() }] }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send { end, payload } => self.send(end, payload),
            Step::RollBack { end } => {
                let outgoing = &mut self.ends[end].outbox.outgoing;
                let before = outgoing.numbering.clone();
                let (_, ack) = outgoing.numbering.next_frame();
                outgoing.numbering.roll_back(ack);
                assert_eq!(outgoing.numbering.received(), before.received());
                assert_eq!(outgoing.numbering.ack_pressing(), before.ack_pressing());
            }
            Step::Begin { end } => {
                let End { outbox, writer, .. } = &mut self.ends[end];
                let mut batch = Batch::default();
                if outbox.begin(&mut batch) || outbox.resume(&mut batch) {
                    assert!(writer.is_none(), "one writes at a time");
                    assert!(outbox.is_present(&batch), "written to the present wire");
                    *writer = Some(batch);
                }
            }
            Step::Write { end, bytes } => self.write(end, bytes),
            Step::Deliver { end, bytes } => self.deliver(end, bytes),
            Step::Cut => {
                if let Some(last) = self.wires.last_mut() {
                    last.cut = true;
                }
            }
            Step::Notice { end } => self.notice(end),
            Step::Resume => self.resume([true, true]),
            Step::ResumeOneSided { end } => self.resume([end == 0, end == 1]),
        }
        self.check();
    }

    fn send(&mut self, end: usize, payload: usize) {
        let outgoing = &mut self.ends[end].outbox.outgoing;
        let (number, ack) = outgoing.numbering.next_frame();
        let body = Body::Answer { call: number, outcome: Outcome::Ok };
        let payload = Bytes::from(vec![number as u8; payload]);
        let frame = Frame {
            ack,
            wants_ack: false,
            body,
            references: Default::default(),
            notices: Vec::new(),
            releases: Vec::new(),
            payload,
        };
        frame.encode(&mut outgoing.frames).unwrap();
    }

    /// The writer writes up to `bytes`, of which the socket may take a part, or none any more.
    fn write(&mut self, end: usize, bytes: usize) {
        let Some(mut batch) = self.ends[end].writer.take() else { return };
        // Which wire it is, the writer knows since it began.
        let wire = usize::try_from(batch.epoch()).unwrap();
        let wire = self.ends[end].wire_of(wire);
        let pipes = &mut self.wires[wire];
        let room = std::cell::RefCell::new((bytes, &mut pipes.to[1 - end]));
        let (cut, bytes_are_refused) = (pipes.cut, bytes % 2 == 0);
        let written = batch.write(|bytes| {
            let mut room = room.borrow_mut();
            let count = room.0.min(bytes.len());
            // A socket may well take bytes after its peer is gone.
            if cut && bytes_are_refused {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            room.0 -= count;
            room.1.extend(&bytes[..count]);
            Ok(count)
        });
        let End { outbox, writer, .. } = &mut self.ends[end];
        let goes_on = match written {
            Written::All => outbox.end(&mut batch),
            Written::Blocked => outbox.wait(&mut batch),
            Written::Failed(_) => {
                if outbox.is_present(&batch) {
                    outbox.detach();
                }
                outbox.end(&mut batch)
            }
        };
        *writer = goes_on.then_some(batch);
    }

    /// Bytes arrive, also such as were under way when the wire was cut.
    fn deliver(&mut self, end: usize, bytes: usize) {
        let near = &mut self.ends[end];
        if near.parked {
            return;
        }
        let pipe = &mut self.wires[near.wire].to[end];
        let count = bytes.min(pipe.len());
        near.read.extend(pipe.drain(..count));
        while let Some(frame) = decode(&mut near.read, &FrameLimits::default()).unwrap() {
            let numbering = &mut near.outbox.outgoing.numbering;
            let number = numbering.received() + 1;
            let want = Body::Answer { call: number, outcome: Outcome::Ok };
            assert_eq!(frame.body, want, "every frame once, and in order");
            assert!(frame.payload.iter().all(|byte| *byte == number as u8));
            numbering.acknowledged(frame.ack).expect("nobody acknowledges more than was sent");
            numbering.taken(false, frame.payload.len());
            near.outbox.settle();
        }
    }

    /// An end finds out that its wire is lost, or gives it up.
    fn notice(&mut self, end: usize) {
        self.wires[self.ends[end].wire].cut = true;
        let near = &mut self.ends[end];
        near.outbox.detach();
        near.read.clear();
        near.parked = true;
    }

    /// Another wire, if both have parked; an end that is not reached by the last message of the
    /// hand-shake does not get it.
    fn resume(&mut self, reached: [bool; 2]) {
        if !self.ends.iter().all(|end| end.parked) {
            return;
        }
        self.wires.push(Pipes::default());
        let received = [0, 1].map(|end| self.received(end));
        for end in [0, 1] {
            if reached[end] {
                let near = &mut self.ends[end];
                near.outbox.attach(received[1 - end]).expect("the peer tells the truth");
                near.parked = false;
                near.wire = self.wires.len() - 1;
            }
        }
    }

    fn received(&self, end: usize) -> u64 {
        self.ends[end].outbox.outgoing.numbering.received()
    }

    fn check(&self) {
        for end in [0, 1] {
            let outgoing = &self.ends[end].outbox.outgoing;
            let received = self.received(1 - end);
            assert!(received <= outgoing.last_handed_over(), "received what never left");
            assert!(outgoing.last_known_received() <= received, "known before it was received");
            assert!(outgoing.last_handed_over() <= outgoing.numbering.sent());
        }
    }

    /// From now on nothing is lost any more: until nothing happens any more.
    fn settle(&mut self) {
        for end in [0, 1] {
            self.notice(end);
        }
        self.resume([true, true]);
        // The last frames acknowledge each other, but for the very last.
        for round in 0..3 {
            for end in [0, 1] {
                self.send(end, round);
                loop {
                    self.step(Step::Begin { end });
                    if self.ends[end].writer.is_none() {
                        break;
                    }
                    self.step(Step::Write { end, bytes: usize::MAX });
                }
                self.step(Step::Deliver { end: 1 - end, bytes: usize::MAX });
            }
        }
    }
}

impl End {
    /// The wire of a batch: the present one, or for one of before, one that is cut.
    fn wire_of(&self, epoch: usize) -> usize {
        if self.outbox.epoch() == epoch as u64 { self.wire } else { 0 }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_frame_is_taken_once_and_in_order_wherever_wires_are_cut(
        steps in vec(steps(), 0..300),
    ) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        world.settle();
        for end in [0, 1] {
            let outbox = &world.ends[end].outbox;
            prop_assert_eq!(outbox.outgoing.numbering.sent(), world.received(1 - end), "W32");
            prop_assert_eq!(outbox.bytes_unsent(), 0);
            // Only the very last frame is not acknowledged.
            prop_assert!(outbox.outgoing.numbering.unacknowledged() <= 1);
            prop_assert!(outbox.bytes_unacknowledged() < 20, "W33");
        }
    }
}
