//! The master of a chain, which does not crash (van Renesse and Schneider, OSDI 2004, section 3.2).

use std::collections::BTreeSet;

use garrick_actor::{Actor, Address, Context};

use super::clients::News;
use super::replica::Request;
use super::{Config, Member, ReplicaId};

/// A fact: the master has decided on this chain.
#[derive(Debug)]
pub(super) struct Decided(pub(super) Vec<ReplicaId>);

pub(super) enum Order {
    /// A node has started a new replica after a crash.
    Started(Member),
    /// A replica has installed the configuration of an epoch.
    Installed { epoch: u32, id: ReplicaId },
}

pub(super) struct Master {
    config: Config,
    clients: Vec<Address<News>>,
    /// Replicas that have not installed the configuration yet.
    missing: BTreeSet<ReplicaId>,
}

impl Master {
    pub(super) fn new(chain: Vec<Member>, clients: Vec<Address<News>>) -> Self {
        Self {
            config: Config { epoch: 0, chain },
            clients,
            missing: BTreeSet::new(),
        }
    }

    /// Tells the replicas about a new chain.
    fn configure(&mut self, cx: &Context<'_, Order>) {
        self.config.epoch += 1;
        let chain = &self.config.chain;
        self.missing = chain.iter().map(|member| member.id).collect();
        cx.note(Decided(chain.iter().map(|member| member.id).collect()));
        for member in chain {
            let request = Request::Configure(self.config.clone(), cx.address());
            let _ = cx.send(&member.address, request);
        }
    }

    /// Tells the clients about the configuration.
    fn announce(&self, cx: &Context<'_, Order>) {
        for client in &self.clients {
            let _ = cx.send(client, News::Configured(self.config.clone()));
        }
    }
}

impl Actor for Master {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        match order {
            Order::Started(new) => {
                let chain = &mut self.config.chain;
                chain.retain(|member| member.node != new.node);
                chain.push(new);
                self.configure(cx);
            }
            Order::Installed { epoch, id } if epoch == self.config.epoch => {
                self.missing.remove(&id);
                if self.missing.is_empty() {
                    self.announce(cx);
                }
            }
            Order::Installed { .. } => {}
        }
    }
}
