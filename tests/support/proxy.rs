//! A proxy in front of a node's TCP endpoint, which can cut connections, or swallow what they carry.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rmi::transport::{BoxFuture, Endpoint, Listener, Tcp, Transport, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Carries bytes between whoever connects and one address behind it.
pub struct Proxy {
    address: String,
    state: Arc<State>,
}

struct State {
    behind: String,
    /// Everything that comes is thrown away, and nothing is closed.
    swallows: AtomicBool,
    /// How many cuts there were: connections made before the last one end.
    cuts: watch::Sender<u64>,
    /// Connections that a cut has ended.
    ended: AtomicUsize,
}

impl Proxy {
    /// In front of `behind`.
    pub async fn before(behind: &Endpoint) -> Proxy {
        let behind = behind.to_string().trim_start_matches("tcp://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let address = listener.local_addr().expect("it is bound").to_string();
        let state = Arc::new(State {
            behind,
            swallows: AtomicBool::new(false),
            cuts: watch::Sender::new(0),
            ended: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(shared.clone().carry(near));
            }
        });
        Proxy { address, state }
    }

    /// `host:port` of the proxy.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// From now on nothing arrives, and nobody is told.
    pub fn swallow(&self) {
        self.state.swallows.store(true, Ordering::SeqCst);
    }

    /// Ends all connections there are.
    pub fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts again and again, with a pause between. That is load: nobody waits for it.
    pub async fn cut_every(&self, pause: Duration) {
        loop {
            tokio::time::sleep(pause).await;
            self.cut();
        }
    }

    /// How many connections a cut has ended.
    pub fn ended(&self) -> usize {
        self.state.ended.load(Ordering::SeqCst)
    }
}

impl State {
    async fn carry(self: Arc<Self>, near: TcpStream) {
        let mut cuts = self.cuts.subscribe();
        let Ok(far) = TcpStream::connect(&self.behind).await else { return };
        near.set_nodelay(true).expect("a socket");
        far.set_nodelay(true).expect("a socket");
        let (near_in, near_out) = near.into_split();
        let (far_in, far_out) = far.into_split();
        tokio::select! {
            _ = cuts.changed() => { self.ended.fetch_add(1, Ordering::SeqCst); }
            () = self.copy(near_in, far_out) => {}
            () = self.copy(far_in, near_out) => {}
        }
    }

    async fn copy(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut bytes = [0; 16 * 1024];
        loop {
            let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
            if self.swallows.load(Ordering::SeqCst) {
                continue;
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    }
}

/// TCP that dials one address, wherever it is sent: nodes tell each other where they listen, and
/// would go round a proxy.
pub struct Via(pub String);

impl Transport for Via {
    fn scheme(&self) -> &'static str {
        "tcp"
    }

    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
        Box::pin(async {
            let proxy: Endpoint = format!("tcp://{}", self.0).parse().map_err(io::Error::other)?;
            Tcp.dial(&proxy).await
        })
    }

    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Tcp.listen(at)
    }
}
