//! What an interface is at run time: its methods, how an object serves them, and the hashes by
//! which two nodes know that they mean the same.
//!
//! `#[remote]` implements these traits; nobody else needs to.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind};
use crate::marshal::{Arguments, Reply};

/// A boxed future, as handlers and object-safe methods return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Method numbers below this one belong to the runtime (see `call::builtin`).
pub(crate) const RESERVED_METHODS: u32 = 16;

/// One method of an interface, as caller and home know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// The name of the interface that declares it.
    pub interface: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its argument and result types, as text.
    pub signature: &'static str,
    /// What it is called by on the wire: a hash of interface and name.
    pub id: u32,
    /// A hash of the signature: equal at both ends, or the call is refused.
    pub fingerprint: u32,
}

impl Method {
    /// A method with its hashes.
    pub const fn new(interface: &'static str, name: &'static str, signature: &'static str) -> Self {
        let named = fnv1a(fnv1a(fnv1a(FNV_START, interface), "::"), name);
        let id = fold(named);
        let id = if id < RESERVED_METHODS { id + RESERVED_METHODS } else { id };
        let fingerprint = fold(fnv1a(FNV_START, signature));
        Self { interface, name, signature, id, fingerprint }
    }

    /// The method of a generic interface with `types` for its type arguments: these become part
    /// of the fingerprint, so that a `Cell<u32>` is never taken for a `Cell<String>`.
    #[must_use]
    pub const fn of_types(mut self, types: &str) -> Self {
        self.fingerprint = fold(fnv1a(fnv1a(FNV_START, self.signature), types));
        self
    }
}

/// An interface at run time; implemented by `#[remote]` for the object-safe twin of the trait.
pub trait Interface: Send + Sync + 'static {
    /// The name by which nodes know it: the trait's, unless `#[remote(name = "…")]` says otherwise.
    const NAME: &'static str;
    /// The type arguments of a generic interface, as text; empty for any other.
    fn types() -> &'static str;
    /// Its own methods, without those it inherits.
    fn methods() -> Vec<Method>;
}

/// A hash of an interface's name and type arguments; what references are checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub(crate) u64);

impl InterfaceId {
    pub(crate) fn of<O: ?Sized + Interface>() -> Self {
        Self(fnv1a(fnv1a(FNV_START, O::NAME), O::types()))
    }
}

/// What is known of an interface without its type.
#[derive(Clone, Copy, Debug)]
pub struct InterfaceInfo {
    pub(crate) id: InterfaceId,
    pub(crate) name: &'static str,
    pub(crate) types: &'static str,
    /// Built only when somebody asks: for an error's text, or a description.
    pub(crate) methods: fn() -> Vec<Method>,
}

impl InterfaceInfo {
    /// The interface whose object-safe twin is `O`.
    pub fn of<O: ?Sized + Interface>() -> Self {
        Self { id: InterfaceId::of::<O>(), name: O::NAME, types: O::types(), methods: O::methods }
    }
}

/// The generated code that decodes a call and calls the object; one for each interface of an
/// exported object.
pub trait Skeleton: Send + Sync + 'static {
    /// Which interface it serves.
    fn interface(&self) -> InterfaceInfo;
    /// The handler of a call of `method`, or `None` if this interface has no such method.
    ///
    /// The fingerprint has been checked; nothing of the payload has been decoded.
    fn handle(&self, method: u32, arguments: Arguments) -> Option<BoxFuture<'static, Reply>>;
    /// The fingerprint of a method of this interface, as the home knows it.
    fn fingerprint(&self, method: u32) -> Option<u32>;
}

/// One interface of one exported object.
#[derive(Clone)]
struct Slot {
    info: InterfaceInfo,
    skeleton: Arc<dyn Skeleton>,
    /// An `Arc<O>` of the object-safe twin, for calls that need no wire.
    object: Arc<dyn Any + Send + Sync>,
}

/// The interfaces under which one object is, or is about to be, exported.
#[derive(Clone, Default)]
pub struct Interfaces {
    slots: SmallVec<[Slot; 1]>,
    /// Where the object lies: all exports of one `Arc` are one object.
    address: usize,
}

impl Interfaces {
    /// No interface yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one. The same interface twice is harmless: the first stays.
    pub fn add<O: ?Sized + Interface>(&mut self, object: Arc<O>, skeleton: impl Skeleton) {
        self.address = Arc::as_ptr(&object).cast::<()>() as usize;
        let info = InterfaceInfo::of::<O>();
        if self.slots.iter().all(|slot| slot.info.id != info.id) {
            self.slots.push(Slot { info, skeleton: Arc::new(skeleton), object: Arc::new(object) });
        }
    }

    /// Adds what `other` has and this has not.
    pub fn merge(&mut self, other: Interfaces) {
        for slot in other.slots {
            if self.slots.iter().all(|own| own.info.id != slot.info.id) {
                self.slots.push(slot);
            }
        }
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = InterfaceId> + '_ {
        self.slots.iter().map(|slot| slot.info.id)
    }

    /// The object itself, as one of its interfaces.
    pub(crate) fn object<O: ?Sized + Interface>(&self) -> Option<Arc<O>> {
        self.slots.iter().find_map(|slot| slot.object.downcast_ref::<Arc<O>>()).cloned()
    }

    /// The handler of an incoming call.
    ///
    /// # Errors
    ///
    /// `NoSuchMethod`, or `SignatureMismatch` with the home's signature in its text.
    pub(crate) fn handle(
        &self,
        method: u32,
        fingerprint: u32,
        arguments: Arguments,
    ) -> Result<BoxFuture<'static, Reply>, Error> {
        let mut other = None;
        for slot in &self.slots {
            match slot.skeleton.fingerprint(method) {
                Some(expected) if expected == fingerprint => {
                    if let Some(handler) = slot.skeleton.handle(method, arguments) {
                        return Ok(handler);
                    }
                    break;
                }
                // An object may be a `Cell<u8>` and a `Cell<String>`, whose methods differ in
                // nothing but the fingerprint.
                Some(_) => other = Some(slot),
                None => {}
            }
        }
        Err(other.map_or_else(
            || Error::new(ErrorKind::NoSuchMethod, format!("the object has {}", self.names())),
            |slot| slot.mismatch(method),
        ))
    }

    /// What a node is told that asks for a description: each interface with its methods.
    pub(crate) fn describe(&self) -> Vec<(String, Vec<String>)> {
        let method = |method: Method| format!("{}{}", method.name, method.signature);
        self.slots
            .iter()
            .map(|slot| {
                let methods = (slot.info.methods)().into_iter().map(method).collect();
                (full_name(slot.info.name, slot.info.types), methods)
            })
            .collect()
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.slots.iter().map(|slot| slot.info.name).collect();
        format!("the interface {}", names.join(", "))
    }
}

impl Slot {
    fn mismatch(&self, method: u32) -> Error {
        let methods = (self.info.methods)();
        let here = methods.iter().find(|known| known.id == method);
        let signature = here.map_or("?", |known| known.signature);
        let name = full_name(self.info.name, self.info.types);
        Error::new(ErrorKind::SignatureMismatch, format!("the home has {signature}, of {name}"))
    }
}

impl std::fmt::Debug for Interfaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.slots.iter().map(|slot| slot.info.name)).finish()
    }
}

/// An object as its home knows it.
pub(crate) struct Exported {
    pub(crate) interfaces: Interfaces,
    pub(crate) monitor: crate::monitor::Monitor,
}

/// The name of an interface with its type arguments: `Cell<i64>`.
pub(crate) fn full_name(name: &str, types: &str) -> String {
    let inside = types.strip_prefix('(').and_then(|types| types.strip_suffix(')'));
    match inside.map(|types| types.trim_end_matches(',')) {
        Some(types) => format!("{name}<{types}>"),
        None => name.to_owned(),
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a (Fowler, Noll, Vo), 64 bits: a `const fn` that is the same everywhere.
const fn fnv1a(mut hash: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

const fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_known_by_its_name_and_told_apart_by_its_signature() {
        let one = Method::new("Account", "balance", "() -> Result<i64>");
        let changed = Method::new("Account", "balance", "() -> Result<u64>");
        let other = Method::new("Account", "transfer", "() -> Result<i64>");
        assert_eq!(one.id, changed.id);
        assert_ne!(one.fingerprint, changed.fingerprint);
        assert_ne!(one.id, other.id);
    }

    #[test]
    fn type_arguments_are_part_of_the_fingerprint() {
        let cell = Method::new("Cell", "get", "() -> Result<T>");
        assert_ne!(cell.of_types("(u32,)").fingerprint, cell.of_types("(String,)").fingerprint);
        assert_eq!(cell.of_types("(u32,)").id, cell.id);
    }

    #[test]
    fn no_name_hashes_into_the_reserved_numbers() {
        for number in 0..20_000 {
            let name: &'static str = Box::leak(format!("m{number}").into_boxed_str());
            assert!(Method::new("I", name, "").id >= RESERVED_METHODS);
        }
    }
}
