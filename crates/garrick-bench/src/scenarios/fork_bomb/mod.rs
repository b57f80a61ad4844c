//! The fork bomb: a binary tree of actors that grows, and reports back to its root.
//!
//! The pattern of the TActors benchmark, step for step. An inner actor creates its left child and sends to
//! it, creates its right child and sends to it, then becomes one that waits for two answers, then one that
//! waits for one. That is 2 creates, 2 sends and a become, a become at the first answer, and one send to
//! its customer at the second. A leaf sends to its customer at once.
//!
//! ```text
//!                   root                         depth n: 2^n - 1 inner actors, 2^n leaves
//!              /           \
//!        inner               inner               inner: 3 dispatches, 3 sends, 2 becomes, 2 creates
//!       /     \             /     \
//!     leaf   leaf         leaf   leaf            leaf: 1 dispatch, 1 send
//! ```

mod plain;

use std::mem;
use std::sync::mpsc;

use garrick_sched::{Address, Flow, Sponsor, Task, Turn};

use super::actors::{measure_here, send_in, sent};
use crate::clock::{Clock, Stopwatch};
use crate::scenario::{Contender, Effort, Measured, Result, Scenario};

pub(super) const FORK_BOMB: Scenario = Scenario {
    name: "fork-bomb",
    operation: "one actor of a binary tree of 2^(depth+1)-1: created, sent to, run, and dropped; inner actors \
                create two children, become twice, and answer their customer after two answers; recursion is \
                two plain calls for each inner node, boxed-continuations one boxed closure for each",
    contenders,
};

const DEPTH: u32 = 22;

const DEPTH_QUICK: u32 = 16;

fn contenders(effort: &Effort) -> Vec<Contender> {
    let depth = effort.pick(DEPTH, DEPTH_QUICK);
    [
        Contender::fixed("garrick", move || one_worker(depth)).with("workers", 1),
        Contender::fixed("garrick", move || pool(depth, 2)).with("workers", 2),
        Contender::fixed("recursion", move || Ok(plain::recursion(depth))),
        Contender::fixed("boxed-continuations", move || Ok(plain::continuations(depth))),
    ]
    .into_iter()
    .map(|contender| contender.with("depth", depth))
    .collect()
}

/// Nodes of a tree.
fn nodes(depth: u32) -> u64 {
    (1 << (depth + 1)) - 1
}

/// What an actor of the tree has become.
enum Tree {
    /// It waits to be told to grow.
    Seed,
    /// It waits for any two messages, and then sends to its customer.
    Two(Address<Message>),
    /// It waits for any message, and then sends to its customer.
    One(Address<Message>),
    /// It has sent to its customer.
    Done,
}

/// What an actor of the tree receives.
enum Message {
    /// Grow so deep, and then tell the customer.
    Grow(Address<Message>, u32),
    /// A child is done.
    Any,
}

impl Task for Tree {
    type Message = Message;

    #[inline]
    fn receive(&mut self, message: Message, turn: &Turn<'_, Message>) -> Flow {
        match (message, mem::replace(self, Self::Done)) {
            (Message::Grow(customer, 0), _) => sent(turn.send(&customer, Message::Any)),
            (Message::Grow(customer, depth), _) => {
                let left = turn.spawn(Self::Seed);
                let grown = turn.send(&left, Message::Grow(turn.address(), depth - 1));
                let right = turn.spawn(Self::Seed);
                let grown = grown.and(turn.send(&right, Message::Grow(turn.address(), depth - 1)));
                *self = Self::Two(customer);
                sent(grown)
            }
            (Message::Any, Self::Two(customer)) => {
                *self = Self::One(customer);
                Flow::Continue
            }
            (Message::Any, Self::One(customer)) => sent(turn.send(&customer, Message::Any)),
            (Message::Any, Self::Seed | Self::Done) => Flow::Stop,
        }
    }
}

/// The root's customer.
struct Customer(mpsc::Sender<()>);

impl Task for Customer {
    type Message = Message;

    fn receive(&mut self, _: Message, _: &Turn<'_, Message>) -> Flow {
        // Nobody waits where the tree grows on the thread that measures, which looks afterwards.
        let _ = self.0.send(());
        Flow::Continue
    }
}

fn one_worker(depth: u32) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(nodes(depth), |here| {
        let customer = here.spawn(Customer(done));
        send_in(&here.spawn(Tree::Seed), Message::Grow(customer, depth));
    });
    assert!(waiting.try_recv().is_ok(), "the tree is complete");
    measured
}

fn pool(depth: u32, workers: usize) -> Result<Measured> {
    let sponsor = Sponsor::pool(workers)?;
    let (done, waiting) = mpsc::channel();
    let customer = sponsor.handle().spawn(Customer(done))?;
    let root = sponsor.handle().spawn(Tree::Seed)?;
    let watch = Stopwatch::start(Clock::Process);
    send_in(&root, Message::Grow(customer, depth));
    waiting.recv()?;
    Ok(Measured::new(nodes(depth), watch.stop()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_grow_the_same_tree() {
        for depth in 0..6 {
            assert_eq!(one_worker(depth).unwrap().ops, nodes(depth));
            assert_eq!(pool(depth, 2).unwrap().ops, nodes(depth));
            assert_eq!(plain::recursion(depth).ops, nodes(depth));
            assert_eq!(plain::continuations(depth).ops, nodes(depth));
        }
    }
}
