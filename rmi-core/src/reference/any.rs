//! References without a type.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{RemoteRef, Untyped};
use crate::error::Result;

/// A reference to an object of any interface.
///
/// It counts, travels and compares like any other reference; to call methods, cast it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnyRef(Untyped);

impl AnyRef {
    /// The same reference as an `R`; costs no message.
    ///
    /// # Errors
    ///
    /// `WrongInterface` if the object was not exported under the interface of `R` when this node
    /// last heard of it.
    pub fn cast<R: RemoteRef>(&self) -> Result<R> {
        R::__from_untyped(self.0.clone())
    }
}

impl<R: RemoteRef> From<&R> for AnyRef {
    fn from(reference: &R) -> Self {
        Self(reference.__untyped().clone())
    }
}

impl RemoteRef for AnyRef {
    fn __untyped(&self) -> &Untyped {
        &self.0
    }

    fn __from_untyped(untyped: Untyped) -> Result<Self> {
        Ok(Self(untyped))
    }
}

impl fmt::Debug for AnyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyRef").field(&self.0).finish()
    }
}
