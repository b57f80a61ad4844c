//! A server with a log.

use std::time::{Duration, Instant};

use garrick_cluster::nats::{NatsLog, NatsLogOptions, NatsNet};
use garrick_journal::Log;
use garrick_journal::conformance::Store;
use garrick_testkit::HANGS_AFTER;

use crate::server::Server;

/// Settings of a server for large messages, with which an event may have 16 MiB.
const LARGE: &str = "max_payload: 64MB\nmax_pending: 128MB";

/// Logs of clusters on one server.
pub(crate) struct Streams {
    server: Server,
    cluster: u32,
    fences: bool,
}

impl Streams {
    /// Starts a server. Returns `None` if the server program is missing, and the test need not run
    /// then.
    pub(crate) fn new(fences: bool) -> Option<Self> {
        Some(Self {
            server: Server::start(LARGE)?,
            cluster: 0,
            fences,
        })
    }
}

impl Store for Streams {
    fn open(&mut self) -> Box<dyn Log> {
        let mut options = NatsLogOptions::new();
        if self.fences {
            options = options.fence_at_start();
        }
        let cluster = format!("c{}", self.cluster);
        Box::new(open(&self.server, options, &cluster))
    }

    fn clear(&mut self) {
        self.cluster += 1;
    }
}

/// Opens a log.
pub(crate) fn open(server: &Server, options: NatsLogOptions, cluster: &str) -> NatsLog {
    let servers = NatsNet::builder(server.address());
    options.open(servers, cluster, "node").unwrap()
}

/// Returns settings with a short time limit.
pub(crate) fn hasty() -> NatsLogOptions {
    NatsLogOptions::new().answer_within(Duration::from_secs(4))
}

/// Waits until the stream of events of the cluster `test` has `messages` messages.
pub(crate) fn until_stored(server: &Server, messages: u64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("g_test_events").await.unwrap();
        let began = Instant::now();
        loop {
            let stored = stream.get_info().await.unwrap().state.messages;
            if stored == messages {
                return;
            }
            assert!(began.elapsed() < HANGS_AFTER, "it has {stored} messages");
        }
    });
}
