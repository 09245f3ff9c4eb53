//! `inproc://name`: nodes of one process, without sockets. For tests, and for many nodes in a
//! process.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, BytesMut};
use tokio::sync::mpsc;

use crate::endpoint::Endpoint;
use crate::sync::Mutex;
use crate::transport::{BoxFuture, Listener, Transport, Wire, wrong_scheme};

/// What one direction holds at most before its writer is told to wait.
const PIPE_BYTES_MAX: usize = 256 * 1024;

/// Connections that wait to be accepted; one more makes its dialler wait.
const BACKLOG_MAX: usize = 128;

/// The listeners of this process, by name.
static LISTENERS: LazyLock<parking_lot::Mutex<HashMap<String, mpsc::Sender<Duplex>>>> =
    LazyLock::new(Default::default);

/// The transport within the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

impl Transport for InProcess {
    fn scheme(&self) -> &'static str {
        "inproc"
    }

    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            let Endpoint::InProcess(name) = to else { return Err(wrong_scheme(self, to)) };
            let refused = || {
                let message = format!("nobody listens at {to}");
                io::Error::new(io::ErrorKind::ConnectionRefused, message)
            };
            let listener = LISTENERS.lock().get(name).cloned().ok_or_else(refused)?;
            let (near, far) = Duplex::pair(to);
            listener.send(far).await.map_err(|_| refused())?;
            Ok(Box::new(near) as Box<dyn Wire>)
        })
    }

    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let Endpoint::InProcess(name) = at else { return Err(wrong_scheme(self, at)) };
            Ok(Box::new(Listening::register(name)?) as Box<dyn Listener>)
        })
    }
}

struct Listening {
    name: String,
    incoming: mpsc::Receiver<Duplex>,
}

impl Listening {
    fn register(name: &str) -> io::Result<Self> {
        let mut listeners = LISTENERS.lock();
        let name = match name {
            "" | "auto" => unique_name(&listeners),
            chosen => chosen.to_owned(),
        };
        if listeners.contains_key(&name) {
            let message = format!("inproc://{name} is taken");
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        let (sender, incoming) = mpsc::channel(BACKLOG_MAX);
        listeners.insert(name.clone(), sender);
        Ok(Listening { name, incoming })
    }
}

fn unique_name(taken: &HashMap<String, mpsc::Sender<Duplex>>) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    loop {
        let name = format!("auto-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        if !taken.contains_key(&name) {
            return name;
        }
    }
}

impl Listener for Listening {
    fn endpoint(&self) -> Endpoint {
        Endpoint::InProcess(self.name.clone())
    }

    fn accept(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            // The registry holds a sender for as long as this listener lives.
            let accepted = self.incoming.recv().await.ok_or(io::ErrorKind::NotConnected)?;
            Ok(Box::new(accepted) as Box<dyn Wire>)
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENERS.lock().remove(&self.name);
    }
}

/// One end of a connection: two pipes, one for each direction.
struct Duplex {
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
    peer: String,
}

impl Duplex {
    fn pair(endpoint: &Endpoint) -> (Duplex, Duplex) {
        let (there, back) = (Arc::<Pipe>::default(), Arc::<Pipe>::default());
        let near = Duplex {
            incoming: Arc::clone(&back),
            outgoing: Arc::clone(&there),
            peer: endpoint.to_string(),
        };
        let far =
            Duplex { incoming: there, outgoing: back, peer: format!("accepted at {endpoint}") };
        (near, far)
    }
}

impl Wire for Duplex {
    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<usize>> {
        self.incoming.poll_read(cx, into).map(Ok)
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.try_write(bytes)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.poll_writable(cx).map(Ok)
    }

    fn shut_down(&self) {
        self.incoming.end();
        self.outgoing.end();
    }

    fn peer(&self) -> String {
        self.peer.clone()
    }
}

impl Drop for Duplex {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// A bounded queue of bytes from one writer to one reader.
#[derive(Default)]
struct Pipe(Mutex<Flow>);

#[derive(Default)]
struct Flow {
    bytes: BytesMut,
    /// Set when either end is gone: what is queued can still be read, nothing more is written.
    ended: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<usize> {
        let mut flow = self.0.lock();
        if flow.bytes.is_empty() && !flow.ended {
            flow.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = flow.bytes.len();
        if into.is_empty() {
            // The reader takes the bytes where they are, and its own buffer is filled next.
            std::mem::swap(into, &mut flow.bytes);
        } else {
            into.extend_from_slice(&flow.bytes);
            flow.bytes.advance(count);
        }
        let writer = flow.writer.take();
        drop(flow);
        wake(writer);
        Poll::Ready(count)
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut flow = self.0.lock();
        if flow.ended {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(PIPE_BYTES_MAX - flow.bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let (now, _later) = bytes.split_at(count);
        flow.bytes.extend_from_slice(now);
        let reader = flow.reader.take();
        drop(flow);
        wake(reader);
        Ok(count)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut flow = self.0.lock();
        if flow.ended || flow.bytes.len() < PIPE_BYTES_MAX {
            return Poll::Ready(());
        }
        flow.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn end(&self) {
        let mut flow = self.0.lock();
        flow.ended = true;
        let (reader, writer) = (flow.reader.take(), flow.writer.take());
        drop(flow);
        wake(reader);
        wake(writer);
    }
}

/// Wakers are foreign code: they run only once the lock is free again.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
