//! An actor behind a mailbox that keeps the newest messages.
//!
//! What waits stands in a queue that senders and the actor share, so that a message which is one too many can be taken
//! out by who brings the next. A plain thread puts its message there at once, and tells the actor by a word
//! if none is under way. What a turn sends is staged, so it is carried by the actor's own mailbox, and put in
//! place when it arrives. For every message in the queue the actor sends itself an order to handle one: it is
//! that order's turn which may be undone, and no other message's.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use garrick_sched::{
    Address, Door, Notice, Place as Permit, Room, SendError, SpawnError, door, in_turn,
};

use super::Place;
use super::inlet::Inlet;
use crate::actor::{Actor, Next};
use crate::context::Context;

/// What turns have sent may come to so many messages at least before it is put in place.
const CARRIED_MIN: usize = 1024;

/// What the actor behind the door receives, with what it is known by.
pub(super) enum Order<M> {
    /// A message that a turn has sent.
    Carried(M, Permit, Address<M>),
    /// There is something in the queue.
    Look(Address<M>),
    /// Handle the oldest of the queue.
    Handle(Address<M>),
}

struct Waiting<M> {
    queue: VecDeque<M>,
    /// Whether a word to look is under way.
    told: bool,
}

/// What senders and the actor share.
pub(super) struct Front<M> {
    /// Set once the actor is made.
    actor: OnceLock<Address<Order<M>>>,
    waiting: Mutex<Waiting<M>>,
    /// Messages that may wait in place.
    capacity: usize,
    /// For what turns have sent, until it is put in place; and what was dropped.
    carried: Arc<Room>,
}

impl<M: Send + 'static> Front<M> {
    fn lock(&self) -> MutexGuard<'_, Waiting<M>> {
        // No code that holds the lock can panic half way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message in place; gives back whether a word is under way, and sets that it is.
    fn put(&self, message: M) -> bool {
        let mut waiting = self.lock();
        let evicted = (waiting.queue.len() >= self.capacity())
            .then(|| waiting.queue.pop_front())
            .flatten();
        waiting.queue.push_back(message);
        let told = mem::replace(&mut waiting.told, true);
        drop(waiting);
        if evicted.is_some() {
            self.carried.count_dropped();
        }
        told
    }

    pub(super) fn send(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        // Whoever has the address of the front can be a moment early: the actor itself, when it starts.
        let actor = self.actor.wait();
        if actor.is_stopped() {
            return Err(SendError(message));
        }
        if in_turn() {
            let Some(permit) = self.carried.try_take() else {
                self.carried.count_dropped();
                return Ok(());
            };
            return match actor.send(Order::Carried(message, permit, here.clone())) {
                Err(SendError(Order::Carried(message, ..))) => Err(SendError(message)),
                _ => Ok(()),
            };
        }
        if !self.put(message) && actor.send(Order::Look(here.clone())).is_err() {
            // It has stopped just now. Nobody but senders takes anything out any more.
            return self
                .lock()
                .queue
                .pop_back()
                .map_or(Ok(()), |message| Err(SendError(message)));
        }
        Ok(())
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.actor.get().is_some_and(Address::is_stopped)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().queue.len()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.carried.dropped()
    }
}

/// The door.
struct Keeps<M>(Arc<Front<M>>);

impl<M: Send + 'static> Door for Keeps<M> {
    type Message = M;

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        self.0.send(message, here)
    }

    fn stop(&self) {
        self.0.actor.wait().stop();
    }

    fn is_stopped(&self) -> bool {
        self.0.actor.wait().is_stopped()
    }

    fn watch(&self, notice: Notice) {
        let _ = self.0.actor.wait().watch(notice);
    }
}

/// The actor as the scheduler sees it.
struct Behind<A: Actor> {
    actor: A,
    shared: Arc<Front<A::Msg>>,
    /// Orders to handle a message that are under way.
    orders: usize,
    /// Until it has started.
    front: Option<Address<A::Msg>>,
}

impl<A: Actor> Behind<A>
where
    A::Msg: Send,
{
    /// Makes sure that there is an order for every message in the queue.
    fn order(&mut self, front: &Address<A::Msg>, cx: &Context<'_, Order<A::Msg>>) -> Next {
        let waiting = {
            let mut waiting = self.shared.lock();
            waiting.told = false;
            waiting.queue.len()
        };
        for _ in self.orders..waiting {
            if cx
                .send(&cx.address(), Order::Handle(front.clone()))
                .is_err()
            {
                return Next::Stop;
            }
        }
        self.orders = self.orders.max(waiting);
        Next::Continue
    }
}

impl<A: Actor> Actor for Behind<A>
where
    A::Msg: Send,
{
    type Msg = Order<A::Msg>;
    const STARTS: bool = A::STARTS;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
        let Some(front) = self.front.take() else {
            return Next::Continue;
        };
        let turn = cx.turn().seen_as(&front);
        self.actor.started(&mut Context::new(&turn))
    }

    fn receive(&mut self, order: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        let front = match order {
            Order::Carried(message, permit, front) => {
                drop(permit);
                self.shared.put(message);
                return self.order(&front, cx);
            }
            Order::Look(front) => return self.order(&front, cx),
            Order::Handle(front) => front,
        };
        self.orders -= 1;
        let oldest = self.shared.lock().queue.pop_front();
        let Some(message) = oldest else {
            return Next::Continue;
        };
        let turn = cx.turn().seen_as(&front);
        let next = self.actor.receive(message, &mut Context::new(&turn));
        if next == Next::Stop {
            let left = mem::take(&mut self.shared.lock().queue);
            for _ in left {
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
    capacity: usize,
    actor: A,
) -> Result<Inlet<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    let shared = Arc::new(Front {
        actor: OnceLock::new(),
        waiting: Mutex::new(Waiting {
            queue: VecDeque::new(),
            told: false,
        }),
        capacity,
        carried: Room::new(capacity.max(CARRIED_MIN)),
    });
    let address = door(Keeps(shared.clone()));
    let behind = Behind {
        actor,
        shared: shared.clone(),
        orders: 0,
        front: A::STARTS.then(|| address.clone()),
    };
    let spawned = place
        .spawn(behind)
        .map_err(|SpawnError(behind)| SpawnError(behind.actor))?;
    let set = shared.actor.set(spawned);
    debug_assert!(set.is_ok(), "set once, here");
    Ok(Inlet::latest(address, shared))
}
