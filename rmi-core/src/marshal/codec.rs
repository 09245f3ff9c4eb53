//! The payload's codec: bincode 2.0.1 through serde, and nothing else knows it.
//!
//! bincode is finished, frozen and carries an "unmaintained" advisory; it is confined here so
//! that another can take its place under another number in the hand-shake
//! (`docs/decisions/0002-bincode.md`).

use bincode::config::{Configuration, standard};
use bincode::error::{DecodeError, EncodeError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// bincode 2, `config::standard()`: little-endian, variable-length integers.
pub(crate) const CODEC: u8 = 1;
/// Changes whenever the bytes of this codec would.
pub(crate) const CODEC_FINGERPRINT: u32 = 0x0200_0100;

/// Decoding may claim this many bytes of memory for each byte received: the widest integer
/// (16 bytes) can arrive as one.
const CLAIM_PER_BYTE: usize = 16;

const SMALL_BYTES_MAX: usize = 4 << 10;
const MEDIUM_BYTES_MAX: usize = 64 << 10;
const LARGE_BYTES_MAX: usize = 1 << 20;
const SMALL_CLAIM_MAX: usize = SMALL_BYTES_MAX * CLAIM_PER_BYTE;
const MEDIUM_CLAIM_MAX: usize = MEDIUM_BYTES_MAX * CLAIM_PER_BYTE;
const LARGE_CLAIM_MAX: usize = LARGE_BYTES_MAX * CLAIM_PER_BYTE;
const HUGE_CLAIM_MAX: usize = 1 << 30;

/// Appends `value` to `out`.
pub(crate) fn encode<T: Serialize + ?Sized>(
    value: &T,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    bincode::serde::encode_into_writer(value, Growing(out), standard())
}

/// Reads a value that takes up all of `bytes`.
///
/// What a length inside `bytes` can make us allocate is bounded by the size class of `bytes`:
/// bincode takes its limit as a constant only.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (value, read) = if bytes.len() <= SMALL_BYTES_MAX {
        bincode::serde::decode_from_slice(bytes, limited::<SMALL_CLAIM_MAX>())
    } else if bytes.len() <= MEDIUM_BYTES_MAX {
        bincode::serde::decode_from_slice(bytes, limited::<MEDIUM_CLAIM_MAX>())
    } else if bytes.len() <= LARGE_BYTES_MAX {
        bincode::serde::decode_from_slice(bytes, limited::<LARGE_CLAIM_MAX>())
    } else {
        bincode::serde::decode_from_slice(bytes, limited::<HUGE_CLAIM_MAX>())
    }?;
    if read == bytes.len() { Ok(value) } else { Err(DecodeError::Other("trailing bytes")) }
}

/// What a user's own `Serialize` had to say, or bincode.
pub(crate) fn encode_text(error: EncodeError) -> String {
    if let EncodeError::OtherString(text) = error { text } else { error.to_string() }
}

/// What a user's own `Deserialize` had to say, or bincode.
pub(crate) fn decode_text(error: DecodeError) -> String {
    if let DecodeError::OtherString(text) = error { text } else { error.to_string() }
}

fn limited<const CLAIM_MAX: usize>() -> Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<CLAIM_MAX>,
> {
    standard().with_limit::<CLAIM_MAX>()
}

struct Growing<'a>(&'a mut Vec<u8>);

impl bincode::enc::write::Writer for Growing<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let value = (String::from("savings"), vec![1_u64, 1 << 60], Some(-3_i32));
        let mut bytes = Vec::new();
        encode(&value, &mut bytes).expect("it encodes");
        let back: (String, Vec<u64>, Option<i32>) = decode(&bytes).expect("it decodes");
        assert_eq!(back, value);
    }

    #[test]
    fn a_length_beyond_the_message_is_refused_before_it_is_allocated() {
        // A string of 2^32 bytes, of which none is there: tag 253 says "eight bytes follow".
        let lie = [253, 0, 0, 0, 0, 1, 0, 0, 0];
        assert!(matches!(decode::<String>(&lie), Err(DecodeError::LimitExceeded)));
        assert!(decode::<Vec<u64>>(&lie).is_err());
    }

    #[test]
    fn trailing_bytes_are_an_error() {
        let mut bytes = Vec::new();
        encode(&7_u8, &mut bytes).expect("it encodes");
        bytes.push(0);
        assert!(decode::<u8>(&bytes).is_err());
    }

    #[test]
    fn the_densest_values_of_each_size_class_fit_their_claim() {
        for count in [SMALL_BYTES_MAX, MEDIUM_BYTES_MAX, LARGE_BYTES_MAX].map(|max| max - 8) {
            let value = vec![1_u128; count];
            let mut bytes = Vec::new();
            encode(&value, &mut bytes).expect("it encodes");
            assert_eq!(decode::<Vec<u128>>(&bytes).expect("it decodes"), value);
        }
    }
}
