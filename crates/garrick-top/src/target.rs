//! Address of the watched process.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Default port of telemetry.
const PORT: u16 = 9900;

/// Description of the valid forms of an address.
const FORMS: &str = "valid addresses are HOST:PORT, HOST, :PORT and http://HOST:PORT";

/// The address of a process: a host and a port. It is parsed from `HOST:PORT`, `HOST`, `:PORT` or
/// `http://HOST:PORT`. The default host is 127.0.0.1, and the default port is 9900.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Host: a name, an IPv4 address, or an IPv6 address in brackets.
    host: String,
    /// Port, which is not 0.
    port: u16,
}

/// The error returned when a text is not a valid address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTarget(String);

impl Target {
    /// Returns the URL of the page at `path`, which begins with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{self}{path}")
    }
}

impl Default for Target {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: PORT,
        }
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        Self {
            host,
            port: address.port(),
        }
    }
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        if text.starts_with("https://") {
            return Err(BadTarget(
                "telemetry is not served over https; to watch another machine, use a tunnel (ssh -L)"
                    .into(),
            ));
        }
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Ok(address) = authority.parse::<Ipv6Addr>() {
            return Ok(Self {
                host: format!("[{address}]"),
                port: PORT,
            });
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, parse_port(port)?),
            _ => (authority, PORT),
        };
        Ok(Self {
            host: parse_host(host)?,
            port,
        })
    }
}

fn parse_port(text: &str) -> Result<u16, BadTarget> {
    match text.parse() {
        Ok(port @ 1..) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(BadTarget(format!(
            "'{}' is not a port from 1 to 65535; {FORMS}",
            text.escape_default()
        ))),
    }
}

/// Parses the host before a port. An empty host stands for this machine.
fn parse_host(text: &str) -> Result<String, BadTarget> {
    let in_brackets = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .and_then(|address| address.parse::<Ipv6Addr>().ok());
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    match (text, in_brackets) {
        ("", _) => Ok(Target::default().host),
        (_, Some(address)) => Ok(format!("[{address}]")),
        _ if text.bytes().all(is_name) => Ok(text.to_owned()),
        _ => Err(BadTarget(format!(
            "'{}' is not a host; {FORMS}",
            text.escape_default()
        ))),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

impl fmt::Display for BadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadTarget {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_several_forms() {
        for (text, url) in [
            ("127.0.0.1:9900", "http://127.0.0.1:9900"),
            ("http://127.0.0.1:9901/", "http://127.0.0.1:9901"),
            ("localhost", "http://localhost:9900"),
            (":9902", "http://127.0.0.1:9902"),
            ("my-host.example:80", "http://my-host.example:80"),
            ("[::1]:9900", "http://[::1]:9900"),
            ("[::1]", "http://[::1]:9900"),
            ("::1", "http://[::1]:9900"),
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), url, "{text}");
        }
        assert_eq!(Target::default().to_string(), "http://127.0.0.1:9900");
        assert_eq!(
            Target::default().url("/events"),
            "http://127.0.0.1:9900/events"
        );
        let address: SocketAddr = "[::1]:77".parse().unwrap();
        assert_eq!(Target::from(address).to_string(), "http://[::1]:77");
    }

    #[test]
    fn what_is_no_address_is_said_to_be_none() {
        for (text, word) in [
            ("host:0", "'0' is not a port"),
            ("host:65536", "'65536' is not a port"),
            ("host:+80", "'+80' is not a port"),
            ("host:", "'' is not a port"),
            ("host:http", "'http' is not a port"),
            ("https://host", "not served over https"),
            ("http://host/graph.json", "is not a host"),
            ("ftp://host", "not a port"),
            ("user@host:1", "'user@host' is not a host"),
            ("a b", "'a b' is not a host"),
            ("[::g]:1", "is not a host"),
            ("a\u{1b}[2J:1", "a\\u{1b}[2J"),
        ] {
            let said = text.parse::<Target>().unwrap_err().to_string();
            assert!(said.contains(word), "{text}: {said}");
            assert!(!said.chars().any(char::is_control), "{said:?}");
        }
    }
}
