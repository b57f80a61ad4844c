//! A future beside an actor, in a cell of its own.
//!
//! What it gives the actor comes as messages. A panic ends it, and undoes what its last poll has sent; then the actor is told
//! instead, in a turn of its own.

use std::any::type_name;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use garrick_sched::{Address, Flow, Task, Turn};

use super::body::{Body, Named};
use super::incoming::Incoming;
use super::shared::{Receives, Shared, Word};
use crate::beside::pipes::{Entered, Pipes};
use crate::model::context::Context;
use crate::model::next::Next;

/// What its cell receives: wakes.
pub(super) type Wake = Word<Infallible>;

/// Why there is no result of a future that was piped to an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipeError {
    /// The future panicked, and this is what it said.
    Panicked(Arc<str>),
}

impl fmt::Display for PipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(message) => write!(f, "a future beside an actor panicked: {message}"),
        }
    }
}

impl std::error::Error for PipeError {}

/// The way to the actor: what makes a message for it, and how many futures it may have.
pub(super) struct Lead<M, F> {
    /// Let go before the address: an actor that is made where this one was must not find them in the table.
    pub(super) pipes: Arc<Pipes>,
    pub(super) to: Address<M>,
    /// Called by the future, and after it has panicked.
    convert: Mutex<F>,
}

impl<M: Send + 'static, F> Lead<M, F> {
    pub(super) fn new<T>(to: Address<M>, pipes: Arc<Pipes>, convert: F) -> Arc<Self>
    where
        F: FnMut(T) -> Option<M>,
    {
        Arc::new(Self {
            to,
            pipes,
            convert: Mutex::new(convert),
        })
    }

    /// Gives the actor what becomes of `what`; false if it wants no more.
    pub(super) fn give<T>(&self, what: T) -> bool
    where
        F: FnMut(T) -> Option<M>,
    {
        if self.pipes.is_cancelled() {
            return false;
        }
        // Whoever panicked here was the conversion itself, whose state is its own business.
        let mut convert = self.convert.lock().unwrap_or_else(PoisonError::into_inner);
        let message = convert(what);
        drop(convert);
        message.is_some_and(|message| self.to.send(message).is_ok())
    }

    /// Enters the future under way. None if it is not wanted any more.
    pub(super) async fn enter(&self, own: &Incoming<Infallible>) -> Option<Entered> {
        let (entered, is_first) = self.pipes.enter(own.as_cancel(), &self.to)?;
        if is_first {
            // What the future does next may panic, and must not undo the watch.
            own.context().yield_now().await;
        }
        Some(entered)
    }
}

/// The name of what a future gives.
struct NameOfPiped<Fut>(PhantomData<fn(Fut)>);

impl<Fut: 'static> Named for NameOfPiped<Fut> {
    fn name() -> &'static str {
        type_name::<Fut>()
    }
}

/// The cell.
struct Piped<D, Fut, E> {
    body: Body<Infallible, D, Fut, NameOfPiped<D>>,
    /// Called if the future panics.
    on_panic: Option<E>,
}

impl<D, Fut, E> Task for Piped<D, Fut, E>
where
    D: 'static,
    Fut: Future<Output = ()> + 'static,
    E: FnOnce(PipeError) + 'static,
{
    type Message = Wake;

    fn receive(&mut self, wake: Wake, turn: &Turn<'_, Wake>) -> Flow {
        self.body.hear(wake, turn).into()
    }

    const RECOVERS: bool = true;

    fn recover(&mut self, message: &str, _: &Turn<'_, Wake>) -> Flow {
        if let Some(on_panic) = self.on_panic.take() {
            on_panic(PipeError::Panicked(message.into()));
        }
        Next::Stop.into()
    }

    fn name() -> &'static str {
        NameOfPiped::<D>::name()
    }
}

/// Starts a future beside an actor, if the turn ends well.
pub(super) fn spawn<N, D, Fut>(
    turn: &Turn<'_, N>,
    data: D,
    make: fn(D, Incoming<Infallible>) -> Fut,
    on_panic: impl FnOnce(PipeError) + Send + 'static,
) -> Address<Wake>
where
    N: 'static,
    D: Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let cell = turn.spawn(Piped {
        body: Body::new(Shared::new(Receives::AsItLikes), data, make),
        on_panic: Some(on_panic),
    });
    // One that has not begun takes it.
    let _ = turn.send(&cell, Word::START);
    cell
}

impl<M: 'static> Context<'_, M> {
    /// What this actor has under way.
    pub(super) fn pipes(&self) -> Arc<Pipes> {
        match self.beside().pipes {
            Some(pipes) => pipes.clone(),
            None => Pipes::of(self.address().id()),
        }
    }
}
