//! `tcp://host:port`. Nagle's algorithm is off at both ends: a frame is written whole, and the
//! next one may be waiting for its answer.

use std::io;

use tokio::net::{TcpListener, TcpStream};

use crate::endpoint::Endpoint;
use crate::socket::SocketWire;
use crate::transport::{BoxFuture, Listener, Transport, Wire, wrong_scheme};

/// The TCP transport.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

impl Transport for Tcp {
    fn scheme(&self) -> &'static str {
        "tcp"
    }

    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            let Endpoint::Tcp { host, port } = to else { return Err(wrong_scheme(self, to)) };
            Ok(wire(connect(host, *port).await?, to.to_string()))
        })
    }

    fn listen<'a>(&'a self, at: &'a Endpoint) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let Endpoint::Tcp { host, port } = at else { return Err(wrong_scheme(self, at)) };
            let listener = TcpListener::bind((host.as_str(), *port)).await?;
            let endpoint =
                Endpoint::Tcp { host: host.clone(), port: listener.local_addr()?.port() };
            Ok(Box::new(Listening { listener, endpoint }) as Box<dyn Listener>)
        })
    }
}

struct Listening {
    listener: TcpListener,
    endpoint: Endpoint,
}

impl Listener for Listening {
    fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    fn accept(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Wire>>> {
        Box::pin(async move {
            let (stream, peer) = accept(&self.listener).await?;
            Ok(wire(stream, peer))
        })
    }
}

fn wire(stream: TcpStream, peer: String) -> Box<dyn Wire> {
    Box::new(SocketWire::new(stream.into_split(), peer))
}

async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn accept(listener: &TcpListener) -> io::Result<(TcpStream, String)> {
    let (stream, from) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, format!("tcp://{from}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nagle_is_off_on_dialled_and_accepted_sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (dialled, accepted) = tokio::join!(connect("127.0.0.1", port), accept(&listener));
        assert!(dialled.unwrap().nodelay().unwrap(), "dialled (W3)");
        assert!(accepted.unwrap().0.nodelay().unwrap(), "accepted (W3)");
    }
}
