//! How references are collected, for comparison.

use serde::{Deserialize, Serialize};

/// Which nodes keep the count of a reference that was passed from hand to hand.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[non_exhaustive]
pub enum Policy {
    /// A holder is counted where its reference came from until it is adopted by the home, with its first direct call, when it
    /// is idle, or when it is far from the home. Passing a reference on costs no message.
    #[default]
    Adopting,
    /// As in KaRMI: a holder is counted where its reference came from, for as long as that path stands; adoption is for paths
    /// in doubt. A node in the middle stays on as a counter after its own last handle is gone.
    Hierarchical,
    /// As in Network Objects and Java RMI: a holder is adopted before its user gets the reference, for the price of a round
    /// trip at receipt.
    Listing,
}

impl Policy {
    /// Whether a reference that came from another node than the home has its holder ask for adoption at receipt, at `depth`
    /// hops from the home.
    pub const fn adopts_at_receipt(self, depth: u8, depth_max: u8) -> bool {
        match self {
            Self::Adopting => depth >= depth_max,
            Self::Hierarchical => false,
            Self::Listing => depth > 1,
        }
    }

    /// How far from the home a bridge still passes references on without having been adopted.
    pub const fn depth_max(self, depth_max: u8) -> u8 {
        match self {
            Self::Adopting | Self::Listing => depth_max,
            Self::Hierarchical => u8::MAX,
        }
    }
}

/// When a bridge takes on its proxy role.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub enum BridgeInit {
    /// When a child's call arrives that has to be relayed, and then without a message.
    #[default]
    Lazy,
    /// As in KaRMI at first: a bridge that passes its reference on for the first time, home included, asks the home for
    /// the interface's description, one round trip, and builds the relay.
    Eager,
}
