//! `unix:///path`: a socket file, for nodes of one machine.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use crate::endpoint::Endpoint;
use crate::socket::SocketWire;
use crate::transport::{BoxFuture, Listener, Transport, Wire, wrong_scheme};

/// The transport over Unix-domain sockets.
///
/// A socket file that a dead process left behind is replaced; one that somebody answers at is
/// `AddrInUse`. The listener removes its own file when it is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unix;

impl Transport for Unix {
    fn scheme(&self) -> &'static str {
        "unix"
    }

    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            let Endpoint::Unix(path) = to else { return Err(wrong_scheme(self, to)) };
            Ok(wire(UnixStream::connect(path).await?, to.to_string()))
        })
    }

    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let Endpoint::Unix(path) = at else { return Err(wrong_scheme(self, at)) };
            let listener = bind(path).await?;
            let file = SocketFile::of(path)?;
            Ok(Box::new(Listening { listener, file }) as Box<dyn Listener>)
        })
    }
}

struct Listening {
    listener: UnixListener,
    file: SocketFile,
}

impl Listener for Listening {
    fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.file.path.clone())
    }

    fn accept(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            let (stream, _unnamed) = self.listener.accept().await?;
            Ok(wire(stream, format!("accepted at {}", self.endpoint())))
        })
    }
}

/// The file of a listening socket, which is removed with its listener.
struct SocketFile {
    path: PathBuf,
    /// Device and inode, so that a file which another process has put in place of ours stays.
    identity: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(SocketFile { path: path.to_owned(), identity: identity(path)? })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn wire(stream: UnixStream, peer: String) -> Box<dyn Wire> {
    Box::new(SocketWire::new(stream.into_split(), peer))
}

async fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale(path).await => {
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

/// Whether `path` is a socket at which nobody listens.
async fn is_stale(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    is_socket
        && UnixStream::connect(path)
            .await
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
