//! Settings of a connection to NATS.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::ConnectOptions;
use tokio::runtime::Handle;

use super::error::NatsError;
use super::servers::Servers;

/// Time between two pings. If the server does not answer three successive pings, the connection
/// ends.
const PING_EVERY: Duration = Duration::from_secs(2);

/// Time limit of a request to JetStream.
pub(super) const REQUEST_WITHIN: Duration = Duration::from_secs(2);

/// Time limit for connecting to one server.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Time for which the server keeps the deletion of a record. Deletions are kept only for nodes
/// whose watch is late: a node whose watch has reported nothing for a part of this time reads all
/// records again (`placement/follow.rs`).
const DELETED_FOR: Duration = Duration::from_secs(3_600);

/// Maximum time between two attempts to connect again.
const AGAIN_AFTER_MAX: Duration = Duration::from_millis(512);

/// Maximum number of commands that the client queues. Each command can contain a frame.
const COMMANDS_MAX: usize = 64;

/// Maximum number of messages that a subscription queues. The links of the sending nodes limit the
/// total size of these messages.
const MESSAGES_MAX: usize = 1 << 20;

/// Settings of a connection to NATS. See [`NatsNet`](super::NatsNet).
#[derive(Clone)]
pub struct NatsBuilder {
    servers: String,
    login: Login,
    needs_tls: bool,
    roots: Vec<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
    plain_text_on_purpose: bool,
    pub(super) replicas: usize,
    pub(super) join_within: Duration,
    pub(super) label: String,
    pub(super) runtime: Option<Handle>,
    /// Time for which the server keeps the deletions of records.
    pub(super) deleted_for: Duration,
}

#[derive(Clone)]
enum Login {
    None,
    Credentials(PathBuf),
    Password(String, String),
    Token(String),
}

impl NatsBuilder {
    pub(super) fn new(servers: impl Into<String>) -> Self {
        Self {
            servers: servers.into(),
            login: Login::None,
            needs_tls: false,
            roots: Vec::new(),
            identity: None,
            plain_text_on_purpose: false,
            replicas: 1,
            join_within: Duration::from_secs(20),
            label: "garrick".to_owned(),
            runtime: None,
            deleted_for: DELETED_FOR,
        }
    }

    /// Sets the time for which the server keeps the deletions of records. This method is meant for
    /// tests. The time must be at least one second, and the same on all nodes of a cluster.
    #[doc(hidden)]
    #[must_use]
    pub fn deleted_for(self, deleted_for: Duration) -> Self {
        Self {
            deleted_for,
            ..self
        }
    }

    /// Uses a credentials file in the format of `nsc`. The file contains a JWT and the seed of its
    /// nkey.
    #[must_use]
    pub fn credentials(self, file: impl Into<PathBuf>) -> Self {
        let login = Login::Credentials(file.into());
        Self { login, ..self }
    }

    /// Uses a user and a password to log in to the server.
    #[must_use]
    pub fn user(self, name: impl Into<String>, password: impl Into<String>) -> Self {
        let login = Login::Password(name.into(), password.into());
        Self { login, ..self }
    }

    /// Uses a token to log in to the server.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        let login = Login::Token(token.into());
        Self { login, ..self }
    }

    /// Encrypts each connection. A server without encryption is refused. An address that begins
    /// with `tls://` has the same effect for that server only.
    #[must_use]
    pub fn tls(self) -> Self {
        Self {
            needs_tls: true,
            ..self
        }
    }

    /// Trusts the certificates in this PEM file in addition to those of the operating system, and
    /// encrypts each connection.
    #[must_use]
    pub fn root_certificates(mut self, file: impl Into<PathBuf>) -> Self {
        self.roots.push(file.into());
        self.tls()
    }

    /// Sends a client certificate to the server, and encrypts each connection. The certificate and
    /// its key are read from PEM files.
    #[must_use]
    pub fn certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self.tls()
    }

    /// Allows unencrypted connections to other machines. Anyone who can read the network traffic
    /// can then read all messages. Anyone who can write to the network can send messages to every
    /// actor.
    #[must_use]
    pub fn plain_text_on_purpose(self) -> Self {
        Self {
            plain_text_on_purpose: true,
            ..self
        }
    }

    /// Sets the number of servers that store the records of the nodes. Has an effect only if this
    /// node creates the bucket of the records. The default is 1. Use 3 for a cluster of servers.
    #[must_use]
    pub fn replicas(self, replicas: usize) -> Self {
        Self { replicas, ..self }
    }

    /// Sets the time limit for joining. The default is 20 s. If the name belongs to a node that has
    /// crashed, joining takes about 6 s.
    #[must_use]
    pub fn join_within(self, join_within: Duration) -> Self {
        Self {
            join_within,
            ..self
        }
    }

    /// Sets the beginning of the name under which the server lists the connection. The default is
    /// `garrick`. The names of the cluster and of the node follow this text.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..self
        }
    }

    /// Runs the connection on this Tokio runtime. The timers and the I/O of this runtime must be
    /// enabled, and the runtime must run as long as the node. By default, the connection runs on
    /// its own thread.
    #[must_use]
    pub fn runtime(self, runtime: Handle) -> Self {
        Self {
            runtime: Some(runtime),
            ..self
        }
    }

    /// Parses the addresses of the servers. Returns an error if an address would lead to an
    /// unencrypted connection that is not allowed.
    pub(super) fn servers(&self) -> Result<Servers, NatsError> {
        let servers = Servers::parse(&self.servers)?;
        if !(self.needs_tls || self.plain_text_on_purpose) {
            servers.check_plain_text()?;
        }
        Ok(servers)
    }

    /// Returns the settings for the client.
    pub(super) async fn options(&self, servers: &Servers) -> Result<ConnectOptions, NatsError> {
        let needs_tls = self.needs_tls || servers.are_encrypted();
        let mut options = ConnectOptions::new()
            .ping_interval(PING_EVERY)
            .connection_timeout(CONNECT_WITHIN)
            .request_timeout(Some(REQUEST_WITHIN))
            .client_capacity(COMMANDS_MAX)
            .subscription_capacity(MESSAGES_MAX)
            .reconnect_delay_callback(again_after)
            .skip_subject_validation(true)
            .require_tls(needs_tls);
        if !(needs_tls || self.plain_text_on_purpose) {
            // A server must not lead the client to another machine, without encryption.
            options = options.ignore_discovered_servers();
        }
        for file in &self.roots {
            options = options.add_root_certificates(file.clone());
        }
        if let Some((certificate, key)) = &self.identity {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        match &self.login {
            Login::None => Ok(options),
            Login::Password(user, password) => {
                Ok(options.user_and_password(user.clone(), password.clone()))
            }
            Login::Token(token) => Ok(options.token(token.clone())),
            Login::Credentials(file) => {
                options
                    .credentials_file(file)
                    .await
                    .map_err(|error| NatsError::File {
                        path: file.display().to_string(),
                        why: error.to_string(),
                    })
            }
        }
    }
}

/// Returns the time to wait before an attempt to connect. The first attempt is made at once.
fn again_after(attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt).unwrap_or(u32::MAX).min(16);
    match doublings {
        0 | 1 => Duration::ZERO,
        _ => Duration::from_millis(1 << doublings).min(AGAIN_AFTER_MAX),
    }
}

impl fmt::Debug for NatsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No secrets: the addresses may contain a password, too.
        let servers = Servers::parse(&self.servers).map(|servers| servers.label());
        f.debug_struct("NatsBuilder")
            .field("servers", &servers.unwrap_or_default())
            .field("needs_tls", &self.needs_tls)
            .field("plain_text_on_purpose", &self.plain_text_on_purpose)
            .field("replicas", &self.replicas)
            .field("join_within", &self.join_within)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{NatsBuilder, again_after};
    use crate::nats::NatsError;

    #[test]
    fn a_connection_to_another_machine_needs_encryption_or_a_purpose() {
        let builder = NatsBuilder::new("nats://example.org");
        assert!(matches!(
            builder.servers(),
            Err(NatsError::PlainText { .. })
        ));
        builder.clone().tls().servers().unwrap();
        builder.plain_text_on_purpose().servers().unwrap();
    }

    #[test]
    fn secrets_are_not_shown() {
        let builder = NatsBuilder::new("nats://bank:hunter2@localhost").user("bank", "hunter2");
        let shown = format!("{builder:?}");
        assert!(shown.contains("localhost:4222"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn attempts_to_connect_have_a_bounded_distance() {
        assert_eq!(again_after(1), Duration::ZERO);
        assert!(again_after(2) < again_after(5));
        assert_eq!(again_after(usize::MAX), Duration::from_millis(512));
    }
}
