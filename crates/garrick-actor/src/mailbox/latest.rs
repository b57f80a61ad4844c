//! A bounded mailbox that drops the oldest message when it is full.
//!
//! Messages wait in a queue that the senders and the actor share. So a sender whose message exceeds
//! the capacity can remove the oldest message. A sender outside of a turn adds its message to the
//! queue immediately. This sender then sends the order `Look` to the actor, unless an order `Look`
//! is already pending. A message that is sent during a turn is staged: it is sent through the
//! actor's own mailbox, and is added to the queue when it arrives. For every message in the queue,
//! the actor sends itself an order to handle one message. So each message is handled in a separate
//! turn, and undoing a turn affects no other message.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::{
    Address, Gauged, Place as Permit, Reply, Room, SendError, SpawnError, in_turn,
};

use super::Ground;
use super::behind::{self, Actual, Arrived, Entrance, Way};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::quiet::{self, Several};

/// Limit on the number of messages in transit. A message is in transit if it was sent during a turn
/// and is not in the queue yet. If the capacity of the mailbox is larger than this number, the
/// capacity is the limit instead.
const CARRIED_MIN: usize = 1024;

/// An order to the actor of the mailbox. Senders reach this actor through a door (a function that
/// the senders call). Each order contains the address of the door.
pub(super) enum Order<M> {
    /// Adds this message, which was sent during a turn, to the queue.
    Carried(M, Permit, Address<M>),
    /// Notifies the actor that the queue is not empty.
    Look(Address<M>),
    /// Makes the actor handle the oldest message in the queue.
    Handle(Address<M>),
    /// Makes the actor stop if the mailbox is closed and empty.
    Close,
}

struct Waiting<M> {
    queue: VecDeque<(u64, M)>,
    /// Sequence number of the newest message. Incremented by the code that adds a message.
    last: u64,
    /// True once the actor has stopped, or has been asked to stop. From then on, the queue accepts
    /// no messages.
    is_over: bool,
    /// True while the notification that the queue is not empty (`Look`) is on its way to the actor.
    told: bool,
}

/// Senders' side of the mailbox. The actor must not own this struct, because it contains the
/// actor's address and would keep the actor alive.
pub(super) struct Front<M> {
    actual: Actual<Order<M>>,
    shared: Arc<Shared<M>>,
}

/// State shared by the senders and the actor.
struct Shared<M> {
    waiting: Mutex<Waiting<M>>,
    /// Maximum number of queued messages.
    capacity: usize,
    /// Limit on the number of messages that were sent during a turn and are not in the queue yet.
    /// This object also counts the messages that were dropped.
    carried: Arc<Room>,
}

impl<M: Send + 'static> Shared<M> {
    fn lock(&self) -> MutexGuard<'_, Waiting<M>> {
        // No code that holds the lock can panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message to the queue and records that an order `Look` is pending. If the queue is
    /// full, drops the oldest message first. Returns a flag and the sequence number of the new
    /// message. The flag is true if an order `Look` was already pending.
    ///
    /// # Errors
    /// Returns the message if the actor has stopped.
    fn put(&self, message: M) -> Result<(bool, u64), SendError<M>> {
        let mut waiting = self.lock();
        if waiting.is_over {
            return Err(SendError(message));
        }
        let evicted = (waiting.queue.len() >= self.capacity)
            .then(|| waiting.queue.pop_front())
            .flatten();
        waiting.last += 1;
        let number = waiting.last;
        waiting.queue.push_back((number, message));
        let told = mem::replace(&mut waiting.told, true);
        drop(waiting);
        if evicted.is_some() {
            self.carried.count_dropped();
            // A panic of its destructor must not prevent this thread from notifying the actor.
            quiet::drop(evicted);
        }
        Ok((told, number))
    }
}

impl<M: Send + 'static> Gauged<M> for Front<M> {
    // There is no `room`: a new message always finds a place, which is that of the oldest message.

    fn capacity(&self) -> Option<usize> {
        Some(self.shared.capacity)
    }

    fn waiting(&self) -> Option<usize> {
        Some(self.shared.lock().queue.len())
    }

    fn dropped(&self) -> u64 {
        self.shared.carried.dropped()
    }

    fn count_refused(&self, _: &mut Option<M>) {
        self.shared.carried.count_dropped();
    }
}

impl<M: Send + 'static> Entrance for Front<M> {
    type Message = M;
    type Arrival = Order<M>;

    fn actual(&self) -> &Actual<Order<M>> {
        &self.actual
    }

    fn gauged(&self) -> Option<&dyn Gauged<M>> {
        Some(self)
    }

    fn pass(&self, message: M, here: &Address<M>) -> Result<(), SendError<M>> {
        let actor = self.actual.wait();
        if actor.is_stopped() {
            return Err(SendError(message));
        }
        if in_turn() {
            let Some(permit) = self.shared.carried.try_take() else {
                self.shared.carried.count_dropped();
                return Ok(());
            };
            return match actor.send(Order::Carried(message, permit, here.clone())) {
                Err(SendError(Order::Carried(message, ..))) => Err(SendError(message)),
                _ => Ok(()),
            };
        }
        let (told, number) = self.shared.put(message)?;
        if told || actor.send(Order::Look(here.clone())).is_ok() {
            return Ok(());
        }
        // The actor has just stopped, or its system refuses strangers. The message is returned,
        // unless the message of another sender has evicted it in the meantime.
        let mut waiting = self.shared.lock();
        waiting.told = false;
        // The numbers in the queue are ascending, and this message is one of the newest.
        let at = waiting
            .queue
            .binary_search_by_key(&number, |(other, _)| *other);
        let back = at.ok().and_then(|at| waiting.queue.remove(at));
        drop(waiting);
        back.map_or(Ok(()), |(_, message)| Err(SendError(message)))
    }
}

/// The actor's side of the queue that senders and actor share.
struct Oldest<M> {
    shared: Arc<Shared<M>>,
    /// Number of pending orders. Each order makes the actor handle one message.
    orders: usize,
}

impl<M: Send + 'static> Oldest<M> {
    /// Sends orders to this actor itself until one order is pending for each message in the queue.
    /// Each order makes the actor handle one message.
    fn order(&mut self, front: &Address<M>, cx: &Context<'_, Order<M>>) {
        let waiting = {
            let mut waiting = self.shared.lock();
            waiting.told = false;
            waiting.queue.len()
        };
        for _ in self.orders..waiting {
            // The actor runs this turn, so it has not stopped.
            let _ = cx.send(&cx.address(), Order::Handle(front.clone()));
        }
        self.orders = self.orders.max(waiting);
    }
}

impl<M: Send + 'static> Way<M> for Oldest<M> {
    type Arrival = Order<M>;

    fn front(&self, actual: Address<Order<M>>) -> Option<Address<M>> {
        let front = Front {
            actual: Actual::of(actual),
            shared: self.shared.clone(),
        };
        Some(behind::address(Arc::new(front)))
    }

    fn arrive(&mut self, order: Order<M>, cx: &mut Context<'_, Order<M>>) -> Arrived<M> {
        let front = match order {
            Order::Carried(message, permit, front) => {
                drop(permit);
                // This code runs in a turn of the actor, so the actor has not stopped.
                return match self.shared.put(message) {
                    Ok(_) => {
                        self.order(&front, cx);
                        Arrived::Nothing
                    }
                    Err(SendError(message)) => Arrived::Late(message),
                };
            }
            Order::Look(front) => {
                self.order(&front, cx);
                return Arrived::Nothing;
            }
            Order::Close => return Arrived::Nothing,
            Order::Handle(front) => front,
        };
        self.orders -= 1;
        let oldest = self.shared.lock().queue.pop_front();
        oldest.map_or(Arrived::Nothing, |(_, message)| {
            Arrived::Handle(message, front)
        })
    }

    fn handled(&mut self, commits: bool, cx: &Context<'_, Order<M>>) {
        if !commits && self.shared.lock().is_over {
            // The answer to a reply arrives even if this turn is undone.
            Reply::<()>::to_task(cx.address(), |_| Order::Close).send(());
        }
    }

    fn close(&mut self) {
        self.shared.lock().is_over = true;
    }

    fn is_empty(&self) -> bool {
        let waiting = self.shared.lock();
        waiting.queue.is_empty() && !waiting.told && self.orders == 0
    }

    fn left(&mut self) -> usize {
        let mut waiting = self.shared.lock();
        waiting.is_over = true;
        let left = Several::from(mem::take(&mut waiting.queue));
        drop(waiting);
        left.len()
    }

    fn is_message(order: &Order<M>) -> bool {
        matches!(order, Order::Carried(..))
    }
}

pub(super) fn spawn<A>(
    ground: &impl Ground,
    capacity: usize,
    actor: A,
) -> Result<Address<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    let shared = Arc::new(Shared {
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
    let front = Arc::new(Front {
        actual: Actual::new(),
        shared,
    });
    behind::spawn(ground, &front, oldest, actor)
}
