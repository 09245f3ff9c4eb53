//! Values that several tests need.

use std::future::poll_fn;

use bytes::{Bytes, BytesMut};
use rmi_transport::{
    Accepted, Body, Call, Endpoint, Event, Frame, FrameBuffer, FrameLimits, Hello, Link, Origin,
    PeerLimits, Target, Thread, Wire, decode, transport_for,
};

pub(crate) fn hello(incarnation: u64) -> Hello {
    Hello {
        incarnation,
        thread_origin: 0x0102_0304_0506_0708,
        codec: 1,
        codec_fingerprint: 0xc0de_c0de,
        limits: PeerLimits { frame_bytes_max: 16 << 20 },
        features: 0,
        name: "bank".to_owned(),
        endpoints: vec!["tcp://127.0.0.1:4000".to_owned()],
    }
}

/// A frame around `body`, with nothing else in it.
pub(crate) fn bare(body: Body) -> Frame {
    Frame {
        ack: 0,
        wants_ack: false,
        body,
        references: Default::default(),
        notices: Vec::new(),
        releases: Vec::new(),
        payload: Bytes::new(),
    }
}

/// The frame of a `ping()`: the smallest call that there usually is.
pub(crate) fn ping() -> Frame {
    let thread = Some(Thread { origin: Origin::Sender, number: 3 });
    let target = Target::Export(5);
    let (method, fingerprint) = (0x1122_3344, 0x5566_7788);
    let call = Call { call: 1, target, method, fingerprint, thread };
    Frame { ack: 1, ..bare(Body::Call(call)) }
}

pub(crate) fn encoded(frame: &Frame) -> Vec<u8> {
    let mut frames = FrameBuffer::with_bytes_max(u32::MAX);
    let bytes = frame.encode(&mut frames).unwrap();
    assert_eq!(bytes, frames.len());
    frames.as_slice().to_vec()
}

/// Two connected wires: dialled, accepted.
pub(crate) async fn wires(at: &Endpoint) -> (Box<dyn Wire>, Box<dyn Wire>) {
    let transport = transport_for(at);
    let mut listener = transport.listen(at).await.unwrap();
    let endpoint = listener.endpoint();
    let (dialled, accepted) = tokio::join!(transport.dial(&endpoint), listener.accept());
    (dialled.unwrap(), accepted.unwrap())
}

/// Where each of the transports can listen.
pub(crate) fn endpoints(test: &str) -> [Endpoint; 3] {
    [
        Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: 0 },
        Endpoint::Unix(socket_path(test)),
        Endpoint::InProcess("auto".to_owned()),
    ]
}

pub(crate) fn socket_path(test: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("rmi-{}-{test}.sock", std::process::id()))
}

/// A link whose first wire this is.
pub(crate) fn link_over(wire: Box<dyn Wire>) -> Link {
    let link = Link::new();
    link.attach(wire, BytesMut::new(), 0, 0).unwrap();
    link
}

/// What an acceptor says of a new session.
pub(crate) fn new_session() -> Accepted {
    Accepted { session: 0x5e55, received: 0, connections: 0 }
}

/// Drives `link` until `count` frames have come.
pub(crate) async fn receive(link: &Link, count: usize) -> Vec<Frame> {
    let (mut buffer, mut frames) = (BytesMut::new(), Vec::new());
    while frames.len() < count {
        match poll_fn(|cx| link.poll(cx, &mut buffer)).await {
            Event::Read(_) => {
                while let Some(frame) = decode(&mut buffer, &FrameLimits::default()).unwrap() {
                    frames.push(frame);
                }
            }
            Event::Woken => {}
            end @ (Event::Lost(_) | Event::Closed) => {
                panic!("{end:?} after {} of {count} frames", frames.len())
            }
        }
    }
    frames
}

/// Drives `link`, which is to receive nothing, until its wire is lost, for the returned reason,
/// or it is closed.
pub(crate) async fn drive_to_end(link: &Link) -> Option<std::io::Error> {
    let mut buffer = BytesMut::new();
    loop {
        match poll_fn(|cx| link.poll(cx, &mut buffer)).await {
            Event::Read(count) => panic!("{count} bytes came"),
            Event::Woken => {}
            Event::Lost(why) => return Some(why),
            Event::Closed => return None,
        }
    }
}
