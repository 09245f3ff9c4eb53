//! The network: connections that delay, are cut, stall in one direction or both, and hold back
//! what was written until they go on, as TCP does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use parking_lot::Mutex;
use rmi::transport::{BoxFuture, Endpoint, Listener, Transport, Wire};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::random::Random;

/// Bytes under way in one direction before a writer has to wait.
const PIPE_BYTES_MAX: usize = 64 * 1024;
const DELAY_MS_MAX: u64 = 6;

/// A place in the world: where one node after another lives.
pub(crate) type Place = usize;

#[derive(Clone)]
pub(crate) struct Network(Arc<Mutex<State>>);

struct State {
    random: Random,
    listeners: BTreeMap<Place, mpsc::UnboundedSender<Box<dyn Wire>>>,
    /// Nothing goes from the one to the other.
    blocked: BTreeSet<(Place, Place)>,
    pipes: Vec<Arc<Pipe>>,
    /// Told when something is no longer blocked.
    healed: Vec<Waker>,
}

/// One direction of a connection.
struct Pipe {
    from: Place,
    to: Place,
    flow: Mutex<Flow>,
}

#[derive(Default)]
struct Flow {
    /// With the moment at which each part arrives.
    parts: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    is_blocked: bool,
    /// An end is gone, and the other one is told.
    is_ended: bool,
    /// An end is gone, and nobody is told.
    is_lost: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Network {
    pub(crate) fn new(random: Random) -> Self {
        let listeners = BTreeMap::new();
        let (blocked, pipes, healed) = (BTreeSet::new(), Vec::new(), Vec::new());
        Self(Arc::new(Mutex::new(State { random, listeners, blocked, pipes, healed })))
    }

    /// The transport of the node at `place`.
    pub(crate) fn at(&self, place: Place) -> Sim {
        Sim { network: self.clone(), place }
    }

    pub(crate) fn block(&self, from: Place, to: Place) {
        let pipes = {
            let mut state = self.0.lock();
            state.blocked.insert((from, to));
            state.pipes.clone()
        };
        for pipe in pipes.iter().filter(|pipe| (pipe.from, pipe.to) == (from, to)) {
            pipe.flow.lock().is_blocked = true;
        }
    }

    pub(crate) fn unblock(&self, from: Place, to: Place) {
        let (pipes, healed) = {
            let mut state = self.0.lock();
            state.blocked.remove(&(from, to));
            (state.pipes.clone(), std::mem::take(&mut state.healed))
        };
        for pipe in pipes.iter().filter(|pipe| (pipe.from, pipe.to) == (from, to)) {
            pipe.flow.lock().is_blocked = false;
            pipe.wake();
        }
        healed.into_iter().for_each(Waker::wake);
    }

    /// Ends all connections between the two; says how many there were.
    pub(crate) fn cut(&self, one: Place, two: Place) -> usize {
        self.end(|pipe| (pipe.from, pipe.to) == (one, two) || (pipe.from, pipe.to) == (two, one))
    }

    /// The process at `place` is gone, and the system closes what it had open.
    pub(crate) fn close(&self, place: Place) {
        self.0.lock().listeners.remove(&place);
        self.end(|pipe| pipe.from == place || pipe.to == place);
    }

    /// The machine at `place` is gone: nobody is told anything.
    pub(crate) fn lose(&self, place: Place) {
        let pipes = {
            let mut state = self.0.lock();
            state.listeners.remove(&place);
            state.pipes.clone()
        };
        for pipe in pipes.iter().filter(|pipe| pipe.from == place || pipe.to == place) {
            pipe.flow.lock().is_lost = true;
        }
    }

    fn end(&self, which: impl Fn(&Pipe) -> bool) -> usize {
        let mut ended = Vec::new();
        self.0.lock().pipes.retain(|pipe| {
            let ends = which(pipe);
            if ends {
                ended.push(Arc::clone(pipe));
            }
            !ends
        });
        ended.iter().for_each(|pipe| pipe.end());
        ended.len() / 2
    }

    fn delay(&self) -> Duration {
        self.0.lock().random.millis(DELAY_MS_MAX)
    }

    fn connect(&self, from: Place, to: Place) -> io::Result<End> {
        let mut state = self.0.lock();
        let listener = state.listeners.get(&to).cloned().ok_or(io::ErrorKind::ConnectionRefused)?;
        let pipe = |from, to| {
            let is_blocked = state.blocked.contains(&(from, to));
            let flow = Mutex::new(Flow { is_blocked, ..Flow::default() });
            Arc::new(Pipe { from, to, flow })
        };
        let (there, back) = (pipe(from, to), pipe(to, from));
        state.pipes.extend([Arc::clone(&there), Arc::clone(&back)]);
        let end = |incoming: &Arc<Pipe>, outgoing: &Arc<Pipe>| End {
            network: self.clone(),
            incoming: Arc::clone(incoming),
            outgoing: Arc::clone(outgoing),
            arrival: Mutex::new(None),
        };
        let accepted = Box::new(end(&there, &back));
        listener.send(accepted).map_err(|_| io::ErrorKind::ConnectionRefused)?;
        Ok(end(&back, &there))
    }

    /// Pending while either direction is blocked, as for a `connect` whose packets are lost.
    fn poll_connect(&self, cx: &Context<'_>, from: Place, to: Place) -> Poll<()> {
        let mut state = self.0.lock();
        if state.blocked.contains(&(from, to)) || state.blocked.contains(&(to, from)) {
            state.healed.push(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Pipe {
    fn end(&self) {
        self.flow.lock().is_ended = true;
        self.wake();
    }

    fn wake(&self) {
        let (reader, writer) = {
            let mut flow = self.flow.lock();
            (flow.reader.take(), flow.writer.take())
        };
        reader.into_iter().chain(writer).for_each(Waker::wake);
    }
}

/// `sim://PLACE`, as one node sees it.
pub(crate) struct Sim {
    network: Network,
    place: Place,
}

fn place_of(endpoint: &Endpoint) -> io::Result<Place> {
    let text = endpoint.to_string();
    let place = text.strip_prefix("sim://").and_then(|place| place.parse().ok());
    place.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl Transport for Sim {
    fn scheme(&self) -> &'static str {
        "sim"
    }

    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            let (network, from, to) = (&self.network, self.place, place_of(to)?);
            sleep_until(Instant::now() + network.delay()).await;
            std::future::poll_fn(|cx| network.poll_connect(cx, from, to)).await;
            Ok(Box::new(network.connect(from, to)?) as Box<dyn Wire>)
        })
    }

    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let place = place_of(at)?;
            let (sender, incoming) = mpsc::unbounded_channel();
            self.network.0.lock().listeners.insert(place, sender);
            Ok(Box::new(Listening { endpoint: at.clone(), incoming }) as Box<dyn Listener>)
        })
    }
}

struct Listening {
    endpoint: Endpoint,
    incoming: mpsc::UnboundedReceiver<Box<dyn Wire>>,
}

impl Listener for Listening {
    fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    fn accept(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            match self.incoming.recv().await {
                Some(wire) => Ok(wire),
                // Its process is gone, and this task soon as well.
                None => std::future::pending().await,
            }
        })
    }
}

/// One end of a connection.
struct End {
    network: Network,
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
    /// When the next part arrives that was not there yet.
    arrival: Mutex<Option<Pin<Box<Sleep>>>>,
}

impl Wire for End {
    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<usize>> {
        let mut flow = self.incoming.flow.lock();
        flow.reader = Some(cx.waker().clone());
        if flow.is_ended {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if flow.is_blocked || flow.is_lost {
            return Poll::Pending;
        }
        let now = Instant::now();
        let mut count = 0;
        while flow.parts.front().is_some_and(|(arrival, _)| *arrival <= now) {
            let Some((_, part)) = flow.parts.pop_front() else { break };
            into.extend_from_slice(&part);
            count += part.len();
        }
        if count > 0 {
            flow.bytes -= count;
            let writer = flow.writer.take();
            drop(flow);
            writer.into_iter().for_each(Waker::wake);
            return Poll::Ready(Ok(count));
        }
        if let Some((arrival, _)) = flow.parts.front() {
            let mut sleep = Box::pin(sleep_until(*arrival));
            // It has not come yet, so that this only registers the task.
            let _ = sleep.as_mut().poll(cx);
            *self.arrival.lock() = Some(sleep);
        }
        Poll::Pending
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let delay = self.network.delay();
        let mut flow = self.outgoing.flow.lock();
        if flow.is_ended {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(PIPE_BYTES_MAX - flow.bytes);
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Parts arrive in their order.
        let last = flow.parts.back().map_or(Instant::now(), |(arrival, _)| *arrival);
        let arrival = last.max(Instant::now() + delay);
        let (now, _later) = bytes.split_at(count);
        flow.parts.push_back((arrival, now.to_vec()));
        flow.bytes += count;
        let reader = flow.reader.take();
        drop(flow);
        reader.into_iter().for_each(Waker::wake);
        Ok(count)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut flow = self.outgoing.flow.lock();
        if flow.is_ended || flow.bytes < PIPE_BYTES_MAX {
            return Poll::Ready(Ok(()));
        }
        flow.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn shut_down(&self) {
        if self.outgoing.flow.lock().is_lost {
            return;
        }
        // What was written still arrives; then the stream ends.
        self.network.after_what_is_under_way(Arc::clone(&self.outgoing));
        self.incoming.end();
    }

    fn peer(&self) -> String {
        format!("place {}", self.incoming.from)
    }
}

impl Network {
    /// Ends a direction once all that is under way has been read.
    fn after_what_is_under_way(&self, pipe: Arc<Pipe>) {
        let last = pipe.flow.lock().parts.back().map(|(arrival, _)| *arrival);
        let Some(arrival) = last else { return pipe.end() };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return pipe.end() };
        runtime.spawn(async move {
            sleep_until(arrival + Duration::from_millis(1)).await;
            while !pipe.flow.lock().parts.is_empty() {
                if pipe.flow.lock().is_ended || pipe.flow.lock().is_lost {
                    return;
                }
                sleep_until(Instant::now() + Duration::from_millis(5)).await;
            }
            pipe.end();
        });
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.shut_down();
    }
}
