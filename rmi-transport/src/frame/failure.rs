//! The payload of an answer that failed. It is hand-written, so that it can be read whatever the
//! codec makes of the rest.

use super::{FrameError, Reader, TEXT_BYTES_MAX, bounded, put_text};

const INTERFACE: u8 = 0x01;
const METHOD: u8 = 0x02;
const OBJECT: u8 = 0x04;
const ALL: u8 = INTERFACE | METHOD | OBJECT;

/// Why a call failed, as its receiver tells it. What the numbers mean is up to the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: u8,
    /// Whether the method may have run.
    pub executed: u8,
    /// What happened, in words.
    pub message: String,
    /// The interface that was called.
    pub interface: Option<String>,
    /// The method that was called.
    pub method: Option<String>,
    /// The object that was called.
    pub object: Option<String>,
}

impl Failure {
    /// Appends the failure to `out`. A text that is longer than
    /// [`TEXT_BYTES_MAX`] is cut there.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let optional =
            [(INTERFACE, &self.interface), (METHOD, &self.method), (OBJECT, &self.object)];
        let present = optional.iter().filter(|(_, text)| text.is_some());
        out.extend([self.kind, self.executed, present.map(|(flag, _)| flag).sum()]);
        put_text(out, bounded(&self.message));
        for text in optional.iter().filter_map(|(_, text)| text.as_deref()) {
            put_text(out, bounded(text));
        }
    }

    /// Reads a failure off the payload of an answer.
    ///
    /// # Errors
    ///
    /// The peer did not write one.
    pub fn decode(payload: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader::new(payload);
        let kind = reader.u8("failure")?;
        let executed = reader.u8("failure")?;
        let present = reader.u8("failure")?;
        if present & !ALL != 0 {
            return Err(FrameError::UnknownTag { what: "failure's parts", tag: present });
        }
        let message = reader.text("failure", TEXT_BYTES_MAX)?;
        let mut optional = |flag| {
            let text = || reader.text("failure", TEXT_BYTES_MAX);
            (present & flag != 0).then(text).transpose()
        };
        let (interface, method, object) =
            (optional(INTERFACE)?, optional(METHOD)?, optional(OBJECT)?);
        match reader.left() {
            0 => Ok(Failure { kind, executed, message, interface, method, object }),
            bytes => Err(FrameError::TrailingBytes { bytes }),
        }
    }
}
