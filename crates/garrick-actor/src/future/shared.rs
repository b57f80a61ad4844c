//! State shared by an actor's future, its wakers and its addresses.
//!
//! ```text
//!   Address<M> --> door: Gate --- Word::Message ---> Body [ arrived | future ]
//!                    | Entry, gone with the last address       |   ^
//!                    +---------- News::Closed ---------->|   | News::Ring
//!                                                      Shared: queue, bell <--- wakers
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Wake, Waker};

use garrick_core::bell::{Bell, Call};
use garrick_core::prefetch::prefetch;
use garrick_sched::{Address, SendError, Turn, count_dead_letters};

use super::gate::Entry;
use super::queue::Queue;
use super::sleepers::Sleepers;
use crate::beside::pipes::Cancel;
use crate::failure::path::ActorPath;
use crate::model::next::Next;
use crate::quiet::{self, Several};

/// Number of messages that one poll may receive before other actors get their turn.
const SHARE: usize = 64;

/// The way of messages to the future of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receives {
    /// By an [`Incoming`](super::Incoming), which the future polls when and where it likes.
    AsItLikes,
    /// By hand, for the handlers of an actor, whose messages are a turn each.
    ByHand,
}

impl Receives {
    /// Returns the number of messages that a poll may receive.
    pub(super) fn share(self) -> usize {
        match self {
            Self::AsItLikes => SHARE,
            Self::ByHand => 1,
        }
    }
}

/// A word to the task of an async actor. For a message of 8 bytes it has 16 bytes, and stays in
/// registers.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub enum Word<M: Send + 'static> {
    /// A message for the actor.
    Message(M),
    /// News for the task itself.
    News(News<M>),
}

/// News to the task of an async actor.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub enum News<M: Send + 'static> {
    /// The first word to an actor that was created in a turn, unless the turn was undone.
    Start,
    /// The actor was woken.
    Ring(Note<Arc<Shared<M>>>),
    /// The last address of an opening is gone.
    Closed(Note<Box<Closing<M>>>),
}

impl<M: Send + 'static> Word<M> {
    pub(super) const START: Self = Self::News(News::Start);

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

    /// Drops a word for a task that has ended, without sending it again.
    fn forget(self) {
        match self {
            Self::News(News::Ring(mut note)) => drop(note.0.take()),
            Self::News(News::Closed(mut note)) => drop(note.0.take()),
            Self::News(News::Start) | Self::Message(_) => {}
        }
    }
}

/// An event at the actor, carried in a note.
pub trait Tells {
    /// Sends it once more.
    fn tell_again(self);
}

/// A note to an actor. If it is sent in a turn that is undone, it is dropped with the turn's other
/// messages. But the event has happened, so its destructor sends it once more. `None` once it has
/// been read.
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
    /// Reads the note. Returns true if it was sent to `by`, and not to an earlier incarnation.
    pub(super) fn read(mut self, by: &Arc<Shared<M>>) -> bool {
        self.0.take().is_some_and(|to| Arc::ptr_eq(&to, by))
    }
}

/// An opening of an actor whose last address is gone.
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
    /// Reads the note. Returns the number of the opening if it was sent to `by`, and not to an
    /// earlier incarnation.
    pub(super) fn read(mut self, by: &Arc<Shared<M>>) -> Option<u64> {
        let closing = self.0.take()?;
        Arc::ptr_eq(&closing.shared, by).then_some(closing.opening)
    }
}

/// Messages that replaced incarnations have not received, for the next one.
pub(crate) struct Heir<M>(Mutex<Several<VecDeque<M>>>);

impl<M> Heir<M> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }
}

impl<M> Drop for Heir<M> {
    fn drop(&mut self) {
        count_dead_letters(lock(&self.0).len() as u64);
    }
}

/// Messages that wait for the future, and the wakers and wishes of the future.
pub(super) struct Inner<M: Send + 'static> {
    /// Messages that the future can receive. The task adds, the future takes.
    pub(super) queue: Queue<M>,
    /// Waker for the next message. The future writes, the task takes.
    pub(super) receiver: Option<Waker>,
    /// True if a message was refused only because this poll has had its share.
    pub(super) hungry: bool,
    /// True once no address leads to the actor.
    pub(super) closed: bool,
    /// True once the task has ended.
    pub(super) is_over: bool,
    /// End of the turn of this poll, if it is not to commit.
    end: Option<Next>,
    /// Actions to run when the poll ends well. The future adds, the task takes.
    born: Vec<Birth<M>>,
}

/// Maximum number of bytes prefetched before a poll. Within a future, the needed state can be
/// anywhere.
const NEAR_BYTES_MAX: usize = 2048;

/// The place of state that will be needed. The state may be gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    address: usize,
    bytes: usize,
}

impl Place {
    /// Prefetches the state at this place.
    pub(super) fn prefetch(self) {
        prefetch(ptr::without_provenance::<u8>(self.address), self.bytes);
    }
}

/// Creates something in a turn of the actor.
pub(super) type Birth<M> = Box<dyn FnOnce(&Turn<'_, Word<M>>) + Send>;

/// State shared by an actor's future, its wakers and its addresses. Fields that every poll needs
/// come first, side by side: most actors of many are out of every cache when a message comes.
#[repr(C)]
pub struct Shared<M: Send + 'static> {
    /// Bell by which the task is woken. Its wakers ring it, and the task hears it.
    pub(super) bell: Bell,
    inner: Mutex<Inner<M>>,
    /// Sleeps inside the future, once there was one.
    sleepers: OnceLock<Arc<Sleepers>>,
    /// Place of the future, once it has begun. Only the task looks in there.
    future: OnceLock<Place>,
    /// The way of messages to the future.
    pub(super) receives: Receives,
    /// True if there is an `end` or something `born`. Written under the lock of `inner`.
    has_wishes: AtomicBool,
    /// Receives the unread messages at a restart. Supervised actors only, whose mailbox does not
    /// close.
    pub(super) heir: Option<Arc<Heir<M>>>,
    /// Task of the actor, from its start to its end. Keeps it alive while it waits. The task
    /// writes, wakers read.
    body: Mutex<Option<Address<Word<M>>>>,
    /// Entry that all addresses share, and the number of openings so far.
    pub(super) entry: Mutex<(Weak<Entry<M>>, u64)>,
    /// Path of the actor, if it was given a name.
    pub(super) path: Option<ActorPath>,
    /// Name of the actor's type.
    pub(super) name: &'static str,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code under these locks can fail halfway.
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

    /// Creates the shared part of a supervised actor. It first receives the messages that its
    /// predecessor has not received.
    pub(super) fn after(
        receives: Receives,
        heir: &Arc<Heir<M>>,
        path: Option<ActorPath>,
        name: &'static str,
    ) -> Arc<Self> {
        Self::with(receives, Some(heir.clone()), path, name)
    }

    fn with(
        receives: Receives,
        heir: Option<Arc<Heir<M>>>,
        path: Option<ActorPath>,
        name: &'static str,
    ) -> Arc<Self> {
        let queue = heir.as_ref().map(|heir| mem::take(&mut **lock(&heir.0)));
        let inner = Inner {
            queue: Queue::of(queue.unwrap_or_default()),
            receiver: None,
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
            heir,
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

    /// Takes the messages that wait in the queue.
    pub(super) fn take_queue(&self) -> VecDeque<M> {
        let mut taken = VecDeque::new();
        self.inner().queue.drain_behind(&mut taken);
        taken
    }

    /// Requests that the turn of this poll ends in the given way.
    pub(super) fn wish_for_end(&self, end: Next) {
        let mut inner = self.inner();
        inner.end = Some(end);
        // Relaxed: the poll that it is for usually runs on this thread. Another thread finds it in
        // a later poll.
        self.has_wishes.store(true, Relaxed);
    }

    /// Requests that an action runs if this poll ends well.
    pub(super) fn wish_for_birth(&self, birth: Birth<M>) {
        let mut inner = self.inner();
        inner.born.push(birth);
        // Relaxed: like the store in `wish_for_end`.
        self.has_wishes.store(true, Relaxed);
    }

    /// Returns true if there are wishes for the end of the poll.
    #[inline]
    pub(super) fn has_wishes(&self) -> bool {
        // Relaxed: like the store in `wish_for_end`.
        self.has_wishes.load(Relaxed)
    }

    /// Takes the wishes for the end of the poll: another end of its turn, and the actions to run.
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

    /// Returns the sleeps inside the future.
    pub(super) fn sleepers(&self) -> &Arc<Sleepers> {
        self.sleepers.get_or_init(Arc::default)
    }

    /// Returns the sleeps inside the future, if there ever was one.
    pub(super) fn known_sleepers(&self) -> Option<&Arc<Sleepers>> {
        self.sleepers.get()
    }

    /// Records that the future has begun, and its place, which does not change.
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

    /// Returns the place of the future, if it has begun.
    pub(super) fn future(&self) -> Option<Place> {
        self.future.get().copied()
    }

    /// Records that the task has started.
    pub(super) fn open(&self, body: Address<Word<M>>) {
        *lock(&self.body) = Some(body);
    }

    /// Returns the task, from its start to its end.
    pub(super) fn body(&self) -> Option<Address<Word<M>>> {
        lock(&self.body).clone()
    }

    /// Sends the task a word, if it has not ended.
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

    /// Ends the task, because the turn under way fails. Notes that vanish with the turn must not be
    /// sent again.
    pub(super) fn abandon(&self) {
        let body = lock(&self.body).take();
        drop(body);
    }

    /// Ends the task: nothing wakes it or keeps it alive any more. `arrived` are the messages that
    /// it had not passed on yet. Returns the number of messages that will not be received.
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
        if let Some(heir) = &self.heir {
            lock(&heir.0).append(&mut queue);
        }
        let left = queue.len();
        quiet::drop(receiver);
        quiet::drop_each(queue);
        quiet::drop_each(born);
        left
    }
}

/// Sends a task a word.
pub(super) fn tell_at<M: Send + 'static>(body: &Address<Word<M>>, word: Word<M>) {
    if let Err(SendError(word)) = body.send(word) {
        // A task that has ended needs no word.
        word.forget();
    }
}

/// Wakes the actor. Separate from the shared part, so that its reference count is the number of
/// wakers.
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
