//! Two nodes that know an interface differently: a clear error, never a wrong decode.

mod support;

use rmi::{AnyRef, ErrorKind, Executed, Node, RemoteRef, Result, remote};
use support::{dialling, listening, lookup, until_empty};

mod before {
    use super::*;

    #[remote]
    pub(super) trait Clock {
        async fn hour(&self) -> Result<u8>;
        async fn set(&self, hour: u8) -> Result<()>;
        async fn gone(&self) -> Result<()>;
    }
}

mod after {
    use super::*;

    #[remote]
    pub(super) trait Clock {
        async fn hour(&self) -> Result<u8>;
        async fn set(&self, hour: u8, minute: u8) -> Result<()>;
        async fn added(&self) -> Result<String>;
    }
}

#[remote]
trait Cell<T>
where
    T: Clone + Send + Sync + 'static,
{
    async fn get(&self) -> Result<T>;
}

struct Wall;

impl after::Clock for Wall {
    async fn hour(&self) -> Result<u8> {
        Ok(11)
    }
    async fn set(&self, _hour: u8, _minute: u8) -> Result<()> {
        Ok(())
    }
    async fn added(&self) -> Result<String> {
        Ok("new".to_owned())
    }
}

struct Fixed<T>(T);

impl<T: Clone + Send + Sync + 'static> Cell<T> for Fixed<T> {
    async fn get(&self) -> Result<T> {
        Ok(self.0.clone())
    }
}

async fn end(home: &Node, away: &Node) {
    home.unbind("it");
    until_empty(&[home, away]).await;
}

#[tokio::test]
async fn a_changed_signature_is_refused_by_name_and_an_added_method_harms_nobody() {
    use before::Clock as _;
    let (home, away) = (listening().await, dialling().await);
    home.bind("it", &home.export::<after::ClockRef, _, _>(Wall)).unwrap();
    let old: before::ClockRef = lookup(&away, &home, "it").await;
    assert_eq!(old.hour().await.unwrap(), 11);
    let error = old.set(3).await.unwrap_err();
    assert_eq!((error.kind(), error.executed()), (ErrorKind::SignatureMismatch, Executed::No));
    for part in ["Clock::set", "(u8)", "(u8, u8)"] {
        assert!(error.to_string().contains(part), "{part} is missing in: {error}");
    }
    let error = old.gone().await.unwrap_err();
    assert_eq!((error.kind(), error.executed()), (ErrorKind::NoSuchMethod, Executed::No));
    drop(old);
    end(&home, &away).await;
}

#[tokio::test]
async fn generic_interfaces_are_told_apart_by_their_type_arguments() {
    let (home, away) = (listening().await, dialling().await);
    home.bind("it", &home.export::<CellRef<u32>, _, _>(Fixed(7_u32))).unwrap();
    let number: CellRef<u32> = lookup(&away, &home, "it").await;
    assert_eq!(number.get().await.unwrap(), 7);
    let endpoint = home.endpoint().unwrap();
    let error = away.lookup::<CellRef<String>>(format!("{endpoint}/it")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongInterface, "{error}");
    let any = AnyRef::from(&number);
    assert_eq!(any.id(), number.id());
    assert!(any.cast::<CellRef<String>>().is_err());
    drop((number, any));
    end(&home, &away).await;
}
