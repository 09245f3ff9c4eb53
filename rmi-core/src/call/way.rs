//! The way of a call to an object that lives elsewhere: straight to its home, or through the
//! parent if the home cannot be reached (`gc.md`, rule 11).

use std::sync::Arc;

use rmi_gc::{ExportIndex, NodeId, Policy, Standing};
use rmi_transport::{Body, Call, Target};

use super::{PendingCall, RelayedCall, Undo};
use crate::error::{Error, ErrorKind, Executed};
use crate::interface::Method;
use crate::marshal::Message;
use crate::node::NodeInner;
use crate::reference::{Identity, Untyped};
use crate::session::{Session, Unsent};
use crate::table::Route;
use crate::thread::ThreadId;

/// A session, and what the object is called on it.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) session: Arc<Session>,
    pub(crate) target: Target,
    /// Through the parent, which relays.
    pub(crate) relayed: bool,
}

impl Way {
    /// The way that is open at once; `None` if the home has to be dialled first.
    fn open(node: &NodeInner, identity: &Identity, route: &Route) -> Option<Self> {
        let home = identity.id.home;
        let parent =
            route.parent.and_then(|(peer, index)| Some((node.sessions.open(peer)?, index)));
        if let Some((session, index)) = &parent {
            if session.peer == home || route.relayed_calls > 0 {
                return Some(Self::through(session, *index, session.peer != home));
            }
        }
        let session = node.sessions.open(home)?;
        let target = Target::Object { index: identity.id.index.0, key: identity.key };
        Some(Self { session, target, relayed: false })
    }

    fn through(session: &Arc<Session>, index: ExportIndex, relayed: bool) -> Self {
        Self { session: Arc::clone(session), target: Target::Export(index.0), relayed }
    }

    /// The way through the parent.
    fn relayed(node: &NodeInner, parent: Option<(NodeId, ExportIndex)>) -> Option<Self> {
        let (peer, index) = parent?;
        Some(Self::through(&node.sessions.open(peer)?, index, true))
    }

    /// The way onward for a call that this node relays: it never dials, so that calls keep their
    /// order.
    pub(crate) fn onward(node: &NodeInner, identity: &Identity) -> Result<Self, Error> {
        let route = standing_route(node, identity)?;
        let open = Self::open(node, identity, &route);
        open.or_else(|| Self::relayed(node, route.parent)).ok_or_else(|| {
            let error = ErrorKind::Unreachable.into();
            lost(identity, &error)
        })
    }

    /// Sends a request on this way.
    pub(crate) fn start(
        &self,
        node: &Arc<NodeInner>,
        method: &Method,
        thread: Option<ThreadId>,
        undo: Undo,
        message: &mut Message,
    ) -> Result<PendingCall, Unsent> {
        self.session.stats.calls_sent.add(1);
        PendingCall::start(node, &self.session, undo, message, |call| {
            self.body(call, method.id, method.fingerprint, thread)
        })
    }

    /// Sends a request that is not answered.
    pub(crate) fn send(
        &self,
        node: &NodeInner,
        method: &Method,
        thread: Option<ThreadId>,
        message: &mut Message,
    ) -> Result<(), Unsent> {
        self.enqueue(node, method, thread, message)?;
        self.session.flush();
        Ok(())
    }

    /// Sends a request that is not answered and that nobody waits for here: it leaves with the
    /// next frame of this task, or as soon as the session's driver runs.
    pub(crate) fn send_soon(
        &self,
        node: &NodeInner,
        method: &Method,
        thread: Option<ThreadId>,
        message: &mut Message,
    ) -> Result<(), Unsent> {
        self.enqueue(node, method, thread, message)?;
        self.session.flush_soon();
        Ok(())
    }

    fn enqueue(
        &self,
        node: &NodeInner,
        method: &Method,
        thread: Option<ThreadId>,
        message: &mut Message,
    ) -> Result<(), Unsent> {
        self.session.stats.calls_sent.add(1);
        let body = self.body(0, method.id, method.fingerprint, thread);
        self.session.send(node, body, message).map(drop)
    }

    /// The head of a request on this way; call 0 is not answered.
    pub(crate) fn body(
        &self,
        call: u64,
        method: u32,
        fingerprint: u32,
        thread: Option<ThreadId>,
    ) -> Body {
        let thread = thread.map(|thread| self.session.thread_to_wire(thread));
        Body::Call(Call { call, target: self.target, method, fingerprint, thread })
    }
}

impl Untyped {
    /// The way of this reference's next call.
    ///
    /// # Errors
    ///
    /// `Unreachable`, `Disconnected` or `NoSuchObject`, all of them with `Executed::No`.
    pub(crate) async fn way(&self) -> Result<(Way, Option<RelayedCall>), Error> {
        let node = self.node();
        let identity = self.identity();
        if self.is_local() {
            let text = "the object lives here and does not implement the interface";
            return Err(Error::new(ErrorKind::WrongInterface, text));
        }
        // A handler that was running may finish, with the calls that it makes; new threads may not.
        if node.is_down() || (node.is_closing() && !ThreadId::is_inside()) {
            return Err(Error::new(ErrorKind::ShutDown, "this node is shutting down"));
        }
        loop {
            let route = standing_route(node, identity)?;
            let way = match Way::open(node, identity, &route) {
                Some(way) => way,
                None => dial_or_relay(node, identity, &route).await?,
            };
            if !way.relayed {
                self.be_adopted(&way, &route);
                return Ok((way, None));
            }
            let under_way = RelayedCall::begin(self);
            // From here on the parent keeps us; it may have ceased to be the parent before.
            if standing_route(node, identity)?.parent == route.parent {
                return Ok((way, Some(under_way)));
            }
        }
    }
}

impl Untyped {
    /// The first direct call of a reference that came by another node than its home asks to be
    /// adopted, which costs a bit of its frame (rule 7).
    fn be_adopted(&self, way: &Way, route: &Route) {
        let node = self.node();
        let by_others = route.parent.is_some_and(|(parent, _)| parent != way.session.peer);
        if by_others && route.standing == Standing::Confirmed && node.policy == Policy::Adopting {
            node.table.adoption_wanted(self.id(), &node.sessions);
        }
    }
}

fn standing_route(node: &NodeInner, identity: &Identity) -> Result<Route, Error> {
    match node.table.route(identity.id) {
        Some(route) if route.standing != Standing::Broken => Ok(route),
        Some(_) | None => Err(gone(node, identity)),
    }
}

/// No way is open: the home is dialled.
async fn dial_or_relay(
    node: &Arc<NodeInner>,
    identity: &Identity,
    route: &Route,
) -> Result<Way, Error> {
    let has_another = Way::relayed(node, route.parent).is_some();
    let failed = match node.session_with_home(identity, has_another).await {
        Ok(session) => {
            let target = Target::Object { index: identity.id.index.0, key: identity.key };
            return Ok(Way { session, target, relayed: false });
        }
        Err(error) => error,
    };
    // Its references came from the home itself, over a session that was lost.
    let was_connected = route.parent.is_none_or(|(parent, _)| parent == identity.id.home);
    let failed = if was_connected { lost(identity, &failed) } else { failed };
    Way::relayed(node, route.parent).ok_or(failed)
}

fn lost(identity: &Identity, why: &Error) -> Error {
    let home = identity.id.home;
    let text = format!("the session with its home {home} was lost, and there is no other: {why}");
    Error::new(ErrorKind::Disconnected, text)
        .executed_as(Executed::No)
        .at_peer(identity.home_in_words())
}

/// The object is lost to this node: its home has said so, or is no more.
fn gone(node: &NodeInner, identity: &Identity) -> Error {
    let home = identity.id.home;
    let error = match node.sessions.open(home) {
        Some(_) => Error::new(ErrorKind::NoSuchObject, format!("its home {home} has dropped it")),
        None => Error::new(ErrorKind::Disconnected, format!("its home {home} is gone")),
    };
    error.executed_as(Executed::No).at_peer(identity.home_in_words())
}
