//! Entries of entities in a [`DutyList`].

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use garrick_actor::supervise::Tree;
use garrick_actor::{Address, Ask, Reply};

/// A durable list of the entities that have something to do: an effect or a reminder that is not
/// done, or a letter that is not confirmed.
///
/// Spawn an entity with [`Entity::listed`](crate::Entity::listed) to connect it to a list. The list
/// contains the name of the entity before its first effect, reminder or letter is durable. The name
/// is removed when the entity stops and has nothing to do. After a restart, a program starts the
/// entities whose names are in the list. The list may also contain names of entities that have
/// nothing to do, for example after a crash.
///
/// Start each entity once with `listed` if it was used without a list before. Otherwise, the list
/// does not contain its earlier effects, reminders and letters.
///
/// A turn that adds a name to the list needs two syncs: one for the list, and one for the events of
/// the turn. The removal of a name appends one event to the journal of the list. Other turns cost
/// the same as without a list.
///
/// Clones are handles to the same list. The list closes when all handles, and all entities that are
/// connected to it, have been dropped.
///
/// # Examples
/// ```
/// use garrick_actor::{Reply, System};
/// use garrick_journal::{BoxError, Decide, Due, DurableActor, DutyList, EventKind, Journal, Stored};
/// # struct Sent;
/// # impl Stored for Sent {
/// #     fn encode(&self, _: &mut Vec<u8>) -> EventKind { EventKind::default() }
/// #     fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> { Ok(Self) }
/// # }
///
/// struct Order;
///
/// enum Command {
///     Pay(Reply<()>),
///     SendReceipt(Due),
/// }
///
/// impl DurableActor for Order {
///     type Msg = Command;
///     type State = bool;
///     type Event = Sent;
///     type Outcome = ();
///
///     fn decide(&self, _: &bool, command: Command, cx: &mut Decide<'_, '_, Self>) {
///         match command {
///             Command::Pay(reply) => {
///                 cx.once("receipt");
///                 reply.send(());
///             }
///             // The mail server cannot be reached, so the effect stays unfinished.
///             Command::SendReceipt(_) => {}
///         }
///     }
///
///     fn apply(is_sent: &mut bool, _: &Sent) {
///         *is_sent = true;
///     }
///
///     fn due(due: Due) -> Option<Command> {
///         Some(Command::SendReceipt(due))
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("garrick-duties-{}", std::process::id()));
/// for has_paid in [false, true] {
///     let system = System::new()?;
///     let (journal, _) = Journal::open(&system.handle(), &folder)?;
///     let list = DutyList::open(&system.handle(), &journal, "orders with duties")?;
///     let start = |name: &str| -> Result<_, Box<dyn std::error::Error>> {
///         Ok(system.spawn(journal.entity(name, Order)?.listed(&list))?)
///     };
///     // The program starts again: it starts the orders that have something to do.
///     let listed = list.names().wait()?;
///     assert_eq!(listed, if has_paid { vec!["order/7"] } else { vec![] });
///     let orders: Vec<_> = listed.iter().map(|name| start(name)).collect::<Result<_, _>>()?;
///     if !has_paid {
///         start("order/7")?.ask(Command::Pay).wait()?;
///     }
///     drop((journal, list, orders));
///     system.shutdown();
/// }
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DutyList {
    list: Address<DutyListMsg>,
    waiters: DutyWaiters,
    /// The supervisor of the list's actor. `None` if the caller of [`DutyList::at`] supervises it.
    _keeper: Option<Arc<ListKeeper>>,
}

/// Stops the actor of a list when the last handle to the list is dropped.
pub(super) struct ListKeeper(pub(super) Tree);

impl Drop for ListKeeper {
    fn drop(&mut self) {
        drop(self.0.stop());
    }
}

/// A function that is called when an entry of the list is durable.
pub(super) type Listed = Box<dyn FnOnce() + Send>;

/// The functions that are called when entries of a list are durable. Each of them belongs to a turn
/// of an entity, which is undone if the function is dropped.
///
/// The functions are not in the messages to the actor of the list, because these messages wait as
/// long as the actor cannot start. If the actor cannot start, the functions are dropped. So no turn
/// waits for a list whose log is broken.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct DutyWaiters(Arc<Mutex<Waiters>>);

#[derive(Default)]
struct Waiters {
    /// Number of functions that were ever added.
    count: u64,
    /// The functions, by their numbers. If all are dropped, the oldest is dropped first.
    waiting: BTreeMap<u64, Listed>,
}

impl DutyWaiters {
    fn with<R>(&self, f: impl FnOnce(&mut Waiters) -> R) -> R {
        // No code that holds the lock can panic halfway.
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, then: Listed) -> Waiter {
        let number = self.with(|waiters| {
            waiters.count += 1;
            waiters.waiting.insert(waiters.count, then);
            waiters.count
        });
        Waiter {
            waiters: self.clone(),
            number,
        }
    }

    /// Drops all functions, so that the turns that wait for them are undone.
    pub(super) fn drop_all(&self) {
        let waiting = self.with(|waiters| mem::take(&mut waiters.waiting));
        // The lock is free, because each drop undoes a turn.
        drop(waiting);
    }
}

/// A function in [`DutyWaiters`]. The function is dropped with this value.
pub(super) struct Waiter {
    waiters: DutyWaiters,
    number: u64,
}

impl Waiter {
    /// Removes and returns the function. Returns `None` if it was dropped.
    pub(super) fn take(&self) -> Option<Listed> {
        let number = self.number;
        self.waiters.with(|waiters| waiters.waiting.remove(&number))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // A message to a list that has ended is dropped with its function.
        drop(self.take());
    }
}

impl fmt::Debug for DutyWaiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DutyWaiters").finish_non_exhaustive()
    }
}

/// A message to the actor of a [`DutyList`].
///
/// The numbers are those of events in the journal of the entity. A removal has the number of the
/// entity's newest event, after which there was nothing to do. Any later addition has a greater
/// number. So a removal that arrives late does not undo an addition.
#[doc(hidden)]
pub struct DutyListMsg(pub(super) Request);

pub(super) enum Request {
    /// Adds an entry before the event with the number `number` is written. Calls `then` when the
    /// entry is durable.
    Add {
        name: Arc<str>,
        number: u64,
        /// True if the entity begins to have something to do with this event. Then the entry gets
        /// this number, even if there is an older entry.
        is_new: bool,
        /// The function that is called when the entry is durable.
        then: Option<Waiter>,
    },
    /// Removes an entry, unless it was added with a number greater than `number`.
    Remove { name: Arc<str>, number: u64 },
    /// Asks for the names of all entries.
    Names(Reply<Vec<String>>),
}

impl fmt::Debug for DutyListMsg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DutyListMsg").finish_non_exhaustive()
    }
}

impl DutyList {
    /// Returns the handle to the list whose actor has the address `list` and uses `waiters`.
    #[doc(hidden)]
    #[must_use]
    pub fn at(list: Address<DutyListMsg>, waiters: DutyWaiters) -> Self {
        Self {
            list,
            waiters,
            _keeper: None,
        }
    }

    /// Stops the actor of the list after the messages that it has already received.
    #[doc(hidden)]
    pub fn stop(&self) {
        self.list.stop();
    }

    /// Returns the handle to the same list, whose actor belongs to the supervisor `keeper`.
    pub(super) fn kept(self, keeper: ListKeeper) -> Self {
        Self {
            _keeper: Some(Arc::new(keeper)),
            ..self
        }
    }

    /// Asks for the names of all entities in the list, in ascending order. The question waits while
    /// the log cannot be read, and ends with an error if the list is closed.
    pub fn names(&self) -> Ask<Vec<String>> {
        let names = |reply| DutyListMsg(Request::Names(reply));
        self.list.ask(names)
    }

    /// Returns an entry for an entity that is listed with the given name.
    #[doc(hidden)]
    #[must_use]
    pub fn listing(&self, name: impl Into<Arc<str>>) -> Listing {
        Listing {
            list: self.clone(),
            name: name.into(),
            duties: Arc::new(AtomicU8::new(UNKNOWN)),
        }
    }
}

impl fmt::Debug for DutyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DutyList").finish_non_exhaustive()
    }
}

/// The entry of an entity in a [`DutyList`]. Clones are handles to the same entry. Each new
/// instance of the entity uses a clone.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Listing {
    list: DutyList,
    name: Arc<str>,
    /// [`UNKNOWN`], [`NONE`] or [`SOME`].
    duties: Arc<AtomicU8>,
}

/// The entity has not read its state yet, so it may have something to do.
const UNKNOWN: u8 = 0;
/// The entity has nothing to do.
const NONE: u8 = 1;
/// The entity has something to do.
const SOME: u8 = 2;

// Relaxed everywhere: the value publishes nothing.
impl Listing {
    /// Returns true if the entity has something to do, so that it should not be stopped because it
    /// is idle. The value may be that of a turn that is not durable yet. Returns `None` until the
    /// entity has read its state for the first time.
    #[must_use]
    pub fn has_duties(&self) -> Option<bool> {
        match self.duties.load(Relaxed) {
            UNKNOWN => None,
            duties => Some(duties == SOME),
        }
    }

    pub(super) fn note_duties(&self, are_there: bool) {
        let duties = if are_there { SOME } else { NONE };
        self.duties.store(duties, Relaxed);
    }

    /// Adds the entity to the list, unless it is there. The events before the event with the number
    /// `number` give the entity something to do.
    pub(super) fn complete(&self, number: u64) {
        self.add(number, false, None);
    }

    fn add(&self, number: u64, is_new: bool, then: Option<Waiter>) {
        self.send(Request::Add {
            name: self.name.clone(),
            number,
            is_new,
            then,
        });
    }

    /// Removes the entity from the list, unless it was added before an event with a number greater
    /// than `number`.
    pub(super) fn remove(&self, number: u64) {
        let name = self.name.clone();
        self.send(Request::Remove { name, number });
    }

    fn send(&self, request: Request) {
        // If the actor of the list has ended, the request is dropped. Then a turn that waits for
        // its entry is undone, and a name may stay in the list.
        let _ = self.list.list.send_promised(DutyListMsg(request));
    }
}

/// An entry of an entity that must be in the list before the events of a turn are written.
pub(super) struct Addition {
    pub(super) listing: Listing,
    /// Number of the first event of the turn.
    pub(super) number: u64,
    /// True if the entity has had nothing to do before the turn.
    pub(super) is_new: bool,
}

impl Addition {
    /// Calls `then` when the entry is durable. If the entry cannot be written, drops `then`.
    pub(super) fn then(self, then: Listed) {
        let then = self.listing.list.waiters.add(then);
        self.listing.add(self.number, self.is_new, Some(then));
    }
}
