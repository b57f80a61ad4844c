//! The bank: a node that runs accounts, alone or as one of several nodes.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick::cluster::nats::{NameState, NatsBuilder, NatsLog, NatsNet, NatsPlacement};
use garrick::cluster::placement::LocalPlacement;
use garrick::cluster::{Entities, EntityError, KindOptions, LocalNet, Node};
use garrick::journal::Journal;
use garrick::{Address, Handle};

use crate::account::{ACCOUNT, Account, Order};

/// Name of the cluster.
pub(crate) const CLUSTER: &str = "bank";

/// Number of shards of the accounts. The number can never be changed.
const SHARDS: u32 = 64;

/// Time limit for handing the accounts over to other nodes.
const DRAINS_WITHIN: Duration = Duration::from_secs(20);

/// Time limit for closing the connection to the NATS servers.
const CLOSES_WITHIN: Duration = Duration::from_secs(2);

/// Place where the accounts run.
pub(crate) enum Place {
    /// The accounts run only in this process. Contains the folder of the journals.
    Alone(PathBuf),
    /// The accounts run on several nodes that are connected by NATS servers, which also store the
    /// journals. Contains the settings of the servers, and the name of this node.
    Among(Box<NatsBuilder>, String),
}

/// A node of the bank.
pub(crate) struct Bank {
    journal: Journal,
    entities: Entities,
    node: Node,
    net: Option<NatsNet>,
    /// True if the service is ending.
    ends: AtomicBool,
}

impl Bank {
    /// Opens the bank. If the bank uses NATS servers, waits until the node is connected to one.
    pub(crate) fn open(system: &Handle, place: Place) -> Result<Self, Box<dyn Error>> {
        let (journal, entities, node, net) = match place {
            Place::Alone(folder) => {
                let (journal, _) = Journal::open(system, folder)?;
                let node = Node::join(system, LocalNet::new(), CLUSTER, "bank")?;
                let entities = Entities::start(&node, LocalPlacement::new(system)?)?;
                (journal, entities, node, None)
            }
            Place::Among(servers, name) => {
                let servers = *servers;
                let net = servers.clone().start()?;
                let node = Node::join(system, net.clone(), CLUSTER, &name)?;
                let log = NatsLog::open(servers.clone(), CLUSTER, &name)?;
                let journal = Journal::new(system, log)?;
                let placement = NatsPlacement::open(system, servers, CLUSTER, &name)?;
                let entities = Entities::start(&node, placement)?;
                (journal, entities, node, Some(net))
            }
        };
        let (journals, others) = (journal.clone(), entities.clone());
        let make = move |name: &str| {
            let account = Account {
                name: name.to_owned(),
                entities: others.clone(),
            };
            let account = journals.entity(format!("account/{name}"), account);
            account.expect("the name was checked")
        };
        // An account with letters also starts without a message. When an account starts, its
        // journal begins to refuse an earlier owner.
        let options = KindOptions::new().shards(SHARDS);
        entities.host_durable(ACCOUNT, options, journal.clone(), make)?;
        Ok(Self {
            journal,
            entities,
            node,
            net,
            ends: AtomicBool::new(false),
        })
    }

    /// Returns the address of an account, which may be on another node.
    pub(crate) fn account(&self, name: &str) -> Result<Address<Order>, EntityError> {
        self.entities.get(ACCOUNT, name)
    }

    /// Returns the name of this node.
    pub(crate) fn name(&self) -> &str {
        self.node.name().as_str()
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(crate) fn entities(&self) -> &Entities {
        &self.entities
    }

    /// Records that the service is ending.
    pub(crate) fn begin_end(&self) {
        // Relaxed: the flag publishes nothing.
        self.ends.store(true, Relaxed);
    }

    /// Returns the reason why clients should use another node, or `None` if this node can serve
    /// them.
    pub(crate) fn trouble(&self) -> Option<String> {
        if self.ends.load(Relaxed) {
            return Some("the service is ending".to_owned());
        }
        if !self.entities.members().is_member {
            return Some("this node is no member of the cluster now".to_owned());
        }
        if self
            .net
            .as_ref()
            .is_some_and(|net| !net.sample().is_connected)
        {
            return Some("there is no connection to a NATS server now".to_owned());
        }
        self.is_over()
    }

    /// Returns the reason why this process must be restarted, or `None` if it can continue.
    pub(crate) fn is_over(&self) -> Option<String> {
        if self.journal.sample().is_broken {
            return Some(
                "it is not known what is in the journals: start this node again".to_owned(),
            );
        }
        let net = self.net.as_ref()?;
        (net.sample().name == NameState::Lost)
            .then(|| "another node has the name of this one: start this node again".to_owned())
    }

    /// Hands the accounts over to other nodes, and leaves the cluster.
    pub(crate) fn close(&self) {
        if self.entities.drain().wait_timeout(DRAINS_WITHIN).is_err() {
            eprintln!("the accounts were not handed over in {DRAINS_WITHIN:?}");
        }
        self.node.leave();
        if let Some(net) = &self.net {
            net.close(CLOSES_WITHIN);
        }
    }
}
