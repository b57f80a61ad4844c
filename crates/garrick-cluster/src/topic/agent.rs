//! Agents. All messages of a topic on a node pass through the agent of that node.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use garrick_actor::{Actor, Address, Context, SendError};
use garrick_sched::TaskId;
use hashbrown::HashMap;

use super::message::{ToAgent, ToTopic};
use super::shared::{Shared, add};
use super::streams::Streams;
use crate::line::Travels;
use crate::node::Node;
use crate::watching::has_stopped;

/// Drops a message. The destructor of the message is code of the program, so a panic in it is
/// caught.
fn discard(message: impl Sized) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(message)));
}

/// A stream: the numbered messages of a topic from this node's agent to the agent of another node.
struct Outgoing {
    stream: u64,
    /// Sequence number of the last message that was sent in the stream.
    number: u64,
}

/// The actor that receives all messages of a topic on a node, and passes them on.
pub(super) struct Agent<M: 'static> {
    node: Node,
    shared: Arc<Shared<M>>,
    outgoing: HashMap<TaskId, Outgoing>,
    /// Agents of the topic on other nodes, to which this agent sends numbered messages.
    known: Arc<Vec<Address<ToTopic<M>>>>,
    streams: Streams,
}

impl<M: Travels + Clone> Agent<M> {
    pub(super) fn new(node: Node, shared: Arc<Shared<M>>) -> Self {
        Self {
            node,
            shared,
            outgoing: HashMap::new(),
            known: Arc::default(),
            streams: Streams::default(),
        }
    }

    /// Returns `count` copies of a message. Returns `None` if the `Clone` implementation of the
    /// message panics, and counts this failure.
    fn copies(&self, message: M, count: usize) -> Option<Vec<M>> {
        let copies = || {
            let more = (1..count).map(|_| message.clone());
            let mut copies: Vec<M> = more.collect();
            copies.extend((count > 0).then_some(message));
            copies
        };
        let copies = catch_unwind(AssertUnwindSafe(copies)).ok();
        if copies.is_none() {
            add(&self.shared.counts.failed, 1);
        }
        copies
    }

    /// Sends one copy of a message to each of the given subscribers, which are actors of this node.
    fn deliver(
        &self,
        subscribers: &[Address<M>],
        copies: impl Iterator<Item = M>,
        cx: &Context<'_, ToAgent<M>>,
    ) {
        for (subscriber, message) in subscribers.iter().zip(copies) {
            if let Err(SendError(refused)) = cx.send(subscriber, message) {
                discard(refused);
                // The clerk removes one that has stopped.
                if !has_stopped(subscriber) {
                    add(&self.shared.counts.missed, 1);
                }
            }
        }
    }

    /// Sends a message that was published on this node to the subscribers of this node, and once to
    /// each other node with subscribers.
    fn publish(&mut self, message: M, cx: &Context<'_, ToAgent<M>>) {
        let (subscribers, agents) = (self.shared.subscribers(), self.shared.agents());
        if !Arc::ptr_eq(&agents, &self.known) {
            self.outgoing
                .retain(|id, _| agents.iter().any(|agent| agent.id() == *id));
            self.known = agents.clone();
        }
        add(&self.shared.counts.published, 1);
        let count = subscribers.len() + agents.len();
        let Some(copies) = self.copies(message, count) else {
            return;
        };
        let mut copies = copies.into_iter();
        for (agent, message) in agents.iter().zip(&mut copies) {
            let node = &self.node;
            let outgoing = self.outgoing.entry(agent.id()).or_insert_with(|| Outgoing {
                stream: node.next_stream(),
                number: 0,
            });
            let parcel = ToTopic {
                stream: outgoing.stream,
                number: outgoing.number + 1,
                message,
            };
            match cx.send(agent, parcel) {
                Ok(()) => outgoing.number += 1,
                Err(SendError(refused)) => {
                    discard(refused);
                    add(&self.shared.counts.refused, 1);
                }
            }
        }
        self.deliver(&subscribers, copies, cx);
    }

    /// Sends a message that was published on another node to the subscribers of this node.
    fn take(&mut self, parcel: ToTopic<M>, cx: &Context<'_, ToAgent<M>>) {
        let ToTopic {
            stream,
            number,
            message,
        } = parcel;
        add(&self.shared.counts.received, 1);
        let lost = self.streams.take(stream, number);
        add(&self.shared.counts.lost, lost);
        let subscribers = self.shared.subscribers();
        if let Some(copies) = self.copies(message, subscribers.len()) {
            self.deliver(&subscribers, copies.into_iter(), cx);
        }
    }
}

impl<M: Travels + Clone> Actor for Agent<M> {
    type Msg = ToAgent<M>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, message: ToAgent<M>, cx: &mut Context<'_, ToAgent<M>>) {
        match message {
            ToAgent::Publish(message) => self.publish(message, cx),
            ToAgent::From(parcel) => self.take(parcel, cx),
        }
    }
}
