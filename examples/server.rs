//! A bank in a process of its own; `client` is its customer.
//!
//! `cargo run --example server [-- [--once] [ENDPOINT]]`; `--once` ends it with its first client.

use std::sync::atomic::{AtomicI64, Ordering};

use rmi::{Node, Result};
use tokio::sync::mpsc;

use bank::{Account, AccountRef, Bank, BankError, BankRef};

mod bank;
mod until;

struct Branch {
    node: Node,
    closed: mpsc::UnboundedSender<String>,
}

impl Bank for Branch {
    async fn open(&self, owner: String) -> Result<AccountRef> {
        println!("{owner} opens an account");
        let balance = AtomicI64::new(0);
        Ok(self.node.export(Savings { owner, balance, closed: self.closed.clone() }))
    }
}

struct Savings {
    owner: String,
    balance: AtomicI64,
    closed: mpsc::UnboundedSender<String>,
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
        // Nobody listens any more once the server itself ends.
        let _ = self.closed.send(std::mem::take(&mut self.owner));
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let (flags, endpoints): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let once = flags.iter().any(|flag| flag == "--once");
    let endpoint = endpoints.first().map_or(bank::ENDPOINT, String::as_str);

    let node = Node::builder().name("bank").listen(endpoint).start().await?;
    let (closed, mut closings) = mpsc::unbounded_channel();
    let branch: BankRef = node.export(Branch { node: node.clone(), closed });
    node.bind(bank::NAME, &branch)?;
    drop(branch);
    println!("open at {}/{}", node.endpoint().expect("it listens"), bank::NAME);

    loop {
        tokio::select! {
            Some(owner) = closings.recv() => println!("{owner}'s account is closed"),
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.expect("interrupts can be waited for");
                break;
            }
        }
        if once && !node.gc().snapshot().exports.iter().any(|entry| !entry.children.is_empty()) {
            break;
        }
    }

    node.unbind(bank::NAME);
    until::until(|| node.gc().snapshot().is_empty()).await;
    println!("nothing is shared any more");
    node.shutdown().await;
    Ok(())
}
