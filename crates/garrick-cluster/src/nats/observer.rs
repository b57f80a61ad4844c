//! Observers: programs that read the state of a cluster without being members.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::{ContextBuilder, GetStreamErrorKind};
use async_nats::jetstream::kv::{Entry, Store, UpdateErrorKind};
use async_nats::jetstream::{ErrorCode, context::GetStreamError};
use futures_util::StreamExt;
use hashbrown::HashMap;
use tokio::time::timeout;

use super::bucket::value_of;
use super::builder::{NatsBuilder, REQUEST_WITHIN};
use super::connection;
use super::counts::Counts;
use super::error::{NatsError, with_sources};
use super::home::Home;
use super::names;
use super::net::stands_still;
use crate::members::{DrainOrder, Overview};
use crate::name::NodeName;
use crate::placement::Record;

/// Additional time after the time limit of a call. If a call has not ended after its time limit
/// plus this time, the runtime counts as stuck.
const GRACE: Duration = Duration::from_secs(15);

/// Maximum time to wait for the renewal of any membership. Members renew their memberships each
/// second.
const BEAT_WITHIN: Duration = Duration::from_millis(2_500);

/// Time within which all records must have arrived.
const RECORDS_WITHIN: Duration = Duration::from_secs(10);

/// Number of attempts to order a node to drain (to hand its shards over and to leave). An attempt
/// fails if the node renews its record at the same time.
const ATTEMPTS: u32 = 16;

/// Maximum number of clusters whose names an error contains.
const CLUSTERS_MAX: usize = 100;

/// An observer of a cluster on NATS: it reads the records of the placement, and can order a node to
/// [drain](crate::Entities::drain), which means to hand its shards over and to end its membership.
/// An observer is not a member, and creates nothing. Clones are handles to the same connection.
///
/// # Examples
/// ```no_run
/// use garrick_cluster::nats::{NatsNet, NatsObserver};
///
/// let servers = NatsNet::builder("nats://localhost");
/// let observer = NatsObserver::open(servers, "bank", "operator")?;
/// for member in observer.overview()?.members {
///     println!("{}: {} shards", member.name, member.owned);
/// }
/// observer.drain("bank-1")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct NatsObserver {
    home: Arc<Home>,
    place: Arc<Place>,
    limit: Duration,
}

/// An opened bucket with the records of a cluster.
struct Place {
    store: Store,
    cluster: String,
    counts: Arc<Counts>,
}

/// The records of a placement, as the server has sent them.
#[derive(Default)]
struct Told {
    records: HashMap<String, Entry>,
    /// Server time in nanoseconds at which the newest record was stored. If that record was stored
    /// while the observer was reading, this time is close to the current time.
    newest: i128,
}

impl NatsObserver {
    /// Connects to a cluster. `name` is the node name in the permissions of the user
    /// ([`nats::permissions`](super::permissions)). The server sends its answers to subjects with
    /// this name. A running node may have the same name.
    ///
    /// # Errors
    /// Returns a [`NatsError`] if no usable server can be reached, the cluster does not exist, or
    /// the user has no permission to read its records. Returns [`NatsError::Name`] if a name is not
    /// allowed.
    pub fn open(servers: NatsBuilder, cluster: &str, name: &str) -> Result<Self, NatsError> {
        let name = names::check_cluster(cluster).and_then(|()| NodeName::new(name));
        let name = name.map_err(|error| NatsError::Name {
            why: error.to_string(),
        })?;
        let home = Home::new(servers.runtime.clone())?;
        let (limit, cluster) = (servers.join_within, cluster.to_owned());
        let opening = async move { open(&servers, cluster, &name).await };
        let place = block_on(&home, limit, opening)?;
        Ok(Self {
            home: Arc::new(home),
            place: Arc::new(place),
            limit,
        })
    }

    /// Reads the records. Waits for at most 2.5 s until any member renews its membership, to find
    /// out how long the other members have been silent. Blocks the thread.
    ///
    /// # Errors
    /// Returns a [`NatsError`] if the server does not answer, or does not let the user read.
    pub fn overview(&self) -> Result<Overview, NatsError> {
        let place = self.place.clone();
        block_on(&self.home, self.limit, async move {
            let told = place.read(BEAT_WITHIN).await?;
            let mut overview = Overview::read(&told.records());
            for member in &mut overview.members {
                member.silent_for = told.age(&format!("member.{}", member.name));
            }
            Ok(overview)
        })
    }

    /// Orders a node to [drain](crate::Entities::drain). The node hands its shards over to other
    /// nodes, and ends its membership. The program of the node can wait for the end of the
    /// membership with [`Entities::left`](crate::Entities::left). Returns false if the node is
    /// already draining. Blocks the thread.
    ///
    /// # Errors
    /// Returns [`NatsError::NoNode`] if no member has this name, and another [`NatsError`] if the
    /// server does not let the user give the order.
    pub fn drain(&self, node: &str) -> Result<bool, NatsError> {
        let (place, node) = (self.place.clone(), node.to_owned());
        block_on(
            &self.home,
            self.limit,
            async move { place.drain(&node).await },
        )
    }
}

/// Runs a task on the thread of the connection, and waits for it.
fn block_on<R: Send + 'static>(
    home: &Home,
    limit: Duration,
    task: impl Future<Output = Result<R, NatsError>> + Send + 'static,
) -> Result<R, NatsError> {
    let (tell, told) = sync_channel(1);
    home.handle().spawn(async move {
        // The caller may have given up.
        let _ = tell.send(timeout(limit, task).await);
    });
    let told = told.recv_timeout(limit + GRACE);
    let told = told.map_err(|_| stands_still())?;
    told.unwrap_or_else(|_| {
        Err(NatsError::Thread {
            why: "no answer within the time limit".to_owned(),
        })
    })
}

async fn open(servers: &NatsBuilder, cluster: String, name: &NodeName) -> Result<Place, NatsError> {
    let counts = Counts::new();
    let label = format!("{} {cluster}/{name} observer", servers.label);
    let inbox = Some(names::inbox(&cluster, name));
    let client = connection::open(servers, label, inbox, &counts).await?;
    let context = ContextBuilder::new().timeout(REQUEST_WITHIN).build(client);
    let bucket = names::placement(&cluster);
    if let Err(error) = context.get_stream(format!("KV_{bucket}")).await {
        if is_missing(&error) {
            let known = clusters(&context).await;
            return Err(NatsError::NoCluster { cluster, known });
        }
        return Err(unusable(bucket, with_sources(&error), &counts));
    }
    match context.get_key_value(&bucket).await {
        Ok(store) => Ok(Place {
            store,
            cluster,
            counts,
        }),
        Err(error) => Err(unusable(bucket, with_sources(&error), &counts)),
    }
}

fn is_missing(error: &GetStreamError) -> bool {
    match error.kind() {
        GetStreamErrorKind::JetStream(error) => error.error_code() == ErrorCode::STREAM_NOT_FOUND,
        _ => false,
    }
}

/// Returns the names of the clusters of the server, sorted, if the user may list them.
async fn clusters(context: &Context) -> Vec<String> {
    let listed = context.stream_names().take(CLUSTERS_MAX * 4);
    let named = listed.filter_map(|name| async move {
        let name = name.ok()?;
        let cluster = name.strip_prefix("KV_g_")?.strip_suffix("_place")?;
        Some(cluster.to_owned())
    });
    let named = timeout(REQUEST_WITHIN, named.collect::<Vec<_>>()).await;
    let mut named = named.unwrap_or_default();
    named.sort_unstable();
    named.truncate(CLUSTERS_MAX);
    named
}

/// Returns the error for a bucket that cannot be used. If the server has reported missing
/// permissions, the error contains that report.
fn unusable(bucket: String, why: String, counts: &Counts) -> NatsError {
    let problem = counts.problem();
    if problem.to_lowercase().contains("permissions violation") {
        return NatsError::Forbidden { why: problem };
    }
    NatsError::Bucket { bucket, why }
}

impl Place {
    fn unusable(&self, why: String) -> NatsError {
        unusable(names::placement(&self.cluster), why, &self.counts)
    }

    /// Reads all records, and then waits for up to `one_more_within` for one more record.
    async fn read(&self, one_more_within: Duration) -> Result<Told, NatsError> {
        let info = self.store.stream.get_info().await;
        let info = info.map_err(|error| self.unusable(with_sources(&error)))?;
        let mut told = Told::default();
        if info.state.messages == 0 {
            return Ok(told);
        }
        let news = self.store.watch_with_history(">").await;
        let mut news = news.map_err(|error| self.unusable(with_sources(&error)))?;
        let mut limit = RECORDS_WITHIN;
        let mut is_whole = false;
        loop {
            let entry = match timeout(limit, news.next()).await {
                Ok(Some(Ok(entry))) => entry,
                Err(_) if is_whole => return Ok(told),
                Ok(Some(Err(error))) => return Err(self.unusable(with_sources(&error))),
                Ok(None) | Err(_) => return Err(self.unusable("its records do not come".into())),
            };
            let is_last = entry.delta == 0;
            told.tell(entry);
            if is_whole || (is_last && one_more_within.is_zero()) {
                return Ok(told);
            }
            if is_last {
                (is_whole, limit) = (true, one_more_within);
            }
        }
    }

    async fn drain(&self, node: &str) -> Result<bool, NatsError> {
        for _ in 0..ATTEMPTS {
            let records = self.read(Duration::ZERO).await?.records();
            let change = match Overview::drain(&records, node) {
                DrainOrder::Change(change) => change,
                DrainOrder::Given => return Ok(false),
                DrainOrder::NoMember => {
                    let known = Overview::read(&records).members.into_iter();
                    return Err(NatsError::NoNode {
                        node: node.to_owned(),
                        known: known.map(|member| member.name.to_string()).collect(),
                    });
                }
            };
            let value = change.value.unwrap_or_default();
            match self
                .store
                .update(&*change.key, value, change.expected)
                .await
            {
                Ok(_) => return Ok(true),
                // The node has renewed its record.
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) => return Err(self.unusable(with_sources(&error))),
            }
        }
        Err(self.unusable(format!("the record of {node} changes all the time")))
    }
}

impl Told {
    fn tell(&mut self, entry: Entry) {
        self.newest = self.newest.max(entry.created.unix_timestamp_nanos());
        self.records.insert(entry.key.clone(), entry);
    }

    fn records(&self) -> Vec<Record> {
        let record = |entry: &Entry| Record {
            key: entry.key.as_str().into(),
            revision: entry.revision,
            value: value_of(entry),
        };
        self.records.values().map(record).collect()
    }

    /// Returns how long ago a record was changed, measured by the clock of the server up to the
    /// newest change of any record. Returns `None` if the record does not exist.
    fn age(&self, key: &str) -> Option<Duration> {
        let created = self.records.get(key)?.created.unix_timestamp_nanos();
        let nanos = self.newest.saturating_sub(created);
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
    }
}

impl fmt::Debug for NatsObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsObserver")
            .field("cluster", &self.place.cluster)
            .finish_non_exhaustive()
    }
}
