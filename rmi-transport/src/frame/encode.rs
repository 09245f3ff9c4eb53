//! From values to bytes, by parts and without allocating: the rows of the tables are decided
//! while the payload is written, and a frame that cannot be sent leaves no trace.

use super::limits::{
    ENDPOINTS_MAX, FRAME_BYTES_LEAST, INTERFACES_MAX, NOTICES_MAX, REFERENCES_MAX, RELEASES_MAX,
    TEXT_BYTES_MAX,
};
use super::{
    Body, Call, Description, Goodbye, Head, News, Notice, Origin, Outcome, Reference, Target,
    Thread, code, varint,
};

/// Kind and flags.
const FIXED_BYTES: usize = 2;

/// A frame is over one of the receiver's limits, and was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the peer accepts {what} up to {size_max}, not {size}")]
pub struct TooLarge {
    /// What is too large, in words.
    pub what: &'static str,
    /// How large it is.
    pub size: u64,
    /// What the receiver accepts.
    pub size_max: u64,
}

/// Frames that wait to be sent, one behind the other as they go on the wire.
#[derive(Clone, Debug)]
pub struct FrameBuffer {
    out: Vec<u8>,
    /// The parts of the frame that is being written. They are put together once all of them are
    /// known, and their memory is used again.
    head: Vec<u8>,
    references: Vec<u8>,
    notices: Vec<u8>,
    releases: Vec<u8>,
    frame_bytes_max: u32,
}

impl FrameBuffer {
    /// An empty buffer for frames to a receiver that accepts the least that a node has to.
    pub fn new() -> Self {
        FrameBuffer::with_bytes_max(FRAME_BYTES_LEAST)
    }

    /// An empty buffer for frames to a receiver that accepts frames up to `frame_bytes_max`.
    pub fn with_bytes_max(frame_bytes_max: u32) -> Self {
        FrameBuffer {
            out: Vec::new(),
            head: Vec::new(),
            references: Vec::new(),
            notices: Vec::new(),
            releases: Vec::new(),
            frame_bytes_max,
        }
    }

    /// Sets what the receiver accepts, as it said in the hand-shake.
    pub fn set_bytes_max(&mut self, frame_bytes_max: u32) {
        self.frame_bytes_max = frame_bytes_max;
    }

    /// Begins a frame. Until [`FrameWriter::finish`] has succeeded, the buffer is as it was.
    pub fn begin(&mut self, head: &Head) -> FrameWriter<'_> {
        self.head.clear();
        self.references.clear();
        self.notices.clear();
        self.releases.clear();
        varint::put(&mut self.head, head.ack);
        let (kind, own_flags) = put_body(&mut self.head, &head.body);
        let wants_ack = if head.wants_ack { code::WANTS_ACK } else { 0 };
        FrameWriter {
            kind,
            flags: own_flags | wants_ack,
            reference_rows: 0,
            notice_rows: 0,
            release_rows: 0,
            over: None,
            buffer: self,
        }
    }

    /// The bytes that wait to be sent.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The bytes that wait to be sent.
    pub fn as_slice(&self) -> &[u8] {
        &self.out
    }

    /// Gives what waits, and goes on with the memory of `empty`.
    pub(crate) fn swap(&mut self, empty: &mut Vec<u8>) {
        debug_assert!(empty.is_empty());
        std::mem::swap(&mut self.out, empty);
    }
}

impl Default for FrameBuffer {
    fn default() -> Self {
        FrameBuffer::new()
    }
}

/// A frame that is being written: rows in any order, then [`finish`](FrameWriter::finish).
/// Dropping it instead leaves the buffer as it was.
#[derive(Debug)]
#[must_use = "a frame that is not finished is not sent"]
pub struct FrameWriter<'a> {
    kind: u8,
    flags: u8,
    reference_rows: u32,
    notice_rows: u32,
    release_rows: u32,
    /// The first list or text in the tables that the receiver would not accept.
    over: Option<TooLarge>,
    buffer: &'a mut FrameBuffer,
}

impl FrameWriter<'_> {
    /// Adds a row to the reference table.
    pub fn reference(&mut self, reference: &Reference) {
        if let Reference::Described(description) = reference {
            return self.described(description);
        }
        self.reference_rows = self.reference_rows.saturating_add(1);
        let out = &mut self.buffer.references;
        match reference {
            Reference::Described(_) => {}
            Reference::Known { index } => put_row(out, code::KNOWN, *index),
            Reference::Yours { index } => put_row(out, code::YOURS, *index),
            Reference::YoursByKey { index, key } => {
                put_row(out, code::YOURS_BY_KEY, *index);
                out.extend_from_slice(key);
            }
        }
    }

    /// Adds a row that describes an object, without a box around it.
    pub fn described(&mut self, description: &Description) {
        self.reference_rows = self.reference_rows.saturating_add(1);
        put_description(&mut self.buffer.references, description);
        self.over = self.over.or_else(|| over_in(description));
    }

    /// Adds a row to the notice table.
    pub fn notice(&mut self, notice: &Notice) {
        self.notice_rows = self.notice_rows.saturating_add(1);
        let out = &mut self.buffer.notices;
        match notice {
            Notice::Adopted { index } => put_row(out, code::ADOPTED, *index),
            Notice::Adopt { index, key } => {
                put_row(out, code::ADOPT_BY_KEY, *index);
                out.extend_from_slice(key);
            }
            Notice::Gone { index } => put_row(out, code::GONE, *index),
            Notice::Path { index, news: News::Reroot } => put_row(out, code::REROOT, *index),
            Notice::Path { index, news: News::Confirm } => put_row(out, code::CONFIRM, *index),
            Notice::Path { index, news: News::Leaving } => put_row(out, code::LEAVING, *index),
        }
    }

    /// Has the object that is called adopt its caller: a flag instead of a row. Only for a call by
    /// object and key.
    pub fn adopt_caller(&mut self) {
        debug_assert!(self.kind == code::CALL && self.flags & code::KEY != 0);
        self.flags |= code::ADOPT;
    }

    /// Adds a row to the release table: `count` references to the receiver's export `index` are
    /// gone.
    pub fn release(&mut self, index: u64, count: u32) {
        self.release_rows = self.release_rows.saturating_add(1);
        varint::put(&mut self.buffer.releases, index);
        varint::put(&mut self.buffer.releases, u64::from(count));
    }

    /// Asks to have this frame acknowledged soon; see [`Head::wants_ack`].
    pub fn want_ack(&mut self) {
        self.flags |= code::WANTS_ACK;
    }

    /// How many bytes the receiver accepts beyond the rows so far and a payload of
    /// `payload_bytes`.
    ///
    /// # Errors
    ///
    /// [`TooLarge`]: not even those.
    pub fn room(&self, payload_bytes: usize) -> Result<usize, TooLarge> {
        let bytes = self.bytes(payload_bytes);
        match self.over(bytes) {
            Some(too_large) => Err(too_large),
            None => Ok((self.buffer.frame_bytes_max as usize).saturating_sub(bytes)),
        }
    }

    /// The bytes of all tables so far.
    pub fn table_bytes(&self) -> usize {
        let FrameBuffer { references, notices, releases, .. } = &*self.buffer;
        references.len() + notices.len() + releases.len()
    }

    fn bytes(&self, payload_bytes: usize) -> usize {
        let table = |rows: u32, table: &[u8]| match rows {
            0 => 0,
            rows => varint::size(u64::from(rows)) + table.len(),
        };
        FIXED_BYTES
            + self.buffer.head.len()
            + table(self.reference_rows, &self.buffer.references)
            + table(self.notice_rows, &self.buffer.notices)
            + table(self.release_rows, &self.buffer.releases)
            + payload_bytes
    }

    fn over(&self, bytes: usize) -> Option<TooLarge> {
        self.over
            .or_else(|| over("references in a message", self.reference_rows, REFERENCES_MAX))
            .or_else(|| over("notices in a message", self.notice_rows, NOTICES_MAX))
            .or_else(|| over("releases in a message", self.release_rows, RELEASES_MAX))
            .or_else(|| over("bytes of a message", bytes, self.buffer.frame_bytes_max))
    }

    /// Puts the frame together, and says how many bytes it takes on the wire.
    ///
    /// Only calls and answers have a payload.
    ///
    /// # Errors
    ///
    /// [`TooLarge`]: the frame is over a limit of the receiver's; the buffer is as it was.
    pub fn finish(self, payload: &[u8]) -> Result<usize, TooLarge> {
        debug_assert!(payload.is_empty() || matches!(self.kind, code::CALL | code::ANSWER));
        let bytes = self.bytes(payload.len());
        if let Some(too_large) = self.over(bytes) {
            return Err(too_large);
        }
        let mut flags = self.flags;
        for (rows, flag) in [
            (self.reference_rows, code::REFERENCES),
            (self.notice_rows, code::NOTICES),
            (self.release_rows, code::RELEASES),
        ] {
            flags |= if rows > 0 { flag } else { 0 };
        }

        let buffer = self.buffer;
        let before = buffer.out.len();
        let out = &mut buffer.out;
        out.reserve(varint::size(bytes as u64) + bytes);
        varint::put(out, bytes as u64);
        out.extend_from_slice(&[self.kind, flags]);
        out.extend_from_slice(&buffer.head);
        for (rows, table) in [
            (self.reference_rows, &buffer.references),
            (self.notice_rows, &buffer.notices),
            (self.release_rows, &buffer.releases),
        ] {
            if rows > 0 {
                varint::put(out, u64::from(rows));
                out.extend_from_slice(table);
            }
        }
        out.extend_from_slice(payload);
        Ok(out.len() - before)
    }
}

/// Appends what is particular to the kind; the kind and its flags go in front.
fn put_body(out: &mut Vec<u8>, body: &Body) -> (u8, u8) {
    match body {
        Body::Call(call) => (code::CALL, put_call(out, call)),
        Body::Answer { call, outcome } => {
            varint::put(out, *call);
            let flags = match outcome {
                Outcome::Ok => 0,
                Outcome::Err => code::ERR,
                Outcome::Failed => code::FAILED,
            };
            (code::ANSWER, flags)
        }
        Body::Cancel { call } => {
            varint::put(out, *call);
            (code::CANCEL, 0)
        }
        Body::Control => (code::CONTROL, 0),
        Body::Goodbye { reason, text } => {
            out.push(match reason {
                Goodbye::ShuttingDown => code::SHUTTING_DOWN,
                Goodbye::ProtocolViolation => code::PROTOCOL_VIOLATION,
                Goodbye::LimitReached => code::LIMIT_REACHED,
                Goodbye::Unused => code::UNUSED,
            });
            put_text(out, bounded(text));
            (code::GOODBYE, 0)
        }
    }
}

fn put_call(out: &mut Vec<u8>, call: &Call) -> u8 {
    let mut flags = 0;
    varint::put(out, call.call);
    match call.target {
        Target::Export(index) => varint::put(out, index),
        Target::Object { index, key } => {
            flags |= code::KEY;
            varint::put(out, index);
            out.extend_from_slice(&key);
        }
    }
    out.extend_from_slice(&call.method.to_le_bytes());
    out.extend_from_slice(&call.fingerprint.to_le_bytes());
    if let Some(Thread { origin, number }) = call.thread {
        flags |= code::THREAD;
        match origin {
            Origin::Sender => out.push(code::ORIGIN_SENDER),
            Origin::Receiver => out.push(code::ORIGIN_RECEIVER),
            Origin::Other(origin) => {
                out.push(code::ORIGIN_OTHER);
                out.extend_from_slice(&origin.to_le_bytes());
            }
        }
        varint::put(out, number);
    }
    flags
}

fn put_row(out: &mut Vec<u8>, tag: u8, index: u64) {
    out.push(tag);
    varint::put(out, index);
}

fn put_description(out: &mut Vec<u8>, description: &Description) {
    match description.home {
        None => {
            debug_assert_eq!(description.object, description.index, "the sender is the home");
            debug_assert!(description.endpoints.is_empty(), "told in the hand-shake");
            put_row(out, code::DESCRIBED_HERE, description.index);
        }
        Some(home) => {
            put_row(out, code::DESCRIBED_ELSEWHERE, description.index);
            out.extend_from_slice(&home.to_le_bytes());
            varint::put(out, description.object);
        }
    }
    out.extend_from_slice(&description.key);
    out.push(description.depth);
    varint::put(out, description.interfaces.len() as u64);
    for interface in &description.interfaces {
        out.extend_from_slice(&interface.to_le_bytes());
    }
    if description.home.is_some() {
        varint::put(out, description.endpoints.len() as u64);
        for endpoint in &description.endpoints {
            put_text(out, endpoint);
        }
    }
}

/// Appends a text behind its length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    varint::put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// As much of a text, meant for people, as the receiver accepts.
pub(crate) fn bounded(text: &str) -> &str {
    let end = (0..=text.len().min(TEXT_BYTES_MAX as usize))
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    text.split_at(end).0
}

fn over_in(description: &Description) -> Option<TooLarge> {
    let longest = description.endpoints.iter().map(String::len).max().unwrap_or(0);
    over("interfaces of an object", description.interfaces.len(), INTERFACES_MAX)
        .or_else(|| over("endpoints of a node", description.endpoints.len(), ENDPOINTS_MAX))
        .or_else(|| over("bytes of an endpoint", longest, TEXT_BYTES_MAX))
}

fn over<T: TryInto<u64>>(what: &'static str, size: T, size_max: u32) -> Option<TooLarge> {
    let (size, size_max) = (size.try_into().unwrap_or(u64::MAX), u64::from(size_max));
    (size > size_max).then_some(TooLarge { what, size, size_max })
}
