//! The transports: streams that end, names and files that are taken, and are free again.

use std::future::poll_fn;
use std::io;
use std::path::PathBuf;

use bytes::BytesMut;
use rmi_transport::{Endpoint, Listener, Wire, transport_for};

use crate::fixtures::{endpoints, socket_path, wires};

async fn listen(at: &Endpoint) -> io::Result<Box<dyn Listener>> {
    transport_for(at).listen(at).await
}

async fn dial(to: &Endpoint) -> io::Result<Box<dyn Wire>> {
    transport_for(to).dial(to).await
}

fn kind<T>(result: io::Result<T>) -> Option<io::ErrorKind> {
    result.err().map(|error| error.kind())
}

async fn read(wire: &dyn Wire, count: usize) -> BytesMut {
    let mut read = BytesMut::new();
    while read.len() < count && poll_fn(|cx| wire.poll_read(cx, &mut read)).await.unwrap() > 0 {}
    read
}

#[tokio::test]
async fn bytes_go_both_ways_until_either_end_is_dropped() {
    for endpoint in endpoints("both-ways") {
        let (dialled, accepted) = wires(&endpoint).await;
        poll_fn(|cx| accepted.poll_writable(cx)).await.unwrap();
        dialled.try_write(b"there").unwrap();
        accepted.try_write(b"back").unwrap();
        assert_eq!(&read(&*accepted, 5).await[..], b"there", "{endpoint}");
        assert_eq!(&read(&*dialled, 4).await[..], b"back", "{endpoint}");
        dialled.try_write(b"last").unwrap();
        drop(dialled);
        assert_eq!(&read(&*accepted, usize::MAX).await[..], b"last", "{endpoint}");
    }
}

#[tokio::test]
async fn a_wire_that_is_shut_down_ends_for_both() {
    for endpoint in endpoints("shut-down") {
        let (dialled, accepted) = wires(&endpoint).await;
        dialled.try_write(b"last").unwrap();
        dialled.shut_down();
        assert_eq!(&read(&*accepted, usize::MAX).await[..], b"last", "{endpoint}");
        assert_eq!(read(&*dialled, 1).await.len(), 0, "{endpoint}");
        assert_eq!(kind(dialled.try_write(b"more")), Some(io::ErrorKind::BrokenPipe), "{endpoint}");
        dialled.shut_down();
    }
}

#[tokio::test]
async fn a_listener_tells_where_it_really_listens() {
    let [tcp, _, in_process] = endpoints("");
    let endpoint = listen(&tcp).await.unwrap().endpoint();
    let port_chosen =
        matches!(&endpoint, Endpoint::Tcp { host, port } if host == "127.0.0.1" && *port != 0);
    assert!(port_chosen, "{endpoint}");
    let first = listen(&in_process).await.unwrap();
    let second = listen(&Endpoint::InProcess(String::new())).await.unwrap();
    assert_ne!(first.endpoint(), second.endpoint());
    assert_ne!(first.endpoint(), in_process);
}

#[tokio::test]
async fn a_place_is_taken_until_its_listener_is_dropped() {
    let unix = Endpoint::Unix(socket_path("taken"));
    for endpoint in [unix, Endpoint::InProcess("taken".to_owned())] {
        let listener = listen(&endpoint).await.unwrap();
        assert_eq!(kind(listen(&endpoint).await), Some(io::ErrorKind::AddrInUse), "{endpoint}");
        assert!(dial(&endpoint).await.is_ok(), "{endpoint}");
        drop(listener);
        assert!(dial(&endpoint).await.is_err(), "{endpoint}");
        assert!(listen(&endpoint).await.is_ok(), "{endpoint}");
    }
}

#[tokio::test]
async fn a_socket_file_that_nobody_answers_at_is_replaced() {
    let path = socket_path("stale");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the standard library leaves the file");
    let endpoint = Endpoint::Unix(path.clone());
    let listener = listen(&endpoint).await.unwrap();
    assert!(dial(&endpoint).await.is_ok());
    drop(listener);
    assert!(!path.exists(), "ours is removed");
}

#[tokio::test]
async fn a_file_that_is_not_ours_stays() {
    let path = socket_path("foreign");
    std::fs::write(&path, "precious").unwrap();
    let endpoint = Endpoint::Unix(path.clone());
    assert_eq!(kind(listen(&endpoint).await), Some(io::ErrorKind::AddrInUse));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    std::fs::remove_file(&path).unwrap();

    let listener = listen(&endpoint).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    let successor = listen(&endpoint).await.unwrap();
    drop(listener);
    assert!(path.exists(), "the successor's file stays");
    drop(successor);
    assert!(!path.exists());
}

#[tokio::test]
async fn an_endpoint_of_another_scheme_is_refused() {
    let [tcp, unix, _] = endpoints("scheme");
    let (invalid, tcp_transport) = (Some(io::ErrorKind::InvalidInput), transport_for(&tcp));
    assert_eq!(kind(tcp_transport.dial(&unix).await), invalid);
    assert_eq!(kind(tcp_transport.listen(&Endpoint::Unix(PathBuf::new())).await), invalid);
    assert_eq!(tcp_transport.scheme(), tcp.scheme());
}
