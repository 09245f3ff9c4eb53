//! What a child process does: it holds one node and at most one reference, and obeys a command a
//! line. It is this very test binary, started in another role.

use std::io::{BufRead, Write};
use std::time::Duration;

use parking_lot::Mutex;
use rmi::gc::Policy;
use rmi::{Node, RemoteRef, Result, remote};

use crate::support::proxy::Via;
use crate::support::{Drops, Token, impatient};

/// Set in a child process: how it listens.
pub(crate) const ROLE: &str = "RMI_TEST_ROLE";
/// Set where only calls in doubt lead to adoption.
pub(crate) const HIERARCHICAL: &str = "RMI_TEST_HIERARCHICAL";
/// `host:port` of a proxy that the node dials instead of anybody else.
pub(crate) const VIA: &str = "RMI_TEST_VIA";
/// The grace in milliseconds, where it is another than the impatient one.
pub(crate) const GRACE_MS: &str = "RMI_TEST_GRACE_MS";
pub(crate) const DEPTH_MAX: &str = "RMI_TEST_DEPTH_MAX";

/// The object that all is about.
#[remote]
pub(crate) trait Item {
    async fn touch(&self) -> Result<u64>;
}

/// By which one process gives the item to another.
#[remote]
pub(crate) trait Hands {
    async fn take(&self, item: ItemRef) -> Result<()>;
}

#[derive(Default)]
struct Thing(Mutex<u64>, #[expect(dead_code, reason = "counts its drop")] Option<Token>);

impl Item for Thing {
    async fn touch(&self) -> Result<u64> {
        let mut touched = self.0.lock();
        *touched += 1;
        Ok(*touched)
    }
}

type Held = std::sync::Arc<Mutex<Option<ItemRef>>>;

struct Grasping(Held);

impl Hands for Grasping {
    async fn take(&self, item: ItemRef) -> Result<()> {
        let before = self.0.lock().replace(item);
        drop(before);
        Ok(())
    }
}

/// One node and what it holds.
struct Actor {
    node: Node,
    held: Held,
    drops: Drops,
}

/// Plays the role until standard input ends, if this process has one.
pub(crate) fn play() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let actor = runtime.block_on(Actor::start());
    let endpoint = actor.node.endpoint().expect("it listens").clone();
    say(&endpoint.to_string());
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("the test writes UTF-8");
        say(&runtime.block_on(actor.obey(&line)));
    }
}

/// One line, that the harness's own do not look like.
fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "> {}", what.replace('\n', " | ")).expect("the test reads");
    out.flush().expect("the test reads");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("the test sets a number"))
}

impl Actor {
    async fn start() -> Actor {
        let mut builder = impatient().listen("tcp://127.0.0.1:0");
        if std::env::var_os(HIERARCHICAL).is_some() {
            builder = builder.policy(Policy::Hierarchical);
        }
        if let Some(depth) = number(DEPTH_MAX) {
            builder = builder.depth_max(u8::try_from(depth).expect("a small number"));
        }
        if let Some(grace) = number(GRACE_MS) {
            builder = builder.grace(Duration::from_millis(grace));
        }
        if let Ok(proxy) = std::env::var(VIA) {
            builder = builder.transport(Via(proxy));
        }
        let node = builder.start().await.expect("it starts");
        let held = Held::default();
        let hands: HandsRef = node.export(Grasping(held.clone()));
        node.bind("hands", &hands).expect("a good name");
        Actor { node, held, drops: Drops::default() }
    }

    async fn obey(&self, line: &str) -> String {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = match command {
            "export" => self.export(),
            "fetch" => self.fetch(rest).await,
            "give" => self.give(rest).await,
            "call" => self.call().await,
            "drop" => {
                let dropped = self.held.lock().take();
                drop(dropped);
                Ok("done".to_owned())
            }
            "unbind" => Ok(self.node.unbind(rest).to_string()),
            "holds" => Ok(self.held.lock().is_some().to_string()),
            "dropped" => Ok(self.drops.count().to_string()),
            "snapshot" => Ok(self.node.gc().snapshot().to_string()),
            "leave" => {
                self.node.shutdown().await;
                Ok("done".to_owned())
            }
            unknown => Ok(format!("unknown command {unknown:?}")),
        };
        done.unwrap_or_else(|error| {
            format!("error {:?}, executed {:?}: {error}", error.kind(), error.executed())
        })
    }

    /// The name alone keeps the item.
    fn export(&self) -> Result<String> {
        let item: ItemRef = self.node.export(Thing(Mutex::default(), Some(self.drops.token())));
        self.node.bind("item", &item)?;
        Ok("done".to_owned())
    }

    async fn fetch(&self, uri: &str) -> Result<String> {
        let item: ItemRef = self.node.lookup(uri).await?;
        *self.held.lock() = Some(item);
        Ok("done".to_owned())
    }

    async fn give(&self, uri: &str) -> Result<String> {
        let hands: HandsRef = self.node.lookup(uri).await?;
        let item = self.held.lock().clone().expect("the test has it hold one");
        hands.take(item).await?;
        Ok("done".to_owned())
    }

    async fn call(&self) -> Result<String> {
        let item = self.held.lock().clone().expect("the test has it hold one");
        assert!(!item.is_local());
        Ok(format!("touched {}", item.touch().await?))
    }
}
