//! Entering an object's monitor, wherever the object lives.

use std::fmt;
use std::future::Future;

use super::Holder;
use crate::call::builtin::{ENTER, EXIT};
use crate::call::{RelayedCall, Undo, Way};
use crate::error::{Error, ErrorKind, Result};
use crate::marshal::Message;
use crate::reference::{RemoteRef, Untyped};
use crate::thread::{ThreadId, run_as};

/// Runs `block` inside the monitor of the object of `reference`.
///
/// Costs one round trip to enter; leaving is one frame that is not answered. Both are free of
/// messages where the object is local.
///
/// The monitor is re-entrant for one distributed thread: the block, and every handler that it
/// reaches on any node, may enter again. Others wait in the order of their coming.
///
/// # Errors
///
/// Those of a call: the monitor was not entered, and the block did not run.
///
/// # Cancel safety
///
/// Dropping the future leaves the monitor, or gives up the place in the line.
///
/// # Examples
///
/// ```no_run
/// # #[rmi::remote] trait Account { async fn balance(&self) -> rmi::Result<i64>; async fn set(&self, n: i64) -> rmi::Result<()>; }
/// # async fn f(account: AccountRef) -> rmi::Result<()> {
/// rmi::synchronized(&account, async {
///     let balance = account.balance().await?;
///     account.set(balance + 1).await
/// })
/// .await??;
/// # Ok(()) }
/// ```
pub async fn synchronized<R: RemoteRef, F: Future>(reference: &R, block: F) -> Result<F::Output> {
    let guard = enter(reference).await?;
    let output = run_as(guard.thread, block).await;
    drop(guard);
    Ok(output)
}

/// Enters the monitor of the object of `reference`, and stays until the guard is dropped.
///
/// The calling distributed thread is inside, not the guard's holder: code of another task that
/// gets the guard is still outside. Costs and errors are those of [`synchronized`].
///
/// # Errors
///
/// Those of a call.
///
/// # Cancel safety
///
/// Dropping the future gives up the place in the line.
pub async fn enter<R: RemoteRef>(reference: &R) -> Result<MonitorGuard> {
    let untyped = reference.__untyped().clone();
    let thread = ThreadId::current();
    let (way, under_way) = if untyped.is_local() {
        enter_here(&untyped, thread).await?;
        (None, None)
    } else {
        let (way, under_way) = enter_there(&untyped, thread).await?;
        (Some(way), under_way)
    };
    Ok(MonitorGuard { untyped, thread, way, _under_way: under_way })
}

async fn enter_here(untyped: &Untyped, thread: ThreadId) -> Result<()> {
    let object = untyped.node().table.exported(untyped.id());
    let object =
        object.ok_or_else(|| Error::from(ErrorKind::NoSuchObject).on_object(untyped.id()))?;
    object.monitor.enter(thread, Holder::Local).await;
    Ok(())
}

async fn enter_there(untyped: &Untyped, thread: ThreadId) -> Result<(Way, Option<RelayedCall>)> {
    let (way, under_way) = untyped.way().await?;
    let undo = Undo::Leave(untyped.clone(), way.target, thread);
    let mut nothing = Message::default();
    let entering = way.start(untyped.node(), &ENTER, Some(thread), undo, &mut nothing);
    let answer = match entering {
        Ok(entering) => entering.await,
        Err(unsent) => Err(unsent.into_error()),
    };
    let answer = answer.map_err(|error| untyped.name(error, &ENTER))?;
    let entered: Result<()> = untyped.read(answer, &ENTER);
    entered.map(|()| (way, under_way))
}

/// Inside an object's monitor, until it is dropped.
#[must_use = "the monitor is left when the guard is dropped"]
pub struct MonitorGuard {
    /// Keeps the object alive while its monitor is held.
    untyped: Untyped,
    thread: ThreadId,
    /// How to leave; the object is local if there is none.
    way: Option<Way>,
    /// Dropped after the exit was sent.
    _under_way: Option<RelayedCall>,
}

impl Drop for MonitorGuard {
    fn drop(&mut self) {
        let node = self.untyped.node();
        match &self.way {
            // If the session has ended, its end has freed the monitor.
            Some(way) => {
                drop(way.send_soon(node, &EXIT, Some(self.thread), &mut Message::default()));
            }
            None => {
                if let Some(object) = node.table.exported(self.untyped.id()) {
                    let left = object.monitor.exit(self.thread, Holder::Local);
                    debug_assert!(left.is_ok(), "the guard stood for a hold");
                }
            }
        }
    }
}

impl fmt::Debug for MonitorGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitorGuard")
            .field("object", &self.untyped)
            .field("thread", &self.thread)
            .finish()
    }
}
