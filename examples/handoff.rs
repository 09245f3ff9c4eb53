//! Alice's object goes from hand to hand: Bob passes it to Carol and lets go.
//!
//! Carol calls it directly; Bob stays behind as a counter, a *zombie*, until she lets go as well.
//!
//! `cargo run --example handoff`

use std::sync::Mutex;

use rmi::{Node, Result, remote};

mod until;

/// Something to read.
#[remote]
trait Letter {
    async fn read(&self) -> Result<String>;
}

/// Where letters are put, and lie.
#[remote]
trait Mailbox {
    async fn put(&self, letter: LetterRef) -> Result<()>;
    async fn open(&self) -> Result<Option<LetterRef>>;
}

struct Draft;

impl Letter for Draft {
    async fn read(&self) -> Result<String> {
        Ok("Dear Carol, …".to_owned())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        println!("the letter is dropped, at Alice's");
    }
}

#[derive(Default)]
struct Tray(Mutex<Option<LetterRef>>);

impl Mailbox for Tray {
    async fn put(&self, letter: LetterRef) -> Result<()> {
        *self.0.lock().unwrap() = Some(letter);
        Ok(())
    }

    async fn open(&self) -> Result<Option<LetterRef>> {
        Ok(self.0.lock().unwrap().take())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let listening = || Node::builder().listen("tcp://127.0.0.1:0").start();
    let (alice, bob, carol) = (listening().await?, listening().await?, listening().await?);
    let nodes = [("alice", &alice), ("bob", &bob), ("carol", &carol)];
    let at = |node: &Node, name: &str| format!("{}/{name}", node.endpoint().expect("it listens"));

    let mailbox: MailboxRef = carol.export(Tray::default());
    carol.bind("mailbox", &mailbox)?;
    let draft: LetterRef = alice.export(Draft);
    alice.bind("letter", &draft)?;
    drop(draft);

    let letter: LetterRef = bob.lookup(at(&alice, "letter")).await?;
    alice.unbind("letter");
    show(&nodes, "Alice has given the letter to Bob:");

    let carols: MailboxRef = bob.lookup(at(&carol, "mailbox")).await?;
    carols.put(letter.clone()).await?;
    drop((letter, carols));
    carol.unbind("mailbox");
    until::until(|| carol.gc().snapshot().exports.iter().all(|e| e.children.is_empty())).await;
    show(&nodes, "Bob has passed it on to Carol, and let go:");

    let received = mailbox.open().await?.expect("it was put there");
    drop(mailbox);
    println!("Carol reads: {}", received.read().await?);
    println!("Bob has carried {} calls for her", bob.stats().calls_relayed);

    drop(received);
    until::until(|| nodes.iter().all(|(_, node)| node.gc().snapshot().is_empty())).await;
    show(&nodes, "Carol has let go:");
    Ok(())
}

/// Prints what each node shares, with names in place of the nodes' random ids.
fn show(nodes: &[(&str, &Node)], title: &str) {
    println!("{title}");
    for (name, node) in nodes {
        let snapshot = node.gc().snapshot();
        if snapshot.is_empty() {
            println!("  {name}: empty");
        }
        for entry in snapshot.exports.iter().chain(&snapshot.bridges) {
            let text = nodes.iter().fold(entry.to_string(), |text, (name, node)| {
                text.replace(&node.id().to_string(), name)
            });
            println!("  {name}: {text}");
        }
    }
}
