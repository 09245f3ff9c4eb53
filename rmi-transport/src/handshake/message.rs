//! The messages of a hand-shake: bytes to values and back.
//!
//! The first nine bytes and the refusal are the same in every version of the protocol, so that
//! two versions can tell each other that they do not fit.

use bytes::{Buf, BytesMut};

use super::{
    Accepted, HandshakeError, Hello, PROTOCOL_VERSION, PeerLimits, Refusal, Relation, Stranger,
};
use crate::frame::{ENDPOINTS_MAX, FrameError, Reader, TEXT_BYTES_MAX, bounded, put_text};

/// No other protocol begins like this: neither one of text nor TLS.
pub(super) const MAGIC: [u8; 4] = *b"\0rmi";

/// The body of a message. Checked before anything is allocated.
const BODY_BYTES_MAX: u16 = 4096;

/// Magic, version, kind, length.
const HEADER_BYTES: usize = 9;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const GO: u8 = 3;
const REFUSE: u8 = 4;

/// The shortest text: its length.
const TEXT_BYTES_MIN: usize = 1;

const UNKNOWN: u8 = 0;
const FRESH: u8 = 1;
const RESUME: u8 = 2;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Hello(Hello, Relation),
    Welcome(Hello, Accepted),
    Go {
        received: u64,
    },
    /// `from` is the incarnation that refuses, 0 where it does not matter.
    Refuse {
        reason: Refusal,
        from: u64,
        text: String,
    },
}

impl Message {
    /// The message as it goes on the wire. What a hello says beyond the limits of a message (a
    /// long name, the last of many endpoints) is left out.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let kind = match self {
            Message::Hello(hello, relation) => {
                put_relation(&mut body, *relation);
                put_hello(&mut body, hello);
                HELLO
            }
            Message::Welcome(hello, accepted) => {
                for field in [accepted.session, accepted.received, accepted.connections] {
                    body.extend_from_slice(&field.to_le_bytes());
                }
                put_hello(&mut body, hello);
                WELCOME
            }
            Message::Go { received } => {
                body.extend_from_slice(&received.to_le_bytes());
                GO
            }
            Message::Refuse { reason, from, text } => {
                body.push(refusal_code(*reason));
                body.extend_from_slice(&from.to_le_bytes());
                put_text(&mut body, bounded(text));
                REFUSE
            }
        };
        let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
        debug_assert!(length <= BODY_BYTES_MAX);
        let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
        message.extend_from_slice(&MAGIC);
        message.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
        message.push(kind);
        message.extend_from_slice(&length.to_le_bytes());
        message.extend_from_slice(&body);
        message
    }
}

/// Takes a message off `input`; `None` if more bytes are needed.
pub(super) fn take_message(input: &mut BytesMut) -> Result<Option<Message>, HandshakeError> {
    let Some((magic, rest)) = input.split_first_chunk() else { return Ok(None) };
    if *magic != MAGIC {
        return Err(HandshakeError::NotRmi { saw: Stranger::of(input) });
    }
    let Some([v0, v1, kind, l0, l1]) = rest.first_chunk() else { return Ok(None) };
    let (version, kind) = (u16::from_le_bytes([*v0, *v1]), *kind);
    let length = u16::from_le_bytes([*l0, *l1]);
    let other_version = HandshakeError::VersionMismatch { ours: PROTOCOL_VERSION, theirs: version };
    if version != PROTOCOL_VERSION && kind != REFUSE {
        return Err(other_version);
    }
    if length > BODY_BYTES_MAX {
        return Err(HandshakeError::TooLarge { bytes: length, bytes_max: BODY_BYTES_MAX });
    }
    let end = HEADER_BYTES + usize::from(length);
    let Some(body) = input.get(HEADER_BYTES..end) else { return Ok(None) };
    let message = body_of(kind, body)?;
    if let Message::Refuse { reason: Refusal::Version, .. } = message {
        if version != PROTOCOL_VERSION {
            return Err(other_version);
        }
    }
    input.advance(end);
    Ok(Some(message))
}

fn body_of(kind: u8, body: &[u8]) -> Result<Message, HandshakeError> {
    let mut reader = Reader::new(body);
    let message = match kind {
        HELLO => relation(&mut reader)
            .and_then(|relation| Ok(Message::Hello(hello(&mut reader)?, relation))),
        WELCOME => accepted(&mut reader)
            .and_then(|accepted| Ok(Message::Welcome(hello(&mut reader)?, accepted))),
        GO => reader.u64("received").map(|received| Message::Go { received }),
        REFUSE => refuse(&mut reader),
        _ => return Err(HandshakeError::Malformed("a message of an unknown kind")),
    };
    message.map_err(|error| match error {
        FrameError::BadText(_) => HandshakeError::Malformed("a text that is not UTF-8"),
        FrameError::TooMany { .. } => HandshakeError::Malformed("too many endpoints"),
        FrameError::TextTooLong { .. } => HandshakeError::Malformed("a text that is too long"),
        FrameError::BadVarint(_) => HandshakeError::Malformed("a bad integer"),
        FrameError::UnknownTag { .. } => HandshakeError::Malformed("an unknown relation"),
        FrameError::Truncated(_)
        | FrameError::TooLarge { .. }
        | FrameError::UnknownKind(_)
        | FrameError::UnknownFlags { .. }
        | FrameError::TrailingBytes { .. }
        | FrameError::OutOfRange { .. }
        | FrameError::EmptyTable(_) => HandshakeError::Malformed("a message that breaks off"),
    })
}

fn put_relation(out: &mut Vec<u8>, relation: Relation) {
    let (tag, fields) = match relation {
        Relation::Unknown => (UNKNOWN, [None; 3]),
        Relation::Fresh { peer } => (FRESH, [Some(peer), None, None]),
        Relation::Resume { peer, session, connections } => {
            (RESUME, [peer, session, connections].map(Some))
        }
    };
    out.push(tag);
    for field in fields.into_iter().flatten() {
        out.extend_from_slice(&field.to_le_bytes());
    }
}

fn put_hello(out: &mut Vec<u8>, hello: &Hello) {
    out.extend_from_slice(&hello.incarnation.to_le_bytes());
    out.extend_from_slice(&hello.thread_origin.to_le_bytes());
    out.push(hello.codec);
    out.extend_from_slice(&hello.codec_fingerprint.to_le_bytes());
    out.extend_from_slice(&hello.limits.frame_bytes_max.to_le_bytes());
    out.extend_from_slice(&hello.features.to_le_bytes());
    put_text(out, bounded(&hello.name));
    let endpoints = endpoints_that_fit(&hello.endpoints, out.len());
    // At most ENDPOINTS_MAX, which a byte holds.
    out.push(endpoints.len() as u8);
    for endpoint in endpoints {
        put_text(out, endpoint);
    }
}

/// The first endpoints, as many as a message has room for behind `used` bytes.
fn endpoints_that_fit(endpoints: &[String], used: usize) -> &[String] {
    /// The length of a text, at its longest.
    const LENGTH_BYTES: usize = 2;
    let mut room = usize::from(BODY_BYTES_MAX).saturating_sub(used + 1);
    let fit = endpoints.iter().take(ENDPOINTS_MAX as usize).take_while(|endpoint| {
        let left = room.checked_sub(LENGTH_BYTES + endpoint.len());
        room = left.unwrap_or(0);
        left.is_some() && endpoint.len() <= TEXT_BYTES_MAX as usize
    });
    let count = fit.count();
    endpoints.split_at(count).0
}

fn relation(reader: &mut Reader<'_>) -> Result<Relation, FrameError> {
    match reader.u8("relation")? {
        UNKNOWN => Ok(Relation::Unknown),
        FRESH => Ok(Relation::Fresh { peer: reader.u64("peer")? }),
        RESUME => Ok(Relation::Resume {
            peer: reader.u64("peer")?,
            session: reader.u64("session")?,
            connections: reader.u64("connections")?,
        }),
        tag => Err(FrameError::UnknownTag { what: "relation", tag }),
    }
}

fn accepted(reader: &mut Reader<'_>) -> Result<Accepted, FrameError> {
    Ok(Accepted {
        session: reader.u64("session")?,
        received: reader.u64("received")?,
        connections: reader.u64("connections")?,
    })
}

/// What a later revision may add at the end is not looked at.
fn hello(reader: &mut Reader<'_>) -> Result<Hello, FrameError> {
    Ok(Hello {
        incarnation: reader.u64("incarnation")?,
        thread_origin: reader.u64("thread origin")?,
        codec: reader.u8("codec")?,
        codec_fingerprint: reader.u32("codec")?,
        limits: PeerLimits { frame_bytes_max: reader.u32("limits")? },
        features: reader.u32("features")?,
        name: reader.text("name", TEXT_BYTES_MAX)?,
        endpoints: {
            let count = reader.count("endpoints", ENDPOINTS_MAX, TEXT_BYTES_MIN)?;
            let endpoint = |_| reader.text("endpoints", TEXT_BYTES_MAX);
            (0..count).map(endpoint).collect::<Result<_, _>>()?
        },
    })
}

fn refuse(reader: &mut Reader<'_>) -> Result<Message, FrameError> {
    let reason = refusal_of(reader.u8("reason")?);
    let from = reader.u64("incarnation")?;
    Ok(Message::Refuse { reason, from, text: reader.text("reason", TEXT_BYTES_MAX)? })
}

fn refusal_code(refusal: Refusal) -> u8 {
    match refusal {
        Refusal::Version => 1,
        Refusal::Codec => 2,
        Refusal::AlreadyConnected => 3,
        Refusal::SelfConnection => 4,
        Refusal::Full => 5,
        Refusal::ShuttingDown => 6,
        Refusal::NotRmi => 7,
        Refusal::Yielded => 8,
        Refusal::Malformed => 9,
        Refusal::NoSuchSession => 10,
        Refusal::OtherIncarnation => 11,
        Refusal::Unknown(code) => code,
    }
}

fn refusal_of(code: u8) -> Refusal {
    match code {
        1 => Refusal::Version,
        2 => Refusal::Codec,
        3 => Refusal::AlreadyConnected,
        4 => Refusal::SelfConnection,
        5 => Refusal::Full,
        6 => Refusal::ShuttingDown,
        7 => Refusal::NotRmi,
        8 => Refusal::Yielded,
        9 => Refusal::Malformed,
        10 => Refusal::NoSuchSession,
        11 => Refusal::OtherIncarnation,
        unknown => Refusal::Unknown(unknown),
    }
}
