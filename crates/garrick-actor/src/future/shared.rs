//! State that an actor's future, its wakers and its addresses share.
//!
//! ```text
//!   Address<M> --> door: Gate --- Word::Message ---> Body [ arrived | future ]
//!                    | Entry, gone with the last address |   ^
//!                    +---------- News::Closed ---------->|   | News::Ring
//!                                                      Shared: queue, bell <--- wakers
//! ```
//!
//! The gate is the door to which all addresses of the actor lead. The body is the actor's task,
//! which polls the future. A [`Word`] is either a message for the actor or a notification for the
//! task ([`News`]).

use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Wake, Waker};

use garrick_core::bell::{Bell, Call};
use garrick_core::prefetch::prefetch;
use garrick_sched::{Address, SendError, Turn, count_left_letters};

use super::gate::Entry;
use super::queue::Queue;
use super::sleepers::Sleepers;
use crate::beside::pipes::Cancel;
use crate::failure::path::ActorPath;
use crate::model::next::Next;
use crate::quiet::{self, Several};

/// Maximum number of messages that one poll can receive, so that other actors can run.
const SHARE: usize = 64;

/// The way in which the future of an actor receives messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receives {
    /// The actor receives its messages through an [`Incoming`](super::Incoming), which the future
    /// can poll at any time.
    AsItLikes,
    /// The actor receives its messages through a [`Hand`](super::hand::Hand), for async handlers.
    /// Each message starts a new turn.
    ByHand,
}

impl Receives {
    /// Returns the maximum number of messages that a poll can receive.
    pub(super) fn share(self) -> usize {
        match self {
            Self::AsItLikes => SHARE,
            Self::ByHand => 1,
        }
    }
}

/// A message to the task of an async actor. If the actor's messages have 8 bytes, a `Word` has 16
/// bytes and fits into two registers.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub enum Word<M: Send + 'static> {
    /// A message for the actor.
    Message(M),
    /// A notification for the task itself.
    News(News<M>),
}

/// A notification to the task of an async actor, such as a wake.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub enum News<M: Send + 'static> {
    /// Starts an actor that was spawned during a turn. If the turn is undone, this message is not
    /// sent.
    Start,
    /// The actor's future was woken.
    Ring(Note<Arc<Shared<M>>>),
    /// The last address of the actor was dropped.
    Closed(Note<Box<Closing<M>>>),
    /// Code outside of the actor's turns has requested an action.
    Birth(Box<Errand<M>>),
}

impl<M: Send + 'static> Word<M> {
    pub(super) const START: Self = Self::News(News::Start);

    /// Returns true if this is a message for the actor, and not a notification for its task.
    pub(super) fn is_letter(&self) -> bool {
        matches!(self, Self::Message(_))
    }

    pub(super) fn ring(shared: &Arc<Shared<M>>) -> Self {
        Self::News(News::Ring(Note(Some(shared.clone()))))
    }

    pub(super) fn closed(shared: &Arc<Shared<M>>, opening: u64) -> Self {
        let closing = Closing {
            shared: shared.clone(),
            opening,
        };
        Self::News(News::Closed(Note(Some(Box::new(closing)))))
    }

    fn birth(shared: &Arc<Shared<M>>, birth: Birth<M>) -> Self {
        Self::News(News::Birth(Box::new(Errand {
            shared: shared.clone(),
            birth,
        })))
    }

    /// Drops a message or a notification that a stopped task does not receive. A notification that
    /// is dropped by this method is not sent again.
    fn forget(self) {
        match self {
            Self::News(News::Ring(mut note)) => drop(note.0.take()),
            Self::News(News::Closed(mut note)) => drop(note.0.take()),
            Self::News(News::Birth(errand)) => errand.forget(),
            Self::News(News::Start) | Self::Message(_) => {}
        }
    }
}

/// Implemented by events that are sent to an actor in a [`Note`]. If the note is dropped unread,
/// the event is sent again.
pub trait Tells {
    /// Sends the event again, because its [`Note`] was dropped unread.
    fn tell_again(self);
}

/// A message about an event that must not be lost.
///
/// If the turn that sends the note is undone, the note is dropped unread. However, the event has
/// still happened. Therefore the destructor sends the event again. The field is `None` once the
/// note has been read.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Note<T: Tells>(Option<T>);

impl<T: Tells> Drop for Note<T> {
    fn drop(&mut self) {
        if let Some(news) = self.0.take() {
            news.tell_again();
        }
    }
}

impl<M: Send + 'static> Tells for Arc<Shared<M>> {
    fn tell_again(self) {
        let word = Word::ring(&self);
        self.tell(word);
    }
}

impl<M: Send + 'static> Note<Arc<Shared<M>>> {
    /// Reads the note (an internal message to the task of an async actor). Returns true if the note
    /// was sent to the incarnation `by` of the actor, and false if the note was sent to an earlier
    /// incarnation.
    pub(super) fn read(mut self, by: &Arc<Shared<M>>) -> bool {
        self.0.take().is_some_and(|to| Arc::ptr_eq(&to, by))
    }
}

/// An event: the last address of an async actor was dropped, so the mailbox of the actor closes. If
/// the actor creates a new address, the mailbox opens again. A period in which the actor has
/// addresses is called an opening. The event contains the sequence number of the opening that has
/// ended.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Closing<M: Send + 'static> {
    shared: Arc<Shared<M>>,
    opening: u64,
}

impl<M: Send + 'static> Tells for Box<Closing<M>> {
    fn tell_again(self) {
        let word = Word::closed(&self.shared, self.opening);
        self.shared.tell(word);
    }
}

impl<M: Send + 'static> Note<Box<Closing<M>>> {
    /// Reads the note (an internal message to the task of an async actor). If the note was sent to
    /// the incarnation `by` of the actor, returns the sequence number of the opening that has
    /// ended. An opening is a period in which the actor has addresses. Returns `None` if the note
    /// was sent to an earlier incarnation.
    pub(super) fn read(mut self, by: &Arc<Shared<M>>) -> Option<u64> {
        let closing = self.0.take()?;
        Arc::ptr_eq(&closing.shared, by).then_some(closing.opening)
    }
}

/// An action that code outside of the actor's turns has requested.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Errand<M: Send + 'static> {
    shared: Arc<Shared<M>>,
    birth: Birth<M>,
}

impl<M: Send + 'static> Errand<M> {
    /// Runs the action if it was requested from the incarnation `by` of the actor.
    pub(super) fn run(self, by: &Arc<Shared<M>>, turn: &Turn<'_, Word<M>>) {
        if Arc::ptr_eq(&self.shared, by) {
            (self.birth)(turn);
        } else {
            self.forget();
        }
    }

    /// Drops the action. A panic of a destructor is caught.
    fn forget(self) {
        quiet::drop(self.birth);
    }
}

/// Messages that earlier incarnations of a supervised actor have not received. The next incarnation
/// receives them. The factory of the incarnations owns this value. When the factory is dropped,
/// there is no next incarnation, so the messages are dropped and become dead letters.
pub(crate) struct Heir<M>(Mutex<Several<VecDeque<M>>>);

impl<M> Heir<M> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }
}

impl<M> Drop for Heir<M> {
    fn drop(&mut self) {
        let count = lock(&self.0).len() as u64;
        count_left_letters(type_name::<M>, count);
    }
}

/// The messages that the future can receive, the waker of the receiver, and the requests of the
/// future for the end of a poll.
pub(super) struct Inner<M: Send + 'static> {
    /// Messages that the future can receive. The task adds messages, and the future takes them.
    pub(super) queue: Queue<M>,
    /// Waker of the receiver that was the last to wait for a message. The future writes it, and the
    /// task takes it. It may be out of date, because storing a waker is expensive: only while
    /// `is_awaited` is true, the receiver is still waiting.
    pub(super) receiver: Option<Waker>,
    /// True while a receiver is waiting for the next message. Written by the future and the task.
    pub(super) is_awaited: bool,
    /// True if the future has tried to receive one of the waiting messages after the poll had
    /// received the maximum number of messages.
    pub(super) hungry: bool,
    /// True once the last address has been dropped.
    pub(super) closed: bool,
    /// True once the task has stopped.
    pub(super) is_over: bool,
    /// The result that the future has requested for the current turn, if the turn must not commit.
    end: Option<Next>,
    /// Actions to run when the poll commits. The future adds actions, and the task takes them.
    born: Vec<Birth<M>>,
}

/// Maximum number of bytes that are prefetched from a future before a poll. The state that the poll
/// needs can be anywhere in the future.
const NEAR_BYTES_MAX: usize = 2048;

/// The memory location of state that is prefetched. The state may already have been dropped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    address: usize,
    bytes: usize,
}

impl Place {
    /// Prefetches the state at this location.
    pub(super) fn prefetch(self) {
        prefetch(ptr::without_provenance::<u8>(self.address), self.bytes);
    }
}

/// An action that runs in a turn of the actor and starts something, such as a piped future.
pub(super) type Birth<M> = Box<dyn FnOnce(&Turn<'_, Word<M>>) + Send>;

/// State that an actor's future, its wakers and its addresses share.
///
/// The fields that every poll needs come first, next to each other. This reduces cache misses: if
/// there are many actors, the state of an actor is usually in no CPU cache when a message arrives.
#[repr(C)]
pub struct Shared<M: Send + 'static> {
    /// Bell, which ensures that at most one wake of the task is pending. Wakers ring the bell, and
    /// the task answers it.
    pub(super) bell: Bell,
    inner: Mutex<Inner<M>>,
    /// Table of the sleeps inside the future. Set when the future sleeps for the first time.
    sleepers: OnceLock<Arc<Sleepers>>,
    /// Memory location of the future. Set when the future has been created. Used only for
    /// prefetching, because only the task may access the future.
    future: OnceLock<Place>,
    /// The way in which the future receives messages.
    pub(super) receives: Receives,
    /// True if the future has requested something for the end of the poll, so that `end` is set or
    /// `born` is not empty. Written while `inner` is locked.
    has_wishes: AtomicBool,
    /// Messages that the actor has not received, for its next incarnation after a restart. Set only
    /// for supervised actors, whose mailbox does not close. Weak, because wakers and contexts of
    /// any incarnation may outlive the actor, and must not keep its unread messages.
    pub(super) heir: Option<Weak<Heir<M>>>,
    /// Address of the actor's task, from the start of the task until it stops. This address keeps
    /// the task alive while the task waits. The task writes it, and wakers read it.
    body: Mutex<Option<Address<Word<M>>>>,
    /// State that all current addresses of the actor share, and the number of times that the
    /// mailbox has been opened.
    pub(super) entry: Mutex<(Weak<Entry<M>>, u64)>,
    /// Path of the actor, if the actor has a name.
    pub(super) path: Option<ActorPath>,
    /// Name of the actor's type.
    pub(super) name: &'static str,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that holds one of these locks can panic halfway through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: Send + 'static> Shared<M> {
    pub(super) fn new(
        receives: Receives,
        path: Option<ActorPath>,
        name: &'static str,
    ) -> Arc<Self> {
        Self::with(receives, None, path, name)
    }

    /// Creates the shared state of a new incarnation of a supervised async actor. The incarnation
    /// first receives the messages that its predecessor has not received.
    pub(super) fn after(
        receives: Receives,
        heir: &Arc<Heir<M>>,
        path: Option<ActorPath>,
        name: &'static str,
    ) -> Arc<Self> {
        Self::with(receives, Some(heir), path, name)
    }

    fn with(
        receives: Receives,
        heir: Option<&Arc<Heir<M>>>,
        path: Option<ActorPath>,
        name: &'static str,
    ) -> Arc<Self> {
        let queue = heir.map(|heir| mem::take(&mut **lock(&heir.0)));
        let inner = Inner {
            queue: Queue::of(queue.unwrap_or_default()),
            receiver: None,
            is_awaited: false,
            hungry: false,
            closed: false,
            is_over: false,
            end: None,
            born: Vec::new(),
        };
        Arc::new(Self {
            bell: Bell::new(),
            receives,
            path,
            name,
            has_wishes: AtomicBool::new(false),
            heir: heir.map(Arc::downgrade),
            inner: Mutex::new(inner),
            body: Mutex::new(None),
            entry: Mutex::new((Weak::new(), 0)),
            sleepers: OnceLock::new(),
            future: OnceLock::new(),
        })
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner<M>> {
        lock(&self.inner)
    }

    /// Takes the messages that are waiting in the queue.
    pub(super) fn take_queue(&self) -> VecDeque<M> {
        let mut taken = VecDeque::new();
        self.inner().queue.drain_behind(&mut taken);
        taken
    }

    /// Requests that the current turn ends with `end`.
    pub(super) fn wish_for_end(&self, end: Next) {
        let mut inner = self.inner();
        inner.end = Some(end);
        // Relaxed: the poll that reads this flag usually runs on this thread. Another thread may
        // read it only in a later poll.
        self.has_wishes.store(true, Relaxed);
    }

    /// Requests that an action runs if the current poll commits. Outside of the actor's turns, the
    /// request is a message to the task.
    pub(super) fn wish_for_birth(self: &Arc<Self>, birth: Birth<M>) {
        match self.body() {
            Some(body) if body.is_running_here() => {}
            Some(body) => return tell_at(&body, Word::birth(self, birth)),
            // The task has stopped, or its turn fails.
            None => return quiet::drop(birth),
        }
        let mut inner = self.inner();
        inner.born.push(birth);
        // Relaxed: like the store in `wish_for_end`.
        self.has_wishes.store(true, Relaxed);
    }

    /// Returns true if the future has requested anything for the end of the poll.
    #[inline]
    pub(super) fn has_wishes(&self) -> bool {
        // Relaxed: like the store in `wish_for_end`.
        self.has_wishes.load(Relaxed)
    }

    /// Takes what the future has requested for the end of the poll: a result that replaces the
    /// result of the turn, and actions to run.
    pub(super) fn take_wishes(&self) -> (Option<Next>, Vec<Birth<M>>) {
        if !self.has_wishes() {
            return (None, Vec::new());
        }
        let mut inner = self.inner();
        self.has_wishes.store(false, Relaxed);
        (inner.end.take(), mem::take(&mut inner.born))
    }

    pub(super) fn entry(&self) -> MutexGuard<'_, (Weak<Entry<M>>, u64)> {
        lock(&self.entry)
    }

    /// Returns the table of the sleeps inside the future. Creates the table if necessary.
    pub(super) fn sleepers(&self) -> &Arc<Sleepers> {
        self.sleepers.get_or_init(Arc::default)
    }

    /// Returns the table of the sleeps inside the future, or `None` if the future has never slept.
    pub(super) fn known_sleepers(&self) -> Option<&Arc<Sleepers>> {
        self.sleepers.get()
    }

    /// Records the memory location of the future, which does not change.
    pub(super) fn knows_future<F>(&self, future: &F) {
        let place = Place {
            address: ptr::from_ref(future).addr(),
            bytes: size_of::<F>().min(NEAR_BYTES_MAX),
        };
        // A future begins only once.
        let _ = self.future.set(place);
    }

    /// Prefetches the fields that a poll reads.
    pub(super) fn prefetch(&self) {
        prefetch(self, size_of::<Self>().min(NEAR_BYTES_MAX));
    }

    /// Returns the memory location of the future, if the future has been created.
    pub(super) fn future(&self) -> Option<Place> {
        self.future.get().copied()
    }

    /// Stores the address of the task, which has started.
    pub(super) fn open(&self, body: Address<Word<M>>) {
        *lock(&self.body) = Some(body);
    }

    /// Returns the address of the task. `None` before the task has started and after it has
    /// stopped.
    pub(super) fn body(&self) -> Option<Address<Word<M>>> {
        lock(&self.body).clone()
    }

    /// Sends a message or a notification (a word) to the task of an actor. Drops the word if the
    /// task has stopped.
    pub(super) fn tell(&self, word: Word<M>) {
        match self.body() {
            Some(body) => tell_at(&body, word),
            None => word.forget(),
        }
    }

    /// Wakes the task.
    pub(super) fn ring(self: &Arc<Self>) {
        if self.bell.wake() == Call::Ring {
            self.tell(Word::ring(self));
        }
    }

    /// Removes the address of the task, because the current turn fails or the task stops. A
    /// [`Note`] that is dropped later is not sent again.
    pub(super) fn abandon(&self) {
        let body = lock(&self.body).take();
        drop(body);
    }

    /// Releases all state when the task stops, so that the task can no longer be woken.
    ///
    /// `arrived` contains the messages that the task has not passed to the future. Returns the
    /// number of messages that will not be received.
    pub(super) fn close(&self, arrived: VecDeque<M>) -> usize {
        self.abandon();
        let mut inner = self.inner();
        (inner.closed, inner.is_over) = (true, true);
        let mut queue = VecDeque::new();
        inner.queue.drain_behind(&mut queue);
        let (receiver, born) = (inner.receiver.take(), mem::take(&mut inner.born));
        drop(inner);
        if let Some(sleepers) = self.known_sleepers() {
            sleepers.clear();
        }
        queue.extend(arrived);
        // The heir exists as long as there may be a next incarnation. Without it, the messages are
        // dropped below, where nothing is locked.
        if let Some(heir) = self.heir.as_ref().and_then(Weak::upgrade) {
            lock(&heir.0).append(&mut queue);
        }
        let left = queue.len();
        quiet::drop(receiver);
        quiet::drop_each(queue);
        quiet::drop_each(born);
        left
    }
}

/// Sends a message or a notification (a word) to the task `body`. Drops the word if the task has
/// stopped.
pub(super) fn tell_at<M: Send + 'static>(body: &Address<Word<M>>, word: Word<M>) {
    if let Err(SendError(word)) = body.send(word) {
        // A task that has ended needs no word.
        word.forget();
    }
}

/// The waker of an actor. This type is separate from [`Shared`], so that the reference count of its
/// `Arc` tells how many wakers exist.
pub(super) struct Ringer<M: Send + 'static>(pub(super) Arc<Shared<M>>);

impl<M: Send + 'static> Wake for Ringer<M> {
    fn wake(self: Arc<Self>) {
        self.0.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.ring();
    }
}

impl<M: Send + 'static> Cancel for Shared<M> {
    fn cancel(&self) {
        if let Some(body) = self.body() {
            body.stop();
        }
    }
}

impl<M: Send + 'static> fmt::Debug for Shared<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("bell", &self.bell)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_small_message_fits_two_registers() {
        assert_eq!(size_of::<Word<u64>>(), 2 * size_of::<u64>());
    }
}
