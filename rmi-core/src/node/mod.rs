//! The node: what users start, export objects on, and look names up with.

mod accept;
mod builder;
mod dial;
mod gc;
mod keeper;
mod shutdown;
mod timings;
mod transports;

use std::fmt;
use std::sync::Arc;

use dashmap::DashMap;
use rmi_gc::{BridgeInit, NodeId, ObjectId, Policy};
use rmi_transport::sync::Mutex;
use rmi_transport::{Endpoint, Hello, PeerLimits};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub use self::builder::Builder;
use self::dial::{Dialled, Found};
pub use self::gc::{Gc, Holder, Holders};
use self::keeper::Keeper;
use self::shutdown::{Closed, LetGo};
use self::timings::Timings;
use self::transports::Transports;
use crate::call::builtin::{LOOKUP, NODE};
use crate::call::{Undo, Way};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::marshal::{CODEC, CODEC_FINGERPRINT, Message};
use crate::names::Names;
use crate::pulse::is_clock_paused;
use crate::reaper;
use crate::reference::{FromObject, RemoteRef, Untyped};
use crate::session::{Sessions, Unsent};
use crate::stats::{Counters, Stats};
use crate::surroundings::Surroundings;
use crate::table::Table;

/// A node: it has objects that others may refer to, and references to theirs.
///
/// Cheap to clone. Dropping the last handle shuts the node down in the background, like
/// [`shutdown`](Node::shutdown); references keep what they need of it alive. After its end their
/// calls to other nodes fail with `ShutDown`; calls to objects of its own go on working. An object
/// that holds a `Node` keeps it from ending by itself.
///
/// # Examples
///
/// ```
/// use rmi::{Node, Result, remote};
///
/// #[remote]
/// trait Greeter {
///     async fn greet(&self, name: &str) -> Result<String>;
/// }
///
/// struct Polite;
/// impl Greeter for Polite {
///     async fn greet(&self, name: &str) -> Result<String> {
///         Ok(format!("Good day, {name}"))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let node = Node::builder().listen("tcp://127.0.0.1:0").start().await?;
/// let greeter: GreeterRef = node.export(Polite);
/// node.bind("greeter", &greeter)?;
///
/// let elsewhere = Node::builder().start().await?;
/// let endpoint = node.endpoint().expect("it listens");
/// let there: GreeterRef = elsewhere.lookup(format!("{endpoint}/greeter")).await?;
/// assert_eq!(there.greet("Ada").await?, "Good day, Ada");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Node(Arc<LastHandle>);

/// Dropped with the last handle of a node.
struct LastHandle(Arc<NodeInner>);

/// What a node is made of; shared by its handles, its references and its sessions' tasks.
pub(crate) struct NodeInner {
    pub(crate) id: NodeId,
    name: String,
    pub(crate) limits: Limits,
    pub(crate) timings: Timings,
    pub(crate) policy: Policy,
    pub(crate) bridges: BridgeInit,
    /// Whether calls carry their distributed thread.
    pub(crate) threads: bool,
    endpoints: Vec<Endpoint>,
    pub(crate) table: Table,
    pub(crate) sessions: Sessions,
    pub(crate) keeper: Keeper,
    pub(crate) names: Names,
    pub(crate) stats: Counters,
    runtime: Handle,
    /// Whether time is that of the runtime's timers alone.
    pub(crate) is_clock_paused: bool,
    surroundings: Surroundings,
    transports: Transports,
    /// The tasks that accept connections.
    listeners: Mutex<Vec<JoinHandle<()>>>,
    /// Set when the node begins to shut down.
    closed: Closed,
    /// Set when it has.
    down: Closed,
    dialled: DashMap<Endpoint, Arc<tokio::sync::Mutex<Dialled>>>,
    /// Homes that could not be dialled, and when.
    unreachable: DashMap<NodeId, Instant>,
}

impl NodeInner {
    fn new(
        id: NodeId,
        builder: Builder,
        timings: Timings,
        endpoints: Vec<Endpoint>,
        runtime: Handle,
    ) -> Self {
        Self {
            id,
            name: builder.name,
            limits: builder.limits,
            timings,
            policy: builder.policy,
            bridges: builder.bridges,
            threads: builder.threads,
            endpoints,
            table: Table::new(id, builder.policy, timings.depth_max, &builder.surroundings),
            sessions: Sessions::new(id, &builder.surroundings),
            keeper: Keeper::new(timings),
            names: Names::default(),
            stats: Counters::default(),
            runtime,
            is_clock_paused: is_clock_paused(),
            surroundings: builder.surroundings,
            transports: builder.transports,
            listeners: Mutex::default(),
            closed: Closed::default(),
            down: Closed::default(),
            dialled: DashMap::new(),
            unreachable: DashMap::new(),
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closed.is_set()
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down.is_set()
    }

    /// A local handle is gone. Works anywhere: it only counts, notes what is owed, and wakes.
    pub(crate) fn handle_dropped(&self, id: ObjectId) {
        let freed = self.table.handle_dropped(id, &self.sessions);
        reaper::reap(freed);
    }

    pub(crate) fn hello(&self) -> Hello {
        Hello {
            incarnation: self.id.0,
            thread_origin: crate::thread::process_origin(),
            codec: CODEC,
            codec_fingerprint: CODEC_FINGERPRINT,
            limits: PeerLimits { frame_bytes_max: self.limits.frame_bytes_max },
            features: 0,
            name: self.name.clone(),
            endpoints: self.endpoints.iter().map(ToString::to_string).collect(),
        }
    }

    async fn lookup(self: &Arc<Self>, uri: &str) -> Result<Untyped> {
        let (endpoint, name) = Endpoint::parse_with_name(uri)
            .map_err(|error| Error::new(ErrorKind::Unreachable, error.to_string()))?;
        let session = match self.session_at(&endpoint).await? {
            Found::Ourselves => return self.names.lookup(&name),
            Found::Peer(session) => session,
        };
        let target = rmi_transport::Target::Export(NODE);
        let way = Way { session, target, relayed: false };
        let mut message = Message::encode(&name)?;
        let call = way.start(self, &LOOKUP, None, Undo::Nothing, &mut message);
        let call = call.map_err(Unsent::into_error)?;
        crate::call::read(call.await?, &LOOKUP).map_err(|error: Error| error.at_peer(&endpoint))
    }
}

impl Node {
    /// Configures a node.
    pub fn builder() -> Builder {
        Builder::new()
    }

    fn new(inner: Arc<NodeInner>) -> Self {
        Self(Arc::new(LastHandle(inner)))
    }

    pub(crate) fn inner(&self) -> &Arc<NodeInner> {
        &self.0.0
    }

    /// This run of the node; a restarted node is another.
    pub fn id(&self) -> NodeId {
        self.inner().id
    }

    /// Where it listens; the first place, if there are several. `None` for a node that only
    /// dials.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoints().first()
    }

    /// Everywhere that it listens.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.inner().endpoints
    }

    /// Exports an object, and gives the first reference to it. Takes the object itself or an
    /// `Arc` of it; one `Arc` exported twice is one object, with all the interfaces of both.
    ///
    /// The object lives as long as some reference to it does, here or on any node, and its `Drop`
    /// runs when the last one is gone. Costs a few allocations, and no message.
    pub fn export<R, T, M>(&self, object: T) -> R
    where
        R: FromObject<T, M>,
    {
        let key = self.inner().surroundings.random_key();
        let identity = self.inner().table.export(R::interfaces(object), key);
        let untyped = Untyped::counted(self.inner(), identity);
        R::__from_untyped(untyped).expect("the object was exported under this interface")
    }

    /// Binds `name` to the object of `reference`, which stays alive as long as it is bound. A name
    /// holds one reference: what it held before is let go.
    ///
    /// # Errors
    ///
    /// - `Denied`: `name` is empty, longer than 255 bytes, or has a slash in it; or the reference
    ///   belongs to another node of this process.
    /// - `ShutDown`: the node is shutting down.
    pub fn bind<R: RemoteRef>(&self, name: &str, reference: &R) -> Result<()> {
        let reference = reference.__untyped();
        if !Arc::ptr_eq(reference.node(), self.inner()) {
            let text =
                format!("the reference belongs to {}, not to this node", reference.node().id);
            return Err(Error::new(ErrorKind::Denied, text));
        }
        let bound = self.inner().names.bind(name, reference.clone()).map(drop);
        if self.inner().is_closing() {
            // Looked at behind the binding, so that a shutdown either clears it or is seen here.
            self.unbind(name);
            return Err(Error::new(ErrorKind::ShutDown, "the node is shutting down"));
        }
        bound
    }

    /// Lets go of what `name` is bound to; false if it was not bound.
    pub fn unbind(&self, name: &str) -> bool {
        self.inner().names.unbind(name).is_some()
    }

    /// The reference that is bound under a name somewhere: `tcp://host:port/name`,
    /// `unix:///path/name`, `inproc://node/name`. One round trip, and a connection if there is
    /// none yet.
    ///
    /// # Errors
    ///
    /// - `Unreachable`: nobody could be connected there, or it is no such address.
    /// - `NoSuchName`: nothing is bound there under that name.
    /// - `WrongInterface`: the object does not implement the interface of `R`.
    /// - `Protocol`: something else than a node answers there, or another version.
    /// - `Disconnected`: the connection was lost before the answer came.
    /// - `LimitReached`: the node there has as many sessions, or calls of ours, as it takes.
    /// - `ShutDown`: this node, or that one, is shutting down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the lookup; a connection that was made stays.
    pub async fn lookup<R: RemoteRef>(&self, uri: impl AsRef<str>) -> Result<R> {
        R::__from_untyped(self.inner().lookup(uri.as_ref()).await?)
    }

    /// The node's counters.
    pub fn stats(&self) -> Stats {
        let total = Counters::default();
        total.absorb(&self.inner().stats);
        let sessions = self.inner().sessions.all();
        sessions.iter().for_each(|session| total.absorb(&session.stats));
        let mut stats = total.read();
        for session in &sessions {
            stats.sessions += u64::from(session.is_open());
            stats.calls_waiting += session.pending.len() as u64;
            stats.handlers_running += session.incoming.running() as u64;
            stats.peers.push(session.stats.of_peer(session.peer));
        }
        stats.peers.sort_by_key(|peer| peer.peer);
        stats
    }

    /// The node's collector, to look at.
    pub fn gc(&self) -> Gc<'_> {
        Gc(self)
    }

    /// Ends the node: stops listening, lets go of names, turns down new calls (of others, and from
    /// outside of handlers also its own), waits up to 10 s for those in progress, says goodbye to every peer, and gives them up. Objects that only peers referred
    /// to are dropped. Ends within 11 s whatever peers do.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future forces the end: everything is let go at once, without goodbye.
    pub async fn shutdown(&self) {
        self.inner().shut_down().await;
    }
}

impl Drop for LastHandle {
    fn drop(&mut self) {
        if !self.0.is_closing() {
            // If the runtime has ended, the task is dropped at once, and lets go.
            let ending = LetGo(Arc::clone(&self.0));
            self.0.spawn(async move { ending.0.shut_down().await });
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("id", &self.id())
            .field("endpoints", &self.endpoints())
            .finish()
    }
}
