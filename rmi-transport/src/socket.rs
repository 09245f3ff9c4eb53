//! What TCP and Unix sockets have in common: a [`Wire`] over the halves of a tokio stream.

use std::future::Future;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{tcp, unix};

use crate::sync::Mutex;
use crate::transport::Wire;

/// At most this much is read by one call, so that a fast peer cannot keep the reader from
/// dispatching what it has.
const READ_BYTES_MAX: usize = 64 * 1024;

/// With less room than this the buffer is made larger before reading. Well under
/// [`READ_BYTES_MAX`], so that a stream of small messages does not move the buffer at every read.
const READ_BYTES_MIN: usize = 8 * 1024;

/// The writing half of a socket, as far as [`SocketWire`] needs it.
pub(crate) trait WriteHalf: Send + Sync + 'static {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    fn shut_down(&self) -> io::Result<()>;
}

/// A connected socket.
pub(crate) struct SocketWire<R, W> {
    /// Only the driving task reads, so this is never contended. It is there because tokio's
    /// `poll_read` takes `&mut`, and is worth it: after a short read it knows that the socket is
    /// drained, where `try_read` needs a second system call to be told `WouldBlock`.
    reading: Mutex<R>,
    writing: W,
    peer: String,
}

impl<R, W> SocketWire<R, W> {
    pub(crate) fn new((reading, writing): (R, W), peer: String) -> Self {
        SocketWire { reading: Mutex::new(reading), writing, peer }
    }
}

impl<R, W> Wire for SocketWire<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: WriteHalf,
{
    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<usize>> {
        if into.capacity() - into.len() < READ_BYTES_MIN {
            into.reserve(READ_BYTES_MAX);
        }
        let mut room = into.limit(READ_BYTES_MAX);
        pin!(self.reading.lock().read_buf(&mut room)).poll(cx)
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.writing.try_write(bytes)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writing.poll_writable(cx)
    }

    fn shut_down(&self) {
        // The one error there can be is that the socket is not connected any more.
        let _ = self.writing.shut_down();
    }

    fn peer(&self) -> String {
        self.peer.clone()
    }
}

impl WriteHalf for tcp::OwnedWriteHalf {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        tcp::OwnedWriteHalf::try_write(self, bytes)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_ref().poll_write_ready(cx)
    }

    fn shut_down(&self) -> io::Result<()> {
        std::net::TcpStream::from(duplicate(self.as_ref())?).shutdown(Shutdown::Both)
    }
}

impl WriteHalf for unix::OwnedWriteHalf {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        unix::OwnedWriteHalf::try_write(self, bytes)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_ref().poll_write_ready(cx)
    }

    fn shut_down(&self) -> io::Result<()> {
        std::os::unix::net::UnixStream::from(duplicate(self.as_ref())?).shutdown(Shutdown::Both)
    }
}

/// A second descriptor of the same socket. tokio offers no shutdown through `&self`, and the
/// standard library does; it happens once in the life of a connection.
fn duplicate(socket: &impl AsFd) -> io::Result<OwnedFd> {
    socket.as_fd().try_clone_to_owned()
}
