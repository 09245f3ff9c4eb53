//! Everything that a `#[remote]` trait may look like, called near and far: the object's own node
//! calls it plainly, the other one by messages, and nobody can tell the difference.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use rmi::{ErrorKind, Node, RemoteRef, Result, remote};
use serde::{Deserialize, Serialize};

/// A node with a name to look up, and one that dials it.
async fn pair() -> (Node, Node) {
    let home = Node::builder().listen("tcp://127.0.0.1:0").start().await.expect("a home");
    let away = Node::builder().start().await.expect("a node that dials");
    (home, away)
}

/// The same object, as its own node and as the other one refer to it.
async fn near_and_far<R: RemoteRef>(home: &Node, away: &Node, near: R) -> [R; 2] {
    home.bind("object", &near).expect("a free name");
    let endpoint = home.endpoint().expect("the home listens");
    let far: R = away.lookup(format!("{endpoint}/object")).await.expect("it is bound");
    home.unbind("object");
    assert!(near.is_local() && !far.is_local());
    [near, far]
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    text: String,
    cents: i64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum BankError {
    Broke { missing: i64 },
    Call(ErrorKind),
}

impl From<rmi::Error> for BankError {
    fn from(error: rmi::Error) -> Self {
        Self::Call(error.kind())
    }
}

/// An alias, as many crates have one.
type BankResult<T> = std::result::Result<T, BankError>;

/// A bank account.
#[remote(name = "bank.Account")]
trait Account {
    async fn balance(&self) -> Result<i64>;
    async fn deposit(&self, cents: i64) -> Result<()>;
    async fn withdraw(&self, cents: i64) -> BankResult<i64>;
    async fn describe(
        &self,
        key: &str,
        entry: &Entry,
        rest: &[Entry],
        file: &Path,
    ) -> Result<String>;
    async fn move_to(&self, to: AccountRef, cents: i64) -> BankResult<()> {
        self.withdraw(cents).await?;
        to.deposit(cents).await?;
        Ok(())
    }
    async fn own_again(&self, mut others: Vec<Option<AccountRef>>) -> Result<Vec<AccountRef>> {
        others.reverse();
        Ok(others.into_iter().flatten().collect())
    }
    #[remote(oneway)]
    async fn note(&self, text: String) -> Result<()>;
    async fn notes(&self) -> Result<Vec<String>>;
}

#[derive(Default)]
struct Savings {
    cents: AtomicI64,
    notes: Mutex<Vec<String>>,
}

impl Account for Savings {
    async fn balance(&self) -> Result<i64> {
        Ok(self.cents.load(Ordering::Relaxed))
    }

    async fn deposit(&self, cents: i64) -> Result<()> {
        self.cents.fetch_add(cents, Ordering::Relaxed);
        Ok(())
    }

    async fn withdraw(&self, cents: i64) -> BankResult<i64> {
        let left = self.balance().await? - cents;
        if left < 0 {
            return Err(BankError::Broke { missing: -left });
        }
        self.deposit(-cents).await?;
        Ok(left)
    }

    async fn describe(
        &self,
        key: &str,
        entry: &Entry,
        rest: &[Entry],
        file: &Path,
    ) -> Result<String> {
        Ok(format!("{key}: {} and {} more in {}", entry.text, rest.len(), file.display()))
    }

    async fn note(&self, text: String) -> Result<()> {
        self.notes.lock().expect("no panic").push(text);
        Ok(())
    }

    async fn notes(&self) -> Result<Vec<String>> {
        Ok(self.notes.lock().expect("no panic").clone())
    }
}

#[tokio::test]
async fn values_errors_and_borrows_cross_as_they_were() {
    let (home, away) = pair().await;
    let near: AccountRef = home.export(Savings::default());
    for account in near_and_far(&home, &away, near).await {
        let before = account.balance().await.unwrap();
        account.deposit(5).await.unwrap();
        assert_eq!(account.balance().await.unwrap(), before + 5);
        let broke = account.withdraw(before + 8).await;
        assert_eq!(broke, Err(BankError::Broke { missing: 3 }));

        let entry = Entry { text: "rent".into(), cents: 7 };
        let rest = [entry.clone(), entry.clone()];
        let text = account.describe("k", &entry, &rest, Path::new("a/b")).await.unwrap();
        assert_eq!(text, "k: rent and 2 more in a/b");
    }
}

#[tokio::test]
async fn references_cross_in_both_directions_and_stay_equal() {
    let (home, away) = pair().await;
    let first: AccountRef = home.export(Savings::default());
    let second: AccountRef = away.export(Savings::default());
    first.deposit(10).await.unwrap();
    for account in near_and_far(&home, &away, first.clone()).await {
        account.move_to(second.clone(), 4).await.unwrap();
        let sent = vec![Some(account.clone()), None, Some(second.clone())];
        let back = account.own_again(sent).await.unwrap();
        assert_eq!(back, [second.clone(), account.clone()]);
    }
    assert_eq!(first.balance().await.unwrap(), 2);
    assert_eq!(second.balance().await.unwrap(), 8);
}

#[tokio::test]
async fn a_one_way_call_arrives_though_nobody_waits_for_it() {
    let (home, away) = pair().await;
    let near: AccountRef = home.export(Savings::default());
    let [near, far] = near_and_far(&home, &away, near).await;
    near.note("here".into()).await.unwrap();
    far.note("there".into()).await.unwrap();
    // Only eventually: nothing orders the handlers of two calls.
    while far.notes().await.unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(far.notes().await.unwrap(), ["here", "there"]);
}

#[tokio::test]
async fn identity_is_all_that_equality_hash_and_debug_show() {
    let (home, away) = pair().await;
    let near: AccountRef = home.export(Savings::default());
    let other: AccountRef = home.export(Savings::default());
    let [near, far] = near_and_far(&home, &away, near).await;
    assert_eq!(near, far);
    assert_ne!(near, other);
    assert_eq!(HashSet::from([near.clone(), far.clone(), other]).len(), 2);
    assert_eq!(format!("{far:?}"), format!("AccountRef({})", far.id()));
}

#[tokio::test]
async fn outside_a_call_a_reference_is_not_serialized() {
    let (home, _away) = pair().await;
    let account: AccountRef = home.export(Savings::default());
    let error = serde_json::to_string(&account).unwrap_err().to_string();
    assert!(error.contains("remote call"), "{error}");
    assert!(serde_json::from_str::<AccountRef>("0").is_err());
}

#[remote]
trait Cell<T, const N: usize = 1>: Send + std::fmt::Debug
where
    T: Clone,
{
    async fn cell(&self) -> Result<[T; N]>;
    async fn set(&self, value: T, more: &[T], one: &T) -> Result<usize>;
}

impl Cell<String> for Mutex<String> {
    async fn cell(&self) -> Result<[String; 1]> {
        Ok([self.lock().expect("no panic").clone()])
    }

    async fn set(&self, value: String, more: &[String], one: &String) -> Result<usize> {
        let all = value + &more.concat() + one;
        let length = all.len();
        *self.lock().expect("no panic") = all;
        Ok(length)
    }
}

#[tokio::test]
async fn a_generic_trait_needs_no_more_of_its_parameter_than_its_methods_do() {
    let (home, away) = pair().await;
    let near: CellRef<String> = home.export(Arc::new(Mutex::new(String::new())));
    for cell in near_and_far(&home, &away, near).await {
        let more = ["b".to_owned(), "c".to_owned()];
        assert_eq!(cell.set("a".to_owned(), &more, &"d".to_owned()).await.unwrap(), 4);
        assert_eq!(cell.cell().await.unwrap(), ["abcd"]);
    }
}

#[tokio::test]
async fn two_instances_of_a_generic_trait_are_two_interfaces() {
    #[derive(Debug)]
    struct Both;
    impl Cell<u8> for Both {
        async fn cell(&self) -> Result<[u8; 1]> {
            Ok([7])
        }

        async fn set(&self, value: u8, _more: &[u8], _one: &u8) -> Result<usize> {
            Ok(value.into())
        }
    }
    impl Cell<u64, 2> for Both {
        async fn cell(&self) -> Result<[u64; 2]> {
            Ok([8, 9])
        }

        async fn set(&self, _value: u64, more: &[u64], _one: &u64) -> Result<usize> {
            Ok(more.len())
        }
    }
    #[remote]
    trait Pair: Cell<u8> + Cell<u64, 2> {}
    impl Pair for Both {}

    let (home, away) = pair().await;
    let near: PairRef = home.export(Both);
    for both in near_and_far(&home, &away, near).await {
        assert_eq!(Cell::<u8>::cell(&both).await.unwrap(), [7]);
        assert_eq!(Cell::<u64, 2>::cell(&both).await.unwrap(), [8, 9]);
    }
}
