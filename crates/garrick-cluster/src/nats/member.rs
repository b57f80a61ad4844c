//! A node that has joined: its connection, and the tasks on it.
//!
//! | task | does | ends |
//! | --- | --- | --- |
//! | `receive` | gives frames to the node | when the node leaves |
//! | `send` | gives frames to the client | when nobody can send any more, so that a node that leaves can still report this |
//! | `renew` | renews the record each second, and deletes it | when the node leaves, or has lost its name |
//! | `follow` | watches the records of all nodes, and begins anew after each connection | when the node leaves |

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::kv::{Entry, Operation, Store};
use async_nats::{Client, Message, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use garrick_actor::Address;
use hashbrown::HashSet;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::bucket::Bucket;
use super::builder::{NatsBuilder, REQUEST_WITHIN};
use super::connection;
use super::counts::{Counts, NameState, NatsSample, add};
use super::echo::Echoes;
use super::error::{NatsError, with_sources};
use super::home::Alive;
use super::lease::{Holder, Lease, NameBucket, RENEW_EVERY, Renewed, Unclaimed, claim};
use super::lives::Lives;
use super::names;
use super::outbox::{Outbox, Parcel, Parcels, outbox};
use crate::error::JoinError;
use crate::lock::lock;
use crate::name::NodeName;
use crate::transport::Incoming;

/// Time before a failed watch is started again.
const WATCH_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Content of the message that a node sends to itself when it joins.
const ECHO: &[u8] = b"garrick echo";

/// A node that is joining.
pub(super) struct Joining {
    pub(super) builder: NatsBuilder,
    pub(super) cluster: String,
    pub(super) name: NodeName,
    pub(super) incoming: Address<Incoming>,
    pub(super) alive: Alive,
}

/// A node that has joined.
pub(super) struct Member {
    name: NodeName,
    life: u64,
    client: Client,
    outbox: Outbox,
    lives: Arc<Lives>,
    counts: Arc<Counts>,
    /// False if the server of the latest connection is not supported.
    is_allowed: Arc<AtomicBool>,
    /// True if the node is leaving, has left, or has lost its name.
    leaves: Arc<watch::Sender<bool>>,
    _echoes: Echoes,
    /// Receiver of a channel. The channel is closed when the node's record has been deleted, or
    /// when the node has lost its name.
    released: Mutex<Receiver<()>>,
}

impl Member {
    pub(super) fn name(&self) -> &NodeName {
        &self.name
    }

    pub(super) fn life(&self) -> u64 {
        self.life
    }

    /// Returns true if the node is leaving, has left, or has lost its name.
    pub(super) fn has_left(&self) -> bool {
        *self.leaves.borrow()
    }

    /// Begins to leave the cluster.
    pub(super) fn leave(&self) {
        self.leaves.send_replace(true);
    }

    fn is_connected(&self) -> bool {
        // Relaxed: the flag publishes nothing.
        self.is_allowed.load(Relaxed) && self.client.connection_state() == State::Connected
    }

    /// Sends a frame. Returns false if that is not possible now.
    pub(super) fn send(&self, to: &NodeName, content: Bytes) -> bool {
        let is_possible = self.is_connected()
            && content.len() <= self.client.max_payload()
            && self.counts.name() != NameState::Lost;
        let to = is_possible.then(|| self.lives.subject(to)).flatten();
        let is_sent = to.is_some_and(|to| self.outbox.push(to, content));
        if !is_sent {
            add(&self.counts.frames_refused);
        }
        is_sent
    }

    /// Returns the maximum size of a frame in bytes.
    pub(super) fn max_frame(&self) -> usize {
        self.client.max_payload()
    }

    /// Leaves the cluster, and waits until the record of the node is deleted and all earlier frames
    /// are written. Returns false if that takes longer than `limit`.
    pub(super) fn close(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        self.leave();
        let is_over = |ended: Result<(), RecvTimeoutError>| ended != Err(RecvTimeoutError::Timeout);
        let left = || until.saturating_duration_since(Instant::now());
        let released = lock(&self.released);
        is_over(released.recv_timeout(left())) && {
            let written = self.outbox.mark();
            is_over(written.recv_timeout(left()))
        }
    }

    pub(super) fn sample(&self) -> NatsSample {
        let info = self.client.server_info();
        NatsSample {
            is_connected: self.is_connected(),
            server: connection::label(&info),
            nodes: self.lives.len(),
            bytes_waiting: self.outbox.bytes(),
            ..self.counts.sample()
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Joins a cluster.
pub(super) async fn join(joining: Joining) -> Result<Member, JoinError> {
    let until = tokio::time::Instant::now() + joining.builder.join_within;
    let (cluster, name) = (joining.cluster.as_str(), &joining.name);
    let counts = Counts::new();
    let label = format!("{} {cluster}/{name}", joining.builder.label);
    let inbox = names::inbox(cluster, name);
    let client = connection::open(&joining.builder, label, Some(inbox), &counts).await?;
    let bucket = Bucket {
        name: names::bucket(cluster),
        description: format!("nodes of the Garrick cluster {cluster}"),
        record_max: 1_024,
        replicas: joining.builder.replicas,
    };
    let store = bucket.open(&client).await?;
    let names = NameBucket {
        store: store.clone(),
        context: ContextBuilder::new()
            .timeout(REQUEST_WITHIN)
            .ack_timeout(REQUEST_WITHIN)
            .build(client.clone()),
        deleted_for: joining.builder.deleted_for,
    };
    let lease = match claim(names, name.clone(), until).await {
        Ok(lease) => lease,
        Err(Unclaimed::Taken) => {
            let name = name.to_string();
            return Err(JoinError::Taken { name });
        }
        Err(Unclaimed::TimedOut(why)) => {
            let bucket = names::bucket(cluster);
            return Err(NatsError::Bucket { bucket, why }.into());
        }
    };
    let own = names::subject(cluster, name.as_str(), lease.life());
    match subscribe(&client, own, &counts).await {
        Ok(subscribed) => Ok(begin(joining, client, store, lease, subscribed, counts)),
        Err(error) => {
            lease.release().await;
            Err(error.into())
        }
    }
}

/// Starts the tasks of a node that has claimed its name and subscribed to its subject.
fn begin(
    joining: Joining,
    client: Client,
    store: Store,
    lease: Lease,
    subscribed: Subscribed,
    counts: Arc<Counts>,
) -> Member {
    counts.set_name(NameState::Held);
    let (outbox, parcels) = outbox();
    let (keeps, released) = sync_channel(1);
    let (incoming, alive) = (joining.incoming, joining.alive);
    let member = Member {
        name: joining.name,
        life: lease.life(),
        client: client.clone(),
        outbox,
        lives: Lives::new(&joining.cluster),
        counts: Arc::clone(&counts),
        is_allowed: Arc::new(AtomicBool::new(true)),
        leaves: Arc::new(watch::Sender::new(false)),
        _echoes: Echoes::begin(&client),
        released: Mutex::new(released),
    };
    let leaves = Arc::clone(&member.leaves);
    incoming.watch(move |_| {
        leaves.send_replace(true);
    });
    let renewal = Renewal {
        lease,
        client: client.clone(),
        incoming: incoming.clone(),
        counts: Arc::clone(&counts),
        is_allowed: Arc::clone(&member.is_allowed),
        leaves: Arc::clone(&member.leaves),
    };
    let arrivals = Arrivals {
        incoming,
        lives: Arc::clone(&member.lives),
        counts: Arc::clone(&counts),
    };
    let told = || member.leaves.subscribe();
    let (own, lives) = (subscribed.own.clone(), Arc::clone(&member.lives));
    run(&alive, arrivals.receive(subscribed, told()));
    run(&alive, send(client, parcels, own, Arc::clone(&counts)));
    run(&alive, renewal.renew(told(), keeps));
    run(&alive, follow(store, lives, counts, told()));
    member
}

/// Runs a task. The thread of the connection stays alive until the task has ended.
fn run(alive: &Alive, task: impl Future<Output = ()> + Send + 'static) {
    let alive = alive.clone();
    tokio::spawn(async move {
        task.await;
        drop(alive);
    });
}

/// A subscription to the subject of this node.
struct Subscribed {
    own: Subject,
    subscriber: Subscriber,
    /// Frames that arrived before the node was ready to handle them.
    early: Vec<Message>,
}

/// Subscribes to the subject of this node, and checks that frames arrive there.
async fn subscribe(
    client: &Client,
    own: Subject,
    counts: &Counts,
) -> Result<Subscribed, NatsError> {
    let problem = |why: String| NatsError::Permissions {
        subject: own.to_string(),
        why,
    };
    let subscribed = client.subscribe(own.clone()).await;
    let mut subscriber = subscribed.map_err(|error| problem(error.to_string()))?;
    let echo = client.publish(own.clone(), Bytes::from_static(ECHO)).await;
    echo.map_err(|error| problem(error.to_string()))?;
    let mut early = Vec::new();
    let comes_back = async {
        while let Some(message) = subscriber.next().await {
            if message.payload == ECHO {
                return true;
            }
            early.push(message);
        }
        false
    };
    match timeout(REQUEST_WITHIN, comes_back).await {
        Ok(true) => Ok(Subscribed {
            own,
            subscriber,
            early,
        }),
        Ok(false) | Err(_) => Err(problem(counts.problem())),
    }
}

/// Waits until the node leaves.
async fn until_left(leaves: &mut watch::Receiver<bool>) {
    // An error means that nobody can tell any more.
    let _ = leaves.wait_for(|leaves| *leaves).await;
}

/// The task that receives the frames for the node.
struct Arrivals {
    incoming: Address<Incoming>,
    lives: Arc<Lives>,
    counts: Arc<Counts>,
}

impl Arrivals {
    /// Passes frames to the node until the node leaves.
    async fn receive(self, subscribed: Subscribed, mut leaves: watch::Receiver<bool>) {
        let mut subscriber = subscribed.subscriber;
        for message in subscribed.early {
            self.take(message);
        }
        loop {
            let message = tokio::select! {
                () = until_left(&mut leaves) => return,
                message = subscriber.next() => message,
            };
            match message {
                Some(message) => self.take(message),
                None => return,
            }
        }
    }

    fn take(&self, message: Message) {
        add(&self.counts.frames_received);
        if let Some(sender) = &message.reply {
            self.lives.learn(sender);
        }
        // After the end of the node, it leaves.
        let _ = self.incoming.send(Incoming::new(message.payload));
    }
}

/// Passes frames to the client, in the order in which they were added.
async fn send(client: Client, mut parcels: Parcels, own: Subject, counts: Arc<Counts>) {
    while let Some(parcel) = parcels.next().await {
        match parcel {
            Parcel::Frame { to, content } => {
                let bytes = content.len();
                // Waits if the client has many commands. The outbox has a bound.
                let sent = client.publish_with_reply(to, own.clone(), content).await;
                parcels.taken(bytes);
                match sent {
                    Ok(()) => add(&counts.frames_sent),
                    Err(error) => {
                        add(&counts.frames_refused);
                        counts.tell(with_sources(&error));
                    }
                }
            }
            Parcel::Mark(told) => {
                flush(&client).await;
                drop(told);
            }
        }
    }
    // The client drops what it has not written when it is dropped.
    flush(&client).await;
}

async fn flush(client: &Client) {
    let _ = timeout(REQUEST_WITHIN, client.flush()).await;
}

/// The task that renews a record.
struct Renewal {
    lease: Lease,
    client: Client,
    incoming: Address<Incoming>,
    counts: Arc<Counts>,
    is_allowed: Arc<AtomicBool>,
    leaves: Arc<watch::Sender<bool>>,
}

impl Renewal {
    /// Renews the record each second until the node leaves or has lost its name. If the node
    /// leaves, deletes the record. At the end, drops `keeps`. From then on, [`Member::close`] no
    /// longer waits for this task.
    async fn renew(mut self, mut told: watch::Receiver<bool>, keeps: SyncSender<()>) {
        let mut ticks = interval(RENEW_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = until_left(&mut told) => break,
                _ = ticks.tick() => {}
            }
            match self.step().await {
                Renewed::Held => self.counts.set_name(NameState::Held),
                Renewed::Unsure(why) => {
                    self.counts.set_name(NameState::Unsure);
                    self.counts.tell(why);
                }
                Renewed::Lost => {
                    self.counts.set_name(NameState::Lost);
                    self.incoming.stop();
                    self.leaves.send_replace(true);
                    return;
                }
            }
        }
        self.lease.release().await;
        self.counts.set_name(NameState::Left);
        drop(keeps);
    }

    /// Renews the record once, if the client is connected to a server that is supported.
    async fn step(&mut self) -> Renewed {
        self.counts
            .set_connects(self.client.statistics().connects.load(Relaxed));
        if self.client.connection_state() != State::Connected {
            return Renewed::Unsure("there is no connection to a NATS server".to_owned());
        }
        let checked = connection::check(&self.client.server_info());
        // Relaxed: the flag publishes nothing.
        self.is_allowed.store(checked.is_ok(), Relaxed);
        match checked {
            Ok(()) => self.lease.renew().await,
            Err(error) => {
                // There may be a better one.
                let _ = self.client.force_reconnect().await;
                Renewed::Unsure(error.to_string())
            }
        }
    }
}

/// Watches the records of all nodes. Starts the watch again after each new connection.
async fn follow(
    store: Store,
    lives: Arc<Lives>,
    counts: Arc<Counts>,
    mut leaves: watch::Receiver<bool>,
) {
    let mut connects = counts.connects();
    loop {
        connects.mark_unchanged();
        let why = tokio::select! {
            () = until_left(&mut leaves) => return,
            Ok(()) = connects.changed() => continue,
            why = follow_once(&store, &lives) => why,
        };
        counts.tell(why);
        sleep(WATCH_AGAIN_AFTER).await;
    }
}

/// Watches the records of all nodes until an error occurs. Returns the error's text.
async fn follow_once(store: &Store, lives: &Lives) -> String {
    let mut news = match store.watch_with_history("*").await {
        Ok(news) => news,
        Err(error) => return with_sources(&error),
    };
    // The nodes that were reported, until the watch has reported all records.
    let mut told = Some(HashSet::new());
    while let Some(entry) = news.next().await {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return with_sources(&error),
        };
        note(lives, &entry);
        let is_last = entry.delta == 0;
        if let Some(nodes) = &mut told {
            nodes.insert(entry.key);
        }
        if is_last && let Some(nodes) = told.take() {
            // The server forgets deletions.
            lives.keep(&nodes);
        }
    }
    "the watch of the nodes has ended".to_owned()
}

/// Updates the table of nodes after a change of a node's record.
fn note(lives: &Lives, entry: &Entry) {
    let Ok(node) = NodeName::new(&entry.key) else {
        return;
    };
    match (entry.operation, Holder::parse(&entry.value)) {
        (Operation::Put, Some(holder)) => lives.set(&node, holder.life_at(entry.revision)),
        _ => lives.remove(&node),
    }
}
