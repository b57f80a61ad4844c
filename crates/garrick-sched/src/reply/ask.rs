//! The asker's side of a question, for threads and futures.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use garrick_core::park::Spin;
use garrick_core::prim::thread;

use super::answer::{Answer, NoReply, Reply};
use super::block;
use super::slot::Slot;
use crate::hooks::simulates_here;
use crate::remote::{Holder, Remote};
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::sponsor::idle::workers_awake;
use crate::waker::waker_of_thread;

/// A question that was sent. To get the answer, either call [`Ask::wait`], which blocks the thread,
/// or await the `Ask`.
///
/// If the caller waits for the answer immediately, a [`Call`](super::Call) is faster.
///
/// An ask may be dropped at any time. The answer is then discarded.
///
/// # Cancel safety
/// An `Ask` that is pending can be polled again at any later time, and no answer is lost in
/// between. If an `Ask` is dropped, only its answer is lost: the question stays sent.
#[must_use = "the answer is lost unless code waits for it"]
pub struct Ask<R: 'static> {
    /// The slot for the answer. `None` after the answer was taken.
    slot: Option<NonNull<Slot<Answer<R>>>>,
    /// The worker of the asked task at the time of the question.
    asked: Holder,
}

// SAFETY: the slot's value moves from the replier's thread to ours, and is `Send`.
unsafe impl<R: Send> Send for Ask<R> {}
// SAFETY: nothing can be done with a shared reference to it.
unsafe impl<R> Sync for Ask<R> {}

impl<M: 'static> Address<M> {
    /// Asks a question. Creates a [`Reply`], passes it to `message`, and sends the message that
    /// `message` returns.
    ///
    /// If the task does not accept the message, for example because it has stopped, the answer is
    /// [`NoReply::Dropped`].
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
    /// assert_eq!(double.ask(|reply| (21, reply)).wait(), Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask<R: Send + 'static>(&self, message: impl FnOnce(Reply<R>) -> M) -> Ask<R> {
        let (ask, message) = self.prepare_ask(message);
        // A message that comes back is dropped, and its reply with it.
        let _ = self.send(message);
        ask
    }

    /// Creates the message of a question, and the ask that waits for its answer.
    pub(super) fn prepare_ask<R: Send + 'static>(
        &self,
        message: impl FnOnce(Reply<R>) -> M,
    ) -> (Ask<R>, M) {
        let (mut ask, reply) = Ask::pair();
        ask.asked = Holder::of(self.cell().home());
        (ask, message(reply))
    }
}

impl<R: Send + 'static> Ask<R> {
    /// Creates an ask, and the reply that answers it. Use this pair if the question is not sent by
    /// [`Address::ask`].
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::Ask;
    ///
    /// let (ask, reply) = Ask::pair();
    /// std::thread::spawn(move || reply.send(42));
    /// assert_eq!(ask.wait(), Ok(42));
    /// ```
    pub fn pair() -> (Self, Reply<R>) {
        let slot = block::take();
        let ask = Self {
            slot: Some(slot),
            asked: Holder::NOBODY,
        };
        (ask, Reply::to_slot(slot))
    }
}

impl<R: 'static> Ask<R> {
    /// Blocks the thread until the answer comes.
    ///
    /// Do not call `wait` if the answer depends on a task of this thread's own
    /// [`Here`](crate::Here), because only this thread can run such a task. Use
    /// [`Here::block_on`](crate::Here::block_on) instead, which runs the tasks until the answer
    /// comes. If such a task was asked and has not yet handled the question, `wait` detects this
    /// and returns an error. If the task has already passed the question on to another task, `wait`
    /// cannot detect this, and can block forever.
    ///
    /// # Errors
    /// - [`NoReply::Dropped`] if the reply is dropped without an answer.
    /// - [`NoReply::OnWorker`] if called by a task, if the thread runs a simulation, or if the
    ///   asked task belongs to a [`Here`](crate::Here) of this thread, and this `Here` still has
    ///   messages to handle.
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::{Flow, Here, NoReply, Reply, Task, Turn};
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
    /// let here = Here::new_here()?;
    /// let double = here.spawn(Double);
    /// assert_eq!(double.ask(|reply| (21, reply)).wait(), Err(NoReply::OnWorker));
    /// assert_eq!(here.block_on(double.ask(|reply| (21, reply))), Ok(42));
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    pub fn wait(self) -> Result<R, NoReply> {
        self.wait_while(true, || {
            thread::park();
            true
        })
    }

    /// Blocks the thread until the answer comes, but for at most `timeout`.
    ///
    /// # Errors
    /// Returns the errors of [`Ask::wait`], or [`NoReply::TimedOut`] if the timeout has passed.
    pub fn wait_timeout(self, timeout: Duration) -> Result<R, NoReply> {
        // A timeout beyond the range of the clock means no timeout.
        let Some(end) = Instant::now().checked_add(timeout) else {
            return self.wait();
        };
        self.wait_while(timeout >= SPUN_MIN, || {
            let left = end.saturating_duration_since(Instant::now());
            thread::park_timeout(left);
            !left.is_zero()
        })
    }

    /// Waits for the answer. If `spins` is true, spins before it sleeps. `park` sleeps for a while,
    /// and returns false once the timeout has passed.
    fn wait_while(mut self, spins: bool, mut park: impl FnMut() -> bool) -> Result<R, NoReply> {
        if current::worker().is_some() {
            return Err(NoReply::OnWorker);
        }
        if self.is_answered()
            && let Poll::Ready(answer) = self.poll_answer(Waker::noop())
        {
            return answer;
        }
        // Before the waker is registered: a model's thread that is woken while it waits for a lock
        // forgets the wake.
        if self.waits_for_itself() {
            return Err(NoReply::OnWorker);
        }
        if spins {
            self.spin();
        }
        let waker = waker_of_thread();
        loop {
            if let Poll::Ready(answer) = self.poll_answer(&waker) {
                return answer;
            }
            if !park() {
                return Err(NoReply::TimedOut);
            }
        }
    }

    /// Spins until the answer comes, for a duration that depends on the success of recent spins on
    /// this thread.
    fn spin(&self) {
        // Nothing is learned once the thread-local values are gone.
        let _ = SPIN.try_with(|learned| {
            let mut spin = learned.take().unwrap_or_else(|| Spin::new(0));
            spin.set_threads_running(workers_awake());
            let _ = spin.wait(|| self.is_answered().then_some(()));
            learned.set(Some(spin));
        });
    }

    /// Returns true if only this thread can handle the question, so that this thread must not wait.
    /// This is the case if this thread runs a simulation. It is also the case if only this thread
    /// runs the worker of the asked task, and the ready stack of this worker is not empty.
    fn waits_for_itself(&self) -> bool {
        let is_for_this_thread =
            |asked| Remote::of(asked).ready.has_some() && current::is_only_runner(asked);
        simulates_here() || self.asked.home().is_some_and(is_for_this_thread)
    }

    /// Returns true if the answer has come.
    pub(super) fn is_answered(&self) -> bool {
        // SAFETY: we are the asker, and have not left while there is a slot.
        (self.slot).is_none_or(|slot| unsafe { slot.as_ref() }.is_full())
    }

    pub(super) fn poll_answer(&mut self, waker: &Waker) -> Poll<Answer<R>> {
        let slot = self
            .slot
            .expect("an `Ask` must not be polled again after it has returned its answer");
        // SAFETY: we are the asker, and have not left.
        if unsafe { slot.as_ref().poll(waker) }.is_pending() {
            return Poll::Pending;
        }
        self.slot = None;
        // SAFETY: as above, and we leave once, because the slot is forgotten.
        let answer = unsafe { leave(slot) };
        Poll::Ready(answer.expect("the slot said that the answer is there"))
    }
}

/// Minimum timeout for spinning. If a thread waits with a shorter timeout, it sleeps without
/// spinning first. A spin takes less than a tenth of this minimum.
const SPUN_MIN: Duration = Duration::from_millis(1);

std::thread_local! {
    /// State of the adaptive spinning that this thread does before it parks.
    static SPIN: Cell<Option<Spin>> = const { Cell::new(None) };
}

/// Gives up the asker's access to the slot, which it shares with the replier. Returns the answer if
/// it has come.
///
/// # Safety
/// The caller is the asker. It does not use the slot again.
unsafe fn leave<V>(slot: NonNull<Slot<V>>) -> Option<V> {
    // SAFETY: by contract; the last one to leave frees the slot.
    unsafe {
        let left = slot.as_ref().leave();
        if left.last {
            block::give(slot);
        }
        left.value
    }
}

impl<R: 'static> Future for Ask<R> {
    type Output = Result<R, NoReply>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_answer(context.waker())
    }
}

impl<R: 'static> Drop for Ask<R> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // SAFETY: we are the asker, and leave once.
            drop(unsafe { leave(slot) });
        }
    }
}

impl<R: 'static> fmt::Debug for Ask<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("is_answered", &self.slot.is_none())
            .finish()
    }
}
