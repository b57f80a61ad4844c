//! A replica of a chain (van Renesse and Schneider, OSDI 2004, section 3).

use garrick_actor::{Actor, Address, Context};

use super::clients::News;
use super::master::Order;
use super::{Config, Life, Mistake, Update};

/// A replica has this history.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) replica: usize,
    pub(super) history: Vec<Update>,
}

/// An update and the client that waits for its acknowledgement.
#[derive(Clone)]
pub(super) struct Entry {
    update: Update,
    client: Address<News>,
}

pub(super) enum Request {
    Configure(Config, Address<Order>),
    /// An update from a client.
    Update(Update, Address<News>),
    /// The entry at a position of the history, from the predecessor.
    Forward(usize, Entry),
    /// The tail has this number of entries. From the successor.
    Stable(usize),
    /// A query from a client, or from the predecessor.
    Query(u32, Address<News>),
}

pub(super) struct Replica {
    life: Life,
    predecessor: Option<Address<Request>>,
    successor: Option<Address<Request>>,
    history: Vec<Entry>,
    /// Number of entries that the tail has. The later entries are in flight.
    stable: usize,
    mistake: Mistake,
}

impl Replica {
    pub(super) fn new(life: Life, mistake: Mistake) -> Self {
        Self {
            life,
            predecessor: None,
            successor: None,
            history: Vec::new(),
            stable: 0,
            mistake,
        }
    }

    /// Installs a configuration, and makes up for what the crash has lost.
    fn configure(&mut self, config: &Config, cx: &Context<'_, Request>) {
        let me = self.life.replica;
        let at = (config.chain.iter())
            .position(|(replica, _)| *replica == me)
            .expect("the master tells the replicas of the chain");
        let address = |(_, address): &(usize, Address<Request>)| address.clone();
        self.predecessor = at.checked_sub(1).map(|at| address(&config.chain[at]));
        self.successor = config.chain.get(at + 1).map(address);
        match &self.successor {
            Some(_) if self.mistake == Mistake::ForgetsInFlight => {}
            Some(_) => {
                for position in self.stable..self.history.len() {
                    self.forward(position, cx);
                }
            }
            None => self.become_tail(cx),
        }
        self.tell_stable(cx);
    }

    /// Acknowledges all that the old tail may not have acknowledged.
    fn become_tail(&mut self, cx: &Context<'_, Request>) {
        self.stable = self.history.len();
        if self.mistake != Mistake::ForgetsToAcknowledge {
            for entry in &self.history {
                acknowledge(entry, cx);
            }
        }
    }

    fn append(&mut self, entry: Entry, cx: &Context<'_, Request>) {
        self.history.push(entry);
        cx.note(Stored {
            replica: self.life.replica,
            history: self.updates(),
        });
        let position = self.history.len() - 1;
        if self.successor.is_some() {
            self.forward(position, cx);
            return;
        }
        self.stable = self.history.len();
        acknowledge(&self.history[position], cx);
        self.tell_stable(cx);
    }

    fn updates(&self) -> Vec<Update> {
        self.history.iter().map(|entry| entry.update).collect()
    }

    fn forward(&self, position: usize, cx: &Context<'_, Request>) {
        if let Some(successor) = &self.successor {
            let entry = self.history[position].clone();
            let _ = cx.send(successor, Request::Forward(position, entry));
        }
    }

    fn tell_stable(&self, cx: &Context<'_, Request>) {
        if let Some(predecessor) = &self.predecessor {
            let _ = cx.send(predecessor, Request::Stable(self.stable));
        }
    }

    /// Handles an update of a client, which may come again after a crash.
    fn update(&mut self, entry: Entry, cx: &Context<'_, Request>) {
        if self.mistake == Mistake::AcknowledgesAtHead {
            acknowledge(&entry, cx);
        }
        let is_known = (self.history.iter()).any(|known| known.update == entry.update);
        if !is_known {
            self.append(entry, cx);
        }
    }

    fn query(&self, number: u32, client: Address<News>, cx: &Context<'_, Request>) {
        match &self.successor {
            Some(successor) if self.mistake != Mistake::AnswersEverywhere => {
                let _ = cx.send(successor, Request::Query(number, client));
            }
            _ => drop(cx.send(&client, News::Answer(number, self.updates()))),
        }
    }
}

fn acknowledge(entry: &Entry, cx: &Context<'_, Request>) {
    let _ = cx.send(&entry.client, News::Acknowledge(entry.update));
}

impl Actor for Replica {
    type Msg = Request;
    type Outcome = ();

    fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
        match request {
            Request::Configure(config, master) => {
                self.configure(&config, cx);
                let (epoch, replica) = (config.epoch, self.life.replica);
                let _ = cx.send(&master, Order::Installed { epoch, replica });
            }
            Request::Update(update, client) => self.update(Entry { update, client }, cx),
            Request::Forward(position, _)
                if position < self.history.len() && self.mistake != Mistake::AppliesAgain => {}
            Request::Forward(_, entry) => self.append(entry, cx),
            Request::Stable(stable) => {
                self.stable = self.stable.max(stable);
                self.tell_stable(cx);
            }
            Request::Query(number, client) => self.query(number, client, cx),
        }
    }
}
