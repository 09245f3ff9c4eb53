//! All nodes of a run, as the client's process sees them.

use std::path::PathBuf;
use std::time::Duration;

use rmi::Stats;
use tokio::runtime::Runtime;

use crate::Outcome;
use crate::args::{Config, Transport};
use crate::client::Client;
use crate::measure::Pass;
use crate::pin::End;
use crate::raw;
use crate::rows::Row;
use crate::server::{Role, Server, runtime};

/// Something whose latency is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Row(Row),
    Raw(raw::Kind),
}

impl Subject {
    /// All rows, then the raw ping-pongs.
    pub(crate) fn all() -> Vec<Subject> {
        let rows = Row::ALL.map(Subject::Row);
        rows.into_iter().chain(raw::Kind::ALL.map(Subject::Raw)).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::Row(row) => row.name(),
            Subject::Raw(kind) => kind.name(),
        }
    }

    pub(crate) fn slug(self) -> &'static str {
        match self {
            Subject::Row(row) => row.slug(),
            Subject::Raw(kind) => kind.slug(),
        }
    }
}

pub(crate) struct Cluster {
    runtime: Runtime,
    client: Client,
    pub(crate) raw: raw::Client,
    /// B, and C if there is one. They end with this.
    servers: Vec<Server>,
    /// Removed last, once nobody listens there any more.
    _sockets: SocketFolder,
}

impl Cluster {
    pub(crate) fn start(config: &Config) -> Outcome<Self> {
        let sockets = SocketFolder::new(config.transport)?;
        let roles: &[Role] = if config.nodes == 3 { &[Role::B, Role::C] } else { &[Role::B] };
        let mut servers = Vec::new();
        for &role in roles {
            servers.push(Server::start(role, config, &sockets.endpoint(config.transport, role))?);
        }
        // Only now: servers inherit where this thread may run.
        config.pin.apply(End::Client)?;
        let server = servers.first().ok_or("there is no server")?;
        let third = servers.get(1).map(Server::endpoint);
        let runtime = runtime()?;
        let client = runtime.block_on(Client::start(config, server.endpoint(), third))?;
        let raw = raw::Client::new(server.raw_port(), config.pin);
        Ok(Self { runtime, client, raw, servers, _sockets: sockets })
    }

    /// Does the operation `count` times, and gives the time that all of them took.
    pub(crate) fn run(&self, subject: Subject, count: u64, pass: Pass<'_>) -> Outcome<Duration> {
        self.runtime.block_on(async {
            match subject {
                Subject::Row(row) => row.repeat(&self.client, count, pass).await,
                Subject::Raw(kind) => self.raw.repeat(kind, count, pass).await,
            }
        })
    }

    /// The client's counters.
    pub(crate) fn client_stats(&self) -> Stats {
        self.client.node.stats()
    }

    /// The counters of the other nodes.
    pub(crate) fn server_stats(&mut self) -> Outcome<Vec<Stats>> {
        self.servers.iter_mut().map(Server::stats).collect()
    }

    /// Says goodbye first, so that the servers do not end under an open session.
    pub(crate) fn stop(self) {
        self.runtime.block_on(self.client.node.shutdown());
    }
}

/// Where Unix sockets are, if the run has any.
struct SocketFolder(Option<PathBuf>);

impl SocketFolder {
    fn new(transport: Transport) -> Outcome<Self> {
        if transport != Transport::Unix {
            return Ok(Self(None));
        }
        let folder = std::env::temp_dir().join(format!("rmi-latency-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(Some(folder)))
    }

    /// Where the node of `role` is to listen.
    fn endpoint(&self, transport: Transport, role: Role) -> String {
        let name = role.name();
        match (transport, &self.0) {
            (Transport::Tcp, _) => "tcp://127.0.0.1:0".to_owned(),
            (Transport::Unix, Some(folder)) => format!("unix://{}/{name}", folder.display()),
            (Transport::Inproc | Transport::Unix, _) => format!("inproc://latency-{name}"),
        }
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // What is left in a temporary folder harms nobody.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
