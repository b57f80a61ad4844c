//! Errors of the transport that connects the nodes of a cluster through NATS.

use std::error::Error;
use std::fmt;

use crate::error::JoinError;

/// Oldest supported version of the server: major and minor number.
pub(super) const VERSION_MIN: (u64, u64) = (2, 12);

/// Smallest supported `max_payload` of a server, in bytes.
pub(super) const PAYLOAD_MIN: usize = 256 << 10;

/// Reason why a node cannot connect to NATS. Neither the variants nor the error texts contain a
/// password.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NatsError {
    /// The address of a server cannot be read.
    Address {
        /// The address, without a user and a password.
        server: String,
        /// Reason why the address cannot be read.
        why: String,
    },
    /// The connection would not be encrypted, and the server is on another machine.
    PlainText {
        /// Host and port of the server.
        server: String,
    },
    /// A file with credentials or certificates cannot be read.
    File {
        /// Path of the file.
        path: String,
        /// Reason why the file cannot be read.
        why: String,
    },
    /// No server could be reached.
    Unreachable {
        /// Hosts and ports of the servers.
        servers: String,
        /// Reason why the latest attempt failed.
        why: String,
    },
    /// A server refuses the credentials.
    Refused {
        /// Hosts and ports of the servers.
        servers: String,
    },
    /// The server is older than 2.12.
    OldServer {
        /// Name or address of the server.
        server: String,
        /// Version of the server.
        version: String,
    },
    /// JetStream is not enabled on the server.
    NoJetStream {
        /// Name or address of the server.
        server: String,
    },
    /// The limit for the size of messages on the server is too low.
    SmallPayload {
        /// Name or address of the server.
        server: String,
        /// The server's `max_payload` in bytes.
        bytes: usize,
    },
    /// The bucket with the names of the nodes could not be used.
    Bucket {
        /// Name of the bucket.
        bucket: String,
        /// Reason why the bucket cannot be used.
        why: String,
    },
    /// The server does not allow the node to send messages to itself.
    Permissions {
        /// Subject of the node.
        subject: String,
        /// Latest problem that the server has reported, or an empty text.
        why: String,
    },
    /// A name is not allowed.
    Name {
        /// Reason why the name is not allowed.
        why: String,
    },
    /// The server has no cluster with this name.
    NoCluster {
        /// Name of the cluster.
        cluster: String,
        /// Names of the clusters of the server, if the user may list them.
        known: Vec<String>,
    },
    /// The cluster has no member with this name.
    NoNode {
        /// Name of the node.
        node: String,
        /// Names of the members.
        known: Vec<String>,
    },
    /// The server does not allow this operation for the user.
    Forbidden {
        /// Text that the server has reported.
        why: String,
    },
    /// The thread for the connection could not be started, or has ended.
    Thread {
        /// Reason why the thread does not run.
        why: String,
    },
}

impl fmt::Display for NatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = VERSION_MIN;
        match self {
            Self::Address { server, why } => {
                write!(f, "{server:?} is no address of a NATS server: {why}")
            }
            Self::PlainText { server } => write!(
                f,
                "the connection to {server} would not be encrypted: use `tls://`, \
                 `NatsBuilder::tls`, a server on this machine, or \
                 `NatsBuilder::plain_text_on_purpose`"
            ),
            Self::File { path, why } => write!(f, "{path}: {why}"),
            Self::Unreachable { servers, why } => {
                write!(f, "no NATS server can be reached at {servers}: {why}")
            }
            Self::Refused { servers } => {
                write!(f, "the NATS server at {servers} refuses the credentials")
            }
            Self::OldServer { server, version } => write!(
                f,
                "the NATS server {server} has version {version}: {major}.{minor} or a later one is \
                 needed, because older ones lose updates"
            ),
            Self::NoJetStream { server } => write!(
                f,
                "the NATS server {server} has no JetStream, which keeps the names of the nodes: \
                 start it with `--jetstream`"
            ),
            Self::SmallPayload { server, bytes } => write!(
                f,
                "the NATS server {server} has a max_payload of {bytes} bytes: at least \
                 {PAYLOAD_MIN} are needed"
            ),
            Self::Bucket { bucket, why } => {
                write!(f, "the key-value bucket {bucket} cannot be used: {why}")
            }
            Self::Permissions { subject, why } => write!(
                f,
                "nothing comes back from the subject {subject}: see `nats::permissions` {why}"
            ),
            Self::Name { why } => f.write_str(why),
            Self::NoCluster { cluster, .. } => write!(
                f,
                "there is no cluster {cluster:?}: none of its nodes has ever used entities on this \
                 NATS server"
            ),
            Self::NoNode { node, known } if known.is_empty() => {
                write!(f, "there is no member {node:?}, and no other one")
            }
            Self::NoNode { node, known } => write!(
                f,
                "there is no member {node:?}: the members are {}",
                known.join(", ")
            ),
            Self::Forbidden { why } => write!(
                f,
                "the NATS server does not permit it: {why} (`nats::permissions` returns what is \
                 needed)"
            ),
            Self::Thread { why } => write!(f, "the thread of the connection to NATS: {why}"),
        }
    }
}

impl Error for NatsError {}

impl From<NatsError> for JoinError {
    fn from(error: NatsError) -> Self {
        Self::Transport {
            why: error.to_string(),
        }
    }
}

/// Returns the text of an error, followed by the texts of its sources.
pub(super) fn with_sources(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}
