//! What an actor's future, its wakers and its addresses share.
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
use crate::model::next::Next;
use crate::quiet::{self, Several};

/// Messages that one poll may receive, before others get their turn.
const SHARE: usize = 64;

/// The way of messages to the future of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receives {
    /// By an [`Incoming`](super::Incoming), which the future polls as it likes, wherever it likes.
    AsItLikes,
    /// By hand, for the handlers of an actor, whose messages are a turn each.
    ByHand,
}

impl Receives {
    /// Returns how many messages a poll may receive.
    pub(super) fn share(self) -> usize {
        match self {
            Self::AsItLikes => SHARE,
            Self::ByHand => 1,
        }
    }
}

/// A word to the task of an async actor. Where a message has 8 bytes this has 16, and stays in registers on its way.
pub(crate) enum Word<M: Send + 'static> {
    /// A message for the actor.
    Message(M),
    /// News of its own.
    News(News<M>),
}

/// News to the task of an async actor.
pub(crate) enum News<M: Send + 'static> {
    /// The first word to one that was made in a turn, unless that was undone.
    Start,
    /// Somebody has woken the actor.
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

    /// Drops a word that nobody will read, and that tells nothing new: the task has ended.
    fn forget(self) {
        match self {
            Self::News(News::Ring(mut note)) => drop(note.0.take()),
            Self::News(News::Closed(mut note)) => drop(note.0.take()),
            Self::News(News::Start) | Self::Message(_) => {}
        }
    }
}

/// Something that has happened to the actor, in a note.
pub(crate) trait Tells {
    /// Tells it once more.
    fn tell_again(self);
}

/// A note to an actor. Sent in a turn that is undone, it is dropped like all that the turn has sent; but what it tells of has
/// happened, so it sends itself once more. None once it has been read.
pub(crate) struct Note<T: Tells>(Option<T>);

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
    /// Reads it; true if it was sent to that one, and not to one that was there before.
    pub(super) fn read(mut self, by: &Arc<Shared<M>>) -> bool {
        self.0.take().is_some_and(|to| Arc::ptr_eq(&to, by))
    }
}

/// An opening of an actor whose last address is gone.
pub(crate) struct Closing<M: Send + 'static> {
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
    /// Returns which opening it was, if it was sent to that one, and not to one that was there before.
    pub(super) fn read(mut self, by: &Arc<Shared<M>>) -> Option<u64> {
        let closing = self.0.take()?;
        Arc::ptr_eq(&closing.shared, by).then_some(closing.opening)
    }
}

/// What those who were restarted have not received, for the next one.
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

/// What waits for the future, and what it waits for.
pub(super) struct Inner<M: Send + 'static> {
    /// Messages that it can receive. The task adds, the future takes.
    pub(super) queue: Queue<M>,
    /// Whom to wake when there is one more. The future writes, the task takes.
    pub(super) receiver: Option<Waker>,
    /// Whether it was refused a message only because it has had its share of this poll.
    pub(super) hungry: bool,
    /// Whether no address leads to it any more.
    pub(super) closed: bool,
    /// Whether the task has ended.
    pub(super) is_over: bool,
    /// How the turn of this poll is to end, if not well.
    end: Option<Next>,
    /// What is to be made when the poll ends well. The future adds, the task takes.
    born: Vec<Birth<M>>,
}

/// What is brought near at once before a poll, at most. In a future, what the poll needs is anywhere.
const NEAR_BYTES_MAX: usize = 2048;

/// Where something is that will be needed. It may be gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    address: usize,
    bytes: usize,
}

impl Place {
    /// Has it brought near.
    pub(super) fn prefetch(self) {
        prefetch(ptr::without_provenance::<u8>(self.address), self.bytes);
    }
}

/// Makes something in a turn of the actor.
pub(super) type Birth<M> = Box<dyn FnOnce(&Turn<'_, Word<M>>) + Send>;

/// See the module. What every poll needs comes first, side by side: most actors of many are out of every cache when a message
/// comes.
#[repr(C)]
pub(crate) struct Shared<M: Send + 'static> {
    /// Whether it is to be woken. Its wakers and the task ring and hear it.
    pub(super) bell: Bell,
    inner: Mutex<Inner<M>>,
    /// Who sleeps in it, once anybody has.
    sleepers: OnceLock<Arc<Sleepers>>,
    /// Where its future is, once it has begun. Nobody but the task looks in there.
    future: OnceLock<Place>,
    /// The way of messages to its future.
    pub(super) receives: Receives,
    /// True if there is an `end` or something `born`. Written under the lock of `inner`.
    has_wishes: AtomicBool,
    /// Who gets what nobody has received; only for one that is supervised, whose mailbox does not close.
    pub(super) heir: Option<Arc<Heir<M>>>,
    /// The task, from its start to its end: what keeps it alive while it waits. The task writes, wakers read.
    body: Mutex<Option<Address<Word<M>>>>,
    /// What all its addresses have in common, and how often there was a first one.
    pub(super) entry: Mutex<(Weak<Entry<M>>, u64)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is done under these locks that can fail half way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: Send + 'static> Shared<M> {
    pub(super) fn new(receives: Receives) -> Arc<Self> {
        Self::with(receives, None)
    }

    /// The same for one that is supervised. It receives first what its predecessor has not.
    pub(super) fn after(receives: Receives, heir: &Arc<Heir<M>>) -> Arc<Self> {
        Self::with(receives, Some(heir.clone()))
    }

    fn with(receives: Receives, heir: Option<Arc<Heir<M>>>) -> Arc<Self> {
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

    /// Takes what waits in the queue.
    pub(super) fn take_queue(&self) -> VecDeque<M> {
        let mut taken = VecDeque::new();
        self.inner().queue.drain_behind(&mut taken);
        taken
    }

    /// Has the turn of this poll end in that way.
    pub(super) fn wish_for_end(&self, end: Next) {
        let mut inner = self.inner();
        inner.end = Some(end);
        // Relaxed: the poll that it is for runs on this thread, as a rule; another one finds it in a later poll.
        self.has_wishes.store(true, Relaxed);
    }

    /// Has something made if this poll ends well.
    pub(super) fn wish_for_birth(&self, birth: Birth<M>) {
        let mut inner = self.inner();
        inner.born.push(birth);
        // Relaxed: as above.
        self.has_wishes.store(true, Relaxed);
    }

    /// Returns whether anything was wished for the end of the poll.
    #[inline]
    pub(super) fn has_wishes(&self) -> bool {
        // Relaxed: as above.
        self.has_wishes.load(Relaxed)
    }

    /// Takes what was wished for the end of the poll: another end of its turn, and what is to be made.
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

    /// Who sleeps in it.
    pub(super) fn sleepers(&self) -> &Arc<Sleepers> {
        self.sleepers.get_or_init(Arc::default)
    }

    /// The same, if anybody ever has.
    pub(super) fn known_sleepers(&self) -> Option<&Arc<Sleepers>> {
        self.sleepers.get()
    }

    /// The future has begun, and stays where it is.
    pub(super) fn knows_future<F>(&self, future: &F) {
        let place = Place {
            address: ptr::from_ref(future).addr(),
            bytes: size_of::<F>().min(NEAR_BYTES_MAX),
        };
        // One that has begun has not begun before.
        let _ = self.future.set(place);
    }

    /// Has what a poll needs of it brought near.
    pub(super) fn prefetch(&self) {
        prefetch(self, size_of::<Self>().min(NEAR_BYTES_MAX));
    }

    /// Where the future is, if it has begun.
    pub(super) fn future(&self) -> Option<Place> {
        self.future.get().copied()
    }

    /// The task has started.
    pub(super) fn open(&self, body: Address<Word<M>>) {
        *lock(&self.body) = Some(body);
    }

    /// The task, from its start to its end.
    pub(super) fn body(&self) -> Option<Address<Word<M>>> {
        lock(&self.body).clone()
    }

    /// Tells the task, if it has not ended.
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

    /// The turn under way fails, so the task ends: what vanishes with the turn must not be told again.
    pub(super) fn abandon(&self) {
        let body = lock(&self.body).take();
        drop(body);
    }

    /// The task has ended: nobody wakes it any more, nor keeps anything of it. `arrived` is what it had not passed on yet.
    /// How many messages nobody will receive.
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

/// Tells a task.
pub(super) fn tell_at<M: Send + 'static>(body: &Address<Word<M>>, word: Word<M>) {
    if let Err(SendError(word)) = body.send(word) {
        // A task that has ended needs no telling.
        word.forget();
    }
}

/// Wakes the actor. Apart from the shared part, so that its count says how many wakers there are.
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
