//! What the rows are compared with: bytes to and fro over TCP, and nothing else.
//!
//! Request and answer are as long as those of `ping()`. A connection serves one run of
//! operations, so that a spinning server spins only while it is measured.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Handle;

use crate::Outcome;
use crate::measure::{Pass, repeat};
use crate::pin::Pin;

/// Operations on a new connection before the clock starts: the kernel acknowledges the first
/// segments of a connection one by one.
const WARM_UP: usize = 16;

/// How long an end spins before it offers its core to others between two looks. Many times as long
/// as an answer takes on an idle machine, where this never happens; on a busy one a spinner would
/// otherwise keep its own peer from running.
const SPIN: Duration = Duration::from_micros(100);

/// Kind, request bytes, answer bytes.
const GREETING_BYTES: usize = 9;

/// Who waits how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A thread of its own, in `read`.
    Blocking,
    /// A task of the runtime that the node runs on.
    Tokio,
    /// A thread of its own, asking again and again.
    Spin,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Blocking, Kind::Tokio, Kind::Spin];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Blocking => "raw tcp blocking",
            Kind::Tokio => "raw tcp tokio",
            Kind::Spin => "raw tcp spin",
        }
    }

    pub(crate) fn slug(self) -> &'static str {
        match self {
            Kind::Blocking => "raw_tcp_blocking",
            Kind::Tokio => "raw_tcp_tokio",
            Kind::Spin => "raw_tcp_spin",
        }
    }

    fn code(self) -> u8 {
        match self {
            Kind::Blocking => 0,
            Kind::Tokio => 1,
            Kind::Spin => 2,
        }
    }
}

/// How many bytes go each way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) request: u32,
    pub(crate) answer: u32,
}

pub(crate) struct Client {
    port: u16,
    pin: Pin,
    sizes: Sizes,
}

impl Client {
    pub(crate) fn new(port: u16, pin: Pin) -> Self {
        Self { port, pin, sizes: Sizes { request: 16, answer: 16 } }
    }

    pub(crate) fn set_sizes(&mut self, request: u32, answer: u32) {
        self.sizes = Sizes { request: request.max(1), answer: answer.max(1) };
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub(crate) async fn repeat(&self, kind: Kind, count: u64, pass: Pass<'_>) -> Outcome<Duration> {
        let stream = self.connect(kind)?;
        let request = vec![1; self.sizes.request as usize];
        let mut answer = vec![0; self.sizes.answer as usize];
        match kind {
            Kind::Blocking => ask(stream, &request, &mut answer, count, pass).await,
            Kind::Spin => {
                let stream = Spinning::new(stream, self.pin)?;
                ask(stream, &request, &mut answer, count, pass).await
            }
            Kind::Tokio => {
                stream.set_nonblocking(true)?;
                let mut stream = tokio::net::TcpStream::from_std(stream)?;
                let mut once = async || {
                    stream.write_all(&request).await?;
                    stream.read_exact(&mut answer).await.map(drop)
                };
                for _ in 0..WARM_UP {
                    once().await?;
                }
                repeat(count, pass, once).await
            }
        }
    }

    fn connect(&self, kind: Kind) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        let mut greeting = vec![kind.code()];
        greeting.extend(self.sizes.request.to_le_bytes());
        greeting.extend(self.sizes.answer.to_le_bytes());
        stream.write_all(&greeting)?;
        Ok(stream)
    }
}

async fn ask(
    mut stream: impl Read + Write,
    request: &[u8],
    answer: &mut [u8],
    count: u64,
    pass: Pass<'_>,
) -> Outcome<Duration> {
    let mut once = || {
        stream.write_all(request)?;
        stream.read_exact(answer)
    };
    for _ in 0..WARM_UP {
        once()?;
    }
    repeat(count, pass, async || once()).await
}

/// Answers raw ping-pongs from now on; those of tokio on `runtime`. Gives the port.
pub(crate) fn listen(runtime: Handle, pin: Pin) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::Builder::new().name("raw".to_owned()).spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // One that fails is missed by the client, which reports it.
            let _ = accept(stream, &runtime, pin);
        }
    })?;
    Ok(port)
}

fn accept(mut stream: TcpStream, runtime: &Handle, pin: Pin) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut greeting = [0; GREETING_BYTES];
    stream.read_exact(&mut greeting)?;
    let [kind, r0, r1, r2, r3, a0, a1, a2, a3] = greeting;
    let request = vec![0; u32::from_le_bytes([r0, r1, r2, r3]) as usize];
    let answer = vec![1; u32::from_le_bytes([a0, a1, a2, a3]) as usize];
    match Kind::ALL.into_iter().find(|known| known.code() == kind) {
        Some(Kind::Blocking) => drop(thread::spawn(move || serve(stream, request, &answer))),
        Some(Kind::Spin) => {
            let stream = Spinning::new(stream, pin)?;
            thread::spawn(move || serve(stream, request, &answer));
        }
        Some(Kind::Tokio) => {
            stream.set_nonblocking(true)?;
            runtime.spawn(serve_on_tokio(stream, request, answer));
        }
        None => return Err(io::ErrorKind::InvalidData.into()),
    }
    Ok(())
}

/// Until the client closes the connection.
fn serve(mut stream: impl Read + Write, mut request: Vec<u8>, answer: &[u8]) -> io::Result<()> {
    loop {
        stream.read_exact(&mut request)?;
        stream.write_all(answer)?;
    }
}

async fn serve_on_tokio(
    stream: TcpStream,
    mut request: Vec<u8>,
    answer: Vec<u8>,
) -> io::Result<()> {
    let mut stream = tokio::net::TcpStream::from_std(stream)?;
    loop {
        stream.read_exact(&mut request).await?;
        stream.write_all(&answer).await?;
    }
}

/// A non-blocking stream that asks until it gets something.
struct Spinning {
    stream: TcpStream,
    spin: Duration,
}

impl Spinning {
    fn new(stream: TcpStream, pin: Pin) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Where both ends share a core, whoever waits must let the other one run.
        let spin = if pin == Pin::One { Duration::ZERO } else { SPIN };
        Ok(Self { stream, spin })
    }

    fn insist<T>(&mut self, mut ask: impl FnMut(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        let start = Instant::now();
        loop {
            match ask(&mut self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if start.elapsed() < self.spin {
                        std::hint::spin_loop();
                    } else {
                        thread::yield_now();
                    }
                }
                other => return other,
            }
        }
    }
}

impl Read for Spinning {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.insist(|stream| stream.read(buffer))
    }
}

impl Write for Spinning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.insist(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
