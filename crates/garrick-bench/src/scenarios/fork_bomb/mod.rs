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

use garrick::{Actor, Address, Context, Next, System};

use super::actors::{measure_here, send_in, sent};
use crate::clock::{Clock, Stopwatch};
use crate::point::Point;
use crate::scenario::{Contender, Effort, Measured, Result, Scenario, Swept};

pub(super) const FORK_BOMB: Scenario = Scenario {
    name: "fork-bomb",
    operation: "one actor of a binary tree of 2^(depth+1)-1: created, sent to, run, and dropped; inner actors \
                create two children, become twice, and answer their customer after two answers; recursion is \
                two plain calls for each inner node, boxed-continuations one boxed closure for each",
    contenders,
};

const DEPTH: u32 = 22;

const DEPTH_QUICK: u32 = 16;

pub(super) const SWEPT: Swept = Swept {
    scenario: FORK_BOMB.name,
    parameters: &[("depth", 0..=24), ("workers", 1..=64)],
    contenders: at,
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    at(effort, &Point::default())
}

fn at(effort: &Effort, point: &Point) -> Vec<Contender> {
    let depth = point
        .get("depth")
        .map_or(effort.pick(DEPTH, DEPTH_QUICK), |depth| depth as u32);
    let workers = point
        .get("workers")
        .map_or(vec![1, 2], |workers| vec![workers as usize]);
    let ours = workers.into_iter().map(|workers| {
        let grow = move || match workers {
            1 => one_worker(depth),
            _ => pool(depth, workers),
        };
        Contender::fixed("garrick", grow).with("workers", workers)
    });
    let mut contenders: Vec<Contender> = ours.collect();
    // They have no workers to sweep.
    if point.get("workers").is_none() {
        contenders.extend([
            Contender::fixed("recursion", move || Ok(plain::recursion(depth))),
            Contender::fixed("boxed-continuations", move || {
                Ok(plain::continuations(depth))
            }),
        ]);
    }
    contenders
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

impl Actor for Tree {
    type Msg = Message;

    #[inline]
    fn receive(&mut self, message: Message, cx: &mut Context<'_, Message>) -> Next {
        match message {
            Message::Grow(customer, 0) => sent(&cx.send(&customer, Message::Any)),
            Message::Grow(customer, depth) => {
                let left = cx.spawn(Self::Seed);
                let grown = cx.send(&left, Message::Grow(cx.address(), depth - 1));
                let right = cx.spawn(Self::Seed);
                let grown = grown.and(cx.send(&right, Message::Grow(cx.address(), depth - 1)));
                *self = Self::Two(customer);
                sent(&grown)
            }
            Message::Any => match mem::replace(self, Self::Done) {
                Self::Two(customer) => {
                    *self = Self::One(customer);
                    Next::Continue
                }
                Self::One(customer) => sent(&cx.send(&customer, Message::Any)),
                Self::Seed | Self::Done => Next::Stop,
            },
        }
    }
}

/// The root's customer.
struct Customer(mpsc::Sender<()>);

impl Actor for Customer {
    type Msg = Message;

    fn receive(&mut self, _: Message, _: &mut Context<'_, Message>) -> Next {
        // Nobody waits where the tree grows on the thread that measures, which looks afterwards.
        let _ = self.0.send(());
        Next::Continue
    }
}

fn one_worker(depth: u32) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(nodes(depth), |local| {
        let customer = local.spawn(Customer(done));
        send_in(&local.spawn(Tree::Seed), Message::Grow(customer, depth));
    });
    assert!(waiting.try_recv().is_ok(), "the tree is complete");
    measured
}

fn pool(depth: u32, workers: usize) -> Result<Measured> {
    let system = System::builder().workers(workers).start()?;
    let (done, waiting) = mpsc::channel();
    let customer = system.spawn(Customer(done))?;
    let root = system.spawn(Tree::Seed)?;
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
