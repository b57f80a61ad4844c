//! Counters and the state of a connection.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use crate::lock::lock;

use async_nats::Event;
use tokio::sync::watch;

/// State of a node's right to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NameState {
    /// No node has joined the cluster through this network.
    #[default]
    None,
    /// The node has the name.
    Held,
    /// The most recent renewal has failed. If renewals fail for some seconds, another node may take
    /// over the name.
    Unsure,
    /// Another node has the name, or the server has lost the record of the name. The node leaves.
    Lost,
    /// The node has left. Its record was deleted, if the server could be reached.
    Left,
}

/// Counters and the state of a [`NatsNet`](super::NatsNet).
/// [`NatsNet::sample`](super::NatsNet::sample) returns them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NatsSample {
    /// True if the node is connected to a supported server.
    pub is_connected: bool,
    /// The server of the current or most recent connection: its name, address and version.
    pub server: String,
    /// Number of connections that were made for the node, including the first one.
    pub connects: u64,
    /// State of the node's right to its name.
    pub name: NameState,
    /// Number of other nodes whose NATS subject this node knows.
    pub nodes: usize,
    /// Number of frames that were passed to the connection.
    pub frames_sent: u64,
    /// Number of frames that have arrived.
    pub frames_received: u64,
    /// Number of frames that were refused, because there was no connection, no such node or no
    /// room, or because the frame was larger than the server allows.
    pub frames_refused: u64,
    /// Number of bytes in frames that wait for the connection.
    pub bytes_waiting: usize,
    /// Number of times that the client has reported dropped frames. The client drops frames that
    /// are not processed fast enough, but does not report each dropped frame.
    pub slow_consumers: u64,
    /// The newest problem that the server or the client has reported, or an empty text.
    pub problem: String,
}

/// Counters and the state of the connection of a node.
pub(super) struct Counts {
    pub(super) frames_sent: AtomicU64,
    pub(super) frames_received: AtomicU64,
    pub(super) frames_refused: AtomicU64,
    slow_consumers: AtomicU64,
    name: Mutex<NameState>,
    problem: Mutex<String>,
    /// Number of connections so far. The task that follows the records of other nodes reads this
    /// number, and starts again after each connection.
    connects: watch::Sender<u64>,
}

impl Counts {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            frames_sent: AtomicU64::new(0),
            frames_received: AtomicU64::new(0),
            frames_refused: AtomicU64::new(0),
            slow_consumers: AtomicU64::new(0),
            name: Mutex::default(),
            problem: Mutex::default(),
            connects: watch::Sender::new(0),
        })
    }

    pub(super) fn set_name(&self, name: NameState) {
        *lock(&self.name) = name;
    }

    pub(super) fn name(&self) -> NameState {
        *lock(&self.name)
    }

    pub(super) fn tell(&self, problem: impl Into<String>) {
        *lock(&self.problem) = problem.into();
    }

    pub(super) fn problem(&self) -> String {
        lock(&self.problem).clone()
    }

    /// Returns a receiver that is notified of each connection.
    pub(super) fn connects(&self) -> watch::Receiver<u64> {
        self.connects.subscribe()
    }

    /// Sets the number of connections, if the known number is smaller. The client counts all its
    /// connections, but does not report each of them as an event.
    pub(super) fn set_connects(&self, connects: u64) {
        self.connects.send_if_modified(|known| {
            let is_new = *known < connects;
            *known = connects.max(*known);
            is_new
        });
    }

    /// Handles an event that the NATS client reports, such as a new connection or an error.
    pub(super) fn on_event(&self, event: &Event) {
        match event {
            Event::Connected => self.connects.send_modify(|count| *count += 1),
            Event::SlowConsumer(_) => {
                self.slow_consumers.fetch_add(1, Relaxed);
            }
            Event::ServerError(_) | Event::ClientError(_) | Event::LameDuckMode => {
                self.tell(event.to_string());
            }
            Event::Disconnected | Event::Draining | Event::Closed => {}
        }
    }

    /// Returns all counters, except the counters that the connection itself keeps.
    pub(super) fn sample(&self) -> NatsSample {
        let get = |count: &AtomicU64| count.load(Relaxed);
        NatsSample {
            connects: *self.connects.borrow(),
            name: self.name(),
            frames_sent: get(&self.frames_sent),
            frames_received: get(&self.frames_received),
            frames_refused: get(&self.frames_refused),
            slow_consumers: get(&self.slow_consumers),
            problem: self.problem(),
            ..NatsSample::default()
        }
    }
}

/// Increments a counter. Uses relaxed ordering, because the counters do not order other accesses.
pub(super) fn add(count: &AtomicU64) {
    count.fetch_add(1, Relaxed);
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sample().fmt(f)
    }
}
