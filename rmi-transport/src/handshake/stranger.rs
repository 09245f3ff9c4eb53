//! Peers that do not speak this protocol at all: what they seem to speak, and how they are told.

use std::fmt;

use super::message::Message;
use super::{PROTOCOL_VERSION, Refusal};

/// How much of what a stranger said is kept, for the log.
const BYTES_SHOWN_MAX: usize = 16;

/// What a peer seems to speak that does not speak our protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stranger {
    /// HTTP, of any version.
    Http,
    /// TLS, where no TLS is.
    Tls,
    /// SSH.
    Ssh,
    /// Something else, which began like this.
    Other(Vec<u8>),
}

impl Stranger {
    /// Recognizes a stranger by its first bytes, of which there are at least four.
    pub(super) fn of(bytes: &[u8]) -> Self {
        const HTTP: [&[u8]; 11] = [
            b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"TRAC", b"CONN",
            b"PRI ", b"HTTP",
        ];
        if HTTP.iter().any(|start| bytes.starts_with(start)) {
            Stranger::Http
        } else if bytes.starts_with(&[0x16, 0x03]) || bytes.starts_with(&[0x15, 0x03]) {
            Stranger::Tls
        } else if bytes.starts_with(b"SSH-") {
            Stranger::Ssh
        } else {
            Stranger::Other(bytes.iter().copied().take(BYTES_SHOWN_MAX).collect())
        }
    }

    /// What the stranger is to be told, in its own language if possible.
    pub fn refusal(&self) -> Vec<u8> {
        match self {
            Stranger::Http => {
                let text = format!("This port speaks rmi {PROTOCOL_VERSION}, not HTTP.\n");
                let length = text.len();
                let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n";
                format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{text}").into()
            }
            // A record of type alert, in the version that all understand: fatal, handshake
            // failure.
            Stranger::Tls => vec![0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x28],
            // Before its version, an SSH server may send lines, which the client shows.
            Stranger::Ssh => b"This port speaks rmi, not SSH.\r\n".to_vec(),
            Stranger::Other(_) => {
                let text = "this port speaks rmi".to_owned();
                Message::Refuse { reason: Refusal::NotRmi, from: 0, text }.encode()
            }
        }
    }
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stranger::Http => f.write_str("it seems to be HTTP"),
            Stranger::Tls => f.write_str("it seems to be TLS"),
            Stranger::Ssh => f.write_str("it seems to be SSH"),
            Stranger::Other(bytes) => write!(f, "it began with \"{}\"", bytes.escape_ascii()),
        }
    }
}
