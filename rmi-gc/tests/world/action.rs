//! What can happen in a world.

use rmi_gc::{Frame, FrameNumber, NodeId, ObjectId};

/// What travels in a lane.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Letter {
    /// A frame, and what its references were meant to name.
    Frame { frame: Frame, meant: Vec<ObjectId> },
    /// An acknowledgement without a frame.
    Acknowledgement(FrameNumber),
    /// A thief asks to be adopted, under a key that it guessed.
    Guess(ObjectId),
}

/// One step of the world.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// A message with references is sent, all at once.
    Send { from: NodeId, to: NodeId, objects: Vec<ObjectId> },
    /// A message with references is begun.
    Draft { from: NodeId, to: NodeId, objects: Vec<ObjectId> },
    /// The message that was begun is let go.
    Write { from: NodeId, to: NodeId },
    /// The message that was begun certainly never leaves.
    RollBack { from: NodeId, to: NodeId },
    /// The oldest letter of a lane arrives.
    Deliver { from: NodeId, to: NodeId },
    /// A local handle is dropped.
    Drop { node: NodeId, object: ObjectId },
    /// Owed releases leave by themselves.
    Flush { from: NodeId, to: NodeId },
    /// What arrived is acknowledged without a frame.
    Acknowledge { from: NodeId, to: NodeId },
    /// A node gives up a session. Its peer does not know yet, and may receive what is under way.
    GiveUp { by: NodeId, peer: NodeId },
    /// The peer notices. There is no session any more.
    Notice { node: NodeId, peer: NodeId },
    /// There is a session again.
    Open { one: NodeId, other: NodeId },
    /// The connection of a session is lost, and both sides know.
    Cut { one: NodeId, other: NodeId },
    /// The session has a connection again.
    Heal { one: NodeId, other: NodeId },
    /// A node is no more. What it sent is still under way.
    Crash { node: NodeId },
    /// A node that crashed is back at its place, as a new incarnation.
    Restart { node: NodeId },
    /// A node learns that a home is no more.
    Learn { node: NodeId, home: NodeId },
    /// A node wants to be adopted, because it is idle.
    Adopt { node: NodeId, object: ObjectId },
    /// A node that was not given a reference asks to be adopted for it.
    Guess { thief: NodeId, object: ObjectId },
    /// A node asks its children to be adopted, as it is about to leave.
    Leave { node: NodeId },
    /// A node slept for longer than the grace.
    Oversleep { node: NodeId },
    /// The grace of all estates at a node is over.
    Expire { node: NodeId },
}
