//! Opening of logs on NATS.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_journal::JournalError;

use super::store::{Sizes, Store};
use super::{Due, GRACE, NatsLog, Notes};
use crate::name::NodeName;
use crate::nats::builder::NatsBuilder;
use crate::nats::connection;
use crate::nats::counts::Counts;
use crate::nats::home::Home;
use crate::nats::names;

/// Maximum time to wait for the acknowledgement of a message.
const ACK_WITHIN: Duration = Duration::from_secs(5);

/// Settings of a [`NatsLog`].
#[derive(Debug, Clone)]
#[must_use]
pub struct NatsLogOptions {
    max_bytes: Option<u64>,
    answer_within: Duration,
    fences: bool,
}

impl Default for NatsLogOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl NatsLogOptions {
    /// Returns the default settings.
    pub fn new() -> Self {
        Self {
            max_bytes: None,
            answer_within: Duration::from_secs(20),
            fences: false,
        }
    }

    /// Sets the maximum total size of the events of all journals in bytes. Has an effect only if
    /// this process creates the stream of these events. When the maximum is reached, groups of
    /// events are refused with [`JournalError::Full`]. By default, only the disk of the server
    /// limits the size.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self {
            max_bytes: Some(max_bytes),
            ..self
        }
    }

    /// Sets the time limit of a call. The default is 20 s. The limit should be longer than an
    /// election in a cluster of servers, which takes 5 to 10 s.
    pub fn answer_within(self, answer_within: Duration) -> Self {
        Self {
            answer_within,
            ..self
        }
    }

    /// Makes each call of [`Log::start`](garrick_journal::Log::start) append a message without
    /// events. So `start` returns the newest state, and writers that started earlier can no longer
    /// append. Use this option if a journal moves between nodes, and use it in all processes that
    /// append to the journal: if a journal has no events when its entity ends, the messages without
    /// events are removed from the server.
    pub fn fence_at_start(self) -> Self {
        Self {
            fences: true,
            ..self
        }
    }

    /// Opens the log of the journals of a cluster. Creates its streams if they do not exist.
    /// `servers` contains the settings of the connection, and the number of replicas of new
    /// streams. `node` is the name of this node. The server sends its answers to subjects of this
    /// node. Blocks until the server has answered.
    ///
    /// # Errors
    /// Returns [`JournalError::Engine`] if no usable server can be reached or a stream cannot be
    /// opened. Returns [`JournalError::Foreign`] if a stream exists with settings that would lose
    /// events.
    pub fn open(
        self,
        servers: NatsBuilder,
        cluster: &str,
        node: &str,
    ) -> Result<NatsLog, JournalError> {
        let failed = |why: String| JournalError::Engine {
            doing: "open the journals of",
            file: cluster.to_owned(),
            source: why.into(),
        };
        names::check_cluster(cluster).map_err(|error| failed(error.to_string()))?;
        let node = NodeName::new(node).map_err(|error| failed(error.to_string()))?;
        let home = Home::new(servers.runtime.clone()).map_err(|error| failed(error.to_string()))?;
        let mut writer = [0; 8];
        getrandom::fill(&mut writer).map_err(|error| failed(error.to_string()))?;
        let limit = servers.join_within;
        let (tell, told) = sync_channel(1);
        let (name, answer_within) = (cluster.to_owned(), self.answer_within);
        let sizes = Sizes {
            replicas: servers.replicas,
            max_bytes: self
                .max_bytes
                .map_or(-1, |bytes| bytes.try_into().unwrap_or(i64::MAX)),
        };
        home.handle().spawn(async move {
            let opened = tokio::time::timeout(limit, async {
                let label = format!("{} {name}/{node} journals", servers.label);
                let inbox = Some(names::inbox(&name, &node));
                let counts = Counts::new();
                let client = connection::open(&servers, label, inbox, &counts).await;
                let client = client.map_err(|error| JournalError::Engine {
                    doing: "connect to the journals of",
                    file: name.clone(),
                    source: error.into(),
                })?;
                let ack_within = ACK_WITHIN.min(answer_within / 4);
                Store::open(client, &name, &sizes, ack_within).await
            });
            // The caller may have given up.
            let _ = tell.send(opened.await);
        });
        let told = told.recv_timeout(limit + GRACE);
        let timed_out = |_| failed("no answer within the time limit".to_owned());
        let opened = told.map_err(|_| failed("its runtime does not run".to_owned()))?;
        let store = opened.map_err(timed_out)??;
        Ok(NatsLog {
            home,
            store,
            writer: u64::from_le_bytes(writer),
            group: AtomicU64::new(0),
            answer_within,
            fences: self.fences,
            journals: Mutex::default(),
            appending: Mutex::default(),
            due: Due::default(),
            purging: Arc::new(AtomicBool::new(false)),
            notes: Notes::default(),
            written: AtomicU64::new(0),
            saved: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            cause: Mutex::default(),
        })
    }
}

impl NatsLog {
    /// Opens the log of the journals of a cluster with the default settings.
    ///
    /// # Errors
    /// Returns the errors of [`NatsLogOptions::open`].
    pub fn open(servers: NatsBuilder, cluster: &str, node: &str) -> Result<Self, JournalError> {
        NatsLogOptions::new().open(servers, cluster, node)
    }
}
