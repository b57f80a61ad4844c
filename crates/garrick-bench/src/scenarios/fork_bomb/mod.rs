//! The fork bomb: a binary tree of actors that grows, and reports back to its root.
//!
//! The actors follow the TActors benchmark step by step. An inner actor creates its left child and
//! sends to it. Then it creates its right child and sends to that child. Then it becomes an actor
//! that waits for two answers. These steps are 2 creates, 2 sends and a become. The first answer
//! causes another become: the actor now waits for one answer. The second answer causes a send to
//! the customer, which is the actor that waits for this subtree. A leaf sends to its customer at
//! once.
//!
//! ```text
//!                   root                         depth n: 2^n - 1 inner actors, 2^n leaves
//!              /           \
//!        inner               inner               inner: 3 dispatches, 3 sends, 2 becomes, 2 creates
//!       /     \             /     \
//!     leaf   leaf         leaf   leaf            leaf: 1 dispatch, 1 send
//! ```

mod load;

mod memory;
mod plain;

use std::mem;
use std::sync::mpsc;

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{
    Clock, Contender, Effort, Measured, Point, Result, Scenario, Stopwatch, Swept,
};

use super::actors::{builder, measure_here, send_in, sent};

pub(crate) use load::{Erfc, Load, Nothing, Randoms};
pub(crate) use memory::{CHILD, in_child, in_this_process};

pub(super) const FORK_BOMB: Scenario = Scenario {
    name: "fork-bomb",
    operation: "one actor of a binary tree of 2^(depth+1)-1 actors: it is created, handles its \
                messages, and is dropped; an inner actor creates two children, changes its \
                behavior twice, and answers its customer after two answers; recursion is two plain \
                calls for each inner node; boxed-continuations is one boxed closure for each inner \
                node",
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

pub(crate) fn at(effort: &Effort, point: &Point) -> Vec<Contender> {
    let depth = point
        .get("depth")
        .map_or(effort.pick(DEPTH, DEPTH_QUICK), |depth| depth as u32);
    let wood = Wood::bare(depth);
    let workers = point
        .get("workers")
        .map_or(vec![1, 2], |workers| vec![workers as usize]);
    let ours = workers.into_iter().map(|workers| {
        Contender::fixed("garrick", move || wood.by_actors(workers)).with("workers", workers)
    });
    let mut contenders: Vec<Contender> = ours.collect();
    // Plain code has no workers to sweep.
    if point.get("workers").is_none() {
        contenders.extend([
            Contender::fixed("recursion", move || Ok(wood.by_recursion())),
            Contender::fixed("boxed-continuations", move || Ok(wood.by_continuations())),
        ]);
    }
    contenders
        .into_iter()
        .map(|contender| contender.with("depth", depth))
        .collect()
}

/// Minimum number of nodes in one measurement, in one or several trees. The operating system
/// updates the CPU time of other threads only every few milliseconds, so fewer nodes could not be
/// measured accurately.
const NODES_MIN: u64 = 1 << 17;

/// Description of the trees to grow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wood<L> {
    /// Depth of each tree.
    depth: u32,
    /// Number of trees, which are grown one after another.
    trees: u64,
    /// Work that each leaf of a tree does.
    load: L,
}

impl Wood<Nothing> {
    /// Creates the description of trees whose leaves have no work.
    pub(crate) fn bare(depth: u32) -> Self {
        Self {
            depth,
            trees: (NODES_MIN / nodes(depth)).max(1),
            load: Nothing,
        }
    }
}

impl<L: Load> Wood<L> {
    /// Creates the description of a single tree.
    pub(crate) fn tree(depth: u32, load: L) -> Self {
        Self {
            depth,
            trees: 1,
            load,
        }
    }

    /// Returns the number of nodes of all trees.
    pub(crate) fn nodes(&self) -> u64 {
        self.trees * nodes(self.depth)
    }

    /// Returns the number of leaves of all trees.
    pub(crate) fn leaves(&self) -> u64 {
        self.trees << self.depth
    }

    /// Grows the trees as actors, on this thread or on the given number of workers.
    pub(crate) fn by_actors(self, workers: usize) -> Result<Measured> {
        match workers {
            1 => one_worker(self),
            _ => pool(self, workers),
        }
    }

    /// Grows the trees without actors, by two recursive calls for each inner node.
    pub(crate) fn by_recursion(self) -> Measured {
        plain::recursion(self)
    }

    /// Grows the trees without actors, by a boxed closure for each inner node.
    pub(crate) fn by_continuations(self) -> Measured {
        plain::continuations(self)
    }
}

/// Returns the number of nodes of a tree.
fn nodes(depth: u32) -> u64 {
    (1 << (depth + 1)) - 1
}

/// The current behavior of an actor of the tree.
enum Tree<L> {
    /// The actor waits for the message that makes it grow.
    Seed,
    /// The actor waits for two more messages, and then reports to its customer, the actor with this
    /// address.
    Two(Address<Message<L>>),
    /// The actor waits for one more message, and then reports to its customer, the actor with this
    /// address.
    One(Address<Message<L>>),
    /// The actor has reported to its customer, and is done.
    Done,
}

/// Messages that an actor of the tree handles.
enum Message<L> {
    /// Requests a subtree of the given depth, or the work of a leaf if the depth is 0. When the
    /// work is done, the receiver reports to the given address.
    Grow(Address<Message<L>>, u32, L),
    /// Reports that a child is done.
    Any,
}

impl<L: Load> Actor for Tree<L> {
    type Msg = Message<L>;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: Message<L>, cx: &mut Context<'_, Message<L>>) -> Next {
        match message {
            Message::Grow(customer, 0, load) => {
                load.bear();
                sent(&cx.send(&customer, Message::Any))
            }
            Message::Grow(customer, depth, load) => {
                let left = cx.spawn(Self::Seed);
                let grow = || Message::Grow(cx.address(), depth - 1, load);
                let grown = cx.send(&left, grow());
                let right = cx.spawn(Self::Seed);
                let grown = grown.and(cx.send(&right, grow()));
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

/// The actor to which the roots of all trees report. The first message starts this actor, and each
/// further message reports a complete tree.
struct Planter<L> {
    wood: Wood<L>,
    /// Number of trees that have not been grown yet.
    left: u64,
    /// Sender for the notification that the last tree is complete.
    done: mpsc::Sender<()>,
}

impl<L: Load> Planter<L> {
    /// Creates a planter, which starts to grow trees at its first message. Returns the planter, and
    /// the receiver of the notification that the last tree is complete.
    fn new(wood: Wood<L>) -> (Self, mpsc::Receiver<()>) {
        let (done, waiting) = mpsc::channel();
        let left = wood.trees;
        (Self { wood, left, done }, waiting)
    }
}

impl<L: Load> Actor for Planter<L> {
    type Msg = Message<L>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, _: Message<L>, cx: &mut Context<'_, Message<L>>) -> Next {
        if self.left == 0 {
            // If there is no receiver, the trees grow on the measuring thread, which checks the
            // result after the run.
            let _ = self.done.send(());
            return Next::Continue;
        }
        self.left -= 1;
        let root = cx.spawn(Tree::Seed);
        let Wood { depth, load, .. } = self.wood;
        sent(&cx.send(&root, Message::Grow(cx.address(), depth, load)))
    }
}

fn one_worker<L: Load>(wood: Wood<L>) -> Result<Measured> {
    let (planter, waiting) = Planter::new(wood);
    let measured = measure_here(wood.nodes(), |local| {
        send_in(&local.spawn(planter), Message::Any);
    });
    assert!(waiting.try_recv().is_ok(), "the trees are complete");
    measured
}

fn pool<L: Load>(wood: Wood<L>, workers: usize) -> Result<Measured> {
    let system = builder().workers(workers).start()?;
    let (planter, waiting) = Planter::new(wood);
    let planter = system.spawn(planter)?;
    let watch = Stopwatch::start(Clock::Process);
    send_in(&planter, Message::Any);
    waiting.recv()?;
    Ok(Measured::new(wood.nodes(), watch.stop()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_ways<L: Load>(wood: Wood<L>) -> [u64; 4] {
        [
            wood.by_actors(1).unwrap().ops,
            wood.by_actors(2).unwrap().ops,
            wood.by_recursion().ops,
            wood.by_continuations().ops,
        ]
    }

    #[test]
    fn all_contenders_grow_the_same_tree() {
        for depth in 0..6 {
            let nodes = (2 << depth) - 1;
            assert_eq!(all_ways(Wood::tree(depth, Nothing)), [nodes; 4]);
            assert_eq!(all_ways(Wood::tree(depth, Randoms(2))), [nodes; 4]);
            assert_eq!(all_ways(Wood::tree(depth, Erfc(2))), [nodes; 4]);
        }
    }

    #[test]
    fn small_trees_are_grown_one_after_the_other() {
        let wood = Wood::bare(3);
        assert_eq!((wood.trees, wood.leaves()), (8738, 8 * 8738));
        assert_eq!(all_ways(wood), [15 * 8738; 4]);
        assert_eq!(Wood::bare(16).trees, 1);
        assert_eq!(Wood::bare(24).nodes(), 33_554_431);
    }

    /// Counts the leaves that perform their load.
    #[test]
    fn every_leaf_bears_the_load_once() {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

        static BORNE: AtomicU64 = AtomicU64::new(0);

        #[derive(Clone, Copy)]
        struct Told;

        impl Load for Told {
            fn bear(self) {
                BORNE.fetch_add(1, Relaxed);
            }
        }

        all_ways(Wood::tree(5, Told));
        assert_eq!(BORNE.load(Relaxed), 4 * 32);
    }
}
