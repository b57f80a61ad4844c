//! The addresses of an async actor. An address leads to a door, which passes each message to the
//! actor. The actor keeps itself alive, so the door notifies it when the last address is dropped.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock, Weak};

use garrick_sched::{Address, Door, Look, Notice, Relay, SendError, TaskId, door};

use super::shared::{Place, Shared, Word, tell_at};

/// State that all addresses of an actor share. Dropped together with the last address.
pub(super) struct Entry<M: Send + 'static> {
    /// Task of the actor. Set when the task has been spawned.
    body: OnceLock<Address<Word<M>>>,
    /// The shared state of the actor, and the sequence number of the current opening. An opening is
    /// a period in which the actor has addresses. When this `Entry` is dropped, the task is
    /// notified that the opening has ended. `None` if the actor's mailbox does not close.
    opening: Option<(Arc<Shared<M>>, u64)>,
}

impl<M: Send + 'static> Entry<M> {
    /// Creates the state that the first addresses of an actor share, before the actor's task is
    /// spawned.
    pub(super) fn first(shared: &Arc<Shared<M>>) -> Arc<Self> {
        Self::open(shared, &mut shared.entry(), OnceLock::new())
    }

    /// Opens the mailbox of an actor again. If another thread has opened it already, returns the
    /// state that the other thread has created.
    fn reopened(shared: &Arc<Shared<M>>, body: Address<Word<M>>) -> Arc<Self> {
        // The lock is held until the new opening is known and the mailbox is open. So two threads
        // cannot begin two openings, the end of one of which would close the mailbox of the other.
        // The task holds the same lock while it closes the mailbox at the end of an opening.
        let mut known = shared.entry();
        if let Some(entry) = known.0.upgrade() {
            return entry;
        }
        let mut inner = shared.inner();
        // The task may have ended in the meantime. Its mailbox stays closed.
        inner.closed = inner.is_over;
        drop(inner);
        Self::open(shared, &mut known, OnceLock::from(body))
    }

    fn open(
        shared: &Arc<Shared<M>>,
        known: &mut (Weak<Self>, u64),
        body: OnceLock<Address<Word<M>>>,
    ) -> Arc<Self> {
        known.1 += 1;
        let entry = Arc::new(Self {
            body,
            opening: Some((shared.clone(), known.1)),
        });
        known.0 = Arc::downgrade(&entry);
        entry
    }

    /// Creates the state that all addresses of a supervised actor share. The mailbox of this actor
    /// does not close.
    pub(super) fn of_kept(body: Address<Word<M>>) -> Arc<Self> {
        Arc::new(Self {
            body: OnceLock::from(body),
            opening: None,
        })
    }

    /// Stores the address of the actor's task, which has just been spawned.
    pub(super) fn set(&self, body: Address<Word<M>>) {
        let set = self.body.set(body);
        debug_assert!(set.is_ok(), "the address of the task is set only once");
    }

    /// Returns the address of the task. Blocks until the address is set. This is necessary because
    /// the actor may use its own address before the code that spawned it has set the address here.
    fn body(&self) -> &Address<Word<M>> {
        self.body.wait()
    }
}

impl<M: Send + 'static> Drop for Entry<M> {
    fn drop(&mut self) {
        if let Some(body) = self.body.get()
            && let Some((shared, opening)) = &self.opening
        {
            tell_at(body, Word::closed(shared, *opening));
        }
    }
}

/// The door to which an address of an async actor leads. The door passes each message to the
/// actor's task.
struct Gate<M: Send + 'static> {
    /// Address of the task, if it was known when the door was created. With this address, senders
    /// need not read `entry`.
    body: Option<Address<Word<M>>>,
    entry: Arc<Entry<M>>,
    /// Shared state of the actor, which senders prefetch for the actor's next poll. If there are
    /// many actors, the state of an actor is usually in no CPU cache when a message arrives.
    shared: Option<Arc<Shared<M>>>,
    /// Memory location of the actor's future. Senders prefetch this memory together with `shared`.
    /// Set after the future has been created.
    future: OnceLock<Place>,
}

/// Number of bytes that senders prefetch from the start of an actor's task. These bytes contain
/// most of the fields that a poll needs.
const BODY_BYTES: usize = 192;

impl<M: Send + 'static> Gate<M> {
    fn body(&self) -> &Address<Word<M>> {
        self.body.as_ref().unwrap_or_else(|| self.entry.body())
    }

    /// Forwards a message to the task.
    #[inline]
    fn hand_on(
        &self,
        message: M,
        send: impl FnOnce(&Address<Word<M>>, Word<M>) -> Result<(), SendError<Word<M>>>,
    ) -> Result<(), SendError<M>> {
        let body = self.body();
        if let Some(shared) = &self.shared {
            body.prefetch_if_idle(BODY_BYTES, || self.prefetch(shared));
        }
        match send(body, Word::Message(message)) {
            Err(SendError(Word::Message(message))) => Err(SendError(message)),
            _ => Ok(()),
        }
    }

    /// Prefetches the state that the actor's next poll needs. The cache misses of the poll then
    /// overlap. Without prefetching, each cache miss would wait for the previous one.
    fn prefetch(&self, shared: &Shared<M>) {
        if let Some(future) = self.future.get() {
            shared.prefetch();
            future.prefetch();
        } else if let Some(future) = shared.future() {
            // If another sender has already set the place, it has set the same one.
            let _ = self.future.set(future);
        }
    }
}

impl<M: Send + 'static> Door for Gate<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        self.hand_on(message, Address::send)
    }

    const RELAYS: bool = true;

    #[inline]
    fn relay(&self, message: M, relay: &Relay<'_>) -> Result<(), SendError<M>> {
        self.hand_on(message, |body, word| relay.send(body, word))
    }

    #[inline]
    fn relay_behind(&self, message: M, relay: &Relay<'_>) -> Result<(), M> {
        let Some(body) = &self.body else {
            return Err(message);
        };
        // The task is not idle in this case, so nothing is prefetched.
        match relay.send_behind(body, Word::Message(message)) {
            Err(Word::Message(message)) => Err(message),
            _ => Ok(()),
        }
    }

    fn stop(&self) {
        self.body().stop();
    }

    fn is_stopped(&self) -> bool {
        self.body().is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.body().forward_watch(notice);
    }

    fn look(&self) -> Option<Look> {
        // Messages also wait in the queue of the future.
        Some(self.body().look().uncounted())
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.body().id())
    }
}

/// Creates an address of the actor to which `entry` belongs.
pub(super) fn address<M: Send + 'static>(entry: Arc<Entry<M>>) -> Address<M> {
    door(Gate {
        body: entry.body.get().cloned(),
        shared: entry.opening.as_ref().map(|(shared, _)| shared.clone()),
        future: OnceLock::new(),
        entry,
    })
}

/// Creates another address of an actor. If the actor had no address, its mailbox is opened again.
/// If the actor has stopped, returns an address that returns each message to its sender.
pub(super) fn own_address<M: Send + 'static>(shared: &Arc<Shared<M>>) -> Address<M> {
    let known = shared.entry().0.upgrade();
    if let Some(entry) = known {
        return address(entry);
    }
    let Some(body) = shared.body() else {
        return door(Ended(PhantomData));
    };
    if shared.heir.is_some() {
        return address(Entry::of_kept(body));
    }
    address(Entry::reopened(shared, body))
}

/// The door of an actor that has stopped. It returns all messages to their senders.
struct Ended<M>(PhantomData<fn(M)>);

impl<M: Send + 'static> Door for Ended<M> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        Err(SendError(message))
    }

    fn is_stopped(&self) -> bool {
        true
    }

    fn watch(&self, notice: Notice) {
        notice.tell(garrick_sched::Ended::Before);
    }
}

/// The door to which the timer of an async actor sends its message. Wakes the actor when a sleep is
/// over.
struct Alarm<M: Send + 'static>(Arc<Shared<M>>);

impl<M: Send + 'static> Door for Alarm<M> {
    type Message = ();

    fn pass(&self, (): (), _: &Address<()>) -> Result<(), SendError<()>> {
        self.0.ring();
        Ok(())
    }
}

/// Creates an address that wakes the actor. A message to this address is not a dead letter, even if
/// the actor has stopped.
pub(super) fn alarm<M: Send + 'static>(shared: Arc<Shared<M>>) -> Address<()> {
    door(Alarm(shared))
}

/// Creates the address of a supervised actor from the address of its seat. The seat is the
/// permanent cell that contains one incarnation of the actor after another.
pub(crate) fn address_of_kept<M: Send + 'static>(seat: Address<Word<M>>) -> Address<M> {
    address(Entry::of_kept(seat))
}
