//! What the collector reads and writes of a frame, as plain values.

use crate::{ExportIndex, FrameNumber, News, ObjectId, Sent};

/// The collector's part of a frame: references travel beside the payload, never in it.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Frame {
    /// The frame's number in its direction.
    pub number: FrameNumber,
    /// Every frame of the peer up to this one has taken effect at the sender.
    pub ack: FrameNumber,
    /// Own objects whose holder, the receiver, is adopted: each is a reference counted. Accounted before the references, which
    /// may name them without a description.
    pub adopted: Vec<ObjectId>,
    /// References, in the order in which they were counted.
    pub references: Vec<WireReference>,
    /// What else is to be said of the tree, accounted after the references, of which they may speak.
    pub notices: Vec<Notice>,
    /// Releases, accounted last: an adoption that is asked for by the same frame comes first.
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

/// What is said of the tree. "Our" is the sender's, "your" the receiver's.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Notice {
    /// Count us as holders of your object (rule 7). Its key is checked before the collector sees it.
    Adopt {
        /// The object.
        object: ObjectId,
    },
    /// Our object that you asked to be adopted for is gone, or your key was wrong (rule 10).
    Gone {
        /// The object.
        object: ObjectId,
    },
    /// The path of our entry `index` to the home (rules 14 and 17).
    Path {
        /// The sender's export index. One that means nothing any more was released meanwhile.
        index: ExportIndex,
        /// What about it.
        news: News,
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
