//! Actors with fields whose handlers await.

use std::any::type_name;
use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use garrick_core::lend::Borrower;

use super::body::Named;
use super::context::AsyncContext;
use super::hand::Hand;
use super::incoming::Incoming;
use crate::actor::Next;

/// State with a mailbox, as an [`Actor`](crate::Actor), whose handlers may await. It handles one message at a time: while
/// a handler waits, later messages wait in order.
///
/// Each poll of a handler is a [turn](crate::Context): what is sent between two awaits happens when the poll returns
/// because there is something to wait for, or because the message is handled. A handler that never waits is a single
/// turn. [`Next::Undo`] and [`Next::Fail`] undo the last poll of the handler; so does a panic, and the actor ends.
///
/// All of its handlers are one future, made once: a message costs no allocation.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{AsyncActor, AsyncContext, Next, Reply, System};
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
///
///     async fn receive(&mut self, order: Order, cx: &mut AsyncContext<Order>) -> Next {
///         match order {
///             Order::Bread(time) => {
///                 cx.sleep(time).await;
///                 self.baked += 1;
///             }
///             Order::Count(reply) => reply.send(self.baked),
///         }
///         Next::Continue
///     }
/// }
///
/// let system = System::new()?;
/// let oven = system.spawn_async_actor(Oven { baked: 0 })?;
/// oven.send(Order::Bread(Duration::from_micros(30))).unwrap();
/// assert_eq!(oven.ask(Order::Count).wait(), Ok(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AsyncActor: Send + Sized + 'static {
    /// What it receives.
    type Msg: Send + 'static;

    /// Called once, before the first message and even if none ever comes.
    fn started(&mut self, cx: &mut AsyncContext<Self::Msg>) -> impl Future<Output = Next> + Send {
        let _ = cx;
        async { Next::Continue }
    }

    /// Handles one message. An `async fn` will do.
    fn receive(
        &mut self,
        msg: Self::Msg,
        cx: &mut AsyncContext<Self::Msg>,
    ) -> impl Future<Output = Next> + Send;

    /// The name under which it is reported.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// The name of an actor.
pub(super) struct NameOf<A>(A);

impl<A: AsyncActor> Named for NameOf<A> {
    fn name() -> &'static str {
        A::name()
    }
}

/// What lies between one handler and the next.
pub(super) struct Course<M: Send + 'static> {
    pub(super) cx: AsyncContext<M>,
    hand: Borrower<Hand<M>>,
    /// The poll in which the handler under way began.
    began: u64,
}

impl<M: Send + 'static> Course<M> {
    pub(super) fn new(mailbox: Incoming<M>) -> Self {
        let (cx, hand) = mailbox.into_parts();
        let hand = hand.expect("the mailbox of handlers has a hand");
        let began = cx.poll_number();
        Self { cx, hand, began }
    }

    /// A handler is done, and returns the next message, unless the actor is done too. The end of each handler is the end of a turn:
    /// one that was polled once has had its share of messages for that poll, and one that has awaited makes room.
    pub(super) fn after(&mut self, next: Next) -> After<'_, M> {
        let step = match next {
            Next::Continue if self.began == self.cx.poll_number() => Step::Receives,
            Next::Stop => Step::Stops,
            next => Step::Yields(next),
        };
        After { course: self, step }
    }
}

/// The future of [`Course::after`]. Written by hand, because a message passes through it each time.
pub(super) struct After<'a, M: Send + 'static> {
    course: &'a mut Course<M>,
    step: Step,
}

/// The next step of an [`After`].
enum Step {
    /// The poll ends, and its turn with it.
    Yields(Next),
    Receives,
    Stops,
}

impl<M: Send + 'static> Future for After<'_, M> {
    type Output = Option<M>;

    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Option<M>> {
        match self.step {
            Step::Receives => {}
            Step::Stops => return Poll::Ready(None),
            Step::Yields(next) => {
                if next != Next::Continue {
                    self.course.cx.wish_for_end(next);
                }
                self.step = Step::Receives;
                task.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        let course = &mut *self.course;
        let received = course.cx.receive(&course.hand);
        if received.is_ready() {
            course.began = course.cx.poll_number();
        }
        received
    }
}

/// All of an actor's handlers, one after the other.
pub(super) async fn run<A: AsyncActor>(mut actor: A, mailbox: Incoming<A::Msg>) {
    let mut course = Course::new(mailbox);
    let mut next = actor.started(&mut course.cx).await;
    while let Some(msg) = course.after(next).await {
        next = actor.receive(msg, &mut course.cx).await;
    }
}
