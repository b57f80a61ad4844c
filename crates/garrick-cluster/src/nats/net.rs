//! A network that carries frames between nodes through NATS servers.

use std::fmt;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use garrick_actor::Address;
use garrick_sched::turn_mark;

use super::builder::NatsBuilder;
use super::connection;
use super::counts::{Counts, NatsSample};
use super::error::NatsError;
use super::home::Home;
use super::member::{self, Joining, Member};
use super::names;
use crate::error::JoinError;
use crate::lock::lock;
use crate::name::NodeName;
use crate::transport::{Incoming, Transport};

/// Additional time after the time limit of a join or of a connection. If the operation has not
/// ended after its time limit plus this time, the runtime counts as stuck.
const GRACE: Duration = Duration::from_secs(15);

/// A network on NATS servers, for one node. Clones are handles to the same network.
///
/// [`NatsNet::connect`] and [`NatsBuilder::start`] check that a server can be used. After this
/// check, [`Node::join`](crate::Node::join) opens the connection of the node, and claims the name
/// of the node. If the connection is lost, it is opened again, without a limit on the attempts. By
/// default, the connection runs on its own thread.
///
/// [`Node::join`](crate::Node::join) blocks its thread until the server has answered. In a turn of
/// an actor, it returns [`JoinError::InTurn`]. In an async function, call it in
/// `tokio::task::spawn_blocking`.
///
/// # Names
/// A name belongs to one node at a time. Each name has a record in a JetStream bucket, which the
/// node renews each second. After the node has crashed, another node can take over the name. This
/// second node first waits until the record has been unchanged for 5 s, and the server has accepted
/// updates from the second node during this time. While the server accepts no updates, no name
/// changes its owner. If a node finds that another node has its name, it leaves the cluster.
///
/// # Examples
/// ```no_run
/// use garrick_actor::System;
/// use garrick_cluster::Node;
/// use garrick_cluster::nats::NatsNet;
///
/// let system = System::new()?;
/// let net = NatsNet::builder("nats://localhost").start()?;
/// let node = Node::join(&system.handle(), net.clone(), "bank", "bank-1")?;
/// println!("{:?}", net.sample());
///
/// node.leave();
/// net.close(std::time::Duration::from_secs(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Servers on other machines:
/// ```no_run
/// use garrick_cluster::nats::NatsNet;
///
/// let net = NatsNet::builder("tls://one.example.org, tls://two.example.org")
///     .root_certificates("/etc/bank/ca.pem")
///     .credentials("/etc/bank/bank-1.creds")
///     .replicas(3)
///     .start()?;
/// # Ok::<(), garrick_cluster::nats::NatsError>(())
/// ```
#[derive(Clone)]
pub struct NatsNet {
    inner: Arc<Inner>,
}

struct Inner {
    builder: NatsBuilder,
    home: Home,
    /// Name of the server to which the first connection was made. This connection is opened only to
    /// check the server, and is closed after the check.
    server: String,
    /// The node that has joined most recently, if any.
    member: RwLock<Option<Arc<Member>>>,
    /// Locked while a node is joining.
    joining: Mutex<()>,
}

impl NatsBuilder {
    /// Connects, and checks that the server can be used. Blocks for at most a few seconds.
    ///
    /// # Errors
    /// Returns an error if the settings are invalid, no server can be reached, the server refuses
    /// the credentials, or the server cannot be used.
    pub fn start(self) -> Result<NatsNet, NatsError> {
        let home = Home::new(self.runtime.clone())?;
        let (tell, told) = sync_channel(1);
        let builder = self.clone();
        home.handle().spawn(async move {
            // The caller may have given up.
            let _ = tell.send(try_out(&builder).await);
        });
        let tried = told.recv_timeout(self.join_within + GRACE);
        let server = tried.map_err(|_| stands_still())??;
        Ok(NatsNet::new(self, home, server))
    }

    /// Connects, and checks that the server can be used.
    ///
    /// # Errors
    /// Returns the same errors as [`NatsBuilder::start`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the connection is closed.
    pub async fn connect(self) -> Result<NatsNet, NatsError> {
        let home = Home::new(self.runtime.clone())?;
        let builder = self.clone();
        let tried = home.handle().spawn(async move { try_out(&builder).await });
        let server = tried.await.map_err(|error| NatsError::Thread {
            why: error.to_string(),
        })??;
        Ok(NatsNet::new(self, home, server))
    }
}

/// Opens a connection to check the server, and closes the connection. Returns the name of the
/// server.
async fn try_out(builder: &NatsBuilder) -> Result<String, NatsError> {
    let counts = Counts::new();
    let opened = connection::open(builder, builder.label.clone(), None, &counts);
    let client = tokio::time::timeout(builder.join_within, opened).await;
    let client = client.map_err(|_| NatsError::Unreachable {
        servers: builder
            .servers()
            .map_or_else(|_| String::new(), |all| all.label()),
        why: "no answer within the time limit".to_owned(),
    })??;
    Ok(connection::label(&client.server_info()))
}

pub(super) fn stands_still() -> NatsError {
    NatsError::Thread {
        why: "its runtime does not run, or its only thread waits for itself".to_owned(),
    }
}

impl NatsNet {
    /// Returns the settings for a connection to these servers. `servers` contains their addresses,
    /// separated by commas. An address is a host, with or without a scheme (`nats` or `tls`) and a
    /// port.
    #[must_use]
    pub fn builder(servers: impl Into<String>) -> NatsBuilder {
        NatsBuilder::new(servers)
    }

    /// Connects to servers with the default settings.
    ///
    /// # Errors
    /// Returns the same errors as [`NatsBuilder::start`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the connection is closed.
    pub async fn connect(servers: impl Into<String>) -> Result<Self, NatsError> {
        Self::builder(servers).connect().await
    }

    fn new(builder: NatsBuilder, home: Home, server: String) -> Self {
        let inner = Inner {
            builder,
            home,
            server,
            member: RwLock::new(None),
            joining: Mutex::new(()),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    fn member(&self) -> Option<Arc<Member>> {
        let member = &self.inner.member;
        member
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the counters and the state of the node's connection.
    #[must_use]
    pub fn sample(&self) -> NatsSample {
        match self.member() {
            Some(member) => member.sample(),
            None => NatsSample {
                server: self.inner.server.clone(),
                ..NatsSample::default()
            },
        }
    }

    /// Makes the node leave the cluster. Waits until the name of the node is free, and all frames
    /// of the node were written to the connection. Returns false if that takes longer than `limit`.
    /// Call this method before the process ends, after [`Node::leave`](crate::Node::leave).
    /// Otherwise, the name may stay reserved for some seconds.
    pub fn close(&self, limit: Duration) -> bool {
        self.member().is_none_or(|member| member.close(limit))
    }
}

impl Transport for NatsNet {
    fn join(
        &self,
        cluster: &str,
        name: &NodeName,
        incoming: Address<Incoming>,
    ) -> Result<u64, JoinError> {
        names::check_cluster(cluster)?;
        if turn_mark().is_some() {
            return Err(JoinError::InTurn);
        }
        let _joining = lock(&self.inner.joining);
        if let Some(member) = self.member().filter(|member| !member.has_left()) {
            let why = format!(
                "this connection is that of the node {} already",
                member.name()
            );
            return Err(JoinError::Transport { why });
        }
        let joining = Joining {
            builder: self.inner.builder.clone(),
            cluster: cluster.to_owned(),
            name: name.clone(),
            incoming,
            alive: self.inner.home.alive(),
        };
        let (tell, told) = sync_channel(1);
        self.inner.home.handle().spawn(async move {
            // If the caller has given up, the member is dropped, and leaves.
            let _ = tell.send(member::join(joining).await);
        });
        let joined = told.recv_timeout(self.inner.builder.join_within + GRACE);
        let member = Arc::new(joined.map_err(|_| stands_still())??);
        let life = member.life();
        let mut place = self
            .inner
            .member
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let before = place.replace(member);
        drop(place);
        drop(before);
        Ok(life)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        let is_it = |member: &Arc<Member>| member.name() == name && member.life() == life;
        if let Some(member) = self.member().filter(is_it) {
            member.leave();
        }
    }

    fn max_frame(&self) -> usize {
        self.member()
            .map_or(usize::MAX, |member| member.max_frame())
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        self.member().is_some_and(|member| member.send(to, frame.0))
    }
}

impl fmt::Debug for NatsNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsNet")
            .field("builder", &self.inner.builder)
            .field("sample", &self.sample())
            .finish_non_exhaustive()
    }
}
