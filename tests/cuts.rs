//! Connections that are cut again and again under load: a lost connection is only a slow call.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmi::{Node, Result, remote};
use support::proxy::{Proxy, Via};
use support::{Drops, Token, listening, until, until_empty};

const CALLERS: u64 = 6;
/// So that a load takes a few seconds.
const CALLS_EACH: u64 = 4_000;
const CUT_EVERY: Duration = Duration::from_millis(200);

#[remote]
trait Book {
    /// Writes down that `caller` has made its call `number`.
    async fn enter(&self, caller: u64, number: u64) -> Result<u64>;
    #[remote(oneway)]
    async fn note(&self, caller: u64, number: u64) -> Result<()>;
    /// Calls the ticket, and gives it back.
    async fn stamp(&self, caller: u64, number: u64, ticket: TicketRef) -> Result<TicketRef>;
}

#[remote]
trait Ticket {
    async fn number(&self) -> Result<u64>;
}

#[derive(Default)]
struct Ledger(Arc<Mutex<BTreeMap<u64, Vec<u64>>>>);

impl Ledger {
    fn write(&self, caller: u64, number: u64) {
        self.0.lock().entry(caller).or_default().push(number);
    }
}

impl Book for Ledger {
    async fn enter(&self, caller: u64, number: u64) -> Result<u64> {
        self.write(caller, number);
        Ok(number)
    }
    async fn note(&self, caller: u64, number: u64) -> Result<()> {
        self.write(caller, number);
        Ok(())
    }
    async fn stamp(&self, caller: u64, number: u64, ticket: TicketRef) -> Result<TicketRef> {
        self.write(caller, number);
        assert_eq!(ticket.number().await?, number);
        Ok(ticket)
    }
}

struct Paper(u64, #[expect(dead_code, reason = "counts its drop")] Token);

impl Ticket for Paper {
    async fn number(&self) -> Result<u64> {
        Ok(self.0)
    }
}

/// All calls of one caller, each after the last; every one of them succeeds.
async fn call_all(node: Node, book: BookRef, caller: u64, drops: Drops) {
    for number in 0..CALLS_EACH {
        match number % 4 {
            0 => book.note(caller, number).await.expect("it is sent"),
            1 if number % 16 == 1 => {
                let ticket: TicketRef = node.export(Paper(number, drops.token()));
                let back = book.stamp(caller, number, ticket).await.expect("it is stamped");
                assert_eq!(back.number().await.expect("it is here"), number);
            }
            _ => assert_eq!(book.enter(caller, number).await.expect("it is entered"), number),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_or_runs_twice_while_every_connection_is_cut_again_and_again() {
    let home = listening().await;
    let proxy = Proxy::before(home.endpoint().unwrap()).await;
    let via = Via(proxy.address().to_owned());
    let away = Node::builder().transport(via).start().await.unwrap();
    let written = Arc::default();
    let book: BookRef = home.export(Ledger(Arc::clone(&written)));
    home.bind("book", &book).unwrap();
    drop(book);
    let far: BookRef =
        away.lookup(format!("{}/book", home.endpoint().unwrap())).await.expect("it is bound");

    let drops = Drops::default();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| tokio::spawn(call_all(away.clone(), far.clone(), caller, drops.clone())))
        .collect();
    let load = async {
        for caller in callers {
            caller.await.expect("no call fails");
        }
    };
    tokio::select! {
        () = load => {}
        () = proxy.cut_every(CUT_EVERY) => unreachable!("it never ends"),
    }
    let all: Vec<u64> = (0..CALLS_EACH).collect();
    until("the last one-way calls have run", || {
        written.lock().values().all(|numbers| numbers.len() >= all.len())
    })
    .await;
    for (caller, numbers) in &*written.lock() {
        assert_eq!(*numbers, all, "caller {caller}: each once, in order");
    }
    let lost = away.stats().connections_lost;
    assert!(lost >= 3, "only {lost} connections were lost, {} cut", proxy.ended());
    assert_eq!(away.stats().sessions, 1, "it is one session for all of them");

    drop(far);
    assert!(home.unbind("book"));
    drops.reach(usize::try_from(CALLERS * CALLS_EACH / 16).unwrap()).await;
    until_empty(&[&home, &away]).await;
}
