//! Clients of a chain: a writer and a reader. When the chain changes, both repeat the requests that
//! have not been answered (van Renesse and Schneider, OSDI 2004, section 2).

use std::collections::BTreeSet;

use garrick_actor::{Actor, Address, Context};

use super::replica::Request;
use super::{Config, Member, UPDATES, Update};

/// A fact: the writer has received the acknowledgement of an update.
#[derive(Debug)]
pub(super) struct Acknowledged(pub(super) Update);

/// A fact: the reader begins a query.
#[derive(Debug)]
pub(super) struct Asked;

/// A fact: the reader has received this history as the answer to its query.
#[derive(Debug)]
pub(super) struct Answered(pub(super) Vec<Update>);

pub(super) enum News {
    Configured(Config),
    Acknowledge(Update),
    Answer(u32, Vec<Update>),
}

/// An actor that sends all updates at once.
pub(super) struct Writer {
    head: Address<Request>,
    acknowledged: BTreeSet<Update>,
}

impl Writer {
    pub(super) fn new(head: &Member) -> Self {
        Self {
            head: head.address.clone(),
            acknowledged: BTreeSet::new(),
        }
    }

    /// Sends the updates that are not acknowledged.
    fn send(&self, cx: &Context<'_, News>) {
        for update in (0..UPDATES).filter(|update| !self.acknowledged.contains(update)) {
            let _ = cx.send(&self.head, Request::Update(update, cx.address()));
        }
    }
}

impl Actor for Writer {
    type Msg = News;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, News>) {
        self.send(cx);
    }

    fn receive(&mut self, news: News, cx: &mut Context<'_, News>) {
        match news {
            News::Configured(config) => {
                self.head = config.chain[0].address.clone();
                self.send(cx);
            }
            News::Acknowledge(update) => {
                if self.acknowledged.insert(update) {
                    cx.note(Acknowledged(update));
                }
            }
            News::Answer(..) => {}
        }
    }
}

/// An actor that sends a new query when the previous one was answered, to a different replica each
/// time.
pub(super) struct Reader {
    chain: Vec<Member>,
    /// Number of queries that were answered, which is also the number of the next query.
    number: u32,
    /// Number of all queries.
    queries: u32,
}

impl Reader {
    pub(super) fn new(chain: Vec<Member>, queries: u32) -> Self {
        Self {
            chain,
            number: 0,
            queries,
        }
    }

    fn ask(&self, cx: &Context<'_, News>) {
        let replica = &self.chain[(self.number as usize + 1) % self.chain.len()];
        let _ = cx.send(&replica.address, Request::Query(self.number, cx.address()));
    }

    /// Begins the next query.
    fn begin(&self, cx: &Context<'_, News>) {
        if self.number < self.queries {
            cx.note(Asked);
            self.ask(cx);
        }
    }
}

impl Actor for Reader {
    type Msg = News;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, News>) {
        self.begin(cx);
    }

    fn receive(&mut self, news: News, cx: &mut Context<'_, News>) {
        match news {
            News::Configured(config) => {
                self.chain = config.chain;
                if self.number < self.queries {
                    self.ask(cx);
                }
            }
            News::Answer(number, history) if number == self.number => {
                cx.note(Answered(history));
                self.number += 1;
                self.begin(cx);
            }
            News::Answer(..) | News::Acknowledge(_) => {}
        }
    }
}
