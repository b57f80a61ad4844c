//! The roles, which are the kinds of work that the actors of the scenarios do.

use std::hint::black_box;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::framework::{Flow, Framework, Role};

/// An actor that counts messages, and reports when the last expected message has arrived.
#[derive(Debug)]
pub(super) struct Counter {
    /// Number of messages that have not arrived yet.
    left: u64,
    /// Sender for the report. `None` after the report was sent.
    done: Option<oneshot::Sender<()>>,
}

impl Counter {
    /// Creates a counter that expects `count` messages, and the receiver of its report.
    pub(super) fn new(count: u64) -> (Self, oneshot::Receiver<()>) {
        let (done, waiting) = oneshot::channel();
        let done = Some(done);
        (Self { left: count, done }, waiting)
    }

    /// Counts one message. After the last expected message, sends the report and returns
    /// [`Flow::Stop`].
    #[inline]
    pub(super) fn count(&mut self, message: u64) -> Flow {
        black_box(message);
        self.left = self
            .left
            .checked_sub(1)
            .expect("there are no more messages than expected");
        if self.left == 0 {
            say(&mut self.done);
            return Flow::Stop;
        }
        Flow::Continue
    }
}

impl<F: Framework> Role<F> for Counter {
    type Message = u64;

    async fn receive(&mut self, message: u64) -> Flow {
        self.count(message)
    }
}

/// Sends the report to the driver, the code that measures. Does nothing if the report was already
/// sent, or if the driver no longer waits for it.
fn say(done: &mut Option<oneshot::Sender<()>>) {
    if let Some(done) = done.take() {
        // A driver that has failed is no longer waiting.
        let _ = done.send(());
    }
}

/// A relay, which subtracts 1 from the number in a token and passes the token on, until the number
/// is 0.
pub(super) struct Relay<F: Framework> {
    /// Address of the next relay. `None` before the first message, and after the end.
    next: Option<F::Address<Self>>,
    /// Sender for the report that a token has reached 0. Only one of the relays has this sender.
    done: Option<oneshot::Sender<()>>,
}

/// A message to a [`Relay`].
pub(super) enum Pass<F: Framework> {
    Next(F::Address<Relay<F>>),
    /// Token with the number of hops left.
    Token(u64),
    /// Request to drop the address of the next relay, because the token has reached its end.
    /// Without this request, the relays of a ring would keep each other alive.
    End,
}

impl<F: Framework> Relay<F> {
    pub(super) fn new(next: Option<F::Address<Self>>, done: Option<oneshot::Sender<()>>) -> Self {
        Self { next, done }
    }

    /// Drops the address of the next relay, and sends [`Pass::End`] to that relay, which then does
    /// the same.
    async fn end(&mut self) {
        if let Some(next) = self.next.take() {
            F::tell::<Self>(&next, Pass::End).await;
        }
    }
}

impl<F: Framework> Role<F> for Relay<F> {
    type Message = Pass<F>;

    async fn receive(&mut self, message: Pass<F>) -> Flow {
        match (message, &self.next) {
            (Pass::Next(next), _) => self.next = Some(next),
            (Pass::Token(0), _) => {
                say(&mut self.done);
                self.end().await;
            }
            (Pass::Token(left), Some(next)) => F::tell::<Self>(next, Pass::Token(left - 1)).await,
            (Pass::Token(_), None) => return Flow::Stop,
            (Pass::End, _) => {
                self.end().await;
                return Flow::Stop;
            }
        }
        Flow::Continue
    }
}

/// Counts the messages handled by short-lived or idle actors, and counts how many of these actors
/// have ended.
#[derive(Debug)]
pub(super) struct Tally {
    /// Number of messages handled.
    handled: AtomicU64,
    /// Number of actors that have not ended yet.
    left: AtomicU64,
    /// Sender for the report that the last actor has ended.
    done: Mutex<Option<oneshot::Sender<()>>>,
}

impl Tally {
    /// Creates a tally for `count` actors, and the receiver of the report that all of them have
    /// ended.
    pub(super) fn new(count: u64) -> (Arc<Self>, oneshot::Receiver<()>) {
        let (done, waiting) = oneshot::channel();
        let tally = Self {
            handled: AtomicU64::new(0),
            left: AtomicU64::new(count),
            done: Mutex::new(Some(done)),
        };
        (Arc::new(tally), waiting)
    }

    /// Returns the number of messages handled so far.
    pub(super) fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    fn handle(&self) {
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        // AcqRel: each decrement pairs with the earlier ones. So the last actor and the receiver of
        // its report see all counts of handled messages.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            say(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// An actor that stops after its first message.
#[derive(Debug)]
pub(super) struct Mayfly(pub(super) Arc<Tally>);

impl<F: Framework> Role<F> for Mayfly {
    type Message = u64;

    async fn receive(&mut self, message: u64) -> Flow {
        black_box(message);
        self.0.handle();
        Flow::Stop
    }
}

impl Drop for Mayfly {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// An actor that stays idle after one message. Its state is about 8 bytes: the address of the idler
/// created before it.
pub(super) struct Idler<F: Framework> {
    /// Address of the idler that was created before this one. The address keeps that idler alive,
    /// and is never read.
    _before: Option<F::Address<Self>>,
}

impl<F: Framework> Idler<F> {
    pub(super) fn new(before: Option<F::Address<Self>>) -> Self {
        Self { _before: before }
    }
}

impl<F: Framework> Role<F> for Idler<F> {
    type Message = Arc<Tally>;

    async fn receive(&mut self, tally: Arc<Tally>) -> Flow {
        tally.handle();
        Flow::Continue
    }
}

/// An actor of a fork bomb, in its current state. The module `fork_bomb` describes the protocol.
pub(super) enum Tree<F: Framework> {
    /// The actor to which the root reports the number of actors in the tree. This actor passes the
    /// number on to the driver, the code that measures.
    Customer(Option<oneshot::Sender<u64>>),
    /// A new actor, which waits for the message that tells it to grow.
    Seed,
    /// An inner actor that waits for the answers of its two children. Then it answers its customer,
    /// the actor with this address.
    Two(F::Address<Self>),
    /// An inner actor that has received the answer of one child, and waits for the other answer.
    /// Contains the address of its customer, to which it will report, and the number of actors in
    /// the child's subtree.
    One(F::Address<Self>, u64),
    /// An actor that has done its part, and will get no more messages.
    Spent,
}

/// A message to an actor of the tree.
pub(super) enum Growth<F: Framework> {
    /// Request to grow a subtree of the given depth, and then to report its size to the actor
    /// `customer`.
    Grow {
        /// Address of the actor that receives this request. The children of this actor send their
        /// answers to this address.
        me: F::Address<Tree<F>>,
        customer: F::Address<Tree<F>>,
        depth: u32,
    },
    /// Report that a child is done. Contains the number of actors in the child's subtree.
    Answer(u64),
}

impl<F: Framework> Tree<F> {
    /// Creates an actor, and tells it to grow a subtree of depth `depth` and to report to
    /// `customer`.
    pub(super) async fn plant(customer: F::Address<Self>, depth: u32) {
        let me = F::spawn(Self::Seed, None).await;
        let grow = Growth::Grow {
            me: me.clone(),
            customer,
            depth,
        };
        F::tell::<Self>(&me, grow).await;
    }
}

impl<F: Framework> Role<F> for Tree<F> {
    type Message = Growth<F>;

    async fn receive(&mut self, message: Growth<F>) -> Flow {
        let answer = match message {
            Growth::Grow {
                customer, depth: 0, ..
            } => {
                *self = Self::Spent;
                (customer, 1)
            }
            Growth::Grow {
                me,
                customer,
                depth,
            } => {
                Self::plant(me.clone(), depth - 1).await;
                Self::plant(me, depth - 1).await;
                *self = Self::Two(customer);
                return Flow::Continue;
            }
            Growth::Answer(count) => match mem::replace(self, Self::Spent) {
                Self::Two(customer) => {
                    *self = Self::One(customer, count);
                    return Flow::Continue;
                }
                Self::One(customer, other) => (customer, 1 + other + count),
                Self::Customer(Some(done)) => {
                    // A driver that has failed is no longer waiting, as in `say`.
                    let _ = done.send(count);
                    return Flow::Stop;
                }
                Self::Customer(None) | Self::Seed | Self::Spent => {
                    unreachable!("an actor gets one answer from each child")
                }
            },
        };
        let (customer, count) = answer;
        F::tell::<Self>(&customer, Growth::Answer(count)).await;
        Flow::Stop
    }
}
