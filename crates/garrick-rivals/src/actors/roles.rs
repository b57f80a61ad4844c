//! What the actors of the scenarios do.

use std::hint::black_box;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::framework::{Flow, Framework, Role};

/// Counts messages, and says when the last expected one has come.
#[derive(Debug)]
pub(super) struct Counter {
    /// Messages still to come.
    left: u64,
    /// Whom to tell. None when that is done.
    done: Option<oneshot::Sender<()>>,
}

impl Counter {
    /// One that expects `count` messages, and what it tells when they have come.
    pub(super) fn new(count: u64) -> (Self, oneshot::Receiver<()>) {
        let (done, waiting) = oneshot::channel();
        let done = Some(done);
        (Self { left: count, done }, waiting)
    }

    /// Counts one message.
    #[inline]
    pub(super) fn count(&mut self, message: u64) -> Flow {
        black_box(message);
        self.left = self.left.checked_sub(1).expect("no message too many");
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

/// Says that it is done to whoever may still wait for it.
fn say(done: &mut Option<oneshot::Sender<()>>) {
    if let Some(done) = done.take() {
        // A driver that has failed waits no more.
        let _ = done.send(());
    }
}

/// Passes a number on, one less each time, until it is 0.
pub(super) struct Relay<F: Framework> {
    /// The next one. None until told, and after the end.
    next: Option<F::Address<Self>>,
    /// Whom to tell that 0 was reached: only one of the relays has it.
    done: Option<oneshot::Sender<()>>,
}

/// What a [`Relay`] receives.
pub(super) enum Pass<F: Framework> {
    /// Who comes next.
    Next(F::Address<Relay<F>>),
    /// How often to pass this on.
    Token(u64),
    /// The token has come to its end: forget the next one, so that no ring keeps itself alive.
    End,
}

impl<F: Framework> Relay<F> {
    pub(super) fn new(next: Option<F::Address<Self>>, done: Option<oneshot::Sender<()>>) -> Self {
        Self { next, done }
    }

    /// Lets go of the next one, and has it do the same. In a ring this comes back to where it began.
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

/// Counts what short-lived and idle actors do.
#[derive(Debug)]
pub(super) struct Tally {
    /// Messages handled.
    handled: AtomicU64,
    /// Actors whose end is still to come.
    left: AtomicU64,
    /// Whom to tell that the last has ended.
    done: Mutex<Option<oneshot::Sender<()>>>,
}

impl Tally {
    /// One for `count` actors, and what it tells when all of them have ended.
    pub(super) fn new(count: u64) -> (Arc<Self>, oneshot::Receiver<()>) {
        let (done, waiting) = oneshot::channel();
        let tally = Self {
            handled: AtomicU64::new(0),
            left: AtomicU64::new(count),
            done: Mutex::new(Some(done)),
        };
        (Arc::new(tally), waiting)
    }

    /// Messages handled so far.
    pub(super) fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    fn handle(&self) {
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        // AcqRel: each end pairs with those before it, so that the last one, and whom it tells, see all that was
        // handled.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            say(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Lives for one message.
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

/// Is idle after one message. Its state is 8 bytes or so: the address of the idler made before it.
pub(super) struct Idler<F: Framework> {
    /// Kept, not read: it is what keeps the actor before this one alive.
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

/// An actor of a fork bomb, and what it has become: see `fork_bomb`.
pub(super) enum Tree<F: Framework> {
    /// The root's customer: tells how many actors the tree has.
    Customer(Option<oneshot::Sender<u64>>),
    /// It waits to be told to grow.
    Seed,
    /// It waits for two answers, and then answers its customer.
    Two(F::Address<Self>),
    /// It has had one answer, of so many actors, and waits for the other.
    One(F::Address<Self>, u64),
    /// It has answered.
    Spent,
}

/// What an actor of the tree receives.
pub(super) enum Growth<F: Framework> {
    /// Grow, and then tell the customer.
    Grow {
        /// Whose message this is: the address that its children answer to.
        me: F::Address<Tree<F>>,
        customer: F::Address<Tree<F>>,
        depth: u32,
    },
    /// A child is done; it and those below it are so many.
    Answer(u64),
}

impl<F: Framework> Tree<F> {
    /// Makes an actor, and has it grow so deep for `customer`.
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
                    // See `say`.
                    let _ = done.send(count);
                    return Flow::Stop;
                }
                Self::Customer(None) | Self::Seed | Self::Spent => {
                    unreachable!("an actor is answered as often as it has children")
                }
            },
        };
        let (customer, count) = answer;
        F::tell::<Self>(&customer, Growth::Answer(count)).await;
        Flow::Stop
    }
}
