//! What a node is started with.

use std::sync::Arc;
use std::time::Duration;

use rmi_gc::{BridgeInit, NodeId, Policy};
use rmi_transport::frame::FRAME_BYTES_LEAST;
use rmi_transport::{Endpoint, Transport};

use super::timings::{Timings, Wishes};
use super::transports::Transports;
use super::{Node, NodeInner, accept, keeper};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::surroundings::Surroundings;

/// Configures a node; made by [`Node::builder`].
#[derive(Clone, Debug)]
#[must_use = "a node starts only with `start`"]
pub struct Builder {
    pub(super) listen: Vec<String>,
    pub(super) name: String,
    pub(super) limits: Limits,
    pub(super) timings: Wishes,
    pub(super) policy: Policy,
    pub(super) bridges: BridgeInit,
    pub(super) threads: bool,
    pub(super) transports: Transports,
    pub(super) surroundings: Surroundings,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            listen: Vec::new(),
            name: String::new(),
            limits: Limits::default(),
            timings: Wishes::default(),
            // The only one that this runtime carries out yet.
            policy: Policy::default(),
            bridges: BridgeInit::default(),
            threads: true,
            transports: Transports::default(),
            surroundings: Surroundings::default(),
        }
    }

    /// Listens at `endpoint`: `tcp://host:port` (port 0: any), `unix:///path`, `inproc://name`, or
    /// what a [`transport`](Self::transport) of one's own understands.
    /// May be given several times; references carry all. Without it the node only dials, and is
    /// called back over the connections that it made.
    pub fn listen(mut self, endpoint: impl Into<String>) -> Self {
        self.listen.push(endpoint.into());
        self
    }

    /// What logs and errors call the node, beside its incarnation.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What peers can make this node hold.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// For how long a session may lack a connection before its peer is given up: calls in progress
    /// wait for so long, and then fail. Default 8 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.timings.lease = lease;
        self
    }

    /// A session that has nothing to say says so as often, so that its peer hears from it. Default
    /// a third of the detection time, 2 s at most.
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.timings.heartbeat = Some(heartbeat);
        self
    }

    /// A connection on which nothing was received for so long is lost. At least two heartbeats.
    /// Default 6 s.
    pub fn detection(mut self, detection: Duration) -> Self {
        self.timings.detection = Some(detection);
        self
    }

    /// For how long the references of a peer that was given up are kept, so that those who have
    /// theirs from it can turn to the home. Default 60 s, or as much as the other durations ask for:
    /// `(depth_max - 1) · (detection + lease + adoption)` and a tenth of it, where an adoption takes
    /// two thirds of the detection time.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.timings.grace = Some(grace);
        self
    }

    /// How many nodes a reference passes through before its holder turns to the home at once, and
    /// passes it on only after that. Default 4.
    pub fn depth_max(mut self, depth_max: u8) -> Self {
        self.timings.depth_max = depth_max;
        self
    }

    /// How holders stand to the homes of their objects.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// When a bridge takes on its proxy role.
    pub fn bridges(mut self, bridges: BridgeInit) -> Self {
        self.bridges = bridges;
        self
    }

    /// Whether calls carry their distributed thread. Default true; without, a frame is two or
    /// three bytes shorter, and a monitor entered by a caller is not re-entered by handlers.
    pub fn distributed_threads(mut self, carried: bool) -> Self {
        self.threads = carried;
        self
    }

    /// Reaches endpoints `scheme://…` by a transport of one's own: those that the node listens at,
    /// those that it is told to look up at, and those that references carry. A transport whose
    /// scheme is that of a built-in one takes its place.
    ///
    /// # Examples
    ///
    /// A transport that counts how often it dials, and leaves the rest to TCP:
    ///
    /// ```
    /// use std::io;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use rmi::transport::{BoxFuture, Endpoint, Listener, Tcp, Transport, Wire};
    ///
    /// struct Counting(Arc<AtomicUsize>);
    ///
    /// impl Transport for Counting {
    ///     fn scheme(&self) -> &'static str {
    ///         "tcp"
    ///     }
    ///     fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///         Tcp.dial(to)
    ///     }
    ///     fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
    ///         Tcp.listen(at)
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> rmi::Result<()> {
    /// let home = rmi::Node::builder().listen("tcp://127.0.0.1:0").start().await?;
    /// let dialled = Arc::new(AtomicUsize::new(0));
    /// let node = rmi::Node::builder().transport(Counting(Arc::clone(&dialled))).start().await?;
    /// let endpoint = home.endpoint().expect("it listens");
    /// let found = node.lookup::<rmi::AnyRef>(format!("{endpoint}/nothing")).await;
    /// assert_eq!(found.unwrap_err().kind(), rmi::ErrorKind::NoSuchName);
    /// assert_eq!(dialled.load(Ordering::Relaxed), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transports.add(Arc::new(transport));
        self
    }

    /// Where the node takes randomness and tasks from; for simulations.
    #[doc(hidden)]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// Starts the node on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// - `Unreachable`: an endpoint cannot be listened at, or is not one.
    /// - `LimitReached`: `frame_bytes_max` is less than every node has to accept, or the grace is too
    ///   short for the other durations.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn start(self) -> Result<Node> {
        let runtime = tokio::runtime::Handle::current();
        let (bytes, bytes_least) = (self.limits.frame_bytes_max, FRAME_BYTES_LEAST);
        if bytes < bytes_least {
            let text = format!("frame_bytes_max is {bytes}, and has to be at least {bytes_least}");
            return Err(Error::new(ErrorKind::LimitReached, text));
        }
        let timings = Timings::new(self.timings)?;
        let mut listeners = Vec::new();
        for text in &self.listen {
            let cannot = |error: &dyn std::fmt::Display| {
                Error::new(ErrorKind::Unreachable, format!("cannot listen at {text}: {error}"))
            };
            let endpoint: Endpoint = text.parse().map_err(|error| cannot(&error))?;
            let listening = self.transports.of(&endpoint).listen(&endpoint).await;
            listeners.push(listening.map_err(|error| cannot(&error))?);
        }
        let endpoints = listeners.iter().map(|listener| listener.endpoint()).collect();
        // An incarnation is random, so that a restarted node is a new peer.
        let id = NodeId(self.surroundings.random());
        let inner = Arc::new(NodeInner::new(id, self, timings, endpoints, runtime));
        for listener in listeners {
            accept::listen(&inner, listener);
        }
        inner.spawn(keeper::keep(Arc::clone(&inner)));
        Ok(Node::new(inner))
    }
}
