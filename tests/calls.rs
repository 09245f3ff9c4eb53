//! Calls between two nodes: results, errors, panics, cancellation, one-way calls.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rmi::{ErrorKind, Executed, Node, RemoteRef, Result, remote};
use serde::{Deserialize, Serialize};
use support::{Drops, Token, dialling, listening, lookup, until, until_empty};
use tokio::sync::Notify;

/// An account that can do everything that a test wants to see go wrong.
#[remote]
trait Account {
    async fn balance(&self) -> Result<i64>;
    async fn deposit(&self, cents: i64) -> Result<i64>;
    async fn withdraw(&self, cents: i64) -> std::result::Result<i64, BankError>;
    async fn panic(&self, text: &str) -> Result<()>;
    /// Never returns by itself.
    async fn hang(&self) -> Result<()>;
    async fn echo(&self, bytes: &[u8]) -> Result<Vec<u8>>;
    async fn fail(&self) -> Result<()>;
    #[remote(oneway)]
    async fn note(&self, cents: i64) -> Result<()>;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum BankError {
    Short { missing: i64 },
    Call(String, ErrorKind),
}

impl From<rmi::Error> for BankError {
    fn from(error: rmi::Error) -> Self {
        BankError::Call(error.to_string(), error.kind())
    }
}

#[derive(Default)]
struct Savings {
    cents: AtomicI64,
    /// Told when `hang` has begun; and when it ends, in whatever way.
    hanging: Arc<Notify>,
    unhung: Drops,
    _token: Option<Token>,
}

impl Account for Savings {
    async fn balance(&self) -> Result<i64> {
        Ok(self.cents.load(Ordering::SeqCst))
    }
    async fn deposit(&self, cents: i64) -> Result<i64> {
        tokio::task::yield_now().await;
        Ok(self.cents.fetch_add(cents, Ordering::SeqCst) + cents)
    }
    async fn withdraw(&self, cents: i64) -> std::result::Result<i64, BankError> {
        let balance = self.cents.load(Ordering::SeqCst);
        if balance < cents {
            return Err(BankError::Short { missing: cents - balance });
        }
        Ok(self.cents.fetch_sub(cents, Ordering::SeqCst) - cents)
    }
    async fn panic(&self, text: &str) -> Result<()> {
        panic!("{text}");
    }
    async fn hang(&self) -> Result<()> {
        let _ended = self.unhung.token();
        self.hanging.notify_one();
        std::future::pending().await
    }
    async fn echo(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        Ok(bytes.to_vec())
    }
    async fn fail(&self) -> Result<()> {
        Err(rmi::Error::application("closed on Sundays"))
    }
    async fn note(&self, cents: i64) -> Result<()> {
        self.cents.fetch_add(cents, Ordering::SeqCst);
        Ok(())
    }
}

/// Two nodes; the first has a savings account bound as "savings".
struct Bank {
    home: Node,
    away: Node,
    there: AccountRef,
    hanging: Arc<Notify>,
    unhung: Drops,
    drops: Drops,
}

impl Bank {
    async fn open() -> Self {
        let (home, away) = (listening().await, dialling().await);
        let drops = Drops::default();
        let savings = Savings { _token: Some(drops.token()), ..Savings::default() };
        let (hanging, unhung) = (Arc::clone(&savings.hanging), savings.unhung.clone());
        let account: AccountRef = home.export(savings);
        home.bind("savings", &account).expect("a good name");
        let there = lookup(&away, &home, "savings").await;
        Self { home, away, there, hanging, unhung, drops }
    }

    /// Lets everything go, and sees that nothing is left.
    async fn close(self) {
        drop(self.there);
        assert!(self.home.unbind("savings"));
        self.drops.reach(1).await;
        until_empty(&[&self.home, &self.away]).await;
    }
}

#[tokio::test]
async fn a_call_gives_what_the_method_returned() {
    let bank = Bank::open().await;
    assert_eq!(bank.there.balance().await.unwrap(), 0);
    assert_eq!(bank.there.deposit(5).await.unwrap(), 5);
    assert_eq!(bank.there.withdraw(2).await.unwrap(), 3);
    assert_eq!(bank.there.echo(&[1, 2, 3]).await.unwrap(), [1, 2, 3]);
    bank.there.ping().await.unwrap();
    bank.close().await;
}

#[tokio::test]
async fn an_error_of_the_applications_own_type_arrives_as_it_is() {
    let bank = Bank::open().await;
    assert_eq!(bank.there.withdraw(7).await, Err(BankError::Short { missing: 7 }));
    let error = bank.there.fail().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Application);
    assert!(error.to_string().contains("closed on Sundays"), "{error}");
    bank.close().await;
}

#[tokio::test]
async fn a_panic_is_that_calls_error_and_nothing_else_suffers() {
    let bank = Bank::open().await;
    let error = bank.there.panic("out of cash").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    for part in ["out of cash", "Account", "panic", &bank.there.id().to_string()] {
        assert!(error.to_string().contains(part), "{part} is missing in: {error}");
    }
    assert_eq!(bank.there.deposit(1).await.unwrap(), 1);
    bank.close().await;
}

#[tokio::test]
async fn dropping_a_call_cancels_its_handler() {
    let bank = Bank::open().await;
    let there = bank.there.clone();
    let call = tokio::spawn(async move { there.hang().await });
    bank.hanging.notified().await;
    call.abort();
    bank.unhung.reach(1).await;
    assert_eq!(bank.there.balance().await.unwrap(), 0);
    bank.close().await;
}

#[tokio::test]
async fn a_stuck_handler_stops_no_other_call() {
    let bank = Bank::open().await;
    let there = bank.there.clone();
    let stuck = tokio::spawn(async move { there.hang().await });
    bank.hanging.notified().await;
    for sum in 1..=100 {
        assert_eq!(bank.there.deposit(1).await.unwrap(), sum);
    }
    stuck.abort();
    bank.unhung.reach(1).await;
    bank.close().await;
}

#[tokio::test]
async fn one_way_calls_run_in_their_order_without_an_answer() {
    let bank = Bank::open().await;
    for _ in 0..100 {
        bank.there.note(1).await.unwrap();
    }
    assert_eq!(bank.there.balance().await.unwrap(), 100);
    bank.close().await;
}

#[tokio::test]
async fn a_message_over_the_peers_limit_fails_that_call_alone() {
    let limits = rmi::Limits { frame_bytes_max: 64 << 10, ..Default::default() };
    let home = Node::builder().listen("tcp://127.0.0.1:0").limits(limits).start().await.unwrap();
    let account: AccountRef = home.export(Savings::default());
    home.bind("savings", &account).unwrap();
    drop(account);
    let away = dialling().await;
    let there: AccountRef = lookup(&away, &home, "savings").await;
    let error = there.echo(&vec![7; 100 << 10]).await.unwrap_err();
    assert_eq!((error.kind(), error.executed()), (ErrorKind::TooLarge, Executed::No));
    assert!(error.to_string().contains("65536"), "the limit is not named: {error}");
    assert_eq!(there.echo(&[7; 100]).await.unwrap().len(), 100);
    drop(there);
    home.unbind("savings");
    until_empty(&[&home, &away]).await;
}

#[tokio::test]
async fn errors_name_interface_method_object_and_peer() {
    let bank = Bank::open().await;
    let id = bank.there.id();
    let home = bank.home.id();
    bank.home.shutdown().await;
    until("the goodbye", || bank.away.stats().sessions == 0).await;
    let error = bank.there.balance().await.unwrap_err();
    assert!(error.is_disconnect(), "{error}");
    assert_eq!(error.executed(), Executed::No);
    assert_eq!(error.interface(), Some("Account"));
    assert_eq!(error.method(), Some("balance"));
    assert_eq!(error.object(), Some(id));
    assert!(error.peer().is_some_and(|peer| peer.contains(&home.to_string())), "{error}");
    drop(bank.there);
    bank.drops.reach(1).await;
    until_empty(&[&bank.home, &bank.away]).await;
}

#[test]
fn a_lost_connection_fails_the_calls_in_progress_and_frees_what_the_peer_held() {
    let (here, there) = (support::runtime(), support::runtime());
    let drops = Drops::default();
    let savings = Savings { _token: Some(drops.token()), ..Savings::default() };
    let (hanging, unhung) = (Arc::clone(&savings.hanging), savings.unhung.clone());
    let builder = Node::builder().listen("tcp://127.0.0.1:0").lease(Duration::from_millis(50));
    let home = there.block_on(builder.start()).unwrap();
    home.bind("savings", &home.export::<AccountRef, _, _>(savings)).unwrap();
    here.block_on(async {
        let away = support::impatient().start().await.unwrap();
        let account: AccountRef = lookup(&away, &home, "savings").await;
        home.unbind("savings");
        let other = account.clone();
        let call = tokio::spawn(async move { other.hang().await });
        hanging.notified().await;
        // All of the home's tasks end, and its sockets with them.
        there.shutdown_background();
        let error = call.await.unwrap().unwrap_err();
        // Whichever of the home's tasks ends first.
        assert!(matches!(error.kind(), ErrorKind::Disconnected | ErrorKind::ShutDown), "{error}");
        assert_eq!(error.executed(), Executed::Maybe, "{error}");
        unhung.reach(1).await;
        until("the session has ended", || away.stats().sessions == 0).await;
        let error = account.balance().await.unwrap_err();
        assert_eq!((error.kind(), error.executed()), (ErrorKind::Disconnected, Executed::No));
        drop(account);
        until_empty(&[&away]).await;
        assert_eq!(drops.count(), 0, "the peer's share is kept for the lease");
        // With its runtime gone, the node's end is all that can let go of its object.
        drop(home);
        drops.reach(1).await;
    });
}

/// A handler that passes on what becomes of a call of its own.
#[remote]
trait Branch {
    async fn balance_at_the_bank(&self) -> Result<i64>;
}

struct Corner(AccountRef);

impl Branch for Corner {
    async fn balance_at_the_bank(&self) -> Result<i64> {
        self.0.balance().await
    }
}

#[tokio::test]
async fn a_handler_whose_own_call_did_not_run_has_run_itself() {
    let (bank, branch) = (Bank::open().await, listening().await);
    let there: AccountRef = lookup(&branch, &bank.home, "savings").await;
    branch.bind("corner", &branch.export::<BranchRef, _, _>(Corner(there.clone()))).unwrap();
    let corner: BranchRef = lookup(&bank.away, &branch, "corner").await;
    assert_eq!(corner.balance_at_the_bank().await.unwrap(), 0);
    bank.home.shutdown().await;
    until("the goodbye", || branch.stats().sessions == 1).await;
    let gone = there.balance().await.unwrap_err();
    assert_eq!((gone.executed(), gone.is_retryable()), (Executed::No, true), "{gone}");
    let error = corner.balance_at_the_bank().await.unwrap_err();
    assert!(error.is_disconnect(), "{error}");
    assert_eq!((error.executed(), error.is_retryable()), (Executed::Yes, false), "{error}");
    branch.unbind("corner");
    drop((there, corner, bank.there));
    bank.drops.reach(1).await;
    until_empty(&[&bank.home, &bank.away, &branch]).await;
}

/// A handler that ends the runtime which is to run it.
#[remote]
trait Fuse {
    async fn blow(&self) -> Result<()>;
}

struct Short(std::sync::Mutex<Option<tokio::runtime::Runtime>>);

impl Fuse for Short {
    async fn blow(&self) -> Result<()> {
        let runtime = self.0.lock().unwrap().take().expect("it blows once");
        runtime.shutdown_background();
        std::future::pending().await
    }
}

#[test]
fn a_runtime_that_ends_while_a_handler_becomes_a_task_is_an_error_and_no_deadlock() {
    let (here, there) = (support::runtime(), support::runtime());
    let home = there
        .block_on(Node::builder().listen("tcp://127.0.0.1:0").start())
        .expect("loopback can be listened at");
    let fuse: FuseRef = home.export(Short(std::sync::Mutex::new(Some(there))));
    home.bind("fuse", &fuse).unwrap();
    drop(fuse);
    here.block_on(async {
        let away = dialling().await;
        let fuse: FuseRef = lookup(&away, &home, "fuse").await;
        let error = fuse.blow().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Disconnected | ErrorKind::ShutDown), "{error}");
    });
}
