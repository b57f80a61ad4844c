//! The list of waiting receivers, and their wake-up. A second list of the same type contains the
//! senders that wait for room in the global queue, or in their own deques.
//!
//! A sender checks a single word after each value. This word changes only when a waiter joins or
//! leaves the list, when a woken thread stops searching, or when the channel closes:
//!
//! ```text
//!      63      62        32 31         0
//!     [ CLOSED |  searching |   waiting  ]
//!
//!     sender                                     receiver
//!     publish the value                          enlist: waiting + 1
//!     light fence                                heavy fence
//!     waiting > 0, and searching == 0? wake      check every place: a value? do not sleep
//! ```
//!
//! Because of the two fences (Dekker's pattern), either the sender sees the waiting receiver or the
//! receiver sees the value. A woken receiver counts as *searching* until it has found a value or
//! goes back to waiting. While a receiver is searching, no other receiver is woken. If the last
//! searching receiver stops its search and there are more values, it wakes the next receiver. So
//! there are never more wake-ups in progress than values, and a sequence of values wakes the
//! workers one after another.
//!
//! A searching receiver that finds no value goes back to waiting, and then checks all queues and
//! deques. If there is a value, the receiver leaves the list and counts as searching again. The
//! value may have arrived while this receiver was searching, so that no other receiver was woken
//! for it.
//!
//! A woken future does not count as searching, because it is not known when the future will be
//! polled. But a future, too, wakes the next receiver when its own search is over.
//!
//! **Foreign code.** The waker of a future is user code. It is woken and dropped while no lock is
//! held, and its panics are caught: the thread that wakes it may have a value in its hand, may have
//! to wake others, or may be unwinding already.
use std::{collections::VecDeque, fmt, sync::PoisonError, task::Waker};

use garrick_core::park::Unparker;
use garrick_core::prim::{
    Mutex, MutexGuard,
    atomic::{
        AtomicU64,
        Ordering::{Relaxed, SeqCst},
        fence,
    },
};
use garrick_core::quiet;

/// Number added to `Bell::word` for each receiver or sender that is waiting and has not been woken.
const WAITING: u64 = 1;
const WAITING_MASK: u64 = (1 << 32) - 1;
/// Number added to `Bell::word` for each thread that was woken and has not ended its search yet.
const SEARCHING: u64 = 1 << 32;
const SEARCHING_MASK: u64 = CLOSED - SEARCHING;
/// Bit that is set when the channel is closed.
const CLOSED: u64 = 1 << 63;

pub(super) struct Bell {
    /// The state of the bell in one word: the number of waiting receivers or senders, the number of
    /// searching threads, and the bit for a closed channel. The number of waiting receivers or
    /// senders changes only under the lock.
    word: AtomicU64,

    /// The waiting receivers or senders, whose number is also in `word`. Accessed by threads that
    /// start or stop waiting, and by threads that wake others.
    list: Mutex<List>,
}

struct List {
    /// Waiting threads and futures (sleepers), in the order of their tickets. A sleeper that is
    /// removed leaves a hole. The holes are removed when there are more holes than sleepers.
    waiting: VecDeque<(Ticket, Option<Sleeper>)>,
    /// Number of holes in the list: entries whose thread or future was removed.
    holes: usize,
    next: Ticket,
}

impl List {
    /// Removes and returns the handle of the thread or future that has waited for the longest time.
    fn first(&mut self) -> Option<Sleeper> {
        while let Some((_, sleeper)) = self.waiting.pop_front() {
            if sleeper.is_some() {
                return sleeper;
            }
            self.holes -= 1;
        }
        None
    }

    /// Removes and returns the handle of the waiting thread or future at the index `place`, in
    /// constant time on average. Returns `None` if the handle was removed before.
    fn take(&mut self, place: usize) -> Option<Sleeper> {
        let sleeper = self.waiting.get_mut(place)?.1.take()?;
        self.holes += 1;
        if self.holes > self.waiting.len() / 2 {
            self.waiting.retain(|(_, sleeper)| sleeper.is_some());
            self.holes = 0;
        }
        Some(sleeper)
    }

    /// Returns the index of the entry with `ticket`, if there is one. The entry may be a hole.
    fn place(&self, ticket: Ticket) -> Option<usize> {
        let found = (self.waiting).binary_search_by_key(&ticket, |(waiting, _)| *waiting);
        found.ok()
    }

    /// Removes and returns the handle of the thread or future with `ticket`. Returns `None` if it
    /// is no longer in the list.
    fn remove(&mut self, ticket: Ticket) -> Option<Sleeper> {
        self.take(self.place(ticket)?)
    }
}

/// Identifier of a waiting thread or future in the list. Never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// Ticket of a waiting worker, for threads that must wake exactly this worker. Written by the
/// worker, read by thieves.
pub(super) struct Shown(AtomicU64);

impl Shown {
    /// Creates a `Shown` that contains no ticket.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn show(&self, ticket: Ticket) {
        // Relaxed: the steal lock orders it, see `Shared::announce_room_of`.
        self.0.store(ticket.0, Relaxed);
    }

    pub(super) fn hide(&self) {
        // Relaxed: a thread that still sees the ticket does not find it in the list.
        self.0.store(0, Relaxed);
    }

    #[inline]
    pub(super) fn ticket(&self) -> Option<Ticket> {
        // Relaxed: as in `show`.
        let number = self.0.load(Relaxed);
        (number != 0).then_some(Ticket(number))
    }
}

/// Handle that wakes a waiting receiver or sender.
pub(super) enum Sleeper {
    Thread(Unparker),
    Task(Waker),
}

/// The result of a wait: the way in which the waiting thread or future was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Call {
    /// The waiting thread or future was not woken.
    None,
    /// A thread was woken for a value or for room. When the thread has finished its search, it must
    /// call [`Bell::answer`], which may wake another thread or future.
    Thread,
    /// A future was woken for a value. When the future has finished its search, it must call
    /// [`Bell::answer`], which may wake another thread or future.
    Task,
}

impl Call {
    /// Returns the number that this result stands for in the word of the bell: [`SEARCHING`] for a
    /// woken thread, which counts as searching, and otherwise 0.
    fn searching(self) -> u64 {
        match self {
            Self::Thread => SEARCHING,
            Self::None | Self::Task => 0,
        }
    }
}

impl Sleeper {
    /// Returns the number that is added to the word of the bell when this sleeper is woken:
    /// [`SEARCHING`] for a thread, and 0 for a future.
    fn searching(&self) -> u64 {
        match self {
            Self::Thread(_) => SEARCHING,
            Self::Task(_) => 0,
        }
    }

    /// Wakes the thread or the task. Ignores a panic of a waker.
    fn wake(self) {
        match self {
            Self::Thread(unparker) => unparker.unpark(),
            Self::Task(waker) => _ = quiet::call(|| waker.wake()),
        }
    }
}

impl Bell {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            list: Mutex::new(List {
                waiting: VecDeque::new(),
                holes: 0,
                next: Ticket(1),
            }),
        }
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: the caller's fence orders it.
        self.word.load(Relaxed) & CLOSED != 0
    }

    /// Returns true if no receiver is waiting or searching, and the bell is open. In this case, a
    /// sender has nothing more to do.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        // Relaxed: the caller's fence orders it.
        self.word.load(Relaxed) == 0
    }

    /// Returns true if a thread or future is waiting. In this case, a thread that has published a
    /// value or made room must [`ring`](Self::ring).
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        // Relaxed: the caller's fence orders it.
        self.word.load(Relaxed) & WAITING_MASK != 0
    }

    /// Returns the number of waiting threads and futures.
    pub(super) fn waiting(&self) -> usize {
        // Relaxed: a hint.
        (self.word.load(Relaxed) & WAITING_MASK) as usize
    }

    /// Wakes one waiting thread or future, unless a woken thread is still searching for a value or
    /// for room.
    #[cold]
    pub(super) fn ring(&self) {
        // SeqCst: pairs with the one in `answer`: either it finds our value, or we see that it no
        // longer searches.
        fence(SeqCst);
        // Relaxed: the fence orders it.
        let word = self.word.load(Relaxed);
        if word & WAITING_MASK != 0 && word & SEARCHING_MASK == 0 {
            self.wake_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        // No code that panics runs under the lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_one(&self) {
        self.wake_found(List::first);
    }

    /// Wakes the waiting thread or future with `ticket`, if it is still in the list, even while
    /// another thread is searching.
    #[cold]
    pub(super) fn ring_for(&self, ticket: Ticket) {
        self.wake_found(|list| list.remove(ticket));
    }

    /// Wakes the thread or future that `find` removes from the list.
    fn wake_found(&self, find: impl FnOnce(&mut List) -> Option<Sleeper>) {
        let mut list = self.lock();
        let Some(sleeper) = find(&mut list) else {
            return;
        };
        let searching = sleeper.searching();
        // Relaxed: the lock orders it for waiting sleepers; for senders, fences order it.
        (self.word).fetch_add(searching.wrapping_sub(WAITING), Relaxed);
        drop(list);
        sleeper.wake();
    }

    /// Adds a thread or future to the list of waiters. `call` is the result of its previous wait.
    /// Before the caller sleeps, it must pass a heavy fence, and check again for a value or for
    /// room.
    pub(super) fn enlist(&self, sleeper: Sleeper, call: Call) -> Ticket {
        let mut list = self.lock();
        let ticket = list.next;
        list.next = Ticket(ticket.0 + 1);
        // A future that was forgotten stays in the list, so the list may be longer than the number
        // of handles.
        assert!(
            (list.waiting.len() as u64) < WAITING_MASK,
            "at most 2^32 - 1 receivers or senders can wait"
        );
        list.waiting.push_back((ticket, Some(sleeper)));
        // Relaxed: the fences of both sides order it.
        (self.word).fetch_add(WAITING.wrapping_sub(call.searching()), Relaxed);
        ticket
    }

    /// Returns true if the future with `ticket` is in the list of waiters, with a waker that wakes
    /// the same task as `waker`.
    pub(super) fn waits(&self, ticket: Ticket, waker: &Waker) -> bool {
        let list = self.lock();
        let found = list.place(ticket).and_then(|place| list.waiting.get(place));
        // No foreign code: the comparison reads two pointers.
        matches!(found, Some((_, Some(Sleeper::Task(listed)))) if listed.will_wake(waker))
    }

    /// Removes a thread or future from the list of waiters. Returns `woken` if the waiter was woken
    /// in the meantime, and `otherwise` if not. If the result is [`Call::Thread`], the thread
    /// counts as searching again.
    pub(super) fn withdraw(&self, ticket: Ticket, woken: Call, otherwise: Call) -> Call {
        let mut list = self.lock();
        let Some(left) = list.remove(ticket) else {
            return woken;
        };
        // Relaxed: no thread relies on it except to save a wake-up.
        (self.word).fetch_add(otherwise.searching().wrapping_sub(WAITING), Relaxed);
        drop(list);
        // Foreign code, after the lock is released.
        quiet::drop(left);
        otherwise
    }

    /// Records that a woken receiver or sender has ended its search: it has found a value or room,
    /// or gives up. If no thread is searching and `has_work` returns true, wakes the next thread or
    /// future that waits.
    pub(super) fn answer(&self, call: Call, has_work: impl FnOnce() -> bool) {
        if call == Call::None {
            return;
        }
        let searching = call.searching();
        // Relaxed: the fence orders it.
        let word = self.word.fetch_sub(searching, Relaxed) - searching;
        if word & WAITING_MASK == 0 || word & SEARCHING_MASK != 0 {
            return;
        }
        // SeqCst: pairs with the one in `ring`.
        fence(SeqCst);
        if has_work() {
            self.wake_one();
        }
    }

    /// Closes the bell (the list of waiting threads and futures). If the bell was open, returns
    /// true, and the caller must call [`wake_all`](Self::wake_all).
    pub(super) fn close(&self) -> bool {
        // Relaxed: the caller's heavy fence orders it.
        self.word.fetch_or(CLOSED, Relaxed) & CLOSED == 0
    }

    /// Wakes all waiting threads and futures. A thread or future that joins the list later sees all
    /// writes that the caller made before this call.
    pub(super) fn wake_all(&self) {
        let mut list = self.lock();
        let all = std::mem::take(&mut list.waiting);
        list.holes = 0;
        let waiting = all.iter().filter_map(|(_, sleeper)| sleeper.as_ref());
        let calls = waiting.map(Sleeper::searching);
        let change = calls.fold(0, |sum: u64, searching| {
            sum.wrapping_add(searching.wrapping_sub(WAITING))
        });
        // Relaxed: as in `wake_one`.
        self.word.fetch_add(change, Relaxed);
        drop(list);
        let sleepers = all.into_iter().filter_map(|(_, sleeper)| sleeper);
        sleepers.for_each(Sleeper::wake);
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Relaxed);
        f.debug_struct("Bell")
            .field("waiting", &(word & WAITING_MASK))
            .field("searching", &((word & SEARCHING_MASK) / SEARCHING))
            .field("is_closed", &(word & CLOSED != 0))
            .finish()
    }
}
