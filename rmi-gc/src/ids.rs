//! What nodes, objects, exports and frames are called.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One incarnation of a node: a node that restarts is a new one.
///
/// Displayed shortened, as `n` and the last six hexadecimal digits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct NodeId(pub u64);

/// The home's number for an object, never reused within an incarnation.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct ObjectIndex(pub u64);

/// An object, anywhere and for ever: its home and its number there.
#[derive(Clone, Copy, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct ObjectId {
    /// The incarnation at which the object lives.
    pub home: NodeId,
    /// Its number there.
    pub index: ObjectIndex,
}

/// A node's number for one of its entries, as told to its peers.
///
/// Objects at home and bridges share one number space per node; for an object at home it equals its [`ObjectIndex`].
/// Never reused within an incarnation.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct ExportIndex(pub u64);

/// The n-th frame written on a session in one direction, from 1. Zero stands for "none yet".
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
pub struct FrameNumber(pub u64);

impl FrameNumber {
    /// The number of the frame after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl From<ObjectIndex> for ExportIndex {
    /// The export index of an object, at its home.
    fn from(index: ObjectIndex) -> Self {
        Self(index.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{:06x}", self.0 & 0xff_ffff)
    }
}

impl fmt::Display for ObjectIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "o{}", self.0)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.index, self.home)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ExportIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.0)
    }
}

impl fmt::Display for FrameNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_short_names() {
        let home = NodeId(0xdead_beef_1203_f2a1);
        let object = ObjectId { home, index: ObjectIndex(17) };
        for (printed, want) in [
            (home.to_string(), "n03f2a1"),
            (object.to_string(), "o17@n03f2a1"),
            (format!("{object:?}"), "o17@n03f2a1"),
            (ExportIndex::from(object.index).to_string(), "x17"),
            (FrameNumber(3).next().to_string(), "#4"),
        ] {
            assert_eq!(printed, want);
        }
    }
}
