//! A question that is asked when its answer is waited for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::answer::{NoReply, Reply};
use super::ask::Ask;
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::sponsor::guest;

/// A question that is asked when its answer is waited for: by [`Call::wait`] on a plain thread, or by the first poll.
///
/// Nothing is sent before that, and nothing at all if it is dropped before. In exchange it is faster than an [`Ask`], because the
/// thread that waits may run the task itself; see [`Builder::callers_run`](crate::Builder::callers_run).
///
/// # Cancel safety
/// A call that is polled again later loses nothing. One that is dropped after its first poll loses its answer only.
#[must_use = "a call does nothing unless it is awaited or waited for"]
pub struct Call<'a, M: 'static, R: 'static, F> {
    stage: Stage<'a, M, R, F>,
}

enum Stage<'a, M: 'static, R: 'static, F> {
    /// To be asked, by what the function makes of the reply.
    New(&'a Address<M>, F),
    Asked(Ask<R>),
    /// Something panicked while it was asked.
    Gone,
}

impl<M: 'static> Address<M> {
    /// Asks a question when the answer is waited for: sends what `message` makes of the [`Reply`], then, and not before.
    ///
    /// If the task has stopped, the answer is [`NoReply::Dropped`]. To have several questions under way at once, use
    /// [`Address::ask`], or poll several calls.
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::{Flow, Reply, Sponsor, Task, Turn};
    ///
    /// struct Double;
    /// impl Task for Double {
    ///     type Message = (u32, Reply<u32>);
    ///     fn receive(&mut self, (n, reply): (u32, Reply<u32>), _: &Turn<'_, Self::Message>) -> Flow {
    ///         reply.send(2 * n);
    ///         Flow::Continue
    ///     }
    /// }
    ///
    /// let sponsor = Sponsor::pool(1)?;
    /// let double = sponsor.handle().spawn(Double)?;
    /// assert_eq!(double.call(|reply| (21, reply)).wait(), Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn call<R, F>(&self, message: F) -> Call<'_, M, R, F>
    where
        R: Send + 'static,
        F: FnOnce(Reply<R>) -> M,
    {
        Call {
            stage: Stage::New(self, message),
        }
    }
}

// The function is called, never polled.
impl<M, R, F> Unpin for Call<'_, M, R, F> {}

impl<M, R, F> Call<'_, M, R, F>
where
    R: Send + 'static,
    F: FnOnce(Reply<R>) -> M,
{
    /// Asks, and waits for the answer. The calling thread runs the task itself if no worker is awake to do so, else it is parked.
    ///
    /// # Errors
    /// As for [`Ask::wait`]. A task that calls it asks nothing.
    pub fn wait(mut self) -> Result<R, NoReply> {
        if current::in_turn() {
            return Err(NoReply::OnWorker);
        }
        self.begin(true).wait()
    }

    /// Asks, and waits for the answer, parked, for `timeout` at most. The calling thread does not run the task: that might take
    /// longer.
    ///
    /// # Errors
    /// As for [`Ask::wait_timeout`]. A task that calls it asks nothing.
    pub fn wait_timeout(mut self, timeout: Duration) -> Result<R, NoReply> {
        if current::in_turn() {
            return Err(NoReply::OnWorker);
        }
        self.begin(false).wait_timeout(timeout)
    }

    /// Asks. The calling thread may run the task itself if it `waits`.
    fn begin(&mut self, waits: bool) -> Ask<R> {
        let Stage::New(address, message) = std::mem::replace(&mut self.stage, Stage::Gone) else {
            unreachable!("a call asks once")
        };
        // The message is made before anything is touched: that is foreign code.
        let (ask, message) = address.prepare_ask(message);
        if waits && !current::in_turn() {
            guest::send_and_run(address, message, || ask.is_answered());
        } else {
            // One that comes back is dropped, and its reply with it.
            let _ = address.send(message);
        }
        ask
    }
}

impl<M, R, F> Future for Call<'_, M, R, F>
where
    R: Send + 'static,
    F: FnOnce(Reply<R>) -> M,
{
    type Output = Result<R, NoReply>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Stage::New(..) = self.stage {
            let ask = self.begin(true);
            let is_answered = ask.is_answered();
            self.stage = Stage::Asked(ask);
            if is_answered && guest::is_to_yield() {
                // A future that is always ready keeps its executor from all others.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        match &mut self.stage {
            Stage::Asked(ask) => ask.poll_answer(context.waker()),
            Stage::New(..) | Stage::Gone => panic!("a call must not be polled again after a panic"),
        }
    }
}

impl<M, R, F> fmt::Debug for Call<'_, M, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("is_asked", &matches!(self.stage, Stage::Asked(_)))
            .finish_non_exhaustive()
    }
}
