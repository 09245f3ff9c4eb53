//! The command line, and the configuration that it chooses.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, ValueEnum};
use rmi::Node;
use rmi::gc::BridgeInit;

use crate::pin::Pin;
use crate::server::Role;

/// Measures the latency table; `docs/BENCHMARKS.md` explains it.
#[derive(Parser)]
#[command(name = "latency")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) config: Config,
    /// `karmi` adds the historic recipe's figures to criterion's.
    #[arg(long, value_enum, default_value_t = Recipe::Criterion)]
    pub(crate) recipe: Recipe,
    /// All rows in less than 40 seconds, with wider intervals.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Writes the rows as a JSON list.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Where the plot goes [default: target/latency/<configuration>.svg].
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Runs each row once, and measures nothing.
    #[arg(long)]
    test: bool,
    /// `cargo bench` says so; without it this is a smoke test, as with criterion's own main.
    #[arg(long, hide = true)]
    bench: bool,
    /// Understood for the sake of `cargo test --all-targets`.
    #[arg(long, hide = true)]
    nocapture: bool,
    /// The same.
    #[arg(hide = true)]
    filters: Vec<String>,
    /// Set in the processes that this one starts.
    #[arg(long, hide = true, value_enum)]
    pub(crate) serve: Option<Role>,
    /// Where such a process listens.
    #[arg(long, hide = true, default_value = "")]
    pub(crate) listen: String,
}

impl Args {
    pub(crate) fn is_smoke(&self) -> bool {
        self.test || !self.bench
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Recipe {
    Criterion,
    Karmi,
}

/// What is measured; the same for all nodes of a run.
#[derive(Clone, ClapArgs)]
pub(crate) struct Config {
    /// How the nodes are connected; `inproc` puts all of them into one process, a thread each.
    #[arg(long, value_enum, default_value_t = Transport::Tcp)]
    pub(crate) transport: Transport,
    /// When a bridge takes on its proxy role.
    #[arg(long, value_enum, default_value_t = Bridges::Lazy)]
    pub(crate) bridges: Bridges,
    /// With 3, the object that is passed lives on a third node.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=3))]
    pub(crate) nodes: u8,
    /// Whether calls carry their distributed thread.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) threads: Switch,
    /// All nodes on one core, client and servers on one each, or wherever the system likes.
    #[arg(long, value_enum, default_value_t = Pin::None)]
    pub(crate) pin: Pin,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Tcp,
    Unix,
    Inproc,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bridges {
    Lazy,
    Eager,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Config {
    /// In the style of the historic names, `JavaParty/KaRMI/RemoteResident/…`: our objects never
    /// move, so all are resident.
    pub(crate) fn name(&self) -> String {
        let mut parts = vec!["rmi", "Resident"];
        if self.threads == Switch::On {
            parts.push("DistributedThreads");
        }
        parts.extend(match self.transport {
            Transport::Tcp => ["TCP", "loopback"],
            Transport::Unix => ["Unix", "local"],
            Transport::Inproc => ["InProcess", "memory"],
        });
        if self.bridges == Bridges::Eager {
            parts.push("EagerBridges");
        }
        if self.nodes == 3 {
            parts.push("3nodes");
        }
        parts.extend(match self.pin {
            Pin::One => Some("onecore"),
            Pin::Two => Some("twocores"),
            Pin::None => None,
        });
        parts.join("/")
    }

    /// The same as one file name.
    pub(crate) fn slug(&self) -> String {
        self.name().replace('/', "-")
    }

    /// A node as this configuration has it.
    pub(crate) fn builder(&self) -> rmi::Builder {
        Node::builder()
            .bridges(match self.bridges {
                Bridges::Lazy => BridgeInit::Lazy,
                Bridges::Eager => BridgeInit::Eager,
            })
            .distributed_threads(self.threads == Switch::On)
    }

    /// What a server process needs on its command line to have the same configuration.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let flag = |name: &str, value: String| [format!("--{name}"), value];
        [
            flag("transport", spelled(self.transport)),
            flag("bridges", spelled(self.bridges)),
            flag("nodes", self.nodes.to_string()),
            flag("threads", spelled(self.threads)),
            flag("pin", spelled(self.pin)),
        ]
        .concat()
    }
}

/// As the command line has it.
pub(crate) fn spelled(value: impl ValueEnum) -> String {
    value.to_possible_value().expect("no variant is skipped").get_name().to_owned()
}
