//! Actors with async handlers.

use std::any::type_name;
use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use garrick_core::lend::Borrower;

use super::body::Named;
use super::context::AsyncContext;
use super::hand::{self, Hand};
use super::incoming::Incoming;
use crate::model::next::Next;
use crate::model::outcome::Outcome;
use crate::quiet::Contained;

/// An actor like [`Actor`](crate::Actor), but with async handlers. An async actor handles its
/// messages one after another. While a handler awaits, other messages wait in the mailbox, in
/// order.
///
/// Each poll of a handler is a [turn](crate::Context). Messages that a handler sends during a poll
/// are delivered when the poll returns. So a handler that never has to wait is a single turn. If a
/// handler returns [`Next::Undo`] or [`Next::Fail`], only the last poll of the handler is undone. A
/// panic undoes the current poll and fails the actor.
///
/// All handlers of an actor run in one future, which is created once. So a message needs no
/// allocation.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{AsyncActor, AsyncContext, Reply, System};
///
/// struct Oven {
///     baked: u32,
/// }
///
/// enum Order {
///     Bread(Duration),
///     Count(Reply<u32>),
/// }
///
/// impl AsyncActor for Oven {
///     type Msg = Order;
///     type Outcome = ();
///
///     async fn receive(&mut self, order: Order, cx: &mut AsyncContext<Order>) {
///         match order {
///             Order::Bread(time) => {
///                 cx.sleep(time).await;
///                 self.baked += 1;
///             }
///             Order::Count(reply) => reply.send(self.baked),
///         }
///     }
/// }
///
/// let system = System::new()?;
/// let oven = system.spawn(Oven { baked: 0 })?;
/// oven.send(Order::Bread(Duration::from_micros(30))).unwrap();
/// assert_eq!(oven.ask(Order::Count).wait(), Ok(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AsyncActor: Send + Sized + 'static {
    /// The type of the actor's messages.
    type Msg: Send + 'static;

    /// The type that the handlers return. If a handler returns `()`, the actor continues. A
    /// [`Next`] value chooses the next step. An `Err` fails the actor.
    type Outcome: Outcome + Send;

    /// Called once, before the first message. This method is called even if the actor never
    /// receives a message.
    fn started(
        &mut self,
        cx: &mut AsyncContext<Self::Msg>,
    ) -> impl Future<Output = Self::Outcome> + Send {
        let _ = cx;
        async { Outcome::go_on() }
    }

    /// Handles one message. An implementation can be written as an `async fn`.
    fn receive(
        &mut self,
        msg: Self::Msg,
        cx: &mut AsyncContext<Self::Msg>,
    ) -> impl Future<Output = Self::Outcome> + Send;

    /// Returns the name that reports use for actors of this type. By default, this is the name of
    /// the type.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// A type that provides the name of an async actor.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct NameOf<A>(A);

impl<A: AsyncActor> Named for NameOf<A> {
    fn name() -> &'static str {
        A::name()
    }
}

/// State that an async actor keeps from one handler to the next.
pub(super) struct Course<M: Send + 'static> {
    pub(super) cx: AsyncContext<M>,
    hand: Borrower<Hand<M>>,
    /// Sequence number of the poll in which `started` was called.
    began: u64,
}

impl<M: Send + 'static> Course<M> {
    pub(super) fn new(mailbox: Incoming<M>) -> Self {
        let (cx, hand) = mailbox.into_parts();
        let hand = hand.expect("the mailbox of handlers has a hand");
        let began = cx.poll_number();
        Self { cx, hand, began }
    }

    /// Returns a future that receives the first message, after `started` has returned. If `started`
    /// had to wait for something, the future first ends the current turn.
    pub(super) fn after_start(&mut self, next: Next) -> After<'_, M> {
        let step = match next {
            Next::Continue if self.began == self.cx.poll_number() => Step::Receives,
            next => Step::Ends(next),
        };
        After { course: self, step }
    }

    /// Returns a future that receives the next message, after a handler has returned.
    ///
    /// The future first ends the turn. If the handler completed in its first poll, the turn ends
    /// because a poll can receive only one message. Otherwise, the future yields to other actors.
    pub(super) fn after(&mut self, next: Next) -> After<'_, M> {
        let step = Step::Ends(next);
        After { course: self, step }
    }
}

/// The future returned by [`Course::after`]. It is a hand-written future and not an async function,
/// because it is polled for every message.
pub(super) struct After<'a, M: Send + 'static> {
    course: &'a mut Course<M>,
    step: Step,
}

/// The next step of a future that ends the turn and then receives a message ([`After`]).
enum Step {
    /// The turn must end with this value, which `started` or a handler has returned.
    Ends(Next),
    Receives,
}

impl<M: Send + 'static> Future for After<'_, M> {
    type Output = Option<M>;

    // Inlined, because this function is called at two places, one of which runs for every message.
    // A call there costs 4 ns.
    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Option<M>> {
        let Step::Ends(next) = self.step else {
            return hand::receive(&self.course.hand, &self.course.cx.shared);
        };
        self.step = Step::Receives;
        if next == Next::Continue && hand::waits_for_next_poll(&self.course.hand) {
            // The handler was polled once. If another message has already arrived, the body polls
            // again.
            return Poll::Pending;
        }
        self.ends_poll(next, task)
    }
}

impl<M: Send + 'static> After<'_, M> {
    /// Ends the current poll and its turn, or stops the actor.
    #[inline(never)]
    fn ends_poll(&self, next: Next, task: &task::Context<'_>) -> Poll<Option<M>> {
        if next == Next::Stop {
            return Poll::Ready(None);
        }
        if next != Next::Continue {
            self.course.cx.wish_for_end(next);
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Runs the handlers of an actor, one after another.
pub(super) async fn run<A: AsyncActor>(mut actor: Contained<A>, mailbox: Incoming<A::Msg>) {
    let mut course = Course::new(mailbox);
    let outcome = actor.started(&mut course.cx).await;
    let mut received = course.after_start(outcome.into_next()).await;
    while let Some(msg) = received {
        let outcome = actor.receive(msg, &mut course.cx).await;
        received = course.after(outcome.into_next()).await;
    }
}
