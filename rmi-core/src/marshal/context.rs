//! The reference table while a payload is encoded or decoded.
//!
//! A reference may stand anywhere in a serde value, and serde passes no context along. So the
//! table lies in a thread-local for exactly as long as one `serialize` or `deserialize` runs:
//! neither awaits, and the guard restores what was there before. Outside, a reference is an
//! error, never a panic.

use std::cell::RefCell;

use rmi_transport::sync::thread_local;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use crate::error::Error;
use crate::reference::{RemoteRef, Untyped};

/// The references of one message, in the order of its reference table.
pub(crate) type References = SmallVec<[Untyped; 2]>;

const OUTSIDE: &str = "a remote reference can be serialized only in an argument or a result of a \
                       remote call";

thread_local! {
    static ENCODING: RefCell<Option<References>> = const { RefCell::new(None) };
    static DECODING: RefCell<Option<Decoding>> = const { RefCell::new(None) };
}

struct Decoding {
    references: References,
    /// Why a reference was refused; serde's own error would keep only the text.
    refused: Option<Error>,
}

/// Runs `encode`, and gives the references that it came upon.
pub(crate) fn encoding<R>(encode: impl FnOnce() -> R) -> (R, References) {
    struct Restore(Option<References>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            ENCODING.with(|table| table.replace(before));
        }
    }
    let _restore = Restore(ENCODING.with(|table| table.replace(Some(References::new()))));
    let result = encode();
    let references = ENCODING.with(|table| table.take());
    (result, references.unwrap_or_default())
}

/// Runs `decode` with `references` for its table; an error tells why a reference was refused.
pub(crate) fn decoding<R>(
    references: References,
    decode: impl FnOnce() -> R,
) -> (R, Option<Error>) {
    struct Restore(Option<Decoding>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            // What is replaced holds references, whose drop must not find the table borrowed.
            let _done = DECODING.with(|table| table.replace(before));
        }
    }
    let inside = Decoding { references, refused: None };
    let _restore = Restore(DECODING.with(|table| table.replace(Some(inside))));
    let result = decode();
    let done = DECODING.with(|table| table.take());
    (result, done.and_then(|done| done.refused))
}

/// Decodes a reference of one type; `#[remote]` has `Deserialize` call it.
pub fn deserialize_reference<'de, R: RemoteRef, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<R, D::Error> {
    R::__from_untyped(Untyped::deserialize(deserializer)?).map_err(refuse)
}

/// Notes why the reference that is being decoded is refused, and gives serde's error for it.
fn refuse<E: serde::de::Error>(error: Error) -> E {
    let text = error.to_string();
    DECODING.with(|table| {
        if let Some(decoding) = &mut *table.borrow_mut() {
            decoding.refused.get_or_insert(error);
        }
    });
    E::custom(text)
}

impl Serialize for Untyped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = ENCODING.with(|table| {
            let mut table = table.borrow_mut();
            let references = table.as_mut()?;
            references.push(self.clone());
            u32::try_from(references.len() - 1).ok()
        });
        match row {
            Some(row) => serializer.serialize_u32(row),
            None => Err(S::Error::custom(OUTSIDE)),
        }
    }
}

impl<'de> Deserialize<'de> for Untyped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if DECODING.with(|table| table.borrow().is_none()) {
            return Err(D::Error::custom(OUTSIDE));
        }
        let row = u32::deserialize(deserializer)?;
        let found = DECODING.with(|table| {
            let table = table.borrow();
            let references = &table.as_ref()?.references;
            references.get(usize::try_from(row).ok()?).cloned()
        });
        found.ok_or_else(|| D::Error::custom(format!("no reference {row} in the message's table")))
    }
}
