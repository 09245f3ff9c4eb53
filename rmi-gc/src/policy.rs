//! How references are collected, for comparison.

use serde::{Deserialize, Serialize};

/// Which nodes keep the count of a reference that was passed from hand to hand.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[non_exhaustive]
pub enum Policy {
    /// As in KaRMI: a holder is counted where its reference came from, for as long as that path stands. Passing a
    /// reference on costs no message; a node in the middle stays on as a counter after its own last handle is gone.
    #[default]
    Hierarchical,
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
