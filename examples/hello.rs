//! Two nodes in one process: one has an object, the other calls it.
//!
//! `cargo run --example hello`

use rmi::{Node, Result, remote};

mod until;

/// Greets.
#[remote]
trait Greeter {
    async fn greet(&self, name: &str) -> Result<String>;
}

struct Polite;

impl Greeter for Polite {
    async fn greet(&self, name: &str) -> Result<String> {
        Ok(format!("Good day, {name}!"))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let home = Node::builder().listen("tcp://127.0.0.1:0").start().await?;
    let greeter: GreeterRef = home.export(Polite);
    home.bind("greeter", &greeter)?;
    println!("here:  {}", greeter.greet("Grace").await?);

    let elsewhere = Node::builder().start().await?;
    let endpoint = home.endpoint().expect("it listens");
    let there: GreeterRef = elsewhere.lookup(format!("{endpoint}/greeter")).await?;
    println!("there: {}", there.greet("Ada").await?);

    home.unbind("greeter");
    drop((greeter, there));
    until::until(|| home.gc().snapshot().is_empty() && elsewhere.gc().snapshot().is_empty()).await;
    println!("nothing is shared any more");
    Ok(())
}
