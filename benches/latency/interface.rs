//! The remote interface of every object in the table, and its one implementation.

use std::sync::OnceLock;

use rmi::{Error, Result, remote};

/// What is called. The table's `s`, `p` and `r` all are of this interface.
#[remote]
pub(crate) trait Pinger {
    /// Tells the object whom it is to call back.
    async fn register(&self, p: PingerRef) -> Result<()>;
    async fn ping(&self) -> Result<()>;
    /// Calls `p.ping()` before it returns.
    async fn ping_pong(&self) -> Result<()>;
    /// Ignores the reference.
    async fn ping_ref(&self, r: PingerRef) -> Result<()>;
    /// Returns the reference.
    async fn ref_ping_ref(&self, r: PingerRef) -> Result<PingerRef>;
    /// Passes the reference on: `p.ping(r)`.
    async fn ping_pong_ref(&self, r: PingerRef) -> Result<()>;
    /// Calls the reference itself, and passes it on: `r.ping(r)`.
    async fn ping2_ref(&self, r: PingerRef) -> Result<()>;
}

#[derive(Default)]
pub(crate) struct Resident {
    p: OnceLock<PingerRef>,
}

impl Resident {
    fn p(&self) -> Result<&PingerRef> {
        self.p.get().ok_or_else(|| Error::application("nobody has been registered"))
    }
}

impl Pinger for Resident {
    async fn register(&self, p: PingerRef) -> Result<()> {
        self.p.set(p).map_err(|_| Error::application("somebody has been registered before"))
    }

    async fn ping(&self) -> Result<()> {
        Ok(())
    }

    async fn ping_pong(&self) -> Result<()> {
        self.p()?.ping().await
    }

    async fn ping_ref(&self, _r: PingerRef) -> Result<()> {
        Ok(())
    }

    async fn ref_ping_ref(&self, r: PingerRef) -> Result<PingerRef> {
        Ok(r)
    }

    async fn ping_pong_ref(&self, r: PingerRef) -> Result<()> {
        self.p()?.ping_ref(r).await
    }

    async fn ping2_ref(&self, r: PingerRef) -> Result<()> {
        r.ping_ref(r.clone()).await
    }
}
