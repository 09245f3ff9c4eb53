//! What a transport has to offer: dial, listen, and a connected stream of bytes.
//!
//! The traits are small, so that a transport of one's own, or a simulated network, is a page of
//! code. They are object-safe by boxed futures: dialling and accepting are rare.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;

use crate::endpoint::{Endpoint, EndpointError};
use crate::inproc::InProcess;
use crate::tcp::Tcp;
use crate::unix::Unix;

/// A boxed future, as the object-safe traits return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A way to reach other nodes.
pub trait Transport: Send + Sync + 'static {
    /// The scheme of the endpoints that this transport understands.
    fn scheme(&self) -> &'static str;

    /// Connects to a node that listens at `to`.
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>>;

    /// Begins to listen at `at`.
    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>>;
}

/// Waits for connections; dropping it stops listening.
pub trait Listener: Send + 'static {
    /// Where it listens, with what the system chose (a port, a unique name) filled in.
    fn endpoint(&self) -> Endpoint;

    /// Waits for the next connection.
    ///
    /// An error is about one attempt, or a shortage that may pass (of descriptors, say): the
    /// listener goes on, and `accept` may be called again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no connection.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Wire>>>;
}

/// One connected stream of bytes.
///
/// Both directions are used at once through `&self`: any thread writes, and one task at most
/// calls the `poll_` functions. Dropping a wire closes it.
pub trait Wire: Send + Sync + 'static {
    /// Appends what has arrived to `into`, and says how much it was; 0 is the end of the stream.
    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<usize>>;

    /// Writes a part of `bytes`, and says how much. Never waits:
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing can be written now.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits until it is worth trying to write again.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Ends the stream in both directions, after what was written; the peer then reads its end.
    ///
    /// It lets a connection end while references to it are still around. A wire that cannot may
    /// leave it to its drop.
    fn shut_down(&self) {}

    /// Who is at the other end, for logs and errors.
    fn peer(&self) -> String;
}

/// The built-in transport for an endpoint; for one of another scheme, a transport that refuses to
/// dial and to listen.
pub fn transport_for(endpoint: &Endpoint) -> &'static dyn Transport {
    match endpoint {
        Endpoint::Tcp { .. } => &Tcp,
        Endpoint::Unix(_) => &Unix,
        Endpoint::InProcess(_) => &InProcess,
        Endpoint::Other { .. } => &Unknown,
    }
}

/// Stands for all transports that there are not.
struct Unknown;

impl Unknown {
    fn refuse<T: 'static>(endpoint: &Endpoint) -> BoxFuture<'static, io::Result<T>> {
        let error = EndpointError::UnknownScheme(endpoint.scheme().to_owned());
        Box::pin(async { Err(io::Error::new(io::ErrorKind::Unsupported, error)) })
    }
}

impl Transport for Unknown {
    fn scheme(&self) -> &'static str {
        ""
    }

    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
        Self::refuse(to)
    }

    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Self::refuse(at)
    }
}

/// The error of a transport that was given an endpoint of another scheme.
pub(crate) fn wrong_scheme(transport: &dyn Transport, endpoint: &Endpoint) -> io::Error {
    let message = format!("the {} transport cannot reach {endpoint}", transport.scheme());
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
