//! The node's keeper: one task that sees to what entries need and no session does. Estates that are
//! over, homes of orphans, bridges that nobody has called, and a process that was asleep.
//!
//! Nothing of it is periodic for each object: it looks at a bridge until it is adopted.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmi_gc::{Clock, Forwarding, Millis, NodeId, ObjectId, Policy, Tick};
use rmi_transport::Backoff;
use rmi_transport::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, timeout};

use super::NodeInner;
use super::timings::{Timings, millis};
use crate::error::{Error, ErrorKind, Executed, Result};
use crate::pulse::Pulsed;
use crate::reaper;
use crate::reference::Identity;

/// The keeper looks so often within a heartbeat, and within the grace.
const LOOKS_PER_HEARTBEAT: u32 = 2;
const LOOKS_PER_GRACE: u32 = 8;
const LOOK_LEAST: Duration = Duration::from_millis(1);

/// What the keeper knows, and what it tells others.
pub(crate) struct Keeper {
    began: Instant,
    every: Duration,
    timings: Timings,
    /// It is time to look.
    look: Notify,
    state: Mutex<State>,
}

struct State {
    clock: Clock,
    /// When estates are over: each the deadline of all entries of one peer that was given up.
    estates: Vec<Millis>,
    /// Homes that are being dialled, because they have orphans here.
    searched: HashMap<NodeId, ()>,
    /// The node is at its end: estates are over at once.
    keeps_none: bool,
}

impl Keeper {
    pub(super) fn new(timings: Timings) -> Self {
        let looks = (timings.heartbeat / LOOKS_PER_HEARTBEAT).min(timings.grace / LOOKS_PER_GRACE);
        let every = looks.max(LOOK_LEAST);
        let clock = Clock::new(millis(every));
        let (estates, searched) = (Vec::new(), HashMap::new());
        let state = State { clock, estates, searched, keeps_none: false };
        let look = Notify::new();
        Self { began: Instant::now(), every, timings, look, state: Mutex::new(state) }
    }

    /// Until when what a peer held is kept that is given up now. The keeper comes back then.
    pub(crate) fn estate_until(&self) -> Millis {
        let mut state = self.state.lock();
        let until = state.clock.awake(self.now()).plus(millis(self.timings.grace));
        state.estates.push(until);
        until
    }

    /// From now on nobody looks after estates.
    pub(super) fn keep_no_estates(&self) {
        self.state.lock().keeps_none = true;
    }

    pub(crate) fn keeps_estates(&self) -> bool {
        !self.state.lock().keeps_none
    }

    /// Now, on the clock of the estates' deadlines.
    pub(super) fn awake(&self) -> Millis {
        self.state.lock().clock.awake(self.now())
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// What the clock says, and the time until which estates are over, if one is.
    fn look(&self) -> (Tick, Option<Millis>) {
        let mut state = self.state.lock();
        let now = self.now();
        let tick =
            state.clock.tick(now, now.plus(millis(self.every)), &self.timings.of_collector());
        if tick != Tick::OnTime {
            // What has arrived meanwhile is read first.
            return (tick, None);
        }
        let awake = state.clock.awake(now);
        let before = state.estates.len();
        state.estates.retain(|until| *until > awake);
        (tick, (state.estates.len() < before).then_some(awake))
    }
}

/// Runs until the node has ended.
pub(super) async fn keep(node: Arc<NodeInner>) {
    node.tell_every(node.keeper.every, &node);
    let wanted = &node.sessions.wanted;
    loop {
        tokio::select! {
            biased;
            () = node.down.wait() => return wanted.look_again.notify_waiters(),
            () = wanted.settled.notified() => wanted.look_again.notify_waiters(),
            () = wanted.home.notified() => search_homes(&node),
            () = node.keeper.look.notified() => look(&node),
        }
    }
}

impl Pulsed for NodeInner {
    fn pulse(&self) -> bool {
        self.keeper.look.notify_one();
        !self.is_down()
    }
}

fn look(node: &Arc<NodeInner>) {
    let (tick, estates_over) = node.keeper.look();
    match tick {
        Tick::OnTime | Tick::Late => {}
        Tick::Overslept => {
            tracing::info!("this process slept for longer than the grace");
            node.table.slept(&node.sessions);
        }
    }
    if let Some(now) = estates_over {
        reaper::reap(node.table.expire(now, &node.sessions));
    }
    if node.policy == Policy::Adopting {
        adopt_the_idle(node);
    }
}

/// Bridges that came by others, and that no call has had adopted: they are looked at until they
/// are. A home without a session is dialled.
fn adopt_the_idle(node: &Arc<NodeInner>) {
    let mut by_others = node.sessions.wanted.take_by_others();
    // An adoption may be called off, and the path that it would have left be good again.
    by_others.retain(|id| node.table.comes_by_another(*id));
    by_others.sort_unstable();
    by_others.dedup();
    for id in &by_others {
        wants_adoption(node, *id);
    }
    node.sessions.wanted.put_back(by_others);
}

/// Has the home asked to count this node as a holder, unless it does. False if there is no session
/// with it: it is searched once, and whoever waits is told to look again.
fn wants_adoption(node: &Arc<NodeInner>, id: ObjectId) -> bool {
    let Some(identity) = node.table.is_indirect(id) else { return true };
    if node.sessions.open(id.home).is_some() {
        node.table.adoption_wanted(id, &node.sessions);
        return true;
    }
    search(node, &identity, Wish::Once);
    false
}

/// Somebody waits for the adoption: it is asked for now, and not with the next frame.
fn waits_for_adoption(node: &Arc<NodeInner>, id: ObjectId) {
    if wants_adoption(node, id) {
        node.sessions.open(id.home).iter().for_each(|session| session.send_notices_now());
    }
}

fn search_homes(node: &Arc<NodeInner>) {
    for identity in node.sessions.wanted.take_homes() {
        search(node, &identity, Wish::Orphans);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// For as long as there are orphans.
    Orphans,
    /// One attempt.
    Once,
}

/// Looks for the home in a task of its own, unless one does already.
fn search(node: &Arc<NodeInner>, identity: &Arc<Identity>, wish: Wish) {
    let home = identity.id.home;
    if node.keeper.state.lock().searched.insert(home, ()).is_some() {
        return;
    }
    let (node, identity) = (Arc::clone(node), Arc::clone(identity));
    node.clone().spawn(async move {
        match wish {
            Wish::Orphans => search_for_orphans(&node, identity).await,
            Wish::Once => {
                if node.session_with_home(&identity, false).await.is_err() {
                    // Whoever waits does not dial again at once.
                    sleep(node.keeper.every).await;
                }
            }
        }
        node.keeper.state.lock().searched.remove(&home);
        node.sessions.wanted.look_again.notify_waiters();
        // Whoever became an orphan while the search was ending.
        if node.table.orphan_of(home).is_some() && !node.is_down() {
            sleep(node.keeper.every).await;
            if let Some(orphan) = node.table.orphan_of(home) {
                search(&node, &orphan, Wish::Orphans);
            }
        }
    });
}

/// Until the home answers, or is known to be no more, or nobody here wants it any longer.
async fn search_for_orphans(node: &Arc<NodeInner>, mut identity: Arc<Identity>) {
    let home = identity.id.home;
    let mut backoff = Backoff::new();
    while !node.is_down() {
        let pause = backoff.next(node.random());
        let _ = timeout(pause, node.sessions.wait_for(home)).await;
        let found = match node.sessions.open(home) {
            Some(session) => Ok(session),
            None => node.session_with_home(&identity, false).await,
        };
        match found {
            Ok(_) => return node.table.home_session_opened(home, &node.sessions),
            Err(error) if error.kind() == ErrorKind::NoSuchObject => {
                return node.table.home_gone(home, &node.sessions);
            }
            Err(error) => tracing::debug!(%home, %error, "the home of orphans is not reached"),
        }
        match node.table.orphan_of(home) {
            Some(orphan) => identity = orphan,
            None => return,
        }
    }
}

impl NodeInner {
    /// Waits until references to these objects may be passed on to `to`.
    ///
    /// # Errors
    ///
    /// `Disconnected`, with `Executed::No`: one of them is lost to this node, or its path stays in
    /// doubt for longer than its adoption could take.
    pub(crate) async fn may_pass_on(
        self: &Arc<Self>,
        objects: &[ObjectId],
        to: NodeId,
    ) -> Result<()> {
        let settled = self.wait_for_entries(|| {
            let forwarding = |id: &ObjectId| self.table.forwarding(*id, to, &self.sessions);
            let mut all = Some(Ok(()));
            for object in objects {
                match forwarding(object) {
                    Forwarding::Now => {}
                    Forwarding::AfterAdoption => {
                        waits_for_adoption(self, *object);
                        all = None;
                    }
                    Forwarding::Never => return Some(Err(*object)),
                }
            }
            all
        });
        let text = match settled.await {
            Some(Ok(())) => return Ok(()),
            Some(Err(object)) => {
                format!("the message holds a reference to {object}, which is lost")
            }
            None => "the message holds a reference whose path to its home is in doubt".to_owned(),
        };
        Err(Error::new(ErrorKind::Disconnected, text).executed_as(Executed::No))
    }

    /// Waits until the home has answered for these objects (`Policy::Listing`).
    pub(crate) async fn may_be_used(
        self: &Arc<Self>,
        objects: &[ObjectId],
    ) -> std::result::Result<(), ()> {
        let waits = |id: &ObjectId| {
            let waits = self.table.still_waits(*id);
            if waits {
                waits_for_adoption(self, *id);
            }
            waits
        };
        // Each of them is looked at, so that all are asked for at once.
        let settled = || (objects.iter().filter(|id| waits(id)).count() == 0).then_some(());
        self.wait_for_entries(settled).await.ok_or(())
    }

    async fn wait_for_entries<T>(&self, look: impl Fn() -> Option<T>) -> Option<T> {
        let settled = async {
            loop {
                let again = self.sessions.wanted.look_again.notified();
                if let Some(found) = look() {
                    return found;
                }
                again.await;
            }
        };
        timeout(self.timings.patience(), settled).await.ok()
    }

    /// Every task of the node begins here.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        self.surroundings.spawn(&self.runtime, task)
    }

    /// A random number, for what needs no secret.
    pub(crate) fn random(&self) -> u64 {
        self.surroundings.random()
    }
}
