//! When an object is dropped, and why not before.
//!
//! `cargo run --example lifetime`

use rmi::{Node, Result, remote};

mod until;

/// A lamp.
#[remote]
trait Lamp {
    async fn shine(&self) -> Result<()>;
}

struct Desk;

impl Lamp for Desk {
    async fn shine(&self) -> Result<()> {
        println!("  the lamp shines");
        Ok(())
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        println!("  the lamp is dropped");
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let home = Node::builder().listen("tcp://127.0.0.1:0").start().await?;
    let guest = Node::builder().start().await?;
    let show = |why: &str| {
        let snapshot = home.gc().snapshot().to_string();
        let named = snapshot.replace(&home.id().to_string(), "home");
        println!("{why}\n  {}", named.replace(&guest.id().to_string(), "guest"));
    };

    let lamp: LampRef = home.export(Desk);
    show("exported: the first reference keeps it");

    home.bind("lamp", &lamp)?;
    drop(lamp);
    show("bound, and the first reference dropped: the name keeps it");

    let endpoint = home.endpoint().expect("it listens");
    let there: LampRef = guest.lookup(format!("{endpoint}/lamp")).await?;
    show("looked up: the guest has a reference too");

    home.unbind("lamp");
    show("unbound: the guest's reference keeps it");

    let again = there.clone();
    drop(there);
    again.shine().await?;
    show("cloned and dropped by the guest: nobody has to be told");

    drop(again);
    until::until(|| home.gc().snapshot().is_empty()).await;
    show("dropped by the guest: it was the last");

    until::until(|| guest.gc().snapshot().is_empty()).await;
    println!("nothing is shared any more");
    Ok(())
}
