//! The master of a chain, which does not crash (van Renesse and Schneider, OSDI 2004, section 3.2).

use std::collections::BTreeSet;

use garrick_actor::{Actor, Address, Context};

use super::Config;
use super::clients::News;
use super::replica::Request;

pub(super) enum Order {
    /// A replica has crashed.
    Crashed(usize),
    /// A replica has installed the configuration of an epoch.
    Installed { epoch: u32, replica: usize },
}

pub(super) struct Master {
    config: Config,
    clients: Vec<Address<News>>,
    /// Replicas that have not installed the configuration yet.
    missing: BTreeSet<usize>,
}

impl Master {
    pub(super) fn new(chain: Vec<(usize, Address<Request>)>, clients: Vec<Address<News>>) -> Self {
        Self {
            config: Config { epoch: 0, chain },
            clients,
            missing: BTreeSet::new(),
        }
    }

    /// Tells the replicas of a new configuration.
    fn configure(&mut self, cx: &Context<'_, Order>) {
        self.config.epoch += 1;
        self.missing = self.config.chain.iter().map(|(id, _)| *id).collect();
        for (_, replica) in &self.config.chain {
            let request = Request::Configure(self.config.clone(), cx.address());
            let _ = cx.send(replica, request);
        }
    }

    /// Tells the clients of the configuration.
    fn announce(&self, cx: &Context<'_, Order>) {
        for client in &self.clients {
            let _ = cx.send(client, News::Configured(self.config.clone()));
        }
    }
}

impl Actor for Master {
    type Msg = Order;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Order>) {
        self.configure(cx);
    }

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        match order {
            Order::Crashed(replica) => {
                self.config.chain.retain(|(id, _)| *id != replica);
                self.configure(cx);
            }
            Order::Installed { epoch, replica } if epoch == self.config.epoch => {
                self.missing.remove(&replica);
                if self.missing.is_empty() {
                    self.announce(cx);
                }
            }
            Order::Installed { .. } => {}
        }
    }
}
