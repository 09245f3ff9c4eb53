//! Frames: what two nodes say to each other once they are connected.
//!
//! A frame is an envelope of fixed layout, two tables (the references that its payload contains,
//! and the references that its sender gives back), and a payload that only the codec understands.
//! Whatever is numbered from one side's point of view says which side's.

mod decode;
mod encode;
mod failure;
mod limits;
mod reader;
mod varint;

use bytes::Bytes;
use smallvec::SmallVec;

pub use decode::{FrameError, decode};
pub use encode::{FrameBuffer, FrameWriter, TooLarge};
pub use failure::Failure;
pub use limits::{
    ENDPOINTS_MAX, FRAME_BYTES_LEAST, FRAME_BYTES_MAX, FrameLimits, INTERFACES_MAX, NOTICES_MAX,
    REFERENCES_MAX, RELEASES_MAX, TEXT_BYTES_MAX,
};

pub(crate) use encode::{bounded, put_text};
pub(crate) use reader::Reader;

/// How many bytes the first frame of `lane` takes, its length included; `None` at the end of it.
pub(crate) fn frame_bytes(lane: &[u8]) -> Option<usize> {
    let (bytes, length_bytes) = varint::read(lane).ok()?;
    usize::try_from(bytes).ok()?.checked_add(length_bytes)
}

/// How many frames there are in `lane`, which ends with a whole one.
pub(crate) fn frames_in(mut lane: &[u8]) -> u64 {
    let mut frames = 0;
    while let Some(rest) = frame_bytes(lane).and_then(|bytes| lane.get(bytes..)) {
        lane = rest;
        frames += 1;
    }
    frames
}

/// One frame, as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// How many frames the sender has received since it last acknowledged.
    pub ack: u64,
    /// The sender would like to have this frame acknowledged soon, whether or not the receiver
    /// has anything else to say.
    pub wants_ack: bool,
    /// What the frame is about.
    pub body: Body,
    /// The references in the payload, in the order in which the payload names them.
    pub references: SmallVec<[Reference; 1]>,
    /// What is said of the tree of holders. An [`Adopted`](Notice::Adopted) takes effect before
    /// the references, all else behind them.
    pub notices: Vec<Notice>,
    /// References to objects in the receiver's export table that are gone at the sender: the
    /// export index, and how many.
    pub releases: Vec<(u64, u32)>,
    /// The codec's part.
    pub payload: Bytes,
}

impl Frame {
    /// Appends the frame to `frames`, and says how many bytes it took.
    ///
    /// # Errors
    ///
    /// [`TooLarge`]: it is over one of the receiver's limits; nothing was appended.
    pub fn encode(&self, frames: &mut FrameBuffer) -> Result<usize, TooLarge> {
        let mut writer = frames.begin(&Head {
            ack: self.ack,
            wants_ack: self.wants_ack,
            body: self.body.clone(),
        });
        for reference in &self.references {
            writer.reference(reference);
        }
        let mut notices = self.notices.as_slice();
        if let (
            Body::Call(Call { target: Target::Object { index, key }, .. }),
            [first, rest @ ..],
        ) = (&self.body, notices)
        {
            if *first == (Notice::Adopt { index: *index, key: *key }) {
                writer.adopt_caller();
                notices = rest;
            }
        }
        for notice in notices {
            writer.notice(notice);
        }
        for (index, count) in &self.releases {
            writer.release(*index, *count);
        }
        writer.finish(&self.payload)
    }
}

/// The part of a frame that is known before its tables and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// See [`Frame::ack`].
    pub ack: u64,
    /// See [`Frame::wants_ack`].
    pub wants_ack: bool,
    /// See [`Frame::body`].
    pub body: Body,
}

/// What a frame is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Call a method.
    Call(Call),
    /// A call of the receiver's has ended.
    Answer {
        /// The call's id, as the receiver of this frame chose it.
        call: u64,
        /// How it ended.
        outcome: Outcome,
    },
    /// The sender is no longer interested in a call of its own.
    Cancel {
        /// The call's id, as the sender chose it.
        call: u64,
    },
    /// Only the acknowledgement and the tables matter.
    Control,
    /// The sender ends the session: this is its last frame.
    Goodbye {
        /// Why, for the receiver to act upon.
        reason: Goodbye,
        /// Why, for its log.
        text: String,
    },
}

/// A call of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Chosen by the caller, and free again once it is answered. 0 is a one-way call, which is
    /// never answered.
    pub call: u64,
    /// Whose method it is.
    pub target: Target,
    /// The hash of the method's name.
    pub method: u32,
    /// The hash of the method's argument and result types, as the caller knows them.
    pub fingerprint: u32,
    /// The distributed thread that calls.
    pub thread: Option<Thread>,
}

/// Whose method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An entry of the receiver's export table; 0 is the node itself.
    Export(u64),
    /// An object whose home is the receiver, for a caller that holds its key.
    Object {
        /// The object's index at its home.
        index: u64,
        /// The object's key.
        key: [u8; 16],
    },
}

/// A distributed thread: the node where it began, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Where the thread began.
    pub origin: Origin,
    /// Its number at its origin.
    pub number: u64,
}

/// Where a distributed thread began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// At the node that sends the frame.
    Sender,
    /// At the node that receives it: the thread comes home.
    Receiver,
    /// Elsewhere, by the origin's number in its hand-shakes.
    Other(u64),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The payload is the result.
    Ok,
    /// The payload is the application's error.
    Err,
    /// The payload is a [`Failure`].
    Failed,
}

/// Why a node ends a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Goodbye {
    /// It shuts down.
    ShuttingDown,
    /// The receiver of this frame broke the protocol.
    ProtocolViolation,
    /// The receiver of this frame is over one of the sender's limits.
    LimitReached,
    /// Nobody at the sender needs the session.
    Unused,
}

/// One row of the reference table: one counted reference, or one that comes home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// To an object that the sender has not yet described in this session.
    Described(Box<Description>),
    /// To an object that it has.
    Known {
        /// The sender's export index.
        index: u64,
    },
    /// To an object in the receiver's export table: it comes home, or back.
    Yours {
        /// The receiver's export index.
        index: u64,
    },
    /// To an object whose home is the receiver, but which the sender did not get from it.
    YoursByKey {
        /// The object's index at its home.
        index: u64,
        /// The object's key.
        key: [u8; 16],
    },
}

/// What one node says to another about who holds an object, and from whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// The receiver is counted as a holder of an object of the sender's: one reference more.
    Adopted {
        /// The object's index at its home, the sender.
        index: u64,
    },
    /// The sender asks to be counted as a holder of an object of the receiver's. On a call of that
    /// object it is a flag of the call.
    Adopt {
        /// The object's index at its home, the receiver.
        index: u64,
        /// The object's key.
        key: [u8; 16],
    },
    /// An object of the sender's that the receiver asked to be counted for is gone, or its key was
    /// wrong.
    Gone {
        /// The object's index at its home, the sender.
        index: u64,
    },
    /// The way to the home of what the sender has passed on under `index`.
    Path {
        /// The sender's export index. The receiver may have released it meanwhile.
        index: u64,
        /// What about it.
        news: News,
    },
}

/// What a parent says about the way to the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum News {
    /// It is in doubt: find another.
    Reroot,
    /// It is good again.
    Confirm,
    /// It is good, and the sender is about to leave.
    Leaving,
}

/// What a receiver needs to know of an object that it may not have seen before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The sender's export index.
    pub index: u64,
    /// The incarnation of the object's home; `None` if that is the sender, in which case `object`
    /// equals `index` and `endpoints` is empty.
    pub home: Option<u64>,
    /// The object's index at its home.
    pub object: u64,
    /// The key with which the home is asked for the object.
    pub key: [u8; 16],
    /// The interfaces that the object has, by the hashes of their names.
    pub interfaces: SmallVec<[u64; 1]>,
    /// Where the home can be dialled. Empty if that is the sender, who told it in the hand-shake.
    pub endpoints: Vec<String>,
    /// How many nodes the reference has passed through since it left its home.
    pub depth: u8,
}

/// The numbers that stand for kinds, outcomes, reasons and rows on the wire, and the flags.
mod code {
    pub(super) const CALL: u8 = 1;
    pub(super) const ANSWER: u8 = 2;
    pub(super) const CANCEL: u8 = 3;
    pub(super) const CONTROL: u8 = 4;
    pub(super) const GOODBYE: u8 = 5;

    /// Flags of every kind.
    pub(super) const WANTS_ACK: u8 = 0x01;
    pub(super) const REFERENCES: u8 = 0x02;
    pub(super) const RELEASES: u8 = 0x04;
    pub(super) const NOTICES: u8 = 0x20;
    pub(super) const COMMON: u8 = WANTS_ACK | REFERENCES | RELEASES | NOTICES;
    /// Flags of calls.
    pub(super) const KEY: u8 = 0x08;
    pub(super) const THREAD: u8 = 0x10;
    pub(super) const ADOPT: u8 = 0x40;
    /// Flags of answers: two bits, of which one at most is set.
    pub(super) const ERR: u8 = 0x08;
    pub(super) const FAILED: u8 = 0x10;

    pub(super) const ORIGIN_SENDER: u8 = 1;
    pub(super) const ORIGIN_RECEIVER: u8 = 2;
    pub(super) const ORIGIN_OTHER: u8 = 3;

    pub(super) const SHUTTING_DOWN: u8 = 1;
    pub(super) const PROTOCOL_VIOLATION: u8 = 2;
    pub(super) const LIMIT_REACHED: u8 = 3;
    pub(super) const UNUSED: u8 = 4;

    pub(super) const DESCRIBED_HERE: u8 = 1;
    pub(super) const DESCRIBED_ELSEWHERE: u8 = 2;
    pub(super) const KNOWN: u8 = 3;
    pub(super) const YOURS: u8 = 4;
    pub(super) const YOURS_BY_KEY: u8 = 5;

    pub(super) const ADOPTED: u8 = 1;
    pub(super) const ADOPT_BY_KEY: u8 = 2;
    pub(super) const GONE: u8 = 3;
    pub(super) const REROOT: u8 = 4;
    pub(super) const CONFIRM: u8 = 5;
    pub(super) const LEAVING: u8 = 6;
}
