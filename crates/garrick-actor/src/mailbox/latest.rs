//! A mailbox that keeps the newest messages.
//!
//! What waits stands in a queue that senders and the actor share, so that a message which is one too many can be taken
//! out by who brings the next. A plain thread puts its message there at once, and tells the actor by a word
//! if none is under way. What a turn sends is staged, so it is carried by the actor's own mailbox, and put in
//! place when it arrives. For every message in the queue the actor sends itself an order to handle one: it is
//! that order's turn which may be undone, and no other message's.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, Place as Permit, Room, SendError, SpawnError, in_turn};

use super::Place;
use super::behind::{self, Actual, Arrived, Entrance, Way};
use super::inlet::Inlet;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::{self, Several};

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
    queue: VecDeque<(u64, M)>,
    /// The number of the newest message. Counted up by whoever puts one there.
    last: u64,
    /// True once the actor has gone: nobody will look any more.
    is_over: bool,
    /// Whether a word to look is under way.
    told: bool,
}

/// What senders and the actor share.
pub(super) struct Front<M> {
    actual: Actual<Order<M>>,
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

    /// Puts a message in place; gives back whether a word is under way, and sets that it is. The number is the message's.
    ///
    /// # Errors
    /// Gives the message back if the actor has gone.
    fn put(&self, message: M) -> Result<(bool, u64), SendError<M>> {
        let mut waiting = self.lock();
        if waiting.is_over {
            return Err(SendError(message));
        }
        let evicted = (waiting.queue.len() >= self.capacity())
            .then(|| waiting.queue.pop_front())
            .flatten();
        waiting.last += 1;
        let number = waiting.last;
        waiting.queue.push_back((number, message));
        let told = mem::replace(&mut waiting.told, true);
        drop(waiting);
        if evicted.is_some() {
            self.carried.count_dropped();
            // Its destructor must keep nobody from telling the actor.
            quiet::drop(evicted);
        }
        Ok((told, number))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.actual.is_stopped()
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

impl<M: Send + 'static> Entrance for Front<M> {
    type Message = M;
    type Arrival = Order<M>;

    fn actual(&self) -> &Actual<Order<M>> {
        &self.actual
    }

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        let actor = self.actual.wait();
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
        let (told, number) = self.put(message)?;
        if told || actor.send(Order::Look(here.clone())).is_ok() {
            return Ok(());
        }
        // It has stopped just now. The message comes back, unless another sender's has taken its place meanwhile.
        let queue = &mut self.lock().queue;
        // Numbers ascend, and it is one of the newest.
        let at = queue.binary_search_by_key(&number, |(other, _)| *other);
        let back = at.ok().and_then(|at| queue.remove(at));
        back.map_or(Ok(()), |(_, message)| Err(SendError(message)))
    }
}

/// The actor's side of the queue.
struct Oldest<M> {
    shared: Arc<Front<M>>,
    /// Orders to handle a message that are under way.
    orders: usize,
}

impl<M: Send + 'static> Oldest<M> {
    /// Makes sure that there is an order for every message in the queue.
    fn order(&mut self, front: &Address<M>, cx: &Context<'_, Order<M>>) -> Next {
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

impl<M: Send + 'static> Way<M> for Oldest<M> {
    type Arrival = Order<M>;

    fn arrive(&mut self, order: Order<M>, cx: &mut Context<'_, Order<M>>) -> Arrived<M> {
        let front = match order {
            Order::Carried(message, permit, front) => {
                drop(permit);
                // It is the actor that does this, so it has not gone.
                quiet::drop(self.shared.put(message));
                return Arrived::Done(self.order(&front, cx));
            }
            Order::Look(front) => return Arrived::Done(self.order(&front, cx)),
            Order::Handle(front) => front,
        };
        self.orders -= 1;
        let oldest = self.shared.lock().queue.pop_front();
        oldest.map_or(Arrived::Done(Next::Continue), |(_, message)| {
            Arrived::Handle(message, front)
        })
    }

    fn left(&mut self) -> usize {
        let mut waiting = self.shared.lock();
        waiting.is_over = true;
        let left = Several::from(mem::take(&mut waiting.queue));
        let counted = self.orders + usize::from(waiting.told);
        drop(waiting);
        left.len().saturating_sub(counted)
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
        actual: Actual::new(),
        waiting: Mutex::new(Waiting {
            queue: VecDeque::new(),
            last: 0,
            is_over: false,
            told: false,
        }),
        capacity,
        carried: Room::new(capacity.max(CARRIED_MIN)),
    });
    let oldest = Oldest {
        shared: shared.clone(),
        orders: 0,
    };
    let address = behind::spawn(place, &shared, oldest, actor)?;
    Ok(Inlet::latest(address, shared))
}
