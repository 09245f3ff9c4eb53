//! What the collector reads and writes of a frame, as plain values.

use crate::{ExportIndex, FrameNumber, ObjectId, Sent};

/// The collector's part of a frame: references travel beside the payload, never in it.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Frame {
    /// The frame's number in its direction.
    pub number: FrameNumber,
    /// Every frame of the peer up to this one has taken effect at the sender.
    pub ack: FrameNumber,
    /// References, in the order in which they were counted.
    pub references: Vec<WireReference>,
    /// Releases, accounted after the references.
    pub releases: Vec<WireRelease>,
}

/// A reference as it is named on a frame. "Our" is the sender's, "your" the receiver's.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum WireReference {
    /// Our entry `index` is a reference to `object`.
    Described {
        /// The sender's export index.
        index: ExportIndex,
        /// The object.
        object: ObjectId,
        /// The receiver's hops to the home.
        depth: u8,
    },
    /// Our entry `index`, which you know.
    Known {
        /// The sender's export index.
        index: ExportIndex,
    },
    /// Your entry `index`.
    Yours {
        /// The receiver's export index.
        index: ExportIndex,
    },
    /// Your own object. Its key is checked before the collector sees it.
    YoursByKey {
        /// The object.
        object: ObjectId,
    },
}

/// Of the references received under your entry `index`, `count` are gone.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct WireRelease {
    /// The receiver's export index.
    pub index: ExportIndex,
    /// How many.
    pub count: u32,
}

impl WireReference {
    /// The name that an entry chose for its reference to `object`.
    pub fn new(object: ObjectId, sent: Sent) -> Self {
        match sent {
            Sent::Described { index, depth } => Self::Described { index, object, depth },
            Sent::Known { index } => Self::Known { index },
            Sent::Yours { index } => Self::Yours { index },
            Sent::YoursByKey => Self::YoursByKey { object },
        }
    }
}
