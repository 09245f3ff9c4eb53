//! Violations of the protocol by a peer, each of which ends the session.

use thiserror::Error;

use crate::{ExportIndex, ObjectId};

/// The peer did what no correct peer does. The session with it is given up.
#[derive(Clone, Copy, Debug, Eq, Error, Hash, PartialEq)]
pub enum PeerMisbehaved {
    /// It released a reference to an entry of which it has none.
    #[error("released a reference that it was never sent")]
    ReleasedUnshared,
    /// It released more references than it was sent.
    #[error("released more references than it was sent")]
    ReleasedTooMany,
    /// It sent a release of no references, which would be traffic without meaning.
    #[error("released zero references")]
    ReleasedNothing,
    /// It named an export index that means nothing on this session.
    #[error("named {0}, which means nothing on this session")]
    UnknownIndex(ExportIndex),
    /// It described another object under an export index whose meaning is still remembered.
    #[error("described {described} under {index}, which means {means}")]
    IndexMeansAnother {
        /// The peer's export index.
        index: ExportIndex,
        /// The object it meant before.
        means: ObjectId,
        /// The object it is said to mean now.
        described: ObjectId,
    },
    /// It named one object by two of its export indices while references under the first were still held.
    #[error("named {object} by {named}, but holds it under {known}")]
    TwoIndicesForOne {
        /// The object.
        object: ObjectId,
        /// The index under which its references are held here.
        known: ExportIndex,
        /// The index it uses now.
        named: ExportIndex,
    },
    /// It described our own object as if it were its own to share.
    #[error("described {0} to its own home")]
    DescribedOurOwn(ObjectId),
    /// It named, as ours, an object that lives elsewhere.
    #[error("took us for the home of {0}")]
    NotOurs(ObjectId),
    /// It answered an adoption that it was not asked for.
    #[error("answered for {0}, for which it was not asked")]
    NotAsked(ObjectId),
    /// It sent more references than can be counted.
    #[error("sent more references than can be counted")]
    TooManyReferences,
}
