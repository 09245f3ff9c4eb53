//! From bytes to frames. Everything here comes from a peer: it is checked before it is believed,
//! and what is allocated is bounded by the bytes that are there.

use bytes::{Buf, Bytes, BytesMut};
use smallvec::SmallVec;

use super::{
    Body, Call, Description, Frame, FrameLimits, Goodbye, News, Notice, Origin, Outcome, Reader,
    Reference, Target, Thread, code, varint,
};

/// The longest length that makes sense, for a size that fits in 32 bits.
const LENGTH_BYTES_MAX: usize = 5;

/// The shortest rows of the tables and lists, by which a count is checked before allocating.
const REFERENCE_BYTES_MIN: usize = 2;
const RELEASE_BYTES_MIN: usize = 2;
const NOTICE_BYTES_MIN: usize = 2;
const INTERFACE_BYTES: usize = 8;
const ENDPOINT_BYTES_MIN: usize = 1;

/// What a peer did wrong. Each of these ends the session with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame is larger than we accept, and said so in the hand-shake.
    #[error("a frame of {bytes} bytes, where {bytes_max} are accepted")]
    TooLarge {
        /// Its size, without its length.
        bytes: u64,
        /// What we accept.
        bytes_max: u32,
    },
    /// A kind of frame that does not exist.
    #[error("unknown frame kind {0}")]
    UnknownKind(u8),
    /// Flags that do not exist for this kind, or exclude each other.
    #[error("unknown flags {flags:#04x} for frame kind {kind}")]
    UnknownFlags {
        /// The frame's kind.
        kind: u8,
        /// All of its flags.
        flags: u8,
    },
    /// A number for which nothing stands at that place.
    #[error("unknown {what} {tag}")]
    UnknownTag {
        /// The place.
        what: &'static str,
        /// The number.
        tag: u8,
    },
    /// The frame ends within this field, or before it.
    #[error("the frame ends within its {0}")]
    Truncated(&'static str),
    /// Bytes follow where the frame should end.
    #[error("{bytes} bytes too many at the end of the frame")]
    TrailingBytes {
        /// How many.
        bytes: usize,
    },
    /// An integer that is longer than it needs to be, or than it can be.
    #[error("malformed integer: {0}")]
    BadVarint(&'static str),
    /// An integer that is larger than it can be.
    #[error("{what} {value} is out of range")]
    OutOfRange {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// More rows than we accept.
    #[error("{count} {what}, where {count_max} are accepted")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
        /// What we accept.
        count_max: u32,
    },
    /// A table that is announced, and empty.
    #[error("an empty table of {0}")]
    EmptyTable(&'static str),
    /// A text that is longer than we accept.
    #[error("{what} of {bytes} bytes, where {bytes_max} are accepted")]
    TextTooLong {
        /// The field.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// What we accept.
        bytes_max: u32,
    },
    /// A text that is not UTF-8.
    #[error("{0} is not UTF-8")]
    BadText(&'static str),
}

/// Takes the next frame off `buffer`; `None` if more bytes are needed. The payload is a slice of
/// the buffer, not a copy.
///
/// # Errors
///
/// A [`FrameError`] is the peer's fault, and final: the buffer is as it was. A frame over the
/// limit is refused as soon as its length is known.
pub fn decode(buffer: &mut BytesMut, limits: &FrameLimits) -> Result<Option<Frame>, FrameError> {
    let Some((length, prefix)) = length(buffer, limits.frame_bytes_max)? else { return Ok(None) };
    let rest = buffer.get(prefix..).unwrap_or_default();
    let Some(bytes) = rest.get(..length) else { return Ok(None) };

    let mut reader = Reader::new(bytes);
    let mut frame = envelope(&mut reader, limits)?;
    let payload_bytes = reader.left();
    match frame.body {
        Body::Call(_) | Body::Answer { .. } => {}
        Body::Cancel { .. } | Body::Control | Body::Goodbye { .. } if payload_bytes == 0 => {}
        Body::Cancel { .. } | Body::Control | Body::Goodbye { .. } => {
            return Err(FrameError::TrailingBytes { bytes: payload_bytes });
        }
    }

    buffer.advance(prefix + length - payload_bytes);
    if payload_bytes > 0 {
        frame.payload = buffer.split_to(payload_bytes).freeze();
    }
    Ok(Some(frame))
}

/// The frame's length and the size of that length itself, once it is there.
fn length(buffer: &[u8], bytes_max: u32) -> Result<Option<(usize, usize)>, FrameError> {
    match varint::read(buffer) {
        Ok((bytes, prefix)) => match usize::try_from(bytes) {
            Ok(length) if bytes <= u64::from(bytes_max) => Ok(Some((length, prefix))),
            Ok(_) | Err(_) => Err(FrameError::TooLarge { bytes, bytes_max }),
        },
        Err(varint::Malformed::Truncated) if buffer.len() < LENGTH_BYTES_MAX => Ok(None),
        Err(varint::Malformed::Truncated | varint::Malformed::Bad) => {
            Err(FrameError::BadVarint("length"))
        }
    }
}

/// All of a frame but its payload.
fn envelope(reader: &mut Reader<'_>, limits: &FrameLimits) -> Result<Frame, FrameError> {
    let kind = reader.u8("kind")?;
    let own_flags = match kind {
        code::CALL => code::KEY | code::THREAD | code::ADOPT,
        code::ANSWER => code::ERR | code::FAILED,
        code::CANCEL | code::CONTROL | code::GOODBYE => 0,
        unknown => return Err(FrameError::UnknownKind(unknown)),
    };
    let flags = reader.u8("flags")?;
    if flags & !(code::COMMON | own_flags) != 0 {
        return Err(FrameError::UnknownFlags { kind, flags });
    }
    let ack = reader.varint("acknowledgement")?;
    let body = match kind {
        code::CALL => Body::Call(call(reader, flags)?),
        code::ANSWER => answer(reader, flags)?,
        code::CANCEL => Body::Cancel { call: reader.varint("call")? },
        code::CONTROL => Body::Control,
        code::GOODBYE => goodbye(reader, limits)?,
        unknown => return Err(FrameError::UnknownKind(unknown)),
    };
    let references = references(reader, flags, limits)?;
    let notices = if flags & (code::NOTICES | code::ADOPT) == 0 {
        Vec::new()
    } else {
        notices(reader, flags, limits, &body)?
    };
    Ok(Frame {
        ack,
        wants_ack: flags & code::WANTS_ACK != 0,
        body,
        references,
        notices,
        releases: releases(reader, flags, limits)?,
        payload: Bytes::new(),
    })
}

fn call(reader: &mut Reader<'_>, flags: u8) -> Result<Call, FrameError> {
    let call = reader.varint("call")?;
    let index = reader.varint("target")?;
    let target = if flags & code::KEY == 0 {
        Target::Export(index)
    } else {
        Target::Object { index, key: reader.array("key")? }
    };
    let method = reader.u32("method")?;
    let fingerprint = reader.u32("fingerprint")?;
    let thread = if flags & code::THREAD == 0 { None } else { Some(thread(reader)?) };
    Ok(Call { call, target, method, fingerprint, thread })
}

/// What the flag `ADOPT` stands for: the object that is called is to adopt its caller.
fn adopt(body: &Body, flags: u8) -> Result<Option<Notice>, FrameError> {
    match body {
        Body::Call(Call { target: Target::Object { index, key }, .. }) => {
            Ok(Some(Notice::Adopt { index: *index, key: *key }))
        }
        Body::Call(_)
        | Body::Answer { .. }
        | Body::Cancel { .. }
        | Body::Control
        | Body::Goodbye { .. } => Err(FrameError::UnknownFlags { kind: code::CALL, flags }),
    }
}

fn thread(reader: &mut Reader<'_>) -> Result<Thread, FrameError> {
    let origin = match reader.u8("thread")? {
        code::ORIGIN_SENDER => Origin::Sender,
        code::ORIGIN_RECEIVER => Origin::Receiver,
        code::ORIGIN_OTHER => Origin::Other(reader.u64("thread")?),
        tag => return Err(FrameError::UnknownTag { what: "thread origin", tag }),
    };
    Ok(Thread { origin, number: reader.varint("thread")? })
}

fn answer(reader: &mut Reader<'_>, flags: u8) -> Result<Body, FrameError> {
    let outcome = match (flags & code::ERR != 0, flags & code::FAILED != 0) {
        (false, false) => Outcome::Ok,
        (true, false) => Outcome::Err,
        (false, true) => Outcome::Failed,
        (true, true) => return Err(FrameError::UnknownFlags { kind: code::ANSWER, flags }),
    };
    Ok(Body::Answer { call: reader.varint("call")?, outcome })
}

fn goodbye(reader: &mut Reader<'_>, limits: &FrameLimits) -> Result<Body, FrameError> {
    let reason = match reader.u8("reason")? {
        code::SHUTTING_DOWN => Goodbye::ShuttingDown,
        code::PROTOCOL_VIOLATION => Goodbye::ProtocolViolation,
        code::LIMIT_REACHED => Goodbye::LimitReached,
        code::UNUSED => Goodbye::Unused,
        tag => return Err(FrameError::UnknownTag { what: "reason", tag }),
    };
    Ok(Body::Goodbye { reason, text: reader.text("reason", limits.text_bytes_max)? })
}

fn references(
    reader: &mut Reader<'_>,
    flags: u8,
    limits: &FrameLimits,
) -> Result<SmallVec<[Reference; 1]>, FrameError> {
    if flags & code::REFERENCES == 0 {
        return Ok(SmallVec::new());
    }
    let rows = reader.count("references", limits.references_max, REFERENCE_BYTES_MIN)?;
    if rows == 0 {
        return Err(FrameError::EmptyTable("references"));
    }
    let mut references = SmallVec::with_capacity(rows);
    for _ in 0..rows {
        references.push(reference(reader, limits)?);
    }
    Ok(references)
}

fn reference(reader: &mut Reader<'_>, limits: &FrameLimits) -> Result<Reference, FrameError> {
    match reader.u8("reference")? {
        code::DESCRIBED_HERE => description(reader, limits, Homed::Here),
        code::DESCRIBED_ELSEWHERE => description(reader, limits, Homed::Elsewhere),
        code::KNOWN => Ok(Reference::Known { index: reader.varint("reference")? }),
        code::YOURS => Ok(Reference::Yours { index: reader.varint("reference")? }),
        code::YOURS_BY_KEY => Ok(Reference::YoursByKey {
            index: reader.varint("reference")?,
            key: reader.array("key")?,
        }),
        tag => Err(FrameError::UnknownTag { what: "reference", tag }),
    }
}

/// Whether a described object's home is the node that sends the description.
enum Homed {
    Here,
    Elsewhere,
}

fn description(
    reader: &mut Reader<'_>,
    limits: &FrameLimits,
    homed: Homed,
) -> Result<Reference, FrameError> {
    let index = reader.varint("reference")?;
    let (home, object) = match homed {
        Homed::Here => (None, index),
        Homed::Elsewhere => (Some(reader.u64("home")?), reader.varint("object")?),
    };
    let key = reader.array("key")?;
    let depth = reader.u8("depth")?;
    let interfaces = reader.count("interfaces", limits.interfaces_max, INTERFACE_BYTES)?;
    let interfaces = (0..interfaces).map(|_| reader.u64("interfaces")).collect::<Result<_, _>>()?;
    let endpoints = match homed {
        Homed::Here => Vec::new(),
        Homed::Elsewhere => {
            let count = reader.count("endpoints", limits.endpoints_max, ENDPOINT_BYTES_MIN)?;
            let endpoint = |_| reader.text("endpoints", limits.text_bytes_max);
            (0..count).map(endpoint).collect::<Result<_, _>>()?
        }
    };
    let description = Description { index, home, object, key, interfaces, endpoints, depth };
    Ok(Reference::Described(Box::new(description)))
}

fn notices(
    reader: &mut Reader<'_>,
    flags: u8,
    limits: &FrameLimits,
    body: &Body,
) -> Result<Vec<Notice>, FrameError> {
    let of_the_call = if flags & code::ADOPT == 0 { None } else { adopt(body, flags)? };
    let mut notices = Vec::from_iter(of_the_call);
    if flags & code::NOTICES == 0 {
        return Ok(notices);
    }
    let rows = reader.count("notices", limits.notices_max, NOTICE_BYTES_MIN)?;
    if rows == 0 {
        return Err(FrameError::EmptyTable("notices"));
    }
    notices.reserve(rows);
    for _ in 0..rows {
        notices.push(notice(reader)?);
    }
    Ok(notices)
}

fn notice(reader: &mut Reader<'_>) -> Result<Notice, FrameError> {
    let tag = reader.u8("notice")?;
    let index = reader.varint("notice")?;
    let path = |news| Notice::Path { index, news };
    Ok(match tag {
        code::ADOPTED => Notice::Adopted { index },
        code::ADOPT_BY_KEY => Notice::Adopt { index, key: reader.array("key")? },
        code::GONE => Notice::Gone { index },
        code::REROOT => path(News::Reroot),
        code::CONFIRM => path(News::Confirm),
        code::LEAVING => path(News::Leaving),
        tag => return Err(FrameError::UnknownTag { what: "notice", tag }),
    })
}

fn releases(
    reader: &mut Reader<'_>,
    flags: u8,
    limits: &FrameLimits,
) -> Result<Vec<(u64, u32)>, FrameError> {
    if flags & code::RELEASES == 0 {
        return Ok(Vec::new());
    }
    let rows = reader.count("releases", limits.releases_max, RELEASE_BYTES_MIN)?;
    if rows == 0 {
        return Err(FrameError::EmptyTable("releases"));
    }
    let mut releases = Vec::with_capacity(rows);
    for _ in 0..rows {
        releases.push((reader.varint("releases")?, reader.varint_u32("releases")?));
    }
    Ok(releases)
}
