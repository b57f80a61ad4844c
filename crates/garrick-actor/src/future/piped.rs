//! Futures that run concurrently with an actor, each in a separate task.
//!
//! The results of such a future are sent to the actor as messages. If the future panics, it is
//! dropped, and the sends of its last poll are undone. A message about the panic is then sent to
//! the actor in a separate turn.

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
use crate::beside::Beside;
use crate::beside::pipes::{Entered, Pipes};
use crate::model::context::Context;
use crate::model::next::Next;

/// A message to the task of a piped future. The future receives no messages from actors, so a
/// message can only be a notification, such as a wake.
pub(super) type Wake = Word<Infallible>;

/// The error that an actor receives when one of its piped futures or attached streams has panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipeError {
    /// The future or the stream panicked with this message.
    Panicked(Arc<str>),
}

impl fmt::Display for PipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(message) => {
                write!(f, "a future or stream of the actor panicked: {message}")
            }
        }
    }
}

impl std::error::Error for PipeError {}

/// Connection of a future or stream to its actor.
pub(super) struct Lead<M, F> {
    /// Running futures and streams of the actor. This field is dropped before `to`. Otherwise, a
    /// new actor in the same memory could find these futures in the table of all piped futures.
    pub(super) pipes: Arc<Pipes>,
    pub(super) to: Address<M>,
    /// Function that converts a result into a message. A future has one result: its output, or an
    /// error if it panics. A stream has several results: its items, and then its end, or an error
    /// if it panics.
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

    /// Converts `what` into a message and sends it to the actor. Returns false if no message was
    /// sent, because the futures of the actor have been cancelled, the actor has stopped, or the
    /// conversion returned `None`.
    pub(super) fn give<T>(&self, what: T) -> bool
    where
        F: FnMut(T) -> Option<M>,
    {
        if self.pipes.is_cancelled() {
            return false;
        }
        // Only the conversion can have panicked while it held this lock. The author of the
        // conversion is responsible for its captured state.
        let mut convert = self.convert.lock().unwrap_or_else(PoisonError::into_inner);
        let message = convert(what);
        drop(convert);
        message.is_some_and(|message| self.to.send_promised(message).is_ok())
    }

    /// Registers the future as running. Returns `None` if the futures of the actor have been
    /// cancelled.
    pub(super) async fn enter(&self, own: &Incoming<Infallible>) -> Option<Entered> {
        let (entered, is_first) = self.pipes.enter(own.as_cancel(), &self.to)?;
        if is_first {
            // The turn ends here, so that a panic in the future's next step cannot undo the watch.
            own.context().yield_now().await;
        }
        Some(entered)
    }
}

/// The data from which a piped future is created: a future that runs concurrently with an actor.
pub(super) trait Work: Send + 'static {
    /// Type of the user's future or stream. Reports use its name.
    type Of: 'static;
}

/// A type that provides the name of a piped future for reports.
struct NameOfPiped<D>(PhantomData<fn(D)>);

impl<D: Work> Named for NameOfPiped<D> {
    fn name() -> &'static str {
        type_name::<D::Of>()
    }
}

/// The task of a future that runs concurrently with an actor.
struct Piped<D, Fut, E> {
    body: Body<Infallible, D, Fut, NameOfPiped<D>>,
    /// Function that is called if the future panics.
    on_panic: Option<E>,
}

impl<D, Fut, E> Task for Piped<D, Fut, E>
where
    D: Work,
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

/// Spawns a task for a future that runs concurrently with an actor. The future starts only if the
/// turn commits.
pub(super) fn spawn<N, D, Fut>(
    turn: &Turn<'_, N>,
    data: D,
    make: fn(D, Incoming<Infallible>) -> Fut,
    on_panic: impl FnOnce(PipeError) + Send + 'static,
) -> Address<Wake>
where
    N: 'static,
    D: Work,
    Fut: Future<Output = ()> + Send + 'static,
{
    let cell = turn.spawn(Piped {
        body: Body::new(
            Shared::new(Receives::AsItLikes, None, NameOfPiped::<D>::name()),
            data,
            make,
        ),
        on_panic: Some(on_panic),
    });
    // A cell that has not begun accepts the message.
    let _ = turn.send(&cell, Word::START);
    cell
}

impl<M: 'static> Context<'_, M> {
    /// Returns the running futures and streams of this actor.
    pub(super) fn pipes(&self) -> Arc<Pipes> {
        match self.beside().and_then(Beside::pipes) {
            Some(pipes) => pipes.clone(),
            None => Pipes::of(self.address().id()),
        }
    }
}
