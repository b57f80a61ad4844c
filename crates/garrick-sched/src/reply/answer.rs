//! The replier's side of a question.
//!
//! ```text
//!   Reply<R>   [ target : slot or cell | ends : functions to answer or refuse ]
//! ```
//!
//! An answer is passed as a plain value and not as a `Result`, so that a small answer stays in
//! registers. A `Result` would be passed through memory. The parts of the `Result` would be written
//! separately and then immediately read as a whole, which stalls the processor for about ten
//! cycles.
//!
//! A reply has 16 bytes with two niches, so that a small message with a reply fits into an entry of
//! a run queue. The conversion of the answer into a message takes no bytes, because the type of the
//! conversion identifies it.

use std::any::type_name;
use std::fmt;
use std::mem::{self, size_of};
use std::ptr::NonNull;

use super::block;
use super::circle::Circle;
use super::slot::Slot;
use crate::cell::{CellPtr, Header};
use crate::parcel;
use crate::quiet;
use crate::runtime::address::Address;
use crate::runtime::current::{self, Entered};
use crate::runtime::stage::{Given, Owed};
use crate::runtime::worker::Worker;

/// The reason why a question got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoReply {
    /// The [`Reply`] was dropped. Its owner may have stopped, failed, undone its turn, or discarded
    /// the reply.
    Dropped,
    /// The timeout passed before the answer came.
    TimedOut,
    /// The timeout passed while tasks were waiting for each other in a circle. The task that was
    /// asked was waiting for an answer from another task, and so on. The last task was waiting for
    /// the asker.
    Circle(Circle),
    /// The question was asked by a blocking call on a thread that runs tasks. While the thread
    /// waits, none of these tasks can run, so the answer might never come.
    OnWorker,
    /// The node of the replier failed, or the connection to it was lost. The question may or may
    /// not have been handled.
    NodeLost,
    /// The node of the replier refused the question without handling it. For example, the node does
    /// not know the type of the message, or the message is too large.
    Refused,
}

impl fmt::Display for NoReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Circle(circle) => {
                return write!(
                    f,
                    "no answer came in time, because the tasks are waiting for each other: {circle}"
                );
            }
            Self::Dropped => "the reply was dropped without an answer",
            Self::TimedOut => "no answer came in time",
            Self::NodeLost => "the node of the replier was lost before an answer came",
            Self::Refused => "the node of the replier has refused the question",
            Self::OnWorker => {
                "this thread must not block until an answer comes, because it runs tasks: request \
                 the answer as a message"
            }
        })
    }
}

impl std::error::Error for NoReply {}

/// The result of a question: the answer, or the reason why there is none.
pub(super) type Answer<R> = Result<R, NoReply>;

/// The right to answer one question. A reply can be used only once.
///
/// If a reply is dropped without an answer, the asker gets [`NoReply::Dropped`]. So no asker waits
/// forever for a replier that no longer exists.
///
/// An answer that is sent during a turn is staged: it is delivered when the turn commits. If the
/// turn is undone, the asker gets [`NoReply::Dropped`].
#[must_use = "dropping a reply tells the asker that there is no answer"]
pub struct Reply<R: 'static> {
    /// Pointer to the [`Slot`] of the asker, or a counted reference to the cell of the asking task.
    target: NonNull<()>,
    ends: &'static Ends<R>,
}

/// The functions that answer or refuse a question, for one kind of target: a slot or an asking
/// task. Both functions consume the target.
struct Ends<R> {
    answer: unsafe fn(NonNull<()>, R),
    refuse: unsafe fn(NonNull<()>, NoReply),
}

// SAFETY:
// - a slot takes its value from any thread, and the value is `Send`;
// - a cell's message is `Send`, and so is the conversion to it (see `to_task`).
unsafe impl<R: Send> Send for Reply<R> {}
// SAFETY: nothing can be done with a shared reference to it but print where it points.
unsafe impl<R> Sync for Reply<R> {}

impl<R: 'static> Reply<R> {
    pub(super) fn to_slot(slot: NonNull<Slot<Answer<R>>>) -> Self
    where
        R: Send,
    {
        const { parcel::check_size::<R>() };
        Self {
            target: slot.cast(),
            ends: &Ends {
                answer: answer_slot::<R>,
                refuse: refuse_slot::<R>,
            },
        }
    }

    /// Returns a reply that sends its answer to the task `to`. `convert` turns the answer into a
    /// message for this task.
    ///
    /// `convert` is called on the thread of the replier, when the answer is sent or the reply is
    /// dropped. If the answer was sent during a turn and the turn is undone, `convert` is called a
    /// second time, with [`NoReply::Dropped`]. So `convert` must be `Copy`. `convert` must not
    /// capture any data, because a reply has no memory for it.
    ///
    /// A panic in `convert` counts as a panic of the replier. But if `convert` was called because
    /// the reply was dropped, its panic is caught, and the asker gets no message.
    ///
    /// # Examples
    /// A conversion cannot capture a value that is not `Copy`, even if the value has no bytes:
    /// ```compile_fail,E0277
    /// use garrick_sched::{Address, NoReply, Reply};
    ///
    /// struct Token;
    ///
    /// fn reply(to: Address<(Token, Result<u32, NoReply>)>, token: Token) -> Reply<u32> {
    ///     Reply::to_task(to, move |answer| (token, answer))
    /// }
    /// ```
    /// A conversion can capture a value that has no bytes and is `Copy`:
    /// ```
    /// use garrick_sched::{Address, NoReply, Reply};
    ///
    /// #[derive(Clone, Copy)]
    /// struct Token;
    ///
    /// fn reply(to: Address<(Token, Result<u32, NoReply>)>, token: Token) -> Reply<u32> {
    ///     Reply::to_task(to, move |answer| (token, answer))
    /// }
    /// ```
    #[inline]
    pub fn to_task<M, F>(to: Address<M>, convert: F) -> Self
    where
        M: Send + 'static,
        F: FnOnce(Result<R, NoReply>) -> M + Copy + Send + 'static,
    {
        const {
            assert!(
                size_of::<F>() == 0,
                "the conversion of an answer must not capture anything"
            );
        };
        Self::to_task_if_empty(to, convert)
    }

    /// Returns a reply like [`Reply::to_task`], but checks at run time instead of at compile time
    /// that `convert` captures nothing.
    ///
    /// # Panics
    /// Panics if `convert` captures anything.
    #[doc(hidden)]
    #[inline]
    pub fn to_task_if_empty<M, F>(to: Address<M>, convert: F) -> Self
    where
        M: Send + 'static,
        F: FnOnce(Result<R, NoReply>) -> M + Copy + Send + 'static,
    {
        const { parcel::check_size::<R>() };
        assert!(
            size_of::<F>() == 0,
            "the conversion of an answer must not capture anything"
        );
        let target = to.cell().0.cast();
        // Both move into the reply, which uses each of them once: the reference in `target`, the
        // conversion in the types of `ends`.
        mem::forget((to, convert));
        Self {
            target,
            ends: &Ends {
                answer: answer_task::<R, M, F>,
                refuse: refuse_task::<R, M, F>,
            },
        }
    }

    /// Sends the answer. During a turn, the answer is staged: it is sent when the turn commits.
    #[inline]
    pub fn send(self, answer: R) {
        let (target, ends) = (self.target, self.ends);
        mem::forget(self);
        // SAFETY: the target is of the kind that the function is for, and used once, as we are
        // forgotten.
        unsafe { (ends.answer)(target, answer) };
    }

    /// Tells the asker that there is no answer, and why. If a turn calls this method, the asker is
    /// notified even if the turn is undone later, and possibly before the turn ends.
    pub fn refuse(self, why: NoReply) {
        let (target, ends) = (self.target, self.ends);
        mem::forget(self);
        // SAFETY: as in `send`.
        unsafe { (ends.refuse)(target, why) };
    }
}

impl<R: 'static> Drop for Reply<R> {
    fn drop(&mut self) {
        let (target, ends) = (self.target, self.ends);
        // Quiet: replies are dropped where a turn unwinds, and the conversion of the answer and the
        // asker's waker are foreign code.
        // SAFETY: as in `send`; we are not used again.
        let _ = quiet::call(|| unsafe { (ends.refuse)(target, NoReply::Dropped) });
    }
}

impl<R: 'static> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply<{}>({:p})", type_name::<R>(), self.target)
    }
}

/// Sends the answer to the asking task, as a message.
///
/// # Safety
/// The target is a counted reference to a cell for messages `M`, and this call takes it over. A
/// value of the zero-sized type `F` was forgotten (`mem::forget`) for this call.
unsafe fn answer_task<R, M, F>(target: NonNull<()>, answer: R)
where
    M: Send + 'static,
    F: FnOnce(Answer<R>) -> M + Copy,
{
    // SAFETY: by contract.
    unsafe { tell_task::<R, M, F>(target, Ok(answer)) };
}

/// Tells the asking task that there is no answer, and why.
///
/// # Safety
/// The requirements of `answer_task` apply.
unsafe fn refuse_task<R, M, F>(target: NonNull<()>, why: NoReply)
where
    M: Send + 'static,
    F: FnOnce(Answer<R>) -> M + Copy,
{
    // SAFETY: by contract.
    unsafe { tell_task::<R, M, F>(target, Err(why)) };
}

/// Converts the result into a message, and sends it to the asking task.
///
/// # Safety
/// The requirements of `answer_task` apply.
#[inline(always)]
unsafe fn tell_task<R, M, F>(target: NonNull<()>, answer: Answer<R>)
where
    M: Send + 'static,
    F: FnOnce(Answer<R>) -> M + Copy,
{
    // SAFETY: a copy of the value that was forgotten; it has no bytes, so any place holds it.
    let convert = unsafe { NonNull::<F>::dangling().read() };
    // SAFETY: by contract.
    let to = unsafe { Address::<M>::from_counted(CellPtr(target.cast::<Header>())) };
    let message = convert(answer);
    // An asker that has stopped needs no answer.
    let Some(worker) = current::worker() else {
        return drop(to.send_from_outside(message, true));
    };
    if worker.send_answer(&to, message).is_ok() {
        let refuse = refuse_undone::<R, M, F>;
        let cell = to.cell();
        worker.stage.owe(worker.turn(), Owed { cell, refuse });
    }
}

/// Sends the asking task a message with [`NoReply::Dropped`], because the turn that had answered
/// was undone.
///
/// # Safety
/// `cell` is a counted reference to a cell for messages `M`, and this call takes it over. A value
/// of the zero-sized type `F` was forgotten (`mem::forget`) for this call.
unsafe fn refuse_undone<R, M, F>(worker: &Worker, cell: CellPtr)
where
    M: Send + 'static,
    F: FnOnce(Answer<R>) -> M + Copy,
{
    // SAFETY: as in `tell_task`; the value can be copied, so that there may be one more.
    let convert = unsafe { NonNull::<F>::dangling().read() };
    // SAFETY: by contract.
    let to = unsafe { Address::<M>::from_counted(cell) };
    let _ = worker.send_answer(&to, convert(Err(NoReply::Dropped)));
}

/// Stores the answer in the slot. During a turn, the answer is published when the turn commits.
/// Outside of turns, it is published immediately.
///
/// # Safety
/// The target is a slot for answers `R`, and the caller is its replier.
unsafe fn answer_slot<R: Send + 'static>(target: NonNull<()>, answer: R) {
    // SAFETY: by contract.
    let written = unsafe { Written::new(target, Ok(answer)) };
    match current::worker() {
        Some(worker) => worker.stage.give(written.stage()),
        None => written.publish(),
    }
}

/// Stores in the slot the reason why there is no answer, and publishes this reason.
///
/// # Safety
/// The requirements of `answer_slot` apply.
unsafe fn refuse_slot<R: Send + 'static>(target: NonNull<()>, why: NoReply) {
    // SAFETY: by contract.
    unsafe { Written::<R>::new(target, Err(why)) }.publish();
}

/// Guard of an answer that is stored in its slot but not yet published. Dropping the guard changes
/// the answer to [`NoReply::Dropped`].
struct Written<R: 'static> {
    slot: NonNull<Slot<Answer<R>>>,
}

impl<R: 'static> Written<R> {
    /// Stores a result in the slot, without publishing it.
    ///
    /// # Safety
    /// The target is a slot for answers `R`, and the caller is its replier.
    unsafe fn new(target: NonNull<()>, answer: Answer<R>) -> Self {
        let slot = target.cast::<Slot<Answer<R>>>();
        // SAFETY: by contract.
        unsafe { slot.as_ref().put(answer) };
        Self { slot }
    }

    fn publish(self) {
        let slot = self.slot;
        mem::forget(self);
        // SAFETY: we were the replier's side, with a value in the slot, and are forgotten.
        unsafe { publish(slot) };
    }

    /// Converts the guard into a staged answer, which is published or refused at the end of the
    /// current turn.
    fn stage(self) -> Given {
        let slot = self.slot.cast();
        mem::forget(self);
        Given {
            slot,
            publish: publish_given::<R>,
            refuse: refuse_given::<R>,
        }
    }
}

/// Publishes an answer that was staged.
///
/// # Safety
/// The slot comes from [`Written::stage`], and the caller does not use it again.
unsafe fn publish_given<R: 'static>(slot: NonNull<()>) {
    let slot = slot.cast();
    Written::<R> { slot }.publish();
}

/// Changes a staged answer to [`NoReply::Dropped`], and publishes it.
///
/// # Safety
/// The requirements of `publish_given` apply.
unsafe fn refuse_given<R: 'static>(slot: NonNull<()>) {
    let slot = slot.cast();
    drop(Written::<R> { slot });
}

impl<R: 'static> Drop for Written<R> {
    fn drop(&mut self) {
        // SAFETY: we are the replier's side, and what was put was not published.
        unsafe {
            let undone = self.slot.as_ref().take_back();
            self.slot.as_ref().put(Err(NoReply::Dropped));
            publish(self.slot);
            quiet::drop(undone);
        }
    }
}

/// Publishes the stored result, and wakes the asker. If the asker has already given up the slot,
/// frees the slot.
///
/// # Safety
/// The caller is the replier and has stored an answer. It does not use the slot again.
unsafe fn publish<V>(slot: NonNull<Slot<V>>) {
    // SAFETY: by contract; the last one to leave frees the slot.
    let left = unsafe {
        let left = slot.as_ref().publish();
        if left.last {
            block::give(slot);
        }
        left
    };
    // Waker and value belong to the asker, not to the replier, whose turn a panic in them must not
    // undo.
    if let Some(waker) = left.waker {
        let _ = quiet::call(|| {
            // Messages that the waker sends must not be undone with the turn that refused an
            // answer: nothing else would wake the asker.
            let _nobody = Entered::nobody();
            waker.wake();
        });
    }
    quiet::drop(left.value);
}
