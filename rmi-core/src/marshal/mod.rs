//! Values to messages and back: a payload, and beside it the references that it holds.

mod codec;
mod context;

use bytes::Bytes;
use rmi_transport::sync::assert_unlocked;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::codec::{CODEC, CODEC_FINGERPRINT};
pub(crate) use self::context::References;
pub use self::context::deserialize_reference;
use crate::error::{Error, ErrorKind};

/// A payload that is about to be sent, with the references that stand in it.
///
/// It keeps its references alive; they are counted for the receiver only when the frame is
/// written.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) payload: Payload,
    pub(crate) references: References,
}

/// Bytes that were encoded here, or that arrived and travel on (a relay never decodes them).
#[derive(Debug)]
pub(crate) enum Payload {
    Encoded(Vec<u8>),
    Received(Bytes),
}

impl Default for Payload {
    fn default() -> Self {
        Payload::Encoded(Vec::new())
    }
}

impl Payload {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Payload::Encoded(bytes) => bytes,
            Payload::Received(bytes) => bytes,
        }
    }
}

impl Message {
    /// Encodes `value`. User code runs here (`Serialize`), and no lock is held.
    ///
    /// # Errors
    ///
    /// `Encode`. Nothing has been counted, so nothing has to be taken back.
    pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        assert_unlocked("a value is encoded");
        let mut payload = Vec::new();
        let (result, references) = context::encoding(|| codec::encode(value, &mut payload));
        result.map_err(|error| Error::new(ErrorKind::Encode, codec::encode_text(error)))?;
        Ok(Self { payload: Payload::Encoded(payload), references })
    }
}

/// Decodes a received payload whose references are `references`.
pub(crate) fn decode<T: DeserializeOwned>(
    payload: &[u8],
    references: References,
) -> Result<T, Error> {
    assert_unlocked("a value is decoded");
    let (result, refused) = context::decoding(references, || codec::decode(payload));
    result.map_err(|error| {
        refused.unwrap_or_else(|| Error::new(ErrorKind::Decode, codec::decode_text(error)))
    })
}

/// The arguments of an incoming call, not decoded yet.
#[derive(Debug)]
pub struct Arguments {
    pub(crate) payload: Bytes,
    pub(crate) references: References,
}

impl Arguments {
    /// The arguments as a tuple.
    ///
    /// # Errors
    ///
    /// `Decode`, or `WrongInterface` for a reference of another type than expected. The
    /// references are released all the same.
    pub fn decode<A: DeserializeOwned>(self) -> Result<A, Error> {
        decode(&self.payload, self.references).map_err(|e| e.executed_as(crate::Executed::No))
    }
}

/// What a handler answers.
#[derive(Debug)]
pub struct Reply(pub(crate) ReplyBody);

#[derive(Debug)]
pub(crate) enum ReplyBody {
    /// The method's value.
    Ok(Message),
    /// The error of the application's own type.
    Err(Message),
    /// The call failed before or beside the method.
    Failed(Error),
    /// A failure that arrived from further on, as it is.
    Relayed(Message),
}

impl Reply {
    /// Encodes what the method returned, then drops it: what it held is released with the answer.
    pub fn of<T: Serialize, E: Serialize>(outcome: Result<T, E>) -> Self {
        let body = match &outcome {
            Ok(value) => Message::encode(value).map(ReplyBody::Ok),
            Err(error) => Message::encode(error).map(ReplyBody::Err),
        };
        Self(body.unwrap_or_else(|e| ReplyBody::Failed(e.executed_as(crate::Executed::Yes))))
    }

    /// The call failed before or beside the method.
    pub fn failed(error: Error) -> Self {
        Self(ReplyBody::Failed(error))
    }
}
