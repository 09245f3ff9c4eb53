//! A bank in a process of its own; `client` is its customer.
//!
//! `cargo run --example server [-- [--once] [ENDPOINT]]`; `--once` ends it with its first client.

use std::sync::atomic::{AtomicI64, Ordering};

use rmi::{Node, Result};
use tokio::sync::mpsc;

use bank::{Account, AccountRef, Bank, BankError, BankRef};

mod bank;
mod until;

/// What happens at the bank.
enum Event {
    Opened(String),
    Closed(String),
}

struct Branch {
    node: Node,
    events: mpsc::UnboundedSender<Event>,
}

impl Bank for Branch {
    async fn open(&self, owner: String) -> Result<AccountRef> {
        // Sending fails only once the bank itself is closing.
        let _ = self.events.send(Event::Opened(owner.clone()));
        let (balance, events) = (AtomicI64::new(0), self.events.clone());
        Ok(self.node.export(Savings { owner, balance, events }))
    }
}

struct Savings {
    owner: String,
    balance: AtomicI64,
    events: mpsc::UnboundedSender<Event>,
}

impl Account for Savings {
    async fn balance(&self) -> Result<i64> {
        Ok(self.balance.load(Ordering::Relaxed))
    }

    async fn deposit(&self, cents: i64) -> Result<i64> {
        Ok(self.balance.fetch_add(cents, Ordering::Relaxed) + cents)
    }

    async fn transfer(&self, to: AccountRef, cents: i64) -> Result<(), BankError> {
        let taken = self.balance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |balance| {
            (balance >= cents).then_some(balance - cents)
        });
        taken.map_err(|balance| BankError::Insufficient { balance })?;
        // The other account may live at another bank: the call finds it either way.
        to.deposit(cents).await?;
        Ok(())
    }
}

/// The client let go of the account, or is gone with all that it held.
impl Drop for Savings {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Closed(std::mem::take(&mut self.owner)));
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let (flags, endpoints): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let once = flags.iter().any(|flag| flag == "--once");
    let endpoint = endpoints.first().map_or(bank::ENDPOINT, String::as_str);

    let node = Node::builder().name("bank").listen(endpoint).start().await?;
    let (sender, mut events) = mpsc::unbounded_channel();
    let branch: BankRef = node.export(Branch { node: node.clone(), events: sender });
    node.bind(bank::NAME, &branch)?;
    drop(branch);
    println!("open at {}/{}", node.endpoint().expect("it listens"), bank::NAME);

    tokio::select! {
        () = serve(&mut events, once) => {}
        interrupted = tokio::signal::ctrl_c() => interrupted.expect("it can be waited for"),
    }

    node.unbind(bank::NAME);
    until::until(|| node.gc().snapshot().is_empty()).await;
    println!("nothing is shared any more");
    node.shutdown().await;
    Ok(())
}

/// Tells what happens; ends, if only `once`, when nobody has an account any more.
async fn serve(events: &mut mpsc::UnboundedReceiver<Event>, once: bool) {
    let mut accounts = 0;
    while let Some(event) = events.recv().await {
        match event {
            Event::Opened(owner) => {
                accounts += 1;
                println!("{owner} opens an account");
            }
            Event::Closed(owner) => {
                accounts -= 1;
                println!("{owner}'s account is closed");
            }
        }
        if once && accounts == 0 {
            break;
        }
    }
}
