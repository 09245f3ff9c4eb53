//! Generated code meets names that a module may well have, lints that a crate may well deny, and
//! attributes that decide whether something exists at all.

#![deny(warnings, missing_docs, unreachable_pub, clippy::pedantic, clippy::nursery)]
#![allow(clippy::redundant_pub_crate, reason = "the opposite of `unreachable_pub`")]
#![deny(unused_qualifications, non_local_definitions, unnameable_types)]

use rmi::Node;

/// No prelude, and everybody's favourite names taken.
mod bare {
    #![no_implicit_prelude]
    #![allow(dead_code)]

    pub(crate) struct Result;
    pub(crate) struct Option;
    pub(crate) struct Box;
    pub(crate) struct Vec;
    pub(crate) struct String;
    pub(crate) struct Arc;
    pub(crate) struct Argument;
    pub(crate) trait Send {}
    pub(crate) trait Sync {}
    pub(crate) trait Sized {}
    pub(crate) trait Future {}
    pub(crate) trait Serialize {}
    pub(crate) const LENGTH: usize = 3;
    #[allow(non_upper_case_globals)]
    pub(crate) const object: u8 = 0;
    #[allow(non_upper_case_globals)]
    pub(crate) const error: u8 = 0;

    /// Methods with the names of everything that generated code calls.
    #[::rmi::remote]
    pub(crate) trait Odd {
        async fn call(
            &self,
            method: &str,
            arguments: &[u8],
            near: u8,
            interfaces: u8,
            self_: u8,
        ) -> ::rmi::Result<()>;
        async fn local(&self, length: [u8; LENGTH]) -> ::rmi::Result<()>;
        async fn object(&self) -> ::rmi::Result<()>;
        async fn id(&self) -> ::rmi::Result<()>;
        async fn clone(&self, call: u8) -> ::rmi::Result<()>;
        async fn serialize(&self, r#type: u8) -> ::rmi::Result<()>;
        async fn r#async(&self) -> ::rmi::Result<()>;
        async fn eq(&self) -> ::core::result::Result<(), ::rmi::Error>;
        async fn fmt(&self) -> ::rmi::Result<()>;
        async fn send(&self) -> ::rmi::Result<()>;
        async fn untyped(&self) -> ::rmi::Result<()>;
        async fn interfaces(&self, path: &::std::path::Path, one: (u8,)) -> ::rmi::Result<u8>;
        async fn defaulted(&self, thing: u8) -> ::rmi::Result<u8> {
            ::core::result::Result::Ok(thing)
        }
        #[cfg(any())]
        async fn absent(&self, x: NoSuchType) -> ::rmi::Result<NoSuchType>;
        #[deprecated = "a caller is told, generated code is not"]
        async fn old(&self) -> ::rmi::Result<()>;
    }

    #[::rmi::remote]
    #[cfg(any())]
    pub(crate) trait AbsentToo {
        async fn absent(&self) -> ::rmi::Result<NoSuchType>;
    }

    #[::rmi::remote]
    pub(crate) trait Empty {}

    /// Under these, `dyn Whole` is no type.
    #[::rmi::remote]
    pub(crate) trait Whole:
        ::std::cmp::Eq
        + ::std::fmt::Debug
        + ::std::clone::Clone
        + ::std::hash::Hash
        + ::std::any::Any
    {
        async fn whole(&self) -> ::rmi::Result<u8>;
    }
}

/// An alias of `Result` that a macro names with `$crate`.
pub type Alias<T> = Result<T, rmi::Error>;

macro_rules! interface {
    ($name:ident, $method:ident, $type:ty) => {
        /// A trait that a macro writes.
        #[rmi::remote]
        pub trait $name {
            /// Types from a macro's arguments come in invisible groups.
            async fn $method(
                &self,
                owned: $type,
                lent: &$type,
                list: &[$type],
            ) -> $crate::Alias<$type>;
        }
    };
}

interface!(Written, sum, u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thing;

impl Written for Thing {
    async fn sum(&self, owned: u32, lent: &u32, list: &[u32]) -> Alias<u32> {
        Ok(owned + lent + list.iter().sum::<u32>())
    }
}

impl bare::Whole for Thing {
    async fn whole(&self) -> Alias<u8> {
        Ok(1)
    }
}

impl bare::Empty for Thing {}

/// Not a type of this crate, but nobody else can implement the trait for it either.
impl bare::Whole for u16 {
    async fn whole(&self) -> Alias<u8> {
        Ok(2)
    }
}

#[tokio::test]
async fn a_trait_can_be_written_by_a_macro_or_inside_a_function() {
    #[rmi::remote]
    trait Inside: bare::Empty {
        async fn inside(&self) -> rmi::Result<u8>;
    }
    impl Inside for Thing {
        async fn inside(&self) -> rmi::Result<u8> {
            Ok(3)
        }
    }

    let node = Node::builder().start().await.expect("a node");
    let written: WrittenRef = node.export(Thing);
    assert_eq!(written.sum(1, &2, &[3, 4]).await.unwrap(), 10);
    let inside: InsideRef = node.export(Thing);
    assert_eq!(inside.inside().await.unwrap(), 3);
}

#[tokio::test]
async fn a_trait_may_want_of_its_objects_what_no_trait_object_has() {
    use bare::Whole;

    let node = Node::builder().start().await.expect("a node");
    let thing: bare::WholeRef = node.export(Thing);
    assert_eq!(thing.whole().await.unwrap(), 1);
    let number: bare::WholeRef = node.export(7_u16);
    assert_eq!(number.whole().await.unwrap(), 2);
}
