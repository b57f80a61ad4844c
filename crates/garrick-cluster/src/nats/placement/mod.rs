//! Placements on NATS: records in a key-value bucket.

mod mirror;

mod change;
mod follow;

use std::fmt;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::kv::Store;
use garrick_actor::{Actor, Address, Context, Handle, Internal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use self::change::Changes;
use self::mirror::Mirror;
use super::bucket::Bucket;
use super::builder::{NatsBuilder, REQUEST_WITHIN};
use super::connection;
use super::counts::Counts;
use super::echo::Echoes;
use super::error::NatsError;
use super::home::Home;
use super::names;
use crate::error::JoinError;
use crate::lock::lock;
use crate::name::NodeName;
use crate::placement::{Change, News, Placement, Request, VALUE_BYTES_MAX};

/// Additional time after the time limit of a call. If a call has not ended after its time limit
/// plus this time, the runtime counts as stuck.
const GRACE: Duration = Duration::from_secs(15);

/// Maximum number of changes under way. Further changes wait.
const CHANGES_MAX: usize = 4_096;

/// Space that is reserved for the headers of a record, in bytes.
const HEADERS: usize = 1_024;

/// A placement in a key-value bucket of NATS. Clones are handles to the same placement.
///
/// Reads are answered from a copy, which a watch keeps up to date. Without a connection, reads are
/// answered with the last known state, and changes end with
/// [`Outcome::Unknown`](crate::placement::Outcome::Unknown) within some seconds. A read after a
/// change of the same node includes that change.
///
/// # Examples
/// ```no_run
/// use garrick_actor::System;
/// use garrick_cluster::nats::{NatsNet, NatsPlacement};
///
/// let system = System::new()?;
/// let servers = NatsNet::builder("nats://localhost");
/// let placement = NatsPlacement::open(&system.handle(), servers, "bank", "bank-1")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct NatsPlacement {
    desk: Address<Request>,
}

/// Passes requests on to the connection. A request that a turn makes is sent when the turn commits.
struct Desk {
    requests: UnboundedSender<Request>,
    /// Ends the watch of the records when it is dropped.
    _ends: watch::Sender<()>,
}

/// State that the tasks of a placement share.
struct Shared {
    mirror: Mutex<Mirror>,
    /// Number of times that the copy of the records has become exact (equal to a state that all
    /// records had at one time).
    advances: watch::Sender<u64>,
}

impl Shared {
    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        lock(&self.mirror)
    }
}

impl NatsPlacement {
    /// Opens the placement of a cluster. Creates its bucket if there is none. `servers` contains
    /// the settings of the connection, and the number of replicas of a new bucket. `node` is the
    /// name of this node, to whose subjects the server may send answers. Blocks until the server
    /// has answered, so call this method only on a thread that may block.
    ///
    /// # Errors
    /// Returns [`JoinError::Transport`] if no usable server can be reached or the bucket cannot be
    /// used. Returns [`JoinError::Closed`] if the system is shutting down.
    pub fn open(
        system: &Handle,
        servers: NatsBuilder,
        cluster: &str,
        node: &str,
    ) -> Result<Self, JoinError> {
        names::check_cluster(cluster)?;
        let node = NodeName::new(node)?;
        let home = Home::new(servers.runtime.clone())?;
        let (tell, told) = sync_channel(1);
        let (limit, cluster) = (servers.join_within, cluster.to_owned());
        home.handle().spawn(async move {
            let opened = open(&servers, &cluster, &node);
            // The caller may have given up.
            let _ = tell.send(tokio::time::timeout(servers.join_within, opened).await);
        });
        let thread = |why: &str| NatsError::Thread {
            why: why.to_owned(),
        };
        let told = told.recv_timeout(limit + GRACE);
        let opened = told.map_err(|_| thread("its runtime does not run"))?;
        let opened = opened.map_err(|_| thread("no answer within the time limit"))??;
        let (requests, incoming) = unbounded_channel();
        let (ends, ended) = watch::channel(());
        let desk = Desk {
            requests,
            _ends: ends,
        };
        let desk = system.spawn(Internal(desk));
        let desk = desk.map_err(|_| JoinError::Closed)?;
        opened.begin(&home, incoming, ended);
        Ok(Self { desk })
    }

    fn request(&self, request: Request) {
        // If the actor has ended, there is no answer.
        let _ = self.desk.send(request);
    }
}

/// A bucket that was opened.
struct Opened {
    changes: Changes,
    counts: Arc<Counts>,
}

/// Opens the bucket that contains the records of the placement.
async fn open(servers: &NatsBuilder, cluster: &str, node: &NodeName) -> Result<Opened, NatsError> {
    let counts = Counts::new();
    let label = format!("{} {cluster}/{node} placement", servers.label);
    let inbox = Some(names::inbox(cluster, node));
    let client = connection::open(servers, label, inbox, &counts).await?;
    let bucket = Bucket {
        name: names::placement(cluster),
        description: format!("placement of the Garrick cluster {cluster}"),
        record_max: (VALUE_BYTES_MAX + HEADERS) as i32,
        replicas: servers.replicas,
    };
    let store = bucket.open(&client).await?;
    let echoes = Echoes::begin(&client);
    let context = ContextBuilder::new()
        .timeout(REQUEST_WITHIN)
        .ack_timeout(REQUEST_WITHIN)
        .max_ack_inflight(CHANGES_MAX)
        .backpressure_on_inflight(true)
        .build(client);
    let shared = Arc::new(Shared {
        mirror: Mutex::default(),
        advances: watch::Sender::new(0),
    });
    let changes = Changes {
        store,
        context,
        shared,
        deleted_for: servers.deleted_for,
        _echoes: echoes,
    };
    Ok(Opened { changes, counts })
}

impl Opened {
    /// Starts the tasks that serve requests. The thread of the connection ends with these tasks.
    fn begin(self, home: &Home, incoming: UnboundedReceiver<Request>, ended: watch::Receiver<()>) {
        let store: Store = self.changes.store.clone();
        let shared = Arc::clone(&self.changes.shared);
        let deleted_for = self.changes.deleted_for;
        let following = follow::follow(store, shared, deleted_for, self.counts, ended);
        let alive = home.alive();
        home.handle().spawn(async move {
            following.await;
            drop(alive);
        });
        let alive = home.alive();
        let changes = Arc::new(self.changes);
        home.handle().spawn(async move {
            serve(changes, incoming).await;
            drop(alive);
        });
    }
}

/// Serves requests until all senders are dropped.
async fn serve(changes: Arc<Changes>, mut incoming: UnboundedReceiver<Request>) {
    while let Some(request) = incoming.recv().await {
        match request {
            Request::Read { since, to } => {
                let answers = {
                    let mut mirror = changes.shared.mirror();
                    mirror.read(since, to);
                    mirror.answers()
                };
                for (to, news) in answers {
                    let _ = to.send(news);
                }
            }
            Request::Change { change, to } => {
                let changes = Arc::clone(&changes);
                tokio::spawn(async move {
                    let (key, ticket) = (Arc::clone(&change.key), change.ticket);
                    let outcome = changes.change(change).await;
                    let _ = to.send(News::Outcome {
                        key,
                        ticket,
                        outcome,
                    });
                });
            }
            Request::Watch(to) => changes.shared.mirror().watchers.push(to),
        }
    }
}

impl Placement for NatsPlacement {
    fn read(&self, since: u64, to: &Address<News>) {
        let to = to.clone();
        self.request(Request::Read { since, to });
    }

    fn change(&self, change: Change, to: &Address<News>) {
        let to = to.clone();
        self.request(Request::Change { change, to });
    }

    fn watch(&self, to: &Address<News>) {
        self.request(Request::Watch(to.clone()));
    }
}

impl Actor for Desk {
    type Msg = Request;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, request: Request, _: &mut Context<'_, Request>) {
        // After the end of the tasks, there are no answers.
        let _ = self.requests.send(request);
    }
}

impl fmt::Debug for NatsPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsPlacement").finish_non_exhaustive()
    }
}
