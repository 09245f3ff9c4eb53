//! The transports of a node: its own before the built-in ones.

use std::fmt;
use std::sync::Arc;

use rmi_transport::{Endpoint, Transport, transport_for};

/// Those that were added to the built-in ones; usually none.
#[derive(Clone, Default)]
pub(super) struct Transports(Vec<Arc<dyn Transport>>);

impl Transports {
    pub(super) fn add(&mut self, transport: Arc<dyn Transport>) {
        self.0.push(transport);
    }

    /// The transport that reaches `endpoint`; for a scheme that nobody knows, one that says so.
    pub(super) fn of(&self, endpoint: &Endpoint) -> &dyn Transport {
        let own = self.0.iter().find(|own| own.scheme() == endpoint.scheme());
        own.map_or_else(|| transport_for(endpoint), |own| &**own)
    }
}

impl fmt::Debug for Transports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|own| own.scheme())).finish()
    }
}
