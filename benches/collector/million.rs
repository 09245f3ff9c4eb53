//! A million references, held and released, between two processes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rmi::{Limits, Node, Result};
use serde::Serialize;

use crate::interface::{Cup, Stock, StockRef, ThingRef};
use crate::{ALLOCATOR, Outcome};

/// Given away in one answer.
const CHUNK: usize = 1_000;

#[derive(Debug, Serialize)]
pub(crate) struct Million {
    pub(crate) references: usize,
    /// Live bytes, as the allocator counts, and resident ones, as the system does; for each
    /// reference, the user's object included.
    pub(crate) holder_bytes: f64,
    pub(crate) holder_resident: f64,
    pub(crate) home_bytes: f64,
    pub(crate) home_resident: f64,
    /// Until the holder's drops are done, and until the home has dropped the last object.
    pub(crate) dropped_per_second: f64,
    pub(crate) released_per_second: f64,
    pub(crate) wire_bytes_per_release: f64,
    pub(crate) frames: u64,
}

fn limits(references: usize) -> Limits {
    Limits { references_max: 2 * references.max(1_000_000), ..Limits::default() }
}

struct Shelves(Arc<AtomicUsize>, std::sync::OnceLock<Node>);

impl Stock for Shelves {
    async fn fetch(&self, count: usize) -> Result<Vec<ThingRef>> {
        let node = self.1.get().expect("it was set before anybody could call");
        Ok((0..count).map(|_| node.export(Cup::counted(&self.0))).collect())
    }
    async fn left(&self) -> Result<usize> {
        Ok(self.0.load(Ordering::Relaxed))
    }
    async fn bytes(&self) -> Result<(usize, usize)> {
        Ok((allocated(), resident()))
    }
}

/// The home's own process: until its standard input ends.
pub(crate) fn serve() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let limits = limits(0);
        let node = Node::builder().listen("tcp://127.0.0.1:0").limits(limits).start().await?;
        let shelves = Arc::new(Shelves(Arc::default(), std::sync::OnceLock::new()));
        let _ = shelves.1.set(node.clone());
        let stock: StockRef = node.export(shelves);
        node.bind("stock", &stock)?;
        println!("{}", node.endpoint().ok_or("it listens nowhere")?);
        std::future::pending().await
    })
}

struct Home(Child);

impl Drop for Home {
    fn drop(&mut self) {
        // It fails only if the child is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn measure(references: usize) -> Outcome<Million> {
    let child = Command::new(std::env::current_exe()?)
        .arg("--serve-home")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut home = Home(child);
    let mut line = String::new();
    let output = home.0.stdout.take().ok_or("the home has no output")?;
    BufReader::new(output).read_line(&mut line)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(hold_and_release(line.trim(), references))
}

async fn hold_and_release(endpoint: &str, references: usize) -> Outcome<Million> {
    let node = Node::builder().limits(limits(references)).start().await?;
    let stock: StockRef = node.lookup(format!("{endpoint}/stock")).await?;
    let mut held: Vec<ThingRef> = Vec::with_capacity(references);
    // What both ends need once, whatever they hold.
    drop(stock.fetch(CHUNK.min(references)).await?);
    while stock.left().await? > 0 {}

    let (here, there) = ((allocated(), resident()), stock.bytes().await?);
    while held.len() < references {
        held.extend(stock.fetch(CHUNK.min(references - held.len())).await?);
    }
    let (here_full, there_full) = ((allocated(), resident()), stock.bytes().await?);
    let each = |full: usize, empty: usize| full.saturating_sub(empty) as f64 / references as f64;

    let before = node.stats();
    let begun = Instant::now();
    drop(held);
    let dropped = begun.elapsed();
    let mut asked = 0;
    while stock.left().await? > 0 {
        asked += 1;
    }
    let released = begun.elapsed();
    let after = node.stats();
    // A question takes as many bytes as another, and its releases are not its own.
    let asking = before_and_after_a_question(&node, &stock).await? * (asked + 1);
    let bytes = (after.bytes_sent - before.bytes_sent).saturating_sub(asking);
    Ok(Million {
        references,
        holder_bytes: each(here_full.0, here.0),
        holder_resident: each(here_full.1, here.1),
        home_bytes: each(there_full.0, there.0),
        home_resident: each(there_full.1, there.1),
        dropped_per_second: references as f64 / dropped.as_secs_f64(),
        released_per_second: references as f64 / released.as_secs_f64(),
        wire_bytes_per_release: bytes as f64 / references as f64,
        frames: after.frames_sent - before.frames_sent - asked - 1,
    })
}

async fn before_and_after_a_question(node: &Node, stock: &StockRef) -> Result<u64> {
    let before = node.stats().bytes_sent;
    stock.left().await?;
    Ok(node.stats().bytes_sent - before)
}

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

/// Of this process; 0 where the system does not say.
fn resident() -> usize {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * PAGE
}
