//! The addresses of an async actor: a door, so that the actor learns when the last one is gone although its own wakers
//! keep it alive.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use garrick_sched::{Address, Door, Notice, SendError, TaskId, Turn, door};

use super::shared::{Place, Shared, Word, tell_at};

/// What all addresses of an actor have in common; dropped with the last of them.
pub(super) struct Entry<M: Send + 'static> {
    /// The task, once it is made.
    body: OnceLock<Address<Word<M>>>,
    /// Whom to tell when it is dropped, and which opening of the actor this is; nobody if the actor's mailbox does not
    /// close.
    opening: Option<(Arc<Shared<M>>, u64)>,
}

impl<M: Send + 'static> Entry<M> {
    /// The first one, of a task that is still to be made.
    pub(super) fn first(shared: &Arc<Shared<M>>) -> Arc<Self> {
        Self::with(shared, OnceLock::new())
    }

    fn with(shared: &Arc<Shared<M>>, body: OnceLock<Address<Word<M>>>) -> Arc<Self> {
        let mut known = shared.entry();
        known.1 += 1;
        let entry = Arc::new(Self {
            body,
            opening: Some((shared.clone(), known.1)),
        });
        known.0 = Arc::downgrade(&entry);
        entry
    }

    /// One of an actor whose mailbox does not close, because somebody else keeps it.
    pub(super) fn of_kept(body: Address<Word<M>>) -> Arc<Self> {
        Arc::new(Self {
            body: OnceLock::from(body),
            opening: None,
        })
    }

    /// The task is made.
    pub(super) fn set(&self, body: Address<Word<M>>) {
        let set = self.body.set(body);
        debug_assert!(set.is_ok(), "set once, by who made the task");
    }

    /// The task. Whoever has an address can be a moment early: the actor itself, when it starts.
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

/// The door.
struct Gate<M: Send + 'static> {
    /// The entry's, if it was known when the door was made: whoever sends needs no look at the entry.
    body: Option<Address<Word<M>>>,
    entry: Arc<Entry<M>>,
    /// What the actor's poll will need. One actor of many is out of every cache when a message comes to it.
    shared: Option<Arc<Shared<M>>>,
    /// The same of its future, once it has begun.
    future: OnceLock<Place>,
}

/// Of the task, what a poll needs: most of its fields.
const BODY_BYTES: usize = 192;

impl<M: Send + 'static> Gate<M> {
    fn body(&self) -> &Address<Word<M>> {
        self.body.as_ref().unwrap_or_else(|| self.entry.body())
    }

    /// Has a message sent to the task.
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

    /// Has what the poll needs brought near, all at once: one by one they would be waited for, each as long as all of them.
    fn prefetch(&self, shared: &Shared<M>) {
        if let Some(future) = self.future.get() {
            shared.prefetch();
            future.prefetch();
        } else if let Some(future) = shared.future() {
            // It is known from now on.
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
    fn relay(&self, message: M, turn: &Turn<'_, M>) -> Result<(), SendError<M>> {
        self.hand_on(message, |body, word| turn.send(body, word))
    }

    fn stop(&self) {
        self.body().stop();
    }

    fn is_stopped(&self) -> bool {
        self.body().is_stopped()
    }

    fn watch(&self, notice: Notice) {
        let _ = self.body().watch(notice);
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.body().id())
    }
}

/// An address through that entry.
pub(super) fn address<M: Send + 'static>(entry: Arc<Entry<M>>) -> Address<M> {
    door(Gate {
        body: entry.body.get().cloned(),
        shared: entry.opening.as_ref().map(|(shared, _)| shared.clone()),
        future: OnceLock::new(),
        entry,
    })
}

/// One more address of an actor. One that had none any more is open again; one that has ended stays so.
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
    shared.inner().closed = false;
    address(Entry::with(shared, OnceLock::from(body)))
}

/// Where an actor was.
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
        notice(garrick_sched::Ended::Before);
    }
}

/// What the sponsor's timing wheel tells: that it is time to look at who sleeps.
struct Alarm<M: Send + 'static>(Arc<Shared<M>>);

impl<M: Send + 'static> Door for Alarm<M> {
    type Message = ();

    fn pass(&self, (): (), _: &Address<()>) -> Result<(), SendError<()>> {
        self.0.ring();
        Ok(())
    }
}

/// An address that wakes the actor. What comes to it late is no dead letter.
pub(super) fn alarm<M: Send + 'static>(shared: Arc<Shared<M>>) -> Address<()> {
    door(Alarm(shared))
}

/// The address of one in a supervisor's care, of what its seat receives words for.
pub(crate) fn address_of_kept<M: Send + 'static>(seat: Address<Word<M>>) -> Address<M> {
    address(Entry::of_kept(seat))
}
