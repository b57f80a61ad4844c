//! An actor whose messages come by rank.
//!
//! What arrives is put into a heap, and for each message put there the actor sends itself a word, which comes
//! behind all that has arrived already. So when it takes the highest out, whatever was there to be compared
//! is in the heap.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

use garrick_sched::{Address, Door, Notice, SendError, SpawnError, door};

use super::{Place, Rank};
use crate::actor::{Actor, Next};
use crate::context::Context;

/// What the actor behind the door receives.
enum Ranked<M> {
    /// One to be put in its place, with what the actor is known by.
    Put(M, Address<M>),
    /// Handle the highest.
    Go,
}

/// The door.
struct Front<M>(std::sync::Arc<OnceLock<Address<Ranked<M>>>>);

impl<M: Send + 'static> Door for Front<M> {
    type Message = M;

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        // Whoever has the address of the front can be a moment early: the actor itself, when it starts.
        let actor = self.0.wait();
        match actor.send(Ranked::Put(message, here.clone())) {
            Err(SendError(Ranked::Put(message, _))) => Err(SendError(message)),
            Ok(()) | Err(SendError(Ranked::Go)) => Ok(()),
        }
    }

    fn stop(&self) {
        self.0.wait().stop();
    }

    fn is_stopped(&self) -> bool {
        self.0.wait().is_stopped()
    }

    fn watch(&self, notice: Notice) {
        let _ = self.0.wait().watch(notice);
    }
}

/// A message in the heap.
struct Entry<M> {
    rank: i64,
    /// How many came before.
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

/// The actor as the scheduler sees it.
struct Behind<A: Actor> {
    actor: A,
    rank: Rank<A::Msg>,
    heap: BinaryHeap<Entry<A::Msg>>,
    /// Messages that have come so far.
    count: u64,
    /// Until it has started.
    front: Option<Address<A::Msg>>,
}

impl<A: Actor> Actor for Behind<A>
where
    A::Msg: Send,
{
    type Msg = Ranked<A::Msg>;
    const STARTS: bool = A::STARTS;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
        let Some(front) = self.front.take() else {
            return Next::Continue;
        };
        let turn = cx.turn().seen_as(&front);
        self.actor.started(&mut Context::new(&turn))
    }

    fn receive(&mut self, message: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        if let Ranked::Put(message, front) = message {
            self.heap.push(Entry {
                rank: (self.rank)(&message),
                number: self.count,
                message,
                front,
            });
            self.count += 1;
            return match cx.send(&cx.address(), Ranked::Go) {
                Ok(()) => Next::Continue,
                Err(_) => Next::Stop,
            };
        }
        // There is a word for every message.
        let Some(entry) = self.heap.pop() else {
            return Next::Continue;
        };
        let turn = cx.turn().seen_as(&entry.front);
        let next = self.actor.receive(entry.message, &mut Context::new(&turn));
        if next == Next::Stop {
            for _ in self.heap.drain() {
                cx.turn().count_dead_letter();
            }
        }
        next
    }

    fn name() -> &'static str {
        A::name()
    }
}

pub(super) fn spawn<A>(
    place: &impl Place,
    rank: Rank<A::Msg>,
    actor: A,
) -> Result<Address<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    let inner = std::sync::Arc::new(OnceLock::new());
    let address = door(Front(inner.clone()));
    let behind = Behind {
        actor,
        rank,
        heap: BinaryHeap::new(),
        count: 0,
        front: A::STARTS.then(|| address.clone()),
    };
    let spawned = place
        .spawn(behind)
        .map_err(|SpawnError(behind)| SpawnError(behind.actor))?;
    let set = inner.set(spawned);
    debug_assert!(set.is_ok(), "set once, here");
    Ok(address)
}
