//! A replica of a chain (van Renesse and Schneider, OSDI 2004, section 3).

use garrick_actor::{Actor, Address, Context};

use super::clients::News;
use super::master::Order;
use super::{Config, Life, Member, Mistake, ReplicaId, Update};

/// A fact: a replica has this history, after an update or when it installs a configuration.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) id: ReplicaId,
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
    /// The predecessor has sent its whole history.
    Complete,
    /// A query from a client, or from the predecessor.
    Query(u32, Address<News>),
}

pub(super) struct Replica {
    life: Life,
    successor: Option<Member>,
    history: Vec<Entry>,
    /// True if the history contains all that the replicas before this one have acknowledged.
    is_complete: bool,
    /// Queries that wait until the history is complete.
    waiting: Vec<(u32, Address<News>)>,
    mistake: Mistake,
}

impl Replica {
    pub(super) fn new(
        life: Life,
        successor: Option<Member>,
        is_complete: bool,
        mistake: Mistake,
    ) -> Self {
        Self {
            life,
            successor,
            history: Vec::new(),
            is_complete,
            waiting: Vec::new(),
            mistake,
        }
    }

    /// Installs a configuration. If the successor is new, sends it the whole history, because a
    /// crash may have lost updates.
    fn configure(&mut self, config: &Config, cx: &Context<'_, Request>) {
        let me = |member: &&Member| member.id != self.life.id;
        let after_me = config.chain.iter().skip_while(me).nth(1);
        let id = |member: &Member| member.id;
        let is_new = after_me.map(id) != self.successor.as_ref().map(id);
        let is_last = after_me.map(id) == config.chain.last().map(id);
        self.successor = after_me.cloned();
        self.note_history(cx);
        if is_new && (is_last || self.mistake != Mistake::ForgetsInFlight) {
            for position in 0..self.history.len() {
                self.forward(position, cx);
            }
            self.tell_complete(cx);
        }
    }

    fn tell_complete(&self, cx: &Context<'_, Request>) {
        if let Some(successor) = &self.successor
            && self.is_complete
        {
            let _ = cx.send(&successor.address, Request::Complete);
        }
    }

    /// Answers the queries that have waited.
    fn become_complete(&mut self, cx: &Context<'_, Request>) {
        self.is_complete = true;
        self.tell_complete(cx);
        for (number, client) in std::mem::take(&mut self.waiting) {
            self.query(number, client, cx);
        }
    }

    /// Handles an update of a client. After a crash, the same update may arrive again.
    fn update(&mut self, entry: Entry, cx: &Context<'_, Request>) {
        if self.mistake == Mistake::AcknowledgesAtHead {
            acknowledge(&entry, cx);
        }
        let is_known = (self.history.iter()).any(|known| known.update == entry.update);
        if !is_known {
            self.append(entry, cx);
        }
    }

    fn append(&mut self, entry: Entry, cx: &Context<'_, Request>) {
        let position = self.history.len();
        self.history.push(entry);
        self.note_history(cx);
        match self.successor {
            Some(_) => self.forward(position, cx),
            None => acknowledge(&self.history[position], cx),
        }
    }

    fn forward(&self, position: usize, cx: &Context<'_, Request>) {
        if let Some(successor) = &self.successor {
            let entry = self.history[position].clone();
            let _ = cx.send(&successor.address, Request::Forward(position, entry));
        }
    }

    /// Passes a query on, or answers it if this replica is the tail.
    fn query(&mut self, number: u32, client: Address<News>, cx: &Context<'_, Request>) {
        match &self.successor {
            Some(successor) if self.mistake != Mistake::AnswersEverywhere => {
                let _ = cx.send(&successor.address, Request::Query(number, client));
            }
            _ if !self.is_complete && self.mistake != Mistake::AnswersEarly => {
                self.waiting.push((number, client));
            }
            _ => drop(cx.send(&client, News::Answer(number, self.updates()))),
        }
    }

    fn note_history(&self, cx: &Context<'_, Request>) {
        cx.note(Stored {
            id: self.life.id,
            history: self.updates(),
        });
    }

    fn updates(&self) -> Vec<Update> {
        self.history.iter().map(|entry| entry.update).collect()
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
                let (epoch, id) = (config.epoch, self.life.id);
                let _ = cx.send(&master, Order::Installed { epoch, id });
            }
            Request::Update(update, client) => self.update(Entry { update, client }, cx),
            Request::Forward(position, _)
                if position < self.history.len() && self.mistake != Mistake::AppliesAgain => {}
            Request::Forward(_, entry) => self.append(entry, cx),
            Request::Complete => self.become_complete(cx),
            Request::Query(number, client) => self.query(number, client, cx),
        }
    }
}
