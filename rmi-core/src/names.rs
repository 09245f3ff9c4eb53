//! The name table of a node: under each name one reference, which it keeps alive.

use rmi_gc::ObjectId;
use rmi_transport::sync::rank;

use crate::error::{Error, ErrorKind, Result};
use crate::map::Map;
use crate::reference::Untyped;

/// Bytes of the longest name.
pub(crate) const NAME_BYTES_MAX: usize = 255;

#[derive(Default)]
pub(crate) struct Names(Map<String, Untyped, rank::Alone>);

impl Names {
    /// Binds `name`, and gives back what it held before.
    pub(crate) fn bind(&self, name: &str, reference: Untyped) -> Result<Option<Untyped>> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('/') {
            let text = format!(
                "{name:?} cannot be bound: a name has 1 to {NAME_BYTES_MAX} bytes and no slash"
            );
            return Err(Error::new(ErrorKind::Denied, text));
        }
        Ok(self.0.insert(name.to_owned(), reference))
    }

    pub(crate) fn unbind(&self, name: &str) -> Option<Untyped> {
        self.0.remove(name).map(|(_, reference)| reference)
    }

    pub(crate) fn lookup(&self, name: &str) -> Result<Untyped> {
        let bound = self.0.get(name).map(|reference| reference.clone());
        bound.ok_or_else(|| {
            Error::new(ErrorKind::NoSuchName, format!("nothing is bound as {name:?}"))
        })
    }

    /// The names that an object is bound to, in their order.
    pub(crate) fn of(&self, object: ObjectId) -> Vec<String> {
        let bound = self.0.iter().filter(|bound| bound.value().id() == object);
        let mut names: Vec<String> = bound.map(|bound| bound.key().clone()).collect();
        names.sort_unstable();
        names
    }

    /// Lets go of everything; the references are given to the caller, to drop outside our locks.
    pub(crate) fn clear(&self) -> Vec<Untyped> {
        let mut names: Vec<String> = self.0.iter().map(|entry| entry.key().clone()).collect();
        // In an order that a simulation can replay.
        names.sort_unstable();
        names.iter().filter_map(|name| self.unbind(name)).collect()
    }
}
