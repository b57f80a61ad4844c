//! A priority mailbox, which is ordered by rank.
//!
//! When a message arrives, the actor inserts it into a heap. As long as the heap is not empty, one
//! `Go` is on its way to the actor. The `Go` waits behind all messages that have arrived earlier.
//! So when the actor handles a `Go`, the actor has already inserted all of these messages into the
//! heap. The actor then takes the message with the highest rank out of the heap, handles it, and
//! sends itself the next `Go`. The next `Go` arrives after the turn, and so behind all messages
//! that have arrived in the meantime.
//!
//! A turn that is undone discards what it has sent. So the `Go` of a turn that may be undone is the
//! answer to a [`Reply`]: if the turn is undone, the actor gets the refusal of the answer instead,
//! which has the same effect.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use garrick_sched::{Address, Reply, SendError, SpawnError};

use super::behind::{self, Actual, Arrived, Entrance, Way};
use super::{Ground, Rank};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::quiet::Several;

/// A message to the actor of a priority mailbox. The senders reach the actor through a door (a
/// function that the senders call).
enum Ranked<M> {
    /// Insert this message into the heap. The `Address` leads to the door (a function that the
    /// senders call) in front of the actor.
    Put(M, Address<M>),
    /// Handle the message that has the highest rank in the heap.
    Go,
}

/// The senders' side of a priority mailbox.
struct Front<M>(Actual<Ranked<M>>);

impl<M: Send + 'static> Entrance for Front<M> {
    type Message = M;
    type Arrival = Ranked<M>;

    fn actual(&self) -> &Actual<Ranked<M>> {
        &self.0
    }

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        match self.0.wait().send(Ranked::Put(message, here.clone())) {
            Err(SendError(Ranked::Put(message, _))) => Err(SendError(message)),
            Ok(()) | Err(SendError(Ranked::Go)) => Ok(()),
        }
    }
}

/// A message in the heap.
struct Entry<M> {
    rank: i64,
    /// Number of messages that arrived before this one.
    number: u64,
    message: M,
    front: Address<M>,
}

impl<M> Entry<M> {
    fn key(&self) -> (i64, std::cmp::Reverse<u64>) {
        (self.rank, std::cmp::Reverse(self.number))
    }
}

impl<M> PartialEq for Entry<M> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<M> Eq for Entry<M> {}

impl<M> PartialOrd for Entry<M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Entry<M> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The actor's side of a priority mailbox: a heap of the waiting messages.
struct Highest<M> {
    rank: Rank<M>,
    heap: Several<BinaryHeap<Entry<M>>>,
    /// Number of messages that have arrived so far.
    count: u64,
    /// True while a `Go` is on its way to the actor.
    goes: bool,
    /// True if messages that arrive are no longer accepted.
    is_closed: bool,
}

impl<M: Send + 'static> Highest<M> {
    /// Sends a `Go` to the actor, unless one is on its way. If `commits` is false, the `Go` arrives
    /// even if this turn is undone.
    fn go(&mut self, commits: bool, cx: &Context<'_, Ranked<M>>) {
        if self.goes {
            return;
        }
        self.goes = true;
        if commits {
            // The actor runs this turn, so it has not stopped.
            let _ = cx.send(&cx.address(), Ranked::Go);
        } else {
            Reply::<()>::to_task(cx.address(), |_| Ranked::Go).send(());
        }
    }

    /// Inserts a message into the heap.
    fn put(&mut self, message: M, front: Address<M>, cx: &Context<'_, Ranked<M>>) {
        self.heap.push(Entry {
            rank: (self.rank)(&message),
            number: self.count,
            message,
            front,
        });
        self.count += 1;
        self.go(true, cx);
    }
}

impl<M: Send + 'static> Way<M> for Highest<M> {
    type Arrival = Ranked<M>;

    fn front(&self, actual: Address<Ranked<M>>) -> Option<Address<M>> {
        Some(behind::address(Arc::new(Front(Actual::of(actual)))))
    }

    fn arrive(&mut self, message: Ranked<M>, cx: &mut Context<'_, Ranked<M>>) -> Arrived<M> {
        match message {
            Ranked::Put(message, _) if self.is_closed => Arrived::Late(message),
            Ranked::Put(message, front) => {
                self.put(message, front, cx);
                Arrived::Nothing
            }
            Ranked::Go => {
                self.goes = false;
                let highest = self.heap.pop();
                highest.map_or(Arrived::Nothing, |entry| {
                    Arrived::Handle(entry.message, entry.front)
                })
            }
        }
    }

    fn handled(&mut self, commits: bool, cx: &Context<'_, Ranked<M>>) {
        if !self.heap.is_empty() || self.is_closed && !commits {
            self.go(commits, cx);
        }
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    fn is_message(arrival: &Ranked<M>) -> bool {
        matches!(arrival, Ranked::Put(..))
    }

    fn left(&mut self) -> usize {
        self.heap.len()
    }
}

pub(super) fn spawn<A>(
    ground: &impl Ground,
    rank: Rank<A::Msg>,
    actor: A,
) -> Result<Address<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    let highest = Highest {
        rank,
        heap: Several::default(),
        count: 0,
        goes: false,
        is_closed: false,
    };
    behind::spawn(ground, &Arc::new(Front(Actual::new())), highest, actor)
}
