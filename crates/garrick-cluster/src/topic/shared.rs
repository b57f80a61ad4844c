//! State that the two actors of a topic on a node share: the agent, which passes on messages, and
//! the clerk, which knows the subscribers.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use garrick_actor::Address;

use super::message::ToTopic;
use crate::lock::lock;

/// Counters of a topic on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicSample {
    /// Number of subscribers on this node.
    pub subscribers: usize,
    /// Number of other nodes that have subscribers, as far as this node knows.
    pub nodes: usize,
    /// Number of messages that were published on this node.
    pub published: u64,
    /// Number of messages that have arrived from other nodes.
    pub received: u64,
    /// Number of messages that were not sent to a node because too many bytes were waiting for that
    /// node. A message counts once for each node to which it was not sent.
    pub refused: u64,
    /// Number of messages from other nodes that were lost on their way, or were dropped because
    /// 16,384 messages of the topic waited on this node. A loss is noticed when the next message
    /// from the same node arrives.
    pub lost: u64,
    /// Number of messages that a subscriber has missed because its mailbox was full. A message
    /// counts once for each subscriber that has missed it.
    pub missed: u64,
    /// Number of messages that no subscriber of this node received, because the `Clone`
    /// implementation of the message panicked. If such a message was published on this node, other
    /// nodes do not receive it either.
    pub failed: u64,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) published: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) missed: AtomicU64,
    pub(super) failed: AtomicU64,
}

pub(super) fn add(count: &AtomicU64, more: u64) {
    // Relaxed: the numbers order nothing.
    count.fetch_add(more, Relaxed);
}

/// A list that one actor replaces and other actors read.
struct List<T>(Mutex<Arc<Vec<T>>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> List<T> {
    fn get(&self) -> Arc<Vec<T>> {
        lock(&self.0).clone()
    }

    fn set(&self, list: Vec<T>) {
        let list = Arc::new(list);
        let before = mem::replace(&mut *lock(&self.0), list);
        drop(before);
    }
}

/// State of a topic on a node. The clerk (which knows the subscribers) writes the lists. The agent
/// (which passes on the messages) reads the lists.
pub(super) struct Shared<M: 'static> {
    subscribers: List<Address<M>>,
    /// Agents (actors that pass on the topic's messages) on the other nodes with subscribers.
    agents: List<Address<ToTopic<M>>>,
    pub(super) counts: Counts,
}

impl<M> Default for Shared<M> {
    fn default() -> Self {
        Self {
            subscribers: List::default(),
            agents: List::default(),
            counts: Counts::default(),
        }
    }
}

impl<M> Shared<M> {
    pub(super) fn subscribers(&self) -> Arc<Vec<Address<M>>> {
        self.subscribers.get()
    }

    pub(super) fn set_subscribers(&self, subscribers: Vec<Address<M>>) {
        self.subscribers.set(subscribers);
    }

    pub(super) fn agents(&self) -> Arc<Vec<Address<ToTopic<M>>>> {
        self.agents.get()
    }

    pub(super) fn set_agents(&self, agents: Vec<Address<ToTopic<M>>>) {
        self.agents.set(agents);
    }

    pub(super) fn sample(&self) -> TopicSample {
        let (get, counts) = (|count: &AtomicU64| count.load(Relaxed), &self.counts);
        TopicSample {
            subscribers: self.subscribers().len(),
            nodes: self.agents().len(),
            published: get(&counts.published),
            received: get(&counts.received),
            refused: get(&counts.refused),
            lost: get(&counts.lost),
            missed: get(&counts.missed),
            failed: get(&counts.failed),
        }
    }
}
