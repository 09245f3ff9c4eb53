//! Nodes B and C: each a process of its own, or a thread of this one.

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use clap::ValueEnum;
use rmi::{Node, Stats};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::Outcome;
use crate::args::{Args, Config, Transport, spelled};
use crate::interface::{PingerRef, Resident};
use crate::pin::End;
use crate::raw;

/// Which node a server is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Has `s`, and answers the raw ping-pongs.
    B,
    /// Has what is passed around when there are three.
    C,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::B => "b",
            Role::C => "c",
        }
    }
}

/// What a server tells before anything else.
#[derive(Clone, Serialize, Deserialize)]
struct Address {
    endpoint: String,
    raw_port: u16,
}

/// Every node has one thread, which both reads its sockets and runs its handlers.
pub(crate) fn runtime() -> Outcome<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// A server, as the client's process holds it. Ends when dropped.
pub(crate) struct Server {
    address: Address,
    body: Body,
}

enum Body {
    Process { child: Child, orders: ChildStdin, answers: BufReader<ChildStdout> },
    Thread { node: Node, end: Option<oneshot::Sender<()>>, thread: Option<JoinHandle<()>> },
}

impl Server {
    pub(crate) fn start(role: Role, config: &Config, listen: &str) -> Outcome<Self> {
        match config.transport {
            Transport::Tcp | Transport::Unix => Self::start_process(role, config, listen),
            Transport::Inproc => Self::start_thread(config, listen),
        }
    }

    fn start_process(role: Role, config: &Config, listen: &str) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--serve", &spelled(role), "--listen", listen])
            .args(config.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().ok_or("the server has no input")?;
        let mut answers = BufReader::new(child.stdout.take().ok_or("the server has no output")?);
        let mut line = String::new();
        answers.read_line(&mut line)?;
        let address = serde_json::from_str(&line);
        // From here on the child is killed whatever happens.
        let body = Body::Process { child, orders, answers };
        let nowhere = Address { endpoint: String::new(), raw_port: 0 };
        let mut server = Self { address: nowhere, body };
        server.address = address.map_err(|error| format!("the server did not start: {error}"))?;
        Ok(server)
    }

    fn start_thread(config: &Config, listen: &str) -> Outcome<Self> {
        let (config, listen) = (config.clone(), listen.to_owned());
        let (end, ended) = oneshot::channel();
        let (started, starting) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name("server".to_owned()).spawn(move || {
            // The client notices a failure by the channel's end, and this message says why.
            let serve = serve(&config, &listen, |node, address| {
                let _ = started.send((node.clone(), address));
            });
            let over = async { drop(ended.await) };
            if let Err(error) = serve.and_then(|server| server.run_until(over)) {
                eprintln!("server: {error}");
            }
        })?;
        let (node, address) = starting.recv()?;
        let body = Body::Thread { node, end: Some(end), thread: Some(thread) };
        Ok(Self { address, body })
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.address.endpoint
    }

    /// Where it answers raw ping-pongs.
    pub(crate) fn raw_port(&self) -> u16 {
        self.address.raw_port
    }

    /// The node's counters, asked for beside the sessions that are measured.
    pub(crate) fn stats(&mut self) -> Outcome<Stats> {
        match &mut self.body {
            Body::Process { orders, answers, .. } => {
                writeln!(orders, "stats")?;
                let mut line = String::new();
                answers.read_line(&mut line)?;
                Ok(serde_json::from_str(&line)?)
            }
            Body::Thread { node, .. } => Ok(node.stats()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match &mut self.body {
            Body::Process { child, .. } => {
                // It fails only if the child is gone already.
                let _ = child.kill();
                let _ = child.wait();
            }
            Body::Thread { end, thread, .. } => {
                drop(end.take());
                if let Some(thread) = thread.take() {
                    let _ = thread.join();
                }
            }
        }
    }
}

/// A server's own side.
struct Serving {
    runtime: Runtime,
    /// Keeps the object bound.
    _node: Node,
}

impl Serving {
    fn run_until(self, over: impl Future<Output = ()>) -> Outcome<()> {
        self.runtime.block_on(over);
        Ok(())
    }
}

/// Starts a node in this thread, and announces it.
fn serve(config: &Config, listen: &str, announce: impl FnOnce(&Node, Address)) -> Outcome<Serving> {
    config.pin.apply(End::Server)?;
    let runtime = runtime()?;
    let node = runtime.block_on(async {
        let node = config.builder().name("server").listen(listen).start().await?;
        let s: PingerRef = node.export(Resident::default());
        node.bind("s", &s)?;
        Outcome::Ok(node)
    })?;
    let raw_port = raw::listen(runtime.handle().clone(), config.pin)?;
    let endpoint = node.endpoint().ok_or("the server listens nowhere")?.to_string();
    announce(&node, Address { endpoint, raw_port });
    Ok(Serving { runtime, _node: node })
}

/// Is the server, until the client's process is gone or kills this one.
pub(crate) fn serve_as_child(_role: Role, args: &Args) -> Outcome<()> {
    let mut first_line = Ok(());
    let server = serve(&args.config, &args.listen, |node, address| {
        first_line = print_line(&address);
        let node = node.clone();
        thread::spawn(move || obey(&node));
    })?;
    first_line?;
    server.run_until(std::future::pending())
}

/// Answers what the client's process asks by the pipe. The pipe's end is that process's end,
/// however it came.
fn obey(node: &Node) {
    for line in stdin().lines() {
        let answered = match line.as_deref() {
            Ok("stats") => print_line(&node.stats()),
            Ok(_) | Err(_) => break,
        };
        if answered.is_err() {
            break;
        }
    }
    std::process::exit(0);
}

fn print_line(value: &impl Serialize) -> Outcome<()> {
    let mut out = stdout().lock();
    writeln!(out, "{}", serde_json::to_string(value)?)?;
    Ok(out.flush()?)
}
