//! Seats (the states of workers) and hands (the threads that run workers).
//!
//! A *seat* is the state of a worker: its run queues, memory blocks, timers and ready stack. A
//! *hand* is a thread of the sponsor. The *sitter* of a seat is the hand that runs the worker. The
//! sitter owns the seat until it leaves. A seat is free while its ready stack is marked PARKED or
//! WATCHED. The thread that removes this mark owns the seat. It must either run the worker (sit
//! down), or hand the seat over to an idle hand, exactly once ([`Crew::hand_over`]). Idle hands
//! wait in a list of the crew for any seat ([`Hand::wait_for_seat`]). README.md, seats, explains
//! the protocol.
//!
//! Without drivers, the hands of a sponsor move between all its seats. A seat with a driver, and
//! the seat of a [`Here`](super::Here), has a crew of one hand.

use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use garrick_core::prim::{
    Mutex, MutexGuard,
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
    thread::{self, Thread},
    unmodelled::{AtomicPtr, AtomicU64},
};

use super::looks::Looks;
use super::partners::Path;
use super::plan::{Plan, PlanWord};
use super::rescue::Loan;
use super::{LendBy, Shared};
use crate::cell::{Home, Ready};
use crate::pool;
use crate::quiet;
use crate::remote::{Remote, Serve};
use crate::runtime::current;
use crate::runtime::worker::{Shown, Worker};
use crate::world::Nanos;

/// Time that means "no deadline". If [`Crew::until`] has this value, no thread watches the
/// deadlines of timers.
pub(super) const NEVER: Nanos = Nanos::MAX;

/// A group of threads and a group of workers. Any of these threads may run any of these workers.
pub(crate) struct Crew {
    pub(super) seats: Box<[Seat]>,
    hands: Box<[CachePadded<Berth>]>,
    lists: Mutex<Lists>,
    /// Settings by which workers lend their cells to other workers during long turns. `None` if
    /// they do not lend cells.
    pub(super) lend_by: Option<LendBy>,
    /// Plan of the checks for workers that are stuck in long turns. The watching thread makes these
    /// checks.
    pub(super) plan: PlanWord,
    /// True if a running worker has timers that no idle thread watches. Set when a worker needs a
    /// thread to watch its timers and no thread is idle.
    pub(super) misses_timers: AtomicBool,
    /// Time at which the thread that watches the deadlines of timers will wake. [`NEVER`] if no
    /// thread watches them. Not modelled, because loom models have no clock.
    pub(super) until: AtomicU64,
}

/// The part of a worker that its crew accesses. No two workers share a cache line of this part,
/// because each thread that leaves a worker writes to it.
#[repr(align(128))]
pub(super) struct Seat {
    pub(super) home: Home,
    /// Pointer to the worker. Null before the worker was created, and after it was closed. Written
    /// and read by the thread that runs the worker.
    pub(super) worker: AtomicPtr<Worker>,
    /// Lock that is held while a thread reads a worker that it does not run, and while the worker
    /// is being closed.
    look: Mutex<()>,
    pub(super) loan: Loan,
    /// Deadline of the worker's next timer. Used while no thread runs the worker. Not modelled,
    /// because loom models have no clock.
    deadline: AtomicU64,
    /// Number of tickets for this worker in `Lists::returning`. Each ticket belongs to a thread
    /// that has left the worker in the middle of a turn. Written under the lock of the lists.
    wanted_back: AtomicUsize,
}

/// Ticket of a thread that has left its worker in the middle of a turn, and waits until it may run
/// this worker again.
struct Ticket {
    thread: Thread,
    /// True as soon as the thread that waits for this ticket may run the worker again.
    called: AtomicBool,
}

impl Ticket {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            thread: thread::current(),
            called: AtomicBool::new(false),
        })
    }

    fn call(&self) {
        // Release: pairs with the Acquire in `wait`; the called hand sees what the last sitter
        // left.
        self.called.store(true, Release);
        self.thread.unpark();
    }

    fn wait(&self) {
        // Acquire: pairs with the Release in `call`.
        while !self.called.load(Acquire) {
            thread::park();
        }
    }
}

/// Place where a thread of the crew (a group of threads) waits until it gets a worker.
#[derive(Default)]
struct Berth {
    /// Handle that wakes the thread. `None` while there is no thread.
    bell: Mutex<Option<Bell>>,
}

/// Handle that wakes a thread of the crew (a group of threads).
struct Bell {
    thread: Thread,
    /// Waker for a thread that sleeps in a driver. It is in an `Arc`, because cloning or dropping a
    /// waker runs foreign code, which must not run under the lock.
    waker: Option<Arc<Waker>>,
}

#[derive(Default)]
struct Lists {
    /// Numbers of the threads that wait until they get a worker. The last thread in the list gets
    /// the next worker.
    idle: Vec<usize>,
    /// Workers that were given to waiting threads, by the number of the thread. An entry is removed
    /// when its thread has noticed the worker.
    given: Vec<Option<usize>>,
    /// One flag for each thread: true if the thread is idle and sleeps until its next check for
    /// workers that are stuck in long turns. Valid for idle threads only.
    looks_soon: Vec<bool>,
    /// Number of the watching thread: the idle thread that wakes for timers, and checks for workers
    /// that are stuck in long turns.
    watch: Option<usize>,
    /// Workers that wait for a thread to run them, oldest first.
    waiting: VecDeque<usize>,
    /// Tickets of threads that have left a worker in the middle of a turn and want to run this
    /// worker again. Each ticket is stored with the index of the worker in the crew. The oldest
    /// ticket is the first.
    returning: VecDeque<(usize, Arc<Ticket>)>,
    /// Number of closed workers, which no thread will run any more.
    over: usize,
}

impl Crew {
    /// Creates a crew for the workers with the numbers `homes`, with one thread for each worker and
    /// `spares` more threads. The workers lend their cells to each other if `lend_by` is `Some`.
    pub(crate) fn new(homes: &[Home], spares: usize, lend_by: Option<LendBy>) -> Self {
        let seat = |&home: &Home| Seat {
            home,
            worker: AtomicPtr::new(ptr::null_mut()),
            look: Mutex::new(()),
            loan: Loan::default(),
            deadline: AtomicU64::new(NEVER),
            wanted_back: AtomicUsize::new(0),
        };
        let hands = homes.len() + spares;
        Self {
            seats: homes.iter().map(seat).collect(),
            hands: (0..hands).map(|_| CachePadded::default()).collect(),
            lists: Mutex::new(Lists {
                given: vec![None; hands],
                looks_soon: vec![false; hands],
                ..Lists::default()
            }),
            until: AtomicU64::new(NEVER),
            lend_by,
            plan: PlanWord::default(),
            misses_timers: AtomicBool::new(false),
        }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        // No code that holds the lock can panic halfway.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the part of the worker's state that all threads may access.
    pub(super) fn remote(&self, seat: usize) -> &'static Remote {
        Remote::of(self.seats[seat].home)
    }

    /// Lets another idle thread watch timers and stuck workers, if thread `leaves` has watched them
    /// and there is a reason to watch. Thread `leaves` is about to run worker `seat` of the crew.
    /// Returns the number of the new watching thread if the caller must wake it.
    fn pass_watch(&self, lists: &mut Lists, leaves: usize, seat: usize) -> Option<usize> {
        if lists.watch != Some(leaves) {
            return None;
        }
        self.until.store(NEVER, Relaxed);
        // SeqCst: as in `Hand::keep_watch`.
        fence(SeqCst);
        lists.watch = None;
        let next = lists.idle.first().copied()?;
        let is_early = self.earliest() < NEVER;
        let plan = match self.plan.get() {
            Plan::Nothing => self.plan_needed(Some(seat)),
            plan => plan,
        };
        if !is_early && plan == Plan::Nothing {
            return None;
        }
        lists.watch = Some(next);
        // A hand that was the watch a moment ago may still sleep until its next look.
        let is_in_time =
            !is_early && plan.is_slow() && lists.looks_soon[next] && !self.lends_timers();
        (!is_in_time).then_some(next)
    }

    fn wake(&self, hand: Option<usize>) {
        if let Some(hand) = hand {
            self.hands[hand].wake();
        }
    }

    /// Returns the earliest timer deadline of the workers that no thread runs.
    fn earliest(&self) -> Nanos {
        // The timers of a seat with a sitter, or with one about to sit down, are looked after.
        let parked = self.seats.iter().filter(|seat| seat.is_parked());
        let deadlines = parked.map(|seat| seat.deadline.load(Relaxed));
        deadlines.min().unwrap_or(NEVER)
    }

    /// Takes worker `seat` of the crew if no thread runs it, by calling `sit`. Returns true if the
    /// calling thread may now run the worker. If the worker was closed and belongs to another crew
    /// now, hands the worker over to that crew, and returns false.
    pub(super) fn retake(self: &Arc<Self>, seat: usize, sit: impl FnOnce(&Ready) -> bool) -> bool {
        let remote = self.remote(seat);
        if !sit(&remote.ready) {
            return false;
        }
        let is_ours = remote.seat() == (Arc::as_ptr(self).cast(), seat);
        if !is_ours {
            remote.hand_over();
        }
        is_ours
    }

    /// Returns worker `seat` of the crew. Only the thread that may run the worker may use the
    /// result.
    pub(crate) fn worker(&self, seat: usize) -> NonNull<Worker> {
        // Relaxed: written by the thread that opened the seat, which has left it since, or is the
        // caller.
        let worker = self.seats[seat].worker.load(Relaxed);
        NonNull::new(worker).expect("a seat that can be had is open")
    }

    /// Returns the part of the worker's state that other threads may read. The reference is valid
    /// while the caller holds the lock. Returns `None` if the worker has not started, or has
    /// stopped.
    pub(super) fn shown<'a>(
        &self,
        seat: usize,
        _look: &'a MutexGuard<'_, ()>,
    ) -> Option<&'a Shown> {
        // Relaxed: `open` and `close` hold the lock.
        let worker = NonNull::new(self.seats[seat].worker.load(Relaxed))?;
        // SAFETY: the worker stays while the lock is held, and all threads may look at this field
        // of it.
        Some(unsafe { &(*worker.as_ptr()).shown })
    }

    /// Returns the number of ready cells of a worker. The number may be outdated. The caller must
    /// hold the lock of the worker, so that no thread closes the worker.
    pub(super) fn ready(&self, seat: usize, _look: &MutexGuard<'_, ()>) -> usize {
        // Relaxed: as in `shown`.
        let Some(worker) = NonNull::new(self.seats[seat].worker.load(Relaxed)) else {
            return 0;
        };
        let worker = worker.as_ptr();
        // SAFETY: as in `shown`.
        let (turn, old, born, handoff) = unsafe {
            (
                &(*worker).turn,
                &(*worker).old,
                &(*worker).born,
                &(*worker).handoff,
            )
        };
        // A cell that the current turn has put there usually runs next.
        let is_in_handoff = !handoff.is_empty() && !handoff.was_put_in(turn.load(Relaxed));
        old.len() + born.len() + usize::from(is_in_handoff)
    }

    /// Returns true if a worker probably has timers. The caller must hold the lock of the worker,
    /// so that no thread closes the worker.
    pub(super) fn has_timers(&self, seat: usize, _look: &MutexGuard<'_, ()>) -> bool {
        // Relaxed: as in `shown`.
        NonNull::new(self.seats[seat].worker.load(Relaxed)).is_some_and(|worker| {
            // SAFETY: as in `shown`.
            !unsafe { &(*worker.as_ptr()).timers }.are_calm()
        })
    }

    /// Records the deadline of a worker's next timer. Called by the thread that runs the worker,
    /// before this thread leaves or closes the worker.
    pub(super) fn set_deadline(&self, seat: usize, deadline: Option<Nanos>) {
        self.seats[seat]
            .deadline
            .store(deadline.unwrap_or(NEVER), Relaxed);
    }

    /// Ensures that a thread wakes for the next timer of a worker that was left PARKED (no thread
    /// runs it). Also ensures this for the timers of other workers, if no thread watches them.
    /// Called by the thread that has left the worker, unless this thread goes to sleep now.
    pub(super) fn watch_over(&self, seat: usize) {
        // The caller has passed a fence since it left the seat: see `Hand::keep_watch` and
        // `Crew::watch_timers`.
        let is_early = self.seats[seat].deadline.load(Relaxed) < self.until.load(Relaxed);
        if self.takes_missed() || is_early {
            self.wake_watch();
        }
    }

    /// Returns true if thread number `hand` watches timers and stuck workers.
    pub(super) fn is_watch(&self, hand: usize) -> bool {
        self.lists().watch == Some(hand)
    }

    /// Returns true if an idle thread watches timers and stuck workers.
    pub(super) fn has_watch(&self) -> bool {
        self.lists().watch.is_some()
    }

    /// Wakes the thread that watches timers and stuck workers. If there is no such thread, wakes an
    /// idle thread, which then watches. If all threads are busy, the next thread that becomes idle
    /// checks by itself.
    pub(super) fn wake_watch(&self) {
        let watch = {
            let mut lists = self.lists();
            lists.watch = lists.watch.or(lists.idle.first().copied());
            lists.watch
        };
        self.wake(watch);
    }

    /// Returns true if a thread that has left worker `seat` in the middle of a turn wants to run
    /// this worker again.
    pub(crate) fn is_wanted_back(&self, seat: usize) -> bool {
        // Relaxed: a hint; the lock orders the tickets, and fences order it against sleep.
        self.seats[seat].wanted_back.load(Relaxed) > 0
    }

    /// Waits until the calling thread may again run a worker that it has left in the middle of a
    /// turn.
    pub(super) fn take_back(self: &Arc<Self>, seat: usize) {
        let ticket = {
            let mut lists = self.lists();
            if let Some(place) = lists.waiting.iter().position(|&waits| waits == seat) {
                // The seat waits for a hand.
                lists.waiting.remove(place);
                return;
            }
            let ticket = Ticket::new();
            lists.returning.push_back((seat, ticket.clone()));
            self.seats[seat].wanted_back.fetch_add(1, Relaxed);
            ticket
        };
        // SeqCst: pairs with the fence after PARKED of the hand that leaves a seat. Either that
        // hand sees that the seat is wanted back, or this thread sees that nobody sits there.
        fence(SeqCst);
        if self.retake(seat, Ready::sit) {
            self.hand_over(seat);
        }
        ticket.wait();
    }

    /// Removes and returns the oldest ticket for worker `seat`. The thread with the ticket has left
    /// the worker in the middle of a turn, and wants to run the worker again.
    fn take_ticket(&self, lists: &mut Lists, seat: usize) -> Option<Arc<Ticket>> {
        if !self.is_wanted_back(seat) {
            return None;
        }
        let place = (lists.returning.iter()).position(|(wanted, _)| *wanted == seat)?;
        self.seats[seat].wanted_back.fetch_sub(1, Relaxed);
        lists.returning.remove(place).map(|(_, ticket)| ticket)
    }

    /// Counts a worker as closed. After the last worker was closed, wakes all threads, which then
    /// exit.
    pub(super) fn end_seat(&self) {
        let idle = {
            let mut lists = self.lists();
            lists.over += 1;
            if lists.over < self.seats.len() {
                return;
            }
            std::mem::take(&mut lists.idle)
        };
        idle.into_iter().for_each(|hand| self.wake(Some(hand)));
    }
}

impl Serve for Crew {
    /// Gives worker `seat` to another thread. If a thread has left this worker in the middle of a
    /// turn and wants the worker back, that thread gets it. Otherwise, an idle thread gets the
    /// worker. If no thread is idle, the next thread that becomes idle gets the worker. The caller
    /// must have the right to run the worker, but must not run it.
    fn hand_over(&self, seat: usize) {
        let (hand, watch) = {
            let mut lists = self.lists();
            if let Some(ticket) = self.take_ticket(&mut lists, seat) {
                drop(lists);
                return ticket.call();
            }
            let Some(hand) = lists.idle.pop() else {
                return lists.waiting.push_back(seat);
            };
            lists.given[hand] = Some(seat);
            (hand, self.pass_watch(&mut lists, hand, seat))
        };
        self.wake(Some(hand));
        self.wake(watch);
    }

    fn wake_visitor(&self) {
        let seats = 0..self.seats.len();
        Remote::wake_some(seats.map(|seat| self.remote(seat)), 1);
    }

    fn call_watch(&self) {
        self.allow_looks();
        self.wake_watch();
    }

    /// Returns true if the crew has only one worker, and the calling thread is the one that runs
    /// it. Returns false while the calling thread is away from its worker in order to block.
    fn is_this_thread(&self) -> bool {
        if self.seats.len() != 1 || current::is_away() {
            return false;
        }
        let here = thread::current().id();
        self.hands.iter().any(|hand| {
            let bell = hand.bell();
            bell.as_ref().is_some_and(|bell| bell.thread.id() == here)
        })
    }
}

impl Seat {
    pub(super) fn look(&self) -> MutexGuard<'_, ()> {
        self.look.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_parked(&self) -> bool {
        Remote::of(self.home).ready.is_parked()
    }
}

impl Berth {
    fn bell(&self) -> MutexGuard<'_, Option<Bell>> {
        self.bell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_bell(&self, bell: Option<Bell>) {
        // Dropped when the lock is free again: a waker may do anything then.
        let before = std::mem::replace(&mut *self.bell(), bell);
        quiet::drop(before);
    }

    #[cold]
    fn wake(&self) {
        let bell = self.bell();
        let Some(Bell { thread, waker }) = &*bell else {
            return;
        };
        let Some(waker) = waker else {
            return thread.unpark();
        };
        let waker = waker.clone();
        drop(bell);
        // A driver's waker is foreign code, called by any sender: a panic in it must not reach the
        // sender.
        let _ = quiet::call(|| waker.wake_by_ref());
        quiet::drop(waker);
    }
}

/// A thread that runs the workers of a crew (a group of threads and workers).
pub(super) struct Hand {
    pub(super) shared: Arc<Shared>,
    pub(super) crew: Arc<Crew>,
    pub(super) number: usize,
    pub(super) looks: Looks,
    pub(super) path: Path,
}

impl Hand {
    /// Makes the calling thread a thread of the crew (a group of threads). The thread will create
    /// worker number `index`. If the thread sleeps in a driver, `waker` wakes it.
    pub(super) fn new(shared: Arc<Shared>, index: usize, waker: Option<Waker>) -> Self {
        let (crew, number) = shared.place_of(index);
        Self::with_bell(crew.clone(), number, shared, waker)
    }

    /// Registers the calling thread as a spare thread of the sponsor's only crew (group of
    /// threads). `number` is its number among the spare threads.
    pub(super) fn spare(shared: Arc<Shared>, number: usize) -> Self {
        let (crew, _) = shared.place_of(0);
        let number = crew.seats.len() + number;
        Self::with_bell(crew.clone(), number, shared, None)
    }

    /// Registers the calling thread as thread number `number` of the crew (a group of threads).
    fn with_bell(
        crew: Arc<Crew>,
        number: usize,
        shared: Arc<Shared>,
        waker: Option<Waker>,
    ) -> Self {
        let bell = Bell {
            thread: thread::current(),
            waker: waker.map(Arc::new),
        };
        crew.hands[number].set_bell(Some(bell));
        Self {
            shared,
            crew,
            number,
            looks: Looks::default(),
            path: Path::default(),
        }
    }

    /// Returns the index, in the crew, of the worker that this thread creates.
    pub(super) fn first_seat(&self) -> usize {
        self.number
    }

    /// Stores a new worker as worker `seat` of the crew. The calling thread then runs this worker.
    pub(super) fn open(&self, seat: usize, worker: Box<Worker>) {
        let seat = &self.crew.seats[seat];
        let _look = seat.look();
        seat.worker.store(Box::into_raw(worker), Relaxed);
    }

    /// Closes a worker that no message can reach any more, and releases the worker's number.
    pub(super) fn close(&self, seat: usize) {
        self.crew.set_deadline(seat, None);
        let worker = {
            let seat = &self.crew.seats[seat];
            let _look = seat.look();
            seat.worker.swap(ptr::null_mut(), Relaxed)
        };
        // SAFETY: made by `open`, taken once, by the sitter.
        unsafe { Box::from_raw(worker) }.leave();
        self.crew.end_seat();
    }

    /// Waits until this thread gets a worker to run, and returns the index of the worker. Returns
    /// `None` if all workers are closed. `sleep` waits until this thread is woken, but for at most
    /// the given time.
    pub(super) fn wait_for_seat(&self, sleep: impl Fn(Option<Duration>)) -> Option<usize> {
        let crew = &*self.crew;
        let wakes_before = self.wakes_before();
        let takes_missed = crew.takes_missed();
        {
            let mut lists = crew.lists();
            if let Some(seat) = lists.waiting.pop_front() {
                return Some(seat);
            }
            if lists.over == crew.seats.len() {
                return None;
            }
            // The watching hand is the first in the list, so that it is the last to get a seat.
            if lists.watch.is_none()
                || wakes_before < crew.until.load(Relaxed)
                || takes_missed
                || crew.misses_looks(&self.shared)
            {
                lists.watch = Some(self.number);
                lists.idle.insert(0, self.number);
            } else {
                lists.idle.push(self.number);
            }
        }
        loop {
            let keeps_watch = {
                let mut lists = crew.lists();
                lists.looks_soon[self.number] = false;
                if let Some(seat) = lists.given[self.number].take() {
                    return Some(seat);
                }
                if lists.over == crew.seats.len() {
                    return None;
                }
                lists.watch == Some(self.number)
            };
            if keeps_watch && let Some(seat) = self.look_for_stuck_seats() {
                return Some(seat);
            }
            match keeps_watch.then(|| self.keep_watch()).flatten() {
                Some(Duration::ZERO) => {
                    if let Some(seat) = self.take_due() {
                        return Some(seat);
                    }
                    if self.shared.is_real() {
                        pool::reclaim(|| self.has_been_called());
                    }
                }
                // The clock, and the driver, are foreign code, and may have slept through the wake.
                _ if keeps_watch && self.has_been_called() => {}
                left => sleep(left),
            }
        }
    }

    /// Returns true if this thread has been given a worker to run, or must exit.
    fn has_been_called(&self) -> bool {
        let lists = self.crew.lists();
        lists.given[self.number].is_some() || lists.over == self.crew.seats.len()
    }

    /// Returns the earliest known time at which this thread must wake.
    fn wakes_before(&self) -> Nanos {
        let memory = self.memory_left().map(|left| {
            let left = Nanos::try_from(left.as_nanos()).unwrap_or(NEVER);
            self.shared.now().saturating_add(left)
        });
        self.crew.earliest().min(memory.unwrap_or(NEVER))
    }

    /// Returns the time until unused memory should be returned to the operating system. Returns
    /// `None` if no memory needs to be returned, or if the workers do not use the clock of the real
    /// world.
    fn memory_left(&self) -> Option<Duration> {
        self.shared.is_real().then(pool::time_left).flatten()
    }

    /// Records the time until which this thread sleeps while it watches timers and stuck workers.
    /// Returns how long the thread may sleep. Returns `None` if there is no limit, or if the thread
    /// does not watch any more.
    fn keep_watch(&self) -> Option<Duration> {
        let next = loop {
            let next = self.crew.earliest();
            {
                // Under the lock, so that no other hand keeps watch by now.
                let lists = self.crew.lists();
                if lists.watch != Some(self.number) {
                    return None;
                }
                self.crew.until.store(next, Relaxed);
            }
            // SeqCst: pairs with the fence after PARKED of the hand that leaves a seat. Either that
            // hand sees until when this hand sleeps, or this hand sees the seat and its deadline.
            fence(SeqCst);
            if self.crew.earliest() >= next {
                break next;
            }
        };
        // Only after the fence, because there may be timers that are not watched.
        self.plan_if_needed();
        let now = self.shared.now();
        let timer = (next < NEVER).then(|| Duration::from_nanos(next.saturating_sub(now)));
        // Not 0, which stands for a due timer.
        let look = (self.time_to_look()).map(|left| left.max(Duration::from_nanos(1)));
        self.crew.lists().looks_soon[self.number] = look.is_some();
        let times = [timer, self.memory_left(), look, self.time_to_fire(now)];
        times.into_iter().flatten().min()
    }

    /// Takes a worker that has a due timer and that no thread runs, and returns its index. Removes
    /// this thread from the list of idle threads.
    fn take_due(&self) -> Option<usize> {
        let crew = &*self.crew;
        let now = self.shared.now();
        let is_due = |&seat: &usize| {
            crew.seats[seat].deadline.load(Relaxed) <= now && self.crew.retake(seat, Ready::sit)
        };
        let seat = (0..crew.seats.len()).find(is_due)?;
        self.leave_line(seat)
    }

    /// Removes this thread from the list of idle threads, because the thread has taken worker
    /// `seat`. Returns `seat`, or `None` if this thread was given another worker in the meantime.
    pub(super) fn leave_line(&self, seat: usize) -> Option<usize> {
        let crew = &*self.crew;
        let watch = {
            let mut lists = crew.lists();
            let place = lists.idle.iter().position(|&hand| hand == self.number);
            let Some(place) = place else {
                drop(lists);
                crew.hand_over(seat);
                return None;
            };
            lists.idle.remove(place);
            crew.pass_watch(&mut lists, self.number, seat)
        };
        crew.wake(watch);
        Some(seat)
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.crew.hands[self.number].set_bell(None);
    }
}
