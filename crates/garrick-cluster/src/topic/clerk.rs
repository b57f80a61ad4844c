//! Clerks. The clerk of a topic on a node is an actor that knows the topic's subscribers on this
//! node, and the topic's agents (the actors that pass on its messages) on other nodes.

use std::sync::Arc;

use garrick_actor::naming::Listing;
use garrick_actor::{Actor, Address, Context, Next, Reply};
use garrick_sched::TaskId;
use hashbrown::HashMap;

use super::entry::entry;
use super::message::{ToAgent, ToClerk, ToTopic};
use super::shared::Shared;
use crate::directory::{Order, ServiceError, ServiceKey, ToDirectory};
use crate::line::Travels;
use crate::watching::{Watching, guarded};

/// Progress of listing the topic's agent in the directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Unserved,
    /// The directory was asked to list the topic's agent, and has not answered yet.
    Asked,
    Served,
}

/// The actor of a topic on a node that knows all subscribers on this node, and the topic's agents
/// on other nodes. Agents are the actors that pass on the topic's messages.
pub(super) struct Clerk<M: 'static> {
    key: ServiceKey,
    directory: Address<ToDirectory>,
    agent: Address<ToAgent<M>>,
    /// The address to which other nodes send messages for the agent (the actor that passes on
    /// messages of the topic).
    own: Address<ToTopic<M>>,
    shared: Arc<Shared<M>>,
    /// The watches of the topic's subscribers. The keys are the identities of the subscribers.
    watching: HashMap<TaskId, Watching>,
    standing: Standing,
    /// Callers that wait until the topic's agent is listed in the directory.
    waiting: Vec<Reply<Result<(), ServiceError>>>,
}

impl<M: Travels> Clerk<M> {
    pub(super) fn new(
        key: ServiceKey,
        directory: Address<ToDirectory>,
        agent: Address<ToAgent<M>>,
        shared: Arc<Shared<M>>,
    ) -> Self {
        Self {
            key,
            directory,
            own: entry(&agent),
            agent,
            shared,
            watching: HashMap::new(),
            standing: Standing::Unserved,
            waiting: Vec::new(),
        }
    }

    fn listed(&self, listing: Listing<ToTopic<M>>) {
        let mut agents = (*self.shared.agents()).clone();
        match listing {
            Listing::Present(all) => agents = all,
            Listing::Added(agent) => agents.push(agent),
            Listing::Removed(agent) => agents.retain(|known| *known != agent),
        }
        agents.retain(|agent| *agent != self.own);
        self.shared.set_agents(agents);
    }

    fn subscribe(
        &mut self,
        subscriber: Address<M>,
        reply: Reply<Result<(), ServiceError>>,
        cx: &Context<'_, ToClerk<M>>,
    ) {
        let known = self.shared.subscribers();
        if !known.contains(&subscriber) && !subscriber.is_stopped() {
            let id = subscriber.id();
            let watch = || cx.watch(&subscriber, move |_| ToClerk::Ended(id));
            self.watching.insert(id, Watching::begin(watch));
            let mut subscribers = (*known).clone();
            subscribers.push(subscriber);
            self.shared.set_subscribers(subscribers);
        }
        if self.standing == Standing::Served {
            return reply.send(Ok(()));
        }
        self.waiting.push(reply);
        self.settle(cx);
    }

    fn unsubscribe(&mut self, id: TaskId, cx: &Context<'_, ToClerk<M>>) {
        self.watching.remove(&id);
        let mut subscribers = (*self.shared.subscribers()).clone();
        subscribers.retain(|known| known.id() != id);
        self.shared.set_subscribers(subscribers);
        self.settle(cx);
    }

    /// Keeps the topic's agent listed in the directory as long as this node has subscribers.
    fn settle(&mut self, cx: &Context<'_, ToClerk<M>>) {
        let is_needed = !self.shared.subscribers().is_empty();
        let (key, own) = (self.key.clone(), self.own.clone());
        match self.standing {
            Standing::Unserved if is_needed => {
                self.standing = Standing::Asked;
                let order = |reply: Reply<Result<(), ServiceError>>| {
                    let order: Order = Box::new(move |directory, cx| {
                        reply.send(directory.serve(&key, &own, cx));
                    });
                    ToDirectory::Order(order)
                };
                cx.ask(&self.directory, order, |answer| {
                    ToClerk::Served(answer.unwrap_or_else(|none| Err(none.into())))
                });
            }
            Standing::Served if !is_needed => {
                self.standing = Standing::Unserved;
                let order: Order = Box::new(move |directory, cx| {
                    // It has served the agent, so the key has this type.
                    let _ = directory.withdraw(&key, &own, cx);
                });
                let _ = cx.send(&self.directory, ToDirectory::Order(order));
            }
            _ => {}
        }
        if !is_needed {
            self.answer(&Ok(()));
        }
    }

    fn answer(&mut self, answer: &Result<(), ServiceError>) {
        for reply in self.waiting.drain(..) {
            reply.send(answer.clone());
        }
    }

    fn served(&mut self, answer: &Result<(), ServiceError>, cx: &Context<'_, ToClerk<M>>) {
        if answer.is_ok() {
            self.standing = Standing::Served;
        } else {
            // Other nodes would not reach the subscribers, who are told so.
            self.standing = Standing::Unserved;
            self.shared.set_subscribers(Vec::new());
            self.watching.clear();
        }
        self.answer(answer);
        self.settle(cx);
    }
}

impl<M: Travels> Actor for Clerk<M> {
    type Msg = ToClerk<M>;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToClerk<M>>) -> Next {
        let _ = cx.watch(&self.directory, |_| ToClerk::Left);
        let (key, me) = (self.key.clone(), cx.address().contramap(ToClerk::Listing));
        let order: Order = Box::new(move |directory, _| {
            // The key has this type: it has the name of the message.
            let _ = directory.subscribe(&key, me);
        });
        let _ = cx.send(&self.directory, ToDirectory::Order(order));
        Next::Continue
    }

    fn receive(&mut self, message: ToClerk<M>, cx: &mut Context<'_, ToClerk<M>>) -> Next {
        match message {
            ToClerk::Listing(listing) => self.listed(listing),
            ToClerk::Subscribe(subscriber, reply) => {
                let _ = guarded(|| self.subscribe(subscriber, reply, cx));
            }
            ToClerk::Unsubscribe(subscriber, reply) => {
                let _ = guarded(|| {
                    self.unsubscribe(subscriber.id(), cx);
                    reply.send(Ok(()));
                });
            }
            ToClerk::Served(answer) => self.served(&answer, cx),
            ToClerk::Ended(id) => self.unsubscribe(id, cx),
            ToClerk::Left => {
                self.agent.stop();
                self.shared.set_agents(Vec::new());
                self.shared.set_subscribers(Vec::new());
                return Next::Stop;
            }
        }
        Next::Continue
    }
}
