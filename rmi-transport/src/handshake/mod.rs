//! How two nodes get to know each other, before the first frame.
//!
//! The dialler says hello, and what it knows of whom it dials ([`Relation`]); the acceptor answers
//! with a welcome, which says the same about itself, and names the session ([`Accepted`]); the
//! dialler says go, and frames follow. Either may refuse instead. In between, the node decides
//! whether it wants the connection ([`Rendezvous`](crate::rendezvous::Rendezvous)), and, where a
//! session is resumed, sees to it that what it has received stands still.

mod message;
mod stranger;

use bytes::BytesMut;

use crate::frame::FRAME_BYTES_LEAST;
use message::{Message, take_message};
pub use stranger::Stranger;

/// The version of the protocol that this crate speaks.
pub const PROTOCOL_VERSION: u16 = 1;

/// What a node says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hello {
    /// This run of the node.
    pub incarnation: u64,
    /// Under which number its distributed threads are known; the same for all nodes of a process.
    pub thread_origin: u64,
    /// The codec of all payloads.
    pub codec: u8,
    /// A hash of whatever else both codecs must agree on.
    pub codec_fingerprint: u32,
    /// What the node accepts.
    pub limits: PeerLimits,
    /// Optional parts of the protocol that the node knows, by bit. Both sides use those that both
    /// know.
    pub features: u32,
    /// The node's name, for logs; may be empty.
    pub name: String,
    /// Where the node can be dialled; empty for one that only dials.
    pub endpoints: Vec<String>,
}

/// What a node accepts, as far as its peer has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerLimits {
    /// Bytes of a frame, without its length.
    pub frame_bytes_max: u32,
}

/// What the dialler knows of whom it dials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It does not know who listens there.
    Unknown,
    /// It means this peer, and has no session with it.
    Fresh {
        /// The peer's incarnation.
        peer: u64,
    },
    /// It has a session with this peer, which lacks a connection.
    Resume {
        /// The peer's incarnation.
        peer: u64,
        /// Which session, as the acceptor of its first connection named it.
        session: u64,
        /// How many connections the session has had at the dialler: a hello that was long under
        /// way says fewer than there were by then.
        connections: u64,
    },
}

impl Relation {
    /// Which incarnation the dialler means, if it means one.
    pub fn peer(self) -> Option<u64> {
        match self {
            Relation::Unknown => None,
            Relation::Fresh { peer } | Relation::Resume { peer, .. } => Some(peer),
        }
    }
}

/// Which session an acceptor has for a connection, and how far it has come there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accepted {
    /// A random number for a new session; that which was asked for if it is resumed.
    pub session: u64,
    /// How many of the dialler's frames the acceptor has taken: 0 in a new session.
    pub received: u64,
    /// How many connections the session has had at the acceptor: 0 in a new session.
    pub connections: u64,
}

/// Why a node does not want a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Refusal {
    /// It speaks another version of the protocol.
    Version,
    /// It uses another codec.
    Codec,
    /// There is a connection between the two already.
    AlreadyConnected,
    /// The node has dialled itself.
    SelfConnection,
    /// It has as many peers as it may have.
    Full,
    /// It shuts down.
    ShuttingDown,
    /// What came was not this protocol.
    NotRmi,
    /// Both dialled at once, and the other connection is used.
    Yielded,
    /// The hand-shake broke the rules.
    Malformed,
    /// The session that was to be resumed was given up: it is to be given up here, too.
    NoSuchSession,
    /// Another run of the node listens there now than the one that was meant.
    OtherIncarnation,
    /// A reason that this version does not know.
    Unknown(u8),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Version => f.write_str("other protocol version"),
            Refusal::Codec => f.write_str("other codec"),
            Refusal::AlreadyConnected => f.write_str("already connected"),
            Refusal::SelfConnection => f.write_str("the node has dialled itself"),
            Refusal::Full => f.write_str("it has as many sessions as it takes (sessions_max)"),
            Refusal::ShuttingDown => f.write_str("shutting down"),
            Refusal::NotRmi => f.write_str("not the rmi protocol"),
            Refusal::Yielded => f.write_str("the connection dialled from the other side is used"),
            Refusal::Malformed => f.write_str("malformed hand-shake"),
            Refusal::NoSuchSession => f.write_str("it has given the session up"),
            Refusal::OtherIncarnation => f.write_str("another run of the node listens there"),
            Refusal::Unknown(code) => write!(f, "reason {code}"),
        }
    }
}

/// Why there is no connection after a hand-shake.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The peer does not speak this protocol.
    #[error("the peer does not speak rmi: {saw}")]
    NotRmi {
        /// What it seems to speak.
        saw: Stranger,
    },
    /// The peer refused.
    #[error("refused by the peer: {reason}{}{text}", if text.is_empty() { "" } else { ": " })]
    Refused {
        /// Why, to act upon.
        reason: Refusal,
        /// The incarnation that refused: with [`AlreadyConnected`](Refusal::AlreadyConnected),
        /// whom the session that exists is with; with
        /// [`OtherIncarnation`](Refusal::OtherIncarnation), who listens there instead.
        from: u64,
        /// Why, in its own words.
        text: String,
    },
    /// We refused.
    #[error("refused: {reason}")]
    Declined {
        /// Why.
        reason: Refusal,
    },
    /// The peer speaks another version of this protocol.
    #[error("protocol version {ours} here, {theirs} at the peer")]
    VersionMismatch {
        /// [`PROTOCOL_VERSION`].
        ours: u16,
        /// The peer's.
        theirs: u16,
    },
    /// The payloads would not be understood.
    #[error("codec {} ({:08x}) here, {} ({:08x}) at the peer", ours.0, ours.1, theirs.0, theirs.1)]
    CodecMismatch {
        /// Our codec and its fingerprint.
        ours: (u8, u32),
        /// The peer's.
        theirs: (u8, u32),
    },
    /// A message of the hand-shake is larger than any can be.
    #[error("a hand-shake message of {bytes} bytes, where {bytes_max} are accepted")]
    TooLarge {
        /// Its size.
        bytes: u16,
        /// What is accepted.
        bytes_max: u16,
    },
    /// The peer accepts frames only up to a size that answers may exceed.
    #[error("the peer accepts frames up to {bytes} bytes, where at least {bytes_least} are due")]
    LimitTooSmall {
        /// What the peer accepts.
        bytes: u32,
        /// What every node has to accept.
        bytes_least: u32,
    },
    /// A message that does not belong here, or breaks off.
    #[error("malformed hand-shake: {0}")]
    Malformed(&'static str),
    /// The peer closed the connection during the hand-shake.
    #[error("the peer closed the connection during the hand-shake")]
    Truncated,
    /// The peer took too long.
    #[error("no hand-shake within {limit_ms} ms")]
    TimedOut {
        /// How long it could have taken.
        limit_ms: u64,
    },
    /// The connection failed.
    #[error("the connection failed during the hand-shake")]
    Io(#[from] std::io::Error),
}

impl HandshakeError {
    /// What the peer is to be told before the connection is closed, by the node of incarnation
    /// `own`; empty if there is nothing to tell.
    pub fn refusal(&self, own: u64) -> Vec<u8> {
        let reason = match self {
            HandshakeError::NotRmi { saw } => return saw.refusal(),
            HandshakeError::VersionMismatch { .. } => Refusal::Version,
            HandshakeError::CodecMismatch { .. } => Refusal::Codec,
            HandshakeError::TooLarge { .. }
            | HandshakeError::LimitTooSmall { .. }
            | HandshakeError::Malformed(_) => Refusal::Malformed,
            HandshakeError::Declined { reason } => *reason,
            HandshakeError::Refused { .. }
            | HandshakeError::Truncated
            | HandshakeError::TimedOut { .. }
            | HandshakeError::Io(_) => return Vec::new(),
        };
        // Where we only declined, the reason says it all.
        let declined = matches!(self, HandshakeError::Declined { .. });
        let text = if declined { String::new() } else { self.to_string() };
        Message::Refuse { reason, from: own, text }.encode()
    }
}

/// How far a hand-shake has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// As acceptor: the peer has said hello; [`welcome`](Handshake::welcome) it, or
    /// [`refuse`](Handshake::refuse).
    Greeted(Hello, Relation),
    /// As dialler: the peer has welcomed us; [`go`](Handshake::go), or
    /// [`refuse`](Handshake::refuse).
    Welcomed(Hello, Accepted),
    /// As acceptor: the peer goes. What is left in the buffer are frames.
    Confirmed {
        /// How many of our frames the peer has taken: 0 in a new session.
        received: u64,
    },
}

/// One side of a hand-shake.
///
/// ```text
///  dial ──▶ AwaitsWelcome ──Welcome──▶ Decides ──go──────▶ Ended
///
///  accept ─▶ AwaitsHello ───Hello────▶ Decides ──welcome─▶ AwaitsGo ──Go──▶ Ended
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Handshake {
    ours: Hello,
    /// As the dialler said; as acceptor, Unknown until then.
    relation: Relation,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    AwaitsHello,
    AwaitsWelcome,
    AwaitsGo,
    /// It is our turn.
    Decides,
    Ended,
}

impl Handshake {
    /// Begins as dialler, with the bytes that are to be sent first.
    pub fn dial(ours: Hello, relation: Relation) -> (Self, Vec<u8>) {
        let hello = Message::Hello(ours.clone(), relation).encode();
        (Handshake { ours, relation, state: State::AwaitsWelcome }, hello)
    }

    /// Begins as acceptor.
    pub fn accept(ours: Hello) -> Self {
        Handshake { ours, relation: Relation::Unknown, state: State::AwaitsHello }
    }

    /// Takes the next message off `input`.
    ///
    /// # Errors
    ///
    /// A [`HandshakeError`] is final. Its [`refusal`](HandshakeError::refusal) is to be sent
    /// before the connection is closed.
    pub fn handle_input(&mut self, input: &mut BytesMut) -> Result<Progress, HandshakeError> {
        let awaits = match self.state {
            State::AwaitsHello | State::AwaitsWelcome | State::AwaitsGo => self.state,
            // What comes now is for later: it is our turn, or it is frames.
            State::Decides | State::Ended => return Ok(Progress::More),
        };
        let Some(message) = take_message(input)? else { return Ok(Progress::More) };
        match (awaits, message) {
            (_, Message::Refuse { reason, from, text }) => {
                Err(HandshakeError::Refused { reason, from, text })
            }
            (State::AwaitsHello, Message::Hello(theirs, relation)) => {
                self.check(&theirs)?;
                if relation.peer().is_some_and(|peer| peer != self.ours.incarnation) {
                    return Err(HandshakeError::Declined { reason: Refusal::OtherIncarnation });
                }
                self.relation = relation;
                self.state = State::Decides;
                Ok(Progress::Greeted(theirs, relation))
            }
            (State::AwaitsWelcome, Message::Welcome(theirs, accepted)) => {
                self.check(&theirs)?;
                self.check_accepted(&theirs, &accepted)?;
                self.state = State::Decides;
                Ok(Progress::Welcomed(theirs, accepted))
            }
            (State::AwaitsGo, Message::Go { received }) => {
                if received > 0 && !self.resumes() {
                    return Err(HandshakeError::Malformed("a new session that is not empty"));
                }
                self.state = State::Ended;
                Ok(Progress::Confirmed { received })
            }
            (_, Message::Hello(..) | Message::Welcome(..) | Message::Go { .. }) => {
                Err(HandshakeError::Malformed("a message out of turn"))
            }
        }
    }

    /// As acceptor, after [`Greeted`](Progress::Greeted): what to send to go on.
    pub fn welcome(&mut self, accepted: Accepted) -> Vec<u8> {
        debug_assert_eq!(self.state, State::Decides);
        self.state = State::AwaitsGo;
        Message::Welcome(self.ours.clone(), accepted).encode()
    }

    /// As dialler, after [`Welcomed`](Progress::Welcomed), and having taken `received` frames of
    /// the session: what to send to go on. Frames may follow at once.
    pub fn go(&mut self, received: u64) -> Vec<u8> {
        debug_assert_eq!(self.state, State::Decides);
        self.state = State::Ended;
        Message::Go { received }.encode()
    }

    /// What to send to end the connection instead.
    pub fn refuse(&mut self, reason: Refusal, text: &str) -> Vec<u8> {
        self.state = State::Ended;
        Message::Refuse { reason, from: self.ours.incarnation, text: text.to_owned() }.encode()
    }

    fn resumes(&self) -> bool {
        matches!(self.relation, Relation::Resume { .. })
    }

    /// Whether the welcome answers what was said in the hello.
    fn check_accepted(&self, theirs: &Hello, accepted: &Accepted) -> Result<(), HandshakeError> {
        let why = match self.relation {
            Relation::Fresh { peer } | Relation::Resume { peer, .. }
                if peer != theirs.incarnation =>
            {
                "a welcome from another incarnation"
            }
            Relation::Resume { session, .. } if session != accepted.session => {
                "a welcome to another session"
            }
            Relation::Unknown | Relation::Fresh { .. }
                if (accepted.received, accepted.connections) != (0, 0) =>
            {
                "a new session that is not empty"
            }
            Relation::Unknown | Relation::Fresh { .. } | Relation::Resume { .. } => return Ok(()),
        };
        Err(HandshakeError::Malformed(why))
    }

    fn check(&self, theirs: &Hello) -> Result<(), HandshakeError> {
        let codec = |hello: &Hello| (hello.codec, hello.codec_fingerprint);
        let bytes = theirs.limits.frame_bytes_max;
        if codec(&self.ours) != codec(theirs) {
            Err(HandshakeError::CodecMismatch { ours: codec(&self.ours), theirs: codec(theirs) })
        } else if bytes < FRAME_BYTES_LEAST {
            Err(HandshakeError::LimitTooSmall { bytes, bytes_least: FRAME_BYTES_LEAST })
        } else {
            Ok(())
        }
    }
}
