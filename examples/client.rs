//! A customer of the bank that `server` runs, in another process.
//!
//! `cargo run --example client [-- ENDPOINT/NAME]`

use rmi::{Node, RemoteRef};

use bank::{Account, Bank, BankError, BankRef};

mod bank;
mod until;

#[tokio::main]
async fn main() -> Result<(), BankError> {
    let default = || format!("{}/{}", bank::ENDPOINT, bank::NAME);
    let address = std::env::args().nth(1).unwrap_or_else(default);

    // No `listen`: this node only dials.
    let node = Node::builder().name("customer").start().await?;
    let bank: BankRef = node.lookup(address).await?;

    let ada = bank.open("Ada".to_owned()).await?;
    let grace = bank.open("Grace".to_owned()).await?;
    println!("Ada has {}", ada.deposit(100).await?);
    ada.transfer(grace.clone(), 30).await?;
    println!("Ada has {}, Grace has {}", ada.balance().await?, grace.balance().await?);

    match ada.transfer(grace.clone(), 1_000).await {
        Err(BankError::Insufficient { balance }) => println!("no: Ada has only {balance}"),
        other => panic!("{other:?}"),
    }
    println!("the accounts live {}", if ada.is_local() { "here" } else { "at the bank" });

    drop((ada, grace, bank));
    until::until(|| node.gc().snapshot().is_empty()).await;
    println!("nothing is shared any more");
    node.shutdown().await;
    Ok(())
}
