//! The context of an async actor.

use std::any::Any;
use std::fmt::{self, Debug};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use garrick_sched::{Address, SendError, Turn};

use super::gate;
use super::shared::{Shared, Word};
use super::sleep::Sleep;
use crate::failure::fault::set_why;
use crate::failure::path::ActorPath;
use crate::model::next::Next;
use crate::note;

/// The context of an async actor. It can be cloned and kept across awaits.
///
/// Effects such as sends, asks and spawns are staged, as in any [turn](crate::Context). The effects
/// take place when the current poll returns. If the poll is undone, the effects are discarded.
///
/// Other code can use a clone of the context. Outside of a turn, the effects then take place at
/// once. In a turn of another actor, they are part of that turn. [`AsyncContext::fail`] has an
/// effect only in a handler of the actor.
pub struct AsyncContext<M: Send + 'static> {
    pub(super) shared: Arc<Shared<M>>,
}

impl<M: Send + 'static> AsyncContext<M> {
    pub(super) fn new(shared: Arc<Shared<M>>) -> Self {
        Self { shared }
    }

    /// Sends `msg` to `to`. The message is delivered when the current poll returns.
    ///
    /// # Errors
    /// Returns the message if the receiver is known to have stopped.
    pub fn send<N: 'static>(&self, to: &Address<N>, msg: N) -> Result<(), SendError<N>> {
        to.send(msg)
    }

    /// Records a fact about this actor, like [`Context::note`](crate::Context::note). If the
    /// current poll is undone, nothing is recorded.
    pub fn note<F: Any + Debug + Send>(&self, fact: F) {
        note::note(fact);
    }

    /// Returns the address of this actor. This address is equal to the address that was returned
    /// when the actor was spawned.
    ///
    /// While the actor keeps its own address, its mailbox does not close. If the mailbox has closed
    /// because all addresses were dropped, this method opens it again.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        gate::own_address(&self.shared)
    }

    /// Returns the path of this actor, like [`Context::path`](crate::Context::path).
    #[must_use]
    pub fn path(&self) -> ActorPath {
        let id = || self.address().id();
        let path = self.shared.path.clone();
        path.unwrap_or_else(|| ActorPath::of_unnamed(self.shared.name, id()))
    }

    /// Returns a future that completes after `delay`. The future can be raced, joined and dropped
    /// like any other future.
    ///
    /// # Examples
    /// Receiving a message with a time limit:
    /// ```
    /// use std::future::{Future, poll_fn};
    /// use std::pin::pin;
    /// use std::task::Poll;
    /// use std::time::Duration;
    /// use garrick_actor::{Incoming, Local};
    ///
    /// let local = Local::new()?;
    /// let actor = local.spawn(|mut mailbox: Incoming<u32>| async move {
    ///     let mut time_over = pin!(mailbox.context().sleep(Duration::from_micros(50)));
    ///     let first: Option<Option<u32>> = poll_fn(|task| {
    ///         if let Poll::Ready(message) = mailbox.poll_recv(task) {
    ///             return Poll::Ready(Some(message));
    ///         }
    ///         time_over.as_mut().poll(task).map(|()| None)
    ///     })
    ///     .await;
    ///     assert_eq!(first, None);
    /// });
    /// while !actor.is_stopped() {
    ///     local.run();
    /// }
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn sleep(&self, delay: Duration) -> Sleep {
        Sleep::new(self.shared.sleepers().clone(), delay)
    }

    /// Yields to other actors. The current turn ends, so the effects that were staged so far take
    /// place.
    ///
    /// An actor that computes for a long time without awaiting delays the other actors of its
    /// worker. Call this method regularly during such a computation.
    pub async fn yield_now(&self) {
        let mut yielded = false;
        poll_fn(|task| {
            if yielded {
                return Poll::Ready(());
            }
            yielded = true;
            task.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Fails the actor with the reason `error`, like [`Context::fail`](crate::Context::fail).
    ///
    /// The handler must return the result of this method. There must be no `await` between this
    /// call and the return.
    #[must_use = "the handler must return this value"]
    pub fn fail(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Next {
        set_why(error.into());
        Next::Fail
    }

    /// Registers an action that runs at the end of the current poll if the poll commits. Outside of
    /// a poll, the action runs soon, in a turn of the actor.
    pub(super) fn at_end(&self, birth: impl FnOnce(&Turn<'_, Word<M>>) + Send + 'static) {
        self.shared.wish_for_birth(Box::new(birth));
    }

    /// Returns the sequence number of the actor's current poll.
    pub(super) fn poll_number(&self) -> u64 {
        self.shared.bell.polls()
    }

    /// Requests that the current turn (a poll) ends with `next` instead of a commit.
    pub(super) fn wish_for_end(&self, next: Next) {
        self.shared.wish_for_end(next);
    }
}

impl<M: Send + 'static> Clone for AsyncContext<M> {
    fn clone(&self) -> Self {
        Self::new(self.shared.clone())
    }
}

impl<M: Send + 'static> fmt::Debug for AsyncContext<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncContext").field(&self.shared).finish()
    }
}
