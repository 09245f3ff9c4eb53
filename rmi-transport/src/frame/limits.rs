//! What a frame may hold at most.
//!
//! The constants are the protocol's: a sender stays within them, and a receiver accepts at least
//! that much. Only the frame's size is told in the hand-shake.

/// The size of a frame, after its length, that a node accepts unless it is told otherwise.
pub const FRAME_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// No node may accept less than this, so that answers of ours (a failure, a goodbye) always fit.
pub const FRAME_BYTES_LEAST: u32 = 8 * 1024;

/// Rows in the reference table.
pub const REFERENCES_MAX: u32 = 1 << 18;

/// Rows in the release table.
pub const RELEASES_MAX: u32 = 1 << 18;

/// Rows in the notice table.
pub const NOTICES_MAX: u32 = 1 << 18;

/// Interfaces of one object.
pub const INTERFACES_MAX: u32 = 64;

/// Endpoints of one node.
pub const ENDPOINTS_MAX: u32 = 16;

/// Bytes of one text: of an endpoint, of a reason, of each part of a failure.
pub const TEXT_BYTES_MAX: u32 = 1024;

/// What a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameLimits {
    /// Bytes of a frame, without its length.
    pub frame_bytes_max: u32,
    /// Rows in the reference table.
    pub references_max: u32,
    /// Rows in the release table.
    pub releases_max: u32,
    /// Rows in the notice table.
    pub notices_max: u32,
    /// Interfaces of one object.
    pub interfaces_max: u32,
    /// Endpoints of one home.
    pub endpoints_max: u32,
    /// Bytes of one text.
    pub text_bytes_max: u32,
}

impl Default for FrameLimits {
    fn default() -> Self {
        FrameLimits {
            frame_bytes_max: FRAME_BYTES_MAX,
            references_max: REFERENCES_MAX,
            releases_max: RELEASES_MAX,
            notices_max: NOTICES_MAX,
            interfaces_max: INTERFACES_MAX,
            endpoints_max: ENDPOINTS_MAX,
            text_bytes_max: TEXT_BYTES_MAX,
        }
    }
}
