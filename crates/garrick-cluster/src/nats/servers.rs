//! Addresses of servers, and a check that unencrypted connections stay on this machine.

use std::net::IpAddr;
use std::str::FromStr;

use async_nats::ServerAddr;

use super::error::NatsError;

/// Addresses of servers.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    pub(super) addresses: Vec<ServerAddr>,
}

impl Servers {
    /// Parses server addresses that are separated by commas.
    pub(super) fn parse(text: &str) -> Result<Self, NatsError> {
        let addresses: Result<Vec<_>, _> = text.split(',').map(|part| parse(part.trim())).collect();
        Ok(Self {
            addresses: addresses?,
        })
    }

    /// Returns true if the addresses require encryption for each connection.
    pub(super) fn are_encrypted(&self) -> bool {
        self.addresses.iter().all(ServerAddr::tls_required)
    }

    /// Returns an error if a connection to another machine would not be encrypted.
    pub(super) fn check_plain_text(&self) -> Result<(), NatsError> {
        let is_open = |server: &&ServerAddr| !server.tls_required() && !is_here(server.host());
        match self.addresses.iter().find(is_open) {
            Some(server) => Err(NatsError::PlainText {
                server: label(server),
            }),
            None => Ok(()),
        }
    }

    /// Returns the hosts and ports as text, for error messages.
    pub(super) fn label(&self) -> String {
        let labels: Vec<_> = self.addresses.iter().map(label).collect();
        labels.join(", ")
    }
}

fn label(server: &ServerAddr) -> String {
    format!("{}:{}", server.host(), server.port())
}

fn parse(text: &str) -> Result<ServerAddr, NatsError> {
    let error = |why: String| NatsError::Address {
        // What is before the last `@` may be a password.
        server: text.rsplit('@').next().unwrap_or_default().to_owned(),
        why,
    };
    let server = ServerAddr::from_str(text).map_err(|why| error(why.to_string()))?;
    if !["nats", "tls"].contains(&server.scheme()) {
        return Err(error("only `nats://` and `tls://` are allowed".to_owned()));
    }
    if server.host().is_empty() {
        return Err(error("it has no host".to_owned()));
    }
    Ok(server)
}

/// Returns true if `host` is this machine. Returns false for unusual forms of addresses.
fn is_here(host: &str) -> bool {
    host == "localhost" || IpAddr::from_str(host).is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Servers;

    fn error(text: &str) -> String {
        let checked = Servers::parse(text).and_then(|servers| servers.check_plain_text());
        checked.unwrap_err().to_string()
    }

    #[test]
    fn plain_text_stays_on_this_machine() {
        for here in [
            "localhost",
            "127.0.0.1:4333",
            "nats://127.8.9.1",
            "nats://[::1]:4222, localhost",
            "tls://example.org, 127.0.0.1",
        ] {
            Servers::parse(here).unwrap().check_plain_text().unwrap();
        }
        for there in [
            "example.org",
            "nats://10.0.0.1",
            "nats://[::2]",
            "nats://127.0.0.1.example.org",
            "nats://localhost@example.org",
            "nats://localhost.example.org",
            "nats://0.0.0.0",
            "nats://[::ffff:127.0.0.1]",
            "nats://127.1",
        ] {
            assert!(
                error(there).contains("would not be encrypted"),
                "{}",
                error(there)
            );
        }
        let mixed = error("tls://one.example, two.example:4333");
        assert!(
            mixed.starts_with("the connection to two.example:4333"),
            "{mixed}"
        );
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for bad in [
            "",
            "localhost,",
            "ws://localhost",
            "http://localhost",
            "nats://",
        ] {
            assert!(error(bad).contains("is no address"), "{}", error(bad));
        }
        let secret = error("http://bank:hunter2@localhost");
        assert!(!secret.contains("hunter2"), "{secret}");
        let secret = error("nats://bank:hunter2@example.org");
        assert!(!secret.contains("hunter2"), "{secret}");
    }

    #[test]
    fn encryption_is_needed_if_all_addresses_ask_for_it() {
        let are_encrypted = |text: &str| Servers::parse(text).unwrap().are_encrypted();
        assert!(are_encrypted("tls://a,tls://b"));
        assert!(!are_encrypted("tls://a,localhost"));
    }
}
