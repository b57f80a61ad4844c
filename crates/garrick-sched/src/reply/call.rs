//! A question that is sent only when the caller waits for the answer.

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

/// A question that is not sent until the caller waits for the answer, either with [`Call::wait`] or
/// by polling the `Call`.
///
/// If a `Call` is dropped before the caller waits, nothing is sent. A `Call` is faster than an
/// [`Ask`], because the waiting thread may run the asked task itself (see
/// [`Builder::callers_run`](crate::Builder::callers_run)).
///
/// # Cancel safety
/// A `Call` that is pending can be polled again at any later time, and no answer is lost in
/// between. If a `Call` is dropped after its first poll, only its answer is lost: the question
/// stays sent.
#[must_use = "a call does nothing unless it is awaited or waited for"]
pub struct Call<'a, M: 'static, R: 'static, F> {
    stage: Stage<'a, M, R, F>,
}

enum Stage<'a, M: 'static, R: 'static, F> {
    /// The question is not sent yet. Contains the receiver, and the function that creates the
    /// message of the question from the reply.
    New(&'a Address<M>, F),
    Asked(Ask<R>),
    /// A panic occurred while the question was sent.
    Gone,
}

/// The way in which the caller waits for the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// The thread blocks, so it can run the task itself.
    Blocked,
    /// The caller is a future. The thread that polls this future can run the asked task itself. The
    /// thread can also do other work before it polls the future again.
    Pending,
    /// The thread blocks for a limited time. The thread must not run the task, because a turn of
    /// the task could last longer than this time.
    Elsewhere,
}

impl<M: 'static> Address<M> {
    /// Creates a question that is sent only when the caller waits for the answer. When the caller
    /// begins to wait, `message` is called with a [`Reply`], and returns the message to send.
    ///
    /// If the task does not accept the message, for example because it has stopped, the answer is
    /// [`NoReply::Dropped`]. To wait for several answers at the same time, use [`Address::ask`], or
    /// poll several calls.
    ///
    /// The caller may run the task, and other tasks of its worker, on its own thread. So the caller
    /// must not hold a lock that one of these tasks takes.
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
    /// Sends the question and waits for the answer.
    ///
    /// If the worker of the asked task is asleep, the calling thread may run the task itself.
    /// Otherwise, the calling thread blocks until the answer comes.
    ///
    /// # Errors
    /// Returns the errors of [`Ask::wait`]. If a task calls this method, the question is not sent.
    pub fn wait(mut self) -> Result<R, NoReply> {
        if current::in_turn() {
            return Err(NoReply::OnWorker);
        }
        self.begin(Waits::Blocked).wait()
    }

    /// Sends the question and blocks the thread until the answer comes, but for at most `timeout`.
    ///
    /// The calling thread does not run the task itself, because a turn of the task could take
    /// longer than the timeout.
    ///
    /// # Errors
    /// Returns the errors of [`Ask::wait_timeout`]. If a task calls this method, the question is
    /// not sent.
    pub fn wait_timeout(mut self, timeout: Duration) -> Result<R, NoReply> {
        if current::in_turn() {
            return Err(NoReply::OnWorker);
        }
        self.begin(Waits::Elsewhere).wait_timeout(timeout)
    }

    /// Sends the question. If `waits` allows it, this thread may run the asked task itself.
    fn begin(&mut self, waits: Waits) -> Ask<R> {
        let Stage::New(address, message) = std::mem::replace(&mut self.stage, Stage::Gone) else {
            unreachable!("a call asks once")
        };
        // Make the message before anything is touched: `message` is foreign code.
        let (ask, message) = address.prepare_ask(message);
        if waits != Waits::Elsewhere && !current::in_turn() {
            let blocks = waits == Waits::Blocked;
            guest::send_and_run(address, message, blocks, || ask.is_answered());
        } else {
            // A message that comes back is dropped, and its reply with it.
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
            let ask = self.begin(Waits::Pending);
            let is_answered = ask.is_answered();
            self.stage = Stage::Asked(ask);
            if is_answered && guest::is_to_yield() {
                // A future that is always ready would starve the other futures of its executor.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        match &mut self.stage {
            Stage::Asked(ask) => ask.poll_answer(context.waker()),
            Stage::New(..) | Stage::Gone => {
                panic!("a `Call` must not be polled again after a panic")
            }
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
