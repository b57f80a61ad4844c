//! Actors with fields whose handlers await, and that stay on the thread that made them.

use std::any::type_name;
use std::future::Future;

use super::actor::{AsyncActor, Course};
use super::body::Named;
use super::context::AsyncContext;
use super::incoming::Incoming;
use crate::model::actor::Next;

/// An [`AsyncActor`] that need not be `Send`, nor need its futures be; a [`Local`](crate::Local) runs it. Every `AsyncActor`
/// is one.
///
/// # Examples
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use garrick_actor::{AsyncContext, Local, LocalAsyncActor, Next};
///
/// struct Add(Rc<Cell<u32>>);
///
/// impl LocalAsyncActor for Add {
///     type Msg = u32;
///
///     async fn receive(&mut self, n: u32, cx: &mut AsyncContext<u32>) -> Next {
///         let kept = self.0.clone();
///         cx.yield_now().await;
///         kept.set(kept.get() + n);
///         Next::Continue
///     }
/// }
///
/// let sum = Rc::new(Cell::new(0));
/// let local = Local::new()?;
/// let add = local.spawn_async_actor(Add(sum.clone()));
/// add.send(2)?;
/// add.send(3)?;
/// local.run();
/// assert_eq!(sum.get(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LocalAsyncActor: Sized + 'static {
    /// What it receives. Its wakers may be anywhere, so this is `Send` here too.
    type Msg: Send + 'static;

    /// As [`AsyncActor::started`].
    fn started(&mut self, cx: &mut AsyncContext<Self::Msg>) -> impl Future<Output = Next> {
        let _ = cx;
        async { Next::Continue }
    }

    /// As [`AsyncActor::receive`].
    fn receive(
        &mut self,
        msg: Self::Msg,
        cx: &mut AsyncContext<Self::Msg>,
    ) -> impl Future<Output = Next>;

    /// As [`AsyncActor::name`].
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

impl<A: AsyncActor> LocalAsyncActor for A {
    type Msg = A::Msg;

    fn started(&mut self, cx: &mut AsyncContext<A::Msg>) -> impl Future<Output = Next> {
        AsyncActor::started(self, cx)
    }

    fn receive(
        &mut self,
        msg: A::Msg,
        cx: &mut AsyncContext<A::Msg>,
    ) -> impl Future<Output = Next> {
        AsyncActor::receive(self, msg, cx)
    }

    fn name() -> &'static str {
        <A as AsyncActor>::name()
    }
}

/// The name of an actor.
pub(super) struct NameOfLocal<A>(A);

impl<A: LocalAsyncActor> Named for NameOfLocal<A> {
    fn name() -> &'static str {
        A::name()
    }
}

/// All of an actor's handlers, one after the other.
pub(super) async fn run<A: LocalAsyncActor>(mut actor: A, mailbox: Incoming<A::Msg>) {
    let mut course = Course::new(mailbox);
    let next = actor.started(&mut course.cx).await;
    let mut received = course.after_start(next).await;
    while let Some(msg) = received {
        let next = actor.receive(msg, &mut course.cx).await;
        received = course.after(next).await;
    }
}
