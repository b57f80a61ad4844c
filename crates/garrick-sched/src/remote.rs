//! The part of a worker that other threads may access. Code finds this part by the number of the
//! worker. A *seat* is the state of one worker, and a thread *sits* on the seat while it runs the
//! worker.

use std::fmt;
use std::sync::{Arc, PoisonError};

use crossbeam_utils::CachePadded;
use garrick_core::prim::{
    Mutex, MutexGuard,
    atomic::{Ordering::SeqCst, fence},
    unmodelled::{AcqRel, Acquire, AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Relaxed},
};

use crate::cell::{Envelope, Home, Notice, Ready};
use crate::gate::Gate;
use crate::pool;
use crate::regular::Regular;

/// The maximum number of workers that a process can have at the same time: 4,095.
pub const WORKERS_MAX: usize = if cfg!(garrick_loom) { 4 } else { 4095 };

/// State of a worker that other threads access. A `Remote` is never freed, but reused by the next
/// worker with the same number.
#[derive(Default)]
pub(crate) struct Remote {
    /// Ready stack of the worker. Other threads push envelopes (memory blocks) to the stack in
    /// order to notify the worker. A mark in the stack shows if a thread runs the worker.
    pub(crate) ready: CachePadded<Ready>,
    /// The seat (state of a worker) to which this `Remote` belongs. Set when the group of workers
    /// (sponsor) is created, and removed when the number of the worker is released.
    place: Mutex<Option<Place>>,
    /// Address of the crew (the group of threads) that runs the worker. The field `seat` is the
    /// number of the worker in this crew. The loom models do not check these two fields. Each
    /// reader has the token of a cell of this worker (the right to notify the worker), or the right
    /// to run the worker. So each reader sees everything that was written before the worker had any
    /// cell.
    crew: AtomicPtr<()>,
    seat: AtomicUsize,
    /// True if guests may run the worker. A guest is a thread that waits for an answer and is not
    /// one of the threads whose task is to run the worker.
    has_guests: AtomicBool,
    /// True if a push to the ready stack must wake a thread that checks for stuck workers, even
    /// though a thread runs this worker.
    is_unwatched: AtomicBool,
    /// Number of further questions for which only the threads of the sponsor (the group of workers)
    /// may run this worker. The thread that asks one of these questions must not run the worker
    /// itself. After these questions, a thread that asks may run the worker again.
    spared: AtomicU32,
    /// The regular guest of the worker: the thread that usually runs the worker while it waits for
    /// answers.
    pub(crate) regular: Regular,
    /// Number of workers that have had this number before. Wraps around.
    generation: AtomicU32,
    /// The gate of this worker's cells, or null if there is none. A gate can refuse messages from
    /// threads outside of the worker's group (sponsor).
    gate: AtomicPtr<Gate>,
    /// The gate, which can refuse messages from other threads. Used only if this `Remote` belongs
    /// to a gate instead of a worker.
    own_gate: Gate,
}

/// Identifies a worker or gate among all that have had its number since the process has started.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Holder {
    /// 0 for [`Home::NOBODY`].
    number: u16,
    generation: u32,
}

impl Holder {
    pub(crate) const NOBODY: Self = Self {
        number: 0,
        generation: 0,
    };

    /// Returns the worker or gate that has the number of `home` now.
    #[inline]
    pub(crate) fn of(home: Home) -> Self {
        if home == Home::NOBODY {
            return Self::NOBODY;
        }
        Self {
            number: home.number(),
            generation: Remote::of(home).generation.load(Relaxed),
        }
    }

    /// Returns the home of the worker or gate. Returns `None` if it no longer exists, and for
    /// `NOBODY`.
    pub(crate) fn home(self) -> Option<Home> {
        let home = (self.number != 0).then(|| Home::new(self.number))?;
        (Self::of(home) == self).then_some(home)
    }
}

/// The crew: the group of threads (hands) that run the workers of one sponsor. The type that
/// implements this trait is defined in a higher layer of the crate.
pub(crate) trait Serve: Send + Sync {
    /// Gives a seat (the state of a worker) to an idle thread (hand), which then runs the worker.
    /// The caller owns the seat, but does not run the worker.
    fn hand_over(&self, seat: usize);

    /// Wakes a thread (hand), which then handles work that a worker in a long turn has lent to
    /// other threads. Threads that are awake check for lent work by themselves.
    fn wake_visitor(&self);

    /// Wakes an idle thread (hand), which then checks for workers that are stuck in a long turn.
    fn call_watch(&self);

    /// Returns true if the calling thread is the only thread of this crew (group of threads).
    fn is_this_thread(&self) -> bool;
}

/// The crew (group of threads) that runs a worker, and the number of the worker's seat (its state)
/// in this crew.
struct Place {
    crew: Arc<dyn Serve>,
    seat: usize,
}

/// The thread that must be woken after a push, if there is one. Wake it only while no lock is held,
/// because waking may call foreign code (code that users have written).
#[must_use]
pub(crate) struct Wake(Whom);

enum Whom {
    Nobody,
    /// No thread runs the worker. The caller owns this seat (the state of the worker), and must
    /// pass it on to a thread.
    Sitter(&'static Remote),
    /// A thread (hand) must be woken. The thread then handles work that this worker, which is in a
    /// long turn, has lent to other threads.
    Visitor(&'static Remote),
    /// A thread (hand) must be woken. The thread then checks if this worker is stuck in a long
    /// turn.
    Watch(&'static Remote),
}

impl Wake {
    pub(crate) const NOBODY: Self = Self(Whom::Nobody);

    #[inline]
    pub(crate) fn call(self) {
        match self.0 {
            Whom::Nobody => {}
            Whom::Sitter(remote) => remote.hand_over(),
            Whom::Visitor(remote) => remote.with_crew(|crew| crew.wake_visitor()),
            Whom::Watch(remote) => remote.with_crew(|crew| crew.call_watch()),
        }
    }

    /// Returns the seat (the state of a worker) that the caller now owns. The caller must run this
    /// worker, or pass the seat to another thread. Returns the `Wake` itself if the caller owns no
    /// seat.
    pub(crate) fn seat(self) -> Result<&'static Remote, Self> {
        match self.0 {
            Whom::Sitter(remote) => Ok(remote),
            whom => Err(Self(whom)),
        }
    }

    /// Returns true if the caller now owns a seat (the state of a worker). The caller must then run
    /// this worker.
    pub(crate) fn keep(&self) -> bool {
        matches!(self.0, Whom::Sitter(_))
    }
}

/// The [`Remote`] of each worker, by the number of the worker.
#[cfg(not(garrick_loom))]
static REMOTES: [AtomicPtr<Remote>; WORKERS_MAX + 1] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; WORKERS_MAX + 1];

/// Worker numbers that were released and are free again, and the lowest number that was never used.
#[cfg(not(garrick_loom))]
static NUMBERS: std::sync::Mutex<Numbers> = std::sync::Mutex::new((Vec::new(), 1));

type Numbers = (Vec<u16>, u16);

/// Calls `f` with the table entry of worker number `number`.
#[cfg(not(garrick_loom))]
#[inline(always)]
fn with_place<R>(number: u16, f: impl FnOnce(&AtomicPtr<Remote>) -> R) -> R {
    f(&REMOTES[usize::from(number)])
}

/// Calls `f` with the record of the free worker numbers. The lock of the record is held during the
/// call, so `f` must not block.
#[cfg(not(garrick_loom))]
fn with_numbers<R>(f: impl FnOnce(&mut Numbers) -> R) -> R {
    f(&mut NUMBERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The table of the workers in a loom model. Each model runs on its own system thread. The table
/// itself is not modelled, for the reason given in `Remote::of`.
#[cfg(garrick_loom)]
mod model {
    use std::cell::RefCell;
    use std::ptr;

    use super::{AcqRel, AtomicPtr, Numbers, Remote, WORKERS_MAX};

    thread_local! {
        static REMOTES: [AtomicPtr<Remote>; WORKERS_MAX + 1] =
            const { [const { AtomicPtr::new(ptr::null_mut()) }; WORKERS_MAX + 1] };
        static NUMBERS: RefCell<Numbers> = const { RefCell::new((Vec::new(), 1)) };
    }

    pub(super) fn with_place<R>(number: u16, f: impl FnOnce(&AtomicPtr<Remote>) -> R) -> R {
        REMOTES.with(|remotes| f(&remotes[usize::from(number)]))
    }

    pub(super) fn with_numbers<R>(f: impl FnOnce(&mut Numbers) -> R) -> R {
        NUMBERS.with_borrow_mut(f)
    }

    /// Empties the table of the workers before a run of a loom model.
    pub(crate) fn reset() {
        NUMBERS.set((Vec::new(), 1));
        REMOTES.with(|remotes| {
            for remote in remotes {
                let remote = remote.swap(ptr::null_mut(), AcqRel);
                if !remote.is_null() {
                    // SAFETY: made by `claim` in a run that is over.
                    drop(unsafe { Box::from_raw(remote) });
                }
            }
        });
    }
}

#[cfg(all(test, garrick_loom))]
pub(crate) use model::reset as reset_model;
#[cfg(garrick_loom)]
use model::{with_numbers, with_place};

impl Remote {
    /// Claims a free number for a worker. Returns `None` if there are already [`WORKERS_MAX`]
    /// workers.
    pub(crate) fn claim() -> Option<Home> {
        let number = with_numbers(|(free, next)| {
            if let Some(number) = free.pop() {
                return Some((number, false));
            }
            let number = *next;
            *next += u16::from(usize::from(number) <= WORKERS_MAX);
            (usize::from(number) <= WORKERS_MAX).then_some((number, true))
        })?;
        if number.1 {
            let remote = Box::into_raw(Box::default());
            // Release (in AcqRel): pairs with the Acquire in `of`.
            let before = with_place(number.0, |place| place.swap(remote, AcqRel));
            debug_assert!(before.is_null(), "a number is made once");
        }
        let home = Home::new(number.0);
        pool::enter(home);
        Some(home)
    }

    /// Releases the number of a worker, so that another worker can get this number. No cell may
    /// belong to the worker any more.
    pub(crate) fn release(home: Home) {
        let remote = Self::of(home);
        debug_assert!(
            !remote.ready.has_some(),
            "the next worker would find envelopes or a mark of this one"
        );
        *remote.place() = None;
        // Relaxed: the lock of the numbers publishes it to the next worker.
        let generation = remote.generation.load(Relaxed);
        remote.generation.store(generation.wrapping_add(1), Relaxed);
        pool::leave(home);
        with_numbers(|(free, _)| free.push(home.number()));
    }

    /// Returns the [`Remote`] of the worker that `home` identifies.
    #[inline]
    pub(crate) fn of(home: Home) -> &'static Self {
        // Acquire: pairs with the Release in `claim`. It is not modelled, because a static cannot
        // contain loom's atomics. Only `Ask::wait` needs it: it reads the home of a cell, which may
        // have just moved there, by a relaxed load. All other callers know the number from a value
        // that was published after the claim.
        let remote = with_place(home.number(), |place| place.load(Acquire));
        debug_assert!(!remote.is_null(), "a token's cell has a home");
        // SAFETY: made by `claim` before any cell had this home, and never freed.
        unsafe { &*remote }
    }

    /// Assigns this `Remote` to the worker with the index `seat` in `crew` (the group of threads
    /// that runs the worker). Resets the fields that the previous worker with this number has used.
    pub(crate) fn set_place<C: Serve + 'static>(
        &self,
        crew: &Arc<C>,
        seat: usize,
        has_guests: bool,
        is_unwatched: bool,
    ) {
        self.is_unwatched.store(is_unwatched, Relaxed);
        self.has_guests.store(has_guests, Relaxed);
        self.spared.store(0, Relaxed);
        self.regular.clear();
        self.gate.store(std::ptr::null_mut(), Relaxed);
        self.crew
            .store(Arc::as_ptr(crew).cast_mut().cast(), Relaxed);
        self.seat.store(seat, Relaxed);
        let crew = crew.clone();
        *self.place() = Some(Place { crew, seat });
    }

    /// Uses this `Remote` as a gate (which can refuse messages from other threads), and returns the
    /// gate. A `Remote` that is used as a gate has no worker.
    pub(crate) fn become_gate(&'static self) -> &'static Gate {
        self.has_guests.store(false, Relaxed);
        self.set_gate(&self.own_gate);
        &self.own_gate
    }

    /// Sets the gate of this worker's cells. A gate can refuse messages from other threads.
    pub(crate) fn set_gate(&self, gate: &'static Gate) {
        self.gate
            .store(std::ptr::from_ref(gate).cast_mut(), Relaxed);
    }

    /// Returns the gate of this worker's cells, if there is one. A gate can refuse messages from
    /// other threads.
    pub(crate) fn gate(&self) -> Option<&'static Gate> {
        // SAFETY: set by `set_gate`, and never freed.
        unsafe { self.gate.load(Relaxed).as_ref() }
    }

    fn place(&self) -> MutexGuard<'_, Option<Place>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the address of the crew (the group of threads that may run the worker), and the
    /// number of the worker in this crew.
    #[inline]
    pub(crate) fn seat(&self) -> (*const (), usize) {
        (self.crew.load(Relaxed), self.seat.load(Relaxed))
    }

    /// Returns true if threads that wait for an answer may run this worker. The result does not
    /// change while the caller runs the worker, or owns the right to run it.
    pub(crate) fn has_guests(&self) -> bool {
        self.has_guests.load(Relaxed)
    }

    /// Returns true if a thread that waits for an answer can probably run this worker now. If
    /// `spared` (the number of questions for which such threads must not run the worker) is not 0,
    /// subtracts 1 from it and returns false.
    pub(crate) fn welcomes_guests(&self) -> bool {
        if !self.has_guests() {
            return false;
        }
        let spared = self.spared.load(Relaxed);
        if spared > 0 {
            // Several threads that ask at the same time may count as one.
            self.spared.store(spared - 1, Relaxed);
        }
        spared == 0
    }

    /// Makes sure that only the threads of the sponsor (the group of workers) run this worker for
    /// the next `questions` questions. A thread that asks one of these questions must not run the
    /// worker itself.
    pub(crate) fn spare(&self, questions: u32) {
        self.spared.store(questions, Relaxed);
    }

    /// Returns true if the calling thread is the only thread that runs this worker's tasks.
    pub(crate) fn is_this_thread(&self) -> bool {
        let crew = self.place().as_ref().map(|place| place.crew.clone());
        crew.is_some_and(|crew| crew.is_this_thread())
    }

    /// Pushes `carrier` to the ready stack. `carrier` is an envelope that notifies this worker of a
    /// cell. If no thread runs this worker, the caller now owns the right to run the worker, and
    /// the result contains this right. `keeps` must be true if the caller will then run the worker
    /// itself.
    ///
    /// # Safety
    /// The requirements of [`Ready::push`] apply.
    #[inline]
    pub(crate) unsafe fn notify(&'static self, carrier: *mut Envelope, keeps: bool) -> Wake {
        // SAFETY: by contract.
        match unsafe { self.ready.push(carrier, keeps) } {
            Notice::Yours => Wake(Whom::Sitter(self)),
            // Relaxed: a hint; `Hand::looks_no_more` has passed the heavy side of a fence since it
            // was written.
            Notice::Taken if self.is_unwatched.load(Relaxed) => Wake(Whom::Watch(self)),
            Notice::Taken => Wake::NOBODY,
            Notice::Lent => Wake(Whom::Visitor(self)),
        }
    }

    /// Sets `is_unwatched`, if this `Remote` still belongs to `crew` (a group of threads). If
    /// `is_unwatched` is true, a push wakes a thread that checks for stuck workers, even though a
    /// thread runs this worker.
    pub(crate) fn set_unwatched<C>(&self, crew: &C, is_unwatched: bool) {
        let place = self.place();
        // Another crew may have got the number of the worker since the caller has read it. The lock
        // is held until the value is stored, so that no crew gets the number meanwhile.
        if let Some(place) = &*place
            && Arc::as_ptr(&place.crew).cast() == std::ptr::from_ref(crew)
        {
            self.is_unwatched.store(is_unwatched, Relaxed);
        }
    }

    #[cold]
    fn with_crew(&self, f: impl FnOnce(&dyn Serve)) {
        let crew = self.place().as_ref().map(|place| place.crew.clone());
        // The seat may be gone by now.
        if let Some(crew) = crew {
            f(&*crew);
        }
    }

    /// If no thread runs this worker, passes the worker's seat (the right to run the worker) to an
    /// idle thread, and returns true.
    fn wake(&self) -> bool {
        let was_free = self.ready.sit();
        if was_free {
            self.hand_over();
        }
        was_free
    }

    /// Wakes an idle thread for each worker that no thread runs, but for at most `wanted` workers.
    /// The thread gets the right to run the worker.
    pub(crate) fn wake_some(remotes: impl Iterator<Item = &'static Self>, wanted: usize) {
        // SeqCst: pairs with the fence in `Hand::stays`; either the hand that leaves a seat sees
        // what was written before this call, or this thread sees that nobody sits there.
        fence(SeqCst);
        remotes
            .filter(|remote| remote.wake())
            .take(wanted)
            .for_each(drop);
    }

    /// Passes this worker's seat (the right to run the worker) to an idle thread. The caller must
    /// own the seat.
    #[cold]
    pub(crate) fn hand_over(&self) {
        let place = self.place();
        let Place { crew, seat } = place.as_ref().expect("a seat that can be had has a crew");
        let (crew, seat) = (crew.clone(), *seat);
        drop(place);
        crew.hand_over(seat);
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    struct Nobody;

    impl Serve for Nobody {
        fn hand_over(&self, _: usize) {}

        fn wake_visitor(&self) {}

        fn call_watch(&self) {}

        fn is_this_thread(&self) -> bool {
            false
        }
    }

    /// Claims the number of a worker for a crew, and releases it.
    fn claim_and_release() -> (Home, Arc<Nobody>, Holder) {
        let (home, crew) = (Remote::claim().unwrap(), Arc::new(Nobody));
        Remote::of(home).set_place(&crew, 0, false, true);
        let holder = Holder::of(home);
        assert_eq!(holder.home(), Some(home));
        Remote::release(home);
        (home, crew, holder)
    }

    #[test]
    fn a_crew_that_has_lost_its_number_does_not_change_the_next_worker() {
        loop {
            let (before, old, holder) = claim_and_release();
            let (home, new) = (Remote::claim().unwrap(), Arc::new(Nobody));
            let remote = Remote::of(home);
            remote.set_place(&new, 0, false, true);
            // Another test may have claimed the number.
            let is_same = home == before;
            if is_same {
                assert_eq!(holder.home(), None, "another worker has the number");
                remote.set_unwatched(&*old, false);
                assert!(remote.is_unwatched.load(Relaxed));
                remote.set_unwatched(&*new, false);
                assert!(!remote.is_unwatched.load(Relaxed));
            }
            Remote::release(home);
            if is_same {
                return;
            }
        }
    }
}
