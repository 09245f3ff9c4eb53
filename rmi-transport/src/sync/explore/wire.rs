//! A wire in memory that can be severed, and that has room for few bytes.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::Mutex;
use crate::transport::Wire;
use bytes::BytesMut;

/// Two connected wires, whose directions hold so many bytes.
pub fn wires(bytes_max: usize) -> [Box<dyn Wire>; 2] {
    let lane = || Arc::new(Lane { flow: Mutex::default(), bytes_max });
    let (there, back) = (lane(), lane());
    let near = End { incoming: Arc::clone(&back), outgoing: Arc::clone(&there) };
    [Box::new(near), Box::new(End { incoming: there, outgoing: back })]
}

struct End {
    incoming: Arc<Lane>,
    outgoing: Arc<Lane>,
}

/// One direction.
struct Lane {
    flow: Mutex<Flow>,
    bytes_max: usize,
}

#[derive(Default)]
struct Flow {
    bytes: BytesMut,
    is_over: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Lane {
    /// What is under way is lost.
    fn sever(&self) {
        let wakers = {
            let mut flow = self.flow.lock();
            flow.is_over = true;
            flow.bytes.clear();
            [flow.reader.take(), flow.writer.take()]
        };
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

impl Wire for End {
    fn poll_read(&self, cx: &mut Context<'_>, into: &mut BytesMut) -> Poll<io::Result<usize>> {
        let (count, writer) = {
            let mut flow = self.incoming.flow.lock();
            if flow.bytes.is_empty() && !flow.is_over {
                flow.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let bytes = flow.bytes.split();
            into.extend_from_slice(&bytes);
            (bytes.len(), flow.writer.take())
        };
        writer.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(count))
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let (count, reader) = {
            let mut flow = self.outgoing.flow.lock();
            if flow.is_over {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let count = bytes.len().min(self.outgoing.bytes_max - flow.bytes.len());
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let (now, _later) = bytes.split_at(count);
            flow.bytes.extend_from_slice(now);
            (count, flow.reader.take())
        };
        reader.into_iter().for_each(Waker::wake);
        Ok(count)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut flow = self.outgoing.flow.lock();
        if flow.is_over || flow.bytes.len() < self.outgoing.bytes_max {
            return Poll::Ready(Ok(()));
        }
        flow.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// As abruptly as can be.
    fn shut_down(&self) {
        self.incoming.sever();
        self.outgoing.sever();
    }

    fn peer(&self) -> String {
        "the other end".to_owned()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.shut_down();
    }
}
