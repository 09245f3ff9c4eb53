//! Where a node can be reached: `tcp://host:port`, `unix:///path`, `inproc://name`, or where a
//! transport of one's own reaches.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// An address of a node, as users write it and as references carry it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// `tcp://host:port`; an IPv6 address stands in brackets.
    Tcp {
        /// A name or an address, without brackets.
        host: String,
        /// The port; 0 lets the system choose one when listening.
        port: u16,
    },
    /// `unix:///absolute/path` of a socket file.
    Unix(PathBuf),
    /// `inproc://name`: within this process only. When listening, an empty name or `auto` lets
    /// the transport choose a unique one.
    InProcess(String),
    /// `scheme://address` of a transport that is not built in. Only that transport knows what the
    /// address means, and whether there is such a transport is seen when it is used.
    Other {
        /// The part before `://`.
        scheme: String,
        /// Everything behind it.
        address: String,
    },
}

/// Why a text is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// There is no `scheme://` in front.
    #[error("{0:?} does not begin with tcp://, unix:// or inproc://")]
    NoScheme(String),
    /// The scheme is none that we know, or none at all: a letter comes first, then letters,
    /// digits, `+`, `-` and `.`.
    #[error("unknown scheme {0:?}: expected tcp, unix or inproc")]
    UnknownScheme(String),
    /// A TCP endpoint without a host.
    #[error("{0:?} names no host")]
    NoHost(String),
    /// A TCP endpoint without a port, or with one that is not a number up to 65535.
    #[error("{0:?} names no valid port: expected host:port")]
    NoPort(String),
    /// An IPv6 address that does not stand in brackets.
    #[error("{0:?}: an IPv6 address stands in brackets, [::1]:port")]
    NoBrackets(String),
    /// The path of a Unix socket is not absolute.
    #[error("{0:?} is not an absolute path: expected unix:///path")]
    NotAbsolute(String),
    /// A slash within the name of an in-process endpoint.
    #[error("{0:?} contains a slash, which an in-process name cannot")]
    SlashInName(String),
    /// A name was to follow the endpoint after a slash, and does not.
    #[error("{0:?} lacks a name after the endpoint: expected endpoint/name")]
    NoName(String),
}

impl Endpoint {
    /// The part before `://`.
    pub fn scheme(&self) -> &str {
        match self {
            Endpoint::Tcp { .. } => "tcp",
            Endpoint::Unix(_) => "unix",
            Endpoint::InProcess(_) => "inproc",
            Endpoint::Other { scheme, .. } => scheme,
        }
    }

    /// Splits `tcp://host:port/name`, `unix:///path/name`, `inproc://x/name` or
    /// `scheme://address/name` into the endpoint and the name, which is the last segment.
    ///
    /// # Errors
    ///
    /// - [`EndpointError::NoName`]: nothing follows the endpoint.
    /// - The others: the part before the name is no endpoint.
    pub fn parse_with_name(s: &str) -> Result<(Endpoint, String), EndpointError> {
        let no_name = || EndpointError::NoName(s.to_owned());
        let (scheme, rest) = split_scheme(s)?;
        let (address, name) = rest.rsplit_once('/').ok_or_else(no_name)?;
        if name.is_empty() || (address.is_empty() && scheme == "unix") {
            return Err(no_name());
        }
        Ok((parse_address(scheme, address)?, name.to_owned()))
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(s: &str) -> Result<Self, EndpointError> {
        let (scheme, address) = split_scheme(s)?;
        parse_address(scheme, address)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { host, port } if host.contains(':') => {
                write!(f, "tcp://[{host}]:{port}")
            }
            Endpoint::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
            Endpoint::Unix(path) => write!(f, "unix://{}", path.display()),
            Endpoint::InProcess(name) => write!(f, "inproc://{name}"),
            Endpoint::Other { scheme, address } => write!(f, "{scheme}://{address}"),
        }
    }
}

fn split_scheme(s: &str) -> Result<(&str, &str), EndpointError> {
    s.split_once("://").ok_or_else(|| EndpointError::NoScheme(s.to_owned()))
}

fn parse_address(scheme: &str, address: &str) -> Result<Endpoint, EndpointError> {
    match scheme {
        "tcp" => parse_tcp(address),
        "unix" if address.starts_with('/') => Ok(Endpoint::Unix(PathBuf::from(address))),
        "unix" => Err(EndpointError::NotAbsolute(address.to_owned())),
        "inproc" if address.contains('/') => Err(EndpointError::SlashInName(address.to_owned())),
        "inproc" => Ok(Endpoint::InProcess(address.to_owned())),
        other if is_scheme(other) => {
            Ok(Endpoint::Other { scheme: other.to_owned(), address: address.to_owned() })
        }
        unknown => Err(EndpointError::UnknownScheme(unknown.to_owned())),
    }
}

/// As RFC 3986 has it.
fn is_scheme(text: &str) -> bool {
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(goes_on)
}

fn parse_tcp(address: &str) -> Result<Endpoint, EndpointError> {
    let no_port = || EndpointError::NoPort(address.to_owned());
    let (host, port) = address.rsplit_once(':').ok_or_else(no_port)?;
    // `u16::from_str` accepts a leading plus, which no address has.
    if !port.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(no_port());
    }
    let port = port.parse().map_err(|_| no_port())?;
    let host = match host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        Some(inner) => inner,
        None if host.contains(':') => return Err(EndpointError::NoBrackets(address.to_owned())),
        None => host,
    };
    if host.is_empty() || host.contains('/') {
        return Err(EndpointError::NoHost(address.to_owned()));
    }
    Ok(Endpoint::Tcp { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_parsed_is_displayed_as_it_was_written() {
        for text in [
            "tcp://127.0.0.1:41234",
            "tcp://example.org:0",
            "tcp://[::1]:65535",
            "unix:///run/bank.sock",
            "inproc://bank",
            "inproc://",
            "sim://node-1",
            "x+y://anything/at/all",
        ] {
            assert_eq!(text.parse::<Endpoint>().map(|e| e.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_text_that_is_no_endpoint_says_why() {
        use EndpointError::*;
        let s = str::to_owned;
        for (text, want) in [
            ("", NoScheme(s(""))),
            ("localhost:80", NoScheme(s("localhost:80"))),
            ("://localhost", UnknownScheme(s(""))),
            ("1st://localhost", UnknownScheme(s("1st"))),
            ("a b://localhost", UnknownScheme(s("a b"))),
            ("tcp://localhost", NoPort(s("localhost"))),
            ("tcp://localhost:", NoPort(s("localhost:"))),
            ("tcp://localhost:+1", NoPort(s("localhost:+1"))),
            ("tcp://localhost:65536", NoPort(s("localhost:65536"))),
            ("tcp://localhost:80/name", NoPort(s("localhost:80/name"))),
            ("tcp://:80", NoHost(s(":80"))),
            ("tcp://::1:80", NoBrackets(s("::1:80"))),
            ("unix://run/x", NotAbsolute(s("run/x"))),
            ("inproc://a/b", SlashInName(s("a/b"))),
        ] {
            assert_eq!(text.parse::<Endpoint>(), Err(want), "{text:?}");
        }
    }

    #[test]
    fn the_last_segment_is_the_name() {
        let tcp = Endpoint::Tcp { host: "::1".to_owned(), port: 7 };
        let other = Endpoint::Other { scheme: "sim".to_owned(), address: "node-1".to_owned() };
        for (text, want) in [
            ("tcp://[::1]:7/bank", (tcp, "bank")),
            ("unix:///run/x.sock/bank", (Endpoint::Unix(PathBuf::from("/run/x.sock")), "bank")),
            ("inproc://x/bank", (Endpoint::InProcess("x".to_owned()), "bank")),
            ("sim://node-1/bank", (other, "bank")),
        ] {
            let want = Ok((want.0, want.1.to_owned()));
            assert_eq!(Endpoint::parse_with_name(text), want, "{text:?}");
        }
        for text in ["tcp://host:1", "tcp://host:1/", "unix:///bank", "inproc://x", "sim://x"] {
            let got = Endpoint::parse_with_name(text);
            assert!(got.is_err(), "{text:?} was read as {got:?}");
        }
    }
}
