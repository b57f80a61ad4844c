//! Sponsors (groups of workers), which run tasks: on a pool of threads, on one thread, or on the
//! calling thread.

mod plan;
mod signal;
pub(crate) mod visit;

mod crew;
mod gate;
mod give;
pub(crate) mod idle;
mod lent_timers;
mod looks;
mod over;
mod partners;
pub(crate) mod rescue;

mod builder;
mod clock;
mod date;
pub(crate) mod guest;
pub(crate) mod keep;
mod lookout;
mod shutdown;

mod here;
mod thread;

pub(crate) mod away;

use garrick_core::prim::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard,
    atomic::{
        AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    unmodelled,
};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError};

use garrick_core::fence::Asymmetric;

use away::Away;
pub use builder::{BLOCKING_THREADS_MAX, Builder, StartError};
pub(crate) use crew::Crew;
use gate::OwnGate;
pub use here::Here;
pub(crate) use signal::Signal;
pub use thread::{Ending, Sponsor};
#[cfg(all(test, garrick_loom))]
pub(crate) use thread::{LeftInModel, serve_in_model, serve_rounds_in_model};

use crate::cell::{CellPtr, Chain, Home, Kind};
use crate::hooks::Hooks;
use crate::letters::{LetterReason, Letters, NameOf};
use crate::pool::{self, Pool};
use crate::probe::{Lane, Lanes, Sample};
use crate::quiet;
use crate::remote::{Remote, Wake};
use crate::run_queue::Entry;
use crate::runtime::address::push_out;
use crate::runtime::current;
use crate::runtime::worker::Worker;
use crate::world::{Nanos, RealWorld, World};

/// The report of a panic in a task, or in other user code such as a [door](crate::Door) or a
/// [driver](crate::Driver).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The name of the task, [door](crate::Door) or other code that panicked.
    pub task: &'static str,
    /// The panic message.
    pub message: String,
    /// Time of the report in nanoseconds, by the clock of the sponsor's [`World`].
    pub at: Nanos,
    /// True if the task is dropped because of the panic, or if the destructor of the task panicked.
    pub ends: bool,
}

/// Function to which failures are reported.
pub(crate) type Reporter = Box<dyn Fn(&Failure) + Send + Sync>;

/// Value that another crate has attached to a sponsor (a group of workers).
pub(crate) type Attachment = Box<dyn Any + Send + Sync>;

/// Optional settings and parts of a sponsor (a group of workers and threads).
pub(crate) struct Extras {
    reporter: Option<Reporter>,
    /// True if turns, failures and waiting messages are counted for each kind of task.
    probes: bool,
    attachment: Option<Attachment>,
    gate: Option<OwnGate>,
    hooks: Hooks,
}

/// Rules that determine which threads may run the workers.
#[derive(Clone, Copy)]
pub(crate) struct Hands {
    /// True if each thread may run each worker. False if each worker has its own thread.
    roam: bool,
    /// True if threads that wait for an answer may also run the workers.
    have_guests: bool,
    /// Maximum number of blocking turns that may leave their workers at the same time.
    away_max: usize,
    /// Settings by which workers lend their cells to other workers during long turns. `None` if
    /// they do not lend cells.
    lend_by: Option<LendBy>,
}

/// Settings by which workers lend their cells to other workers during long turns.
#[derive(Clone, Copy)]
pub(crate) struct LendBy {
    /// Asymmetric fence, which orders the writes of a worker before its later reads.
    fence: Asymmetric,
    /// True if every running worker lends its cells at the first check. False if a worker lends its
    /// cells only if it is stuck in a long turn.
    at_once: bool,
}

impl Hands {
    /// Rules by which each thread runs only its own worker, and no other thread may run this
    /// worker.
    const FIXED: Self = Self {
        roam: false,
        have_guests: false,
        away_max: 0,
        lend_by: None,
    };
}

/// An integer that only one worker writes, in a separate cache line.
#[repr(align(128))]
#[derive(Default)]
struct Round(unmodelled::AtomicU64);

/// State that all workers of a sponsor (a group of workers and threads) share.
pub(crate) struct Shared {
    pub(crate) name: String,
    world: Arc<dyn World>,
    /// Clock of the real world. `None` if the sponsor has another [`World`], whose clock is foreign
    /// code.
    clock: Option<RealWorld>,
    /// Latest time that the clock of the sponsor's [`World`] has returned. Not used with the clock
    /// of the real world.
    latest: unmodelled::AtomicU64,
    /// True after a panic of the world's clock was reported.
    clock_failed: unmodelled::AtomicBool,
    /// Numbers of the workers. The home of a cell is the number of the cell's worker.
    pub(crate) homes: Vec<Home>,
    /// Groups of threads that run the workers: one crew for all workers, or one crew for each
    /// worker.
    crews: Box<[Arc<Crew>]>,
    away: Away,
    /// Number of turns that have ended and whose commit is not decided yet.
    pub(crate) undecided: AtomicUsize,
    /// Number of workers that lend their cells. The flag LENT of `signal` changes under this lock.
    loans: Mutex<usize>,
    signal: AtomicU32,
    /// The shared queue: cells that were given away, with their tokens (the rights to notify the
    /// cells' workers), oldest first (`cell/README.md`, step 3).
    queue: Mutex<VecDeque<Entry>>,
    /// Length of `queue`. Written under the lock of `queue`.
    queued: AtomicUsize,
    /// Time that each worker takes to run each of its ready cells once. 0 for an idle worker.
    rounds: Box<[Round]>,
    /// Counter for the round-robin distribution of the tasks that other threads spawn.
    next_home: unmodelled::AtomicUsize,
    /// Index in `homes` of the worker that most recently became idle, plus one. 0 after this worker
    /// has got a new task from another thread.
    last_free: unmodelled::AtomicUsize,
    reporter: Option<Reporter>,
    /// Value that a crate built on this one has attached.
    attachment: Option<Attachment>,
    failures: unmodelled::AtomicUsize,
    letters: Letters,
    /// Number of workers that have closed all their cells.
    pub(crate) closed: AtomicUsize,
    /// True while tasks that other threads spawn are accepted.
    admits: RwLock<bool>,
    /// Gate that can refuse messages from threads outside of the sponsor (the group of workers).
    /// Closed when a shutdown begins. `None` if such messages are never refused.
    gate: Option<OwnGate>,
    lanes: Lanes,
    pub(crate) hooks: Hooks,
}

impl Shared {
    pub(crate) fn new(
        name: String,
        world: Option<Arc<dyn World>>,
        homes: Vec<Home>,
        extras: Extras,
        hands: Hands,
    ) -> Self {
        let crews: Box<[_]> = if hands.roam {
            Box::new([Arc::new(Crew::new(&homes, hands.away_max, hands.lend_by))])
        } else {
            let alone = |home: &Home| Arc::new(Crew::new(std::slice::from_ref(home), 0, None));
            homes.iter().map(alone).collect()
        };
        let lanes = Lanes::new(homes.len(), extras.probes);
        let clock = world.is_none().then(RealWorld::new);
        let rounds = homes.iter().map(|_| Round::default()).collect();
        let shared = Self {
            rounds,
            crews,
            away: Away::new(hands.away_max),
            undecided: AtomicUsize::new(0),
            loans: Mutex::new(0),
            name,
            world: world.unwrap_or_else(|| Arc::new(clock.unwrap_or_else(RealWorld::new))),
            clock,
            latest: unmodelled::AtomicU64::new(0),
            clock_failed: unmodelled::AtomicBool::new(false),
            homes,
            signal: AtomicU32::new(0),
            queue: Mutex::new(VecDeque::new()),
            queued: AtomicUsize::new(0),
            next_home: unmodelled::AtomicUsize::new(0),
            last_free: unmodelled::AtomicUsize::new(0),
            reporter: extras.reporter,
            attachment: extras.attachment,
            failures: unmodelled::AtomicUsize::new(0),
            letters: Letters::default(),
            closed: AtomicUsize::new(0),
            admits: RwLock::new(true),
            gate: extras.gate,
            lanes,
            hooks: extras.hooks,
        };
        for (index, home) in shared.homes.iter().enumerate() {
            let (crew, seat) = shared.place_of(index);
            Remote::of(*home).set_place(crew, seat, hands.have_guests, crew.lends());
        }
        shared
    }

    /// Returns the crew (group of threads and workers) that worker number `index` belongs to, and
    /// the index of the worker in this crew.
    pub(crate) fn place_of(&self, index: usize) -> (&Arc<Crew>, usize) {
        match &self.crews[..] {
            [all] => (all, index),
            each => (&each[index], 0),
        }
    }

    #[inline]
    pub(crate) fn signal(&self) -> Signal {
        // Relaxed: a hint to look closer; `announce` and the queue's lock order what follows.
        Signal(self.signal.load(Relaxed))
    }

    /// Sets the flag `mark`, which is [`Signal::DRAIN`] or [`Signal::STOP`]. Then wakes all
    /// workers.
    fn raise(&self, mark: u32) {
        // Release: pairs with the fences(Acquire) in `wind_up` and `end_if_drained`; newborns were
        // refused before.
        self.signal.fetch_or(mark, Release);
        self.wake_all();
    }

    /// Makes the workers stop as soon as there is no more work.
    pub(crate) fn drain(&self) {
        self.refuse_strangers();
        self.raise(Signal::DRAIN);
    }

    /// Makes the workers stop now.
    pub(crate) fn stop(&self) {
        self.refuse_strangers();
        self.raise(Signal::STOP);
    }

    /// Returns a guard of the flag that is true while tasks from other threads are accepted. While
    /// the guard exists, the flag does not change.
    fn admits(&self) -> RwLockReadGuard<'_, bool> {
        self.admits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the sponsor (the group of workers) refuse tasks that other threads spawn. If there is
    /// a gate, closes the gate, so that it refuses messages from threads that do not belong to the
    /// sponsor.
    fn refuse_strangers(&self) {
        *self.admits.write().unwrap_or_else(PoisonError::into_inner) = false;
        if let Some(gate) = &self.gate {
            gate.close();
        }
    }

    /// Opens the gate for messages from other threads, if there is a gate.
    fn open_gate(self: &Arc<Self>) {
        if let Some(gate) = &self.gate {
            gate.open(Arc::as_ptr(self).cast(), &self.homes);
        }
    }

    /// Returns the value that is stored as the home of cells without a worker, such as the cells in
    /// the shared queue. If there is a gate for messages from outside, the value is its number.
    /// Otherwise, the value is [`Home::NOBODY`].
    pub(crate) fn queue_home(&self) -> Home {
        self.gate.as_ref().map_or(Home::NOBODY, OwnGate::home)
    }

    pub(crate) fn wake_all(&self) {
        self.wake_some(usize::MAX);
    }

    /// Counts a worker as idle.
    pub(crate) fn announce_idle(&self) {
        // Relaxed: a hint for workers that give work away; the fence of `Hand::stays` orders it for
        // workers that look for the end.
        self.signal.fetch_add(1, Relaxed);
    }

    /// Counts all workers as idle until their threads run, so that work is given to them.
    pub(crate) fn expect_workers(&self) {
        // Relaxed: a hint for workers that give work away; the threads start later.
        self.signal.fetch_add(self.homes.len() as u32, Relaxed);
    }

    /// Requests a census of all workers: a worker then counts its waiting messages after its
    /// current turn.
    fn ask_census(&self) {
        if self.lanes.ask_census() {
            // Relaxed: a hint to check the lane.
            self.signal.fetch_or(Signal::CENSUS, Relaxed);
        }
        // In the meantime, all workers may have answered or gone to sleep.
        self.census_taken();
    }

    /// Ends the request for a census (a count of waiting messages) if all workers have answered.
    pub(crate) fn census_taken(&self) {
        if self.signal().wants_census() && !self.lanes.want_census() {
            // Relaxed: a hint. If two workers answer at once and neither sees the answer of the
            // other, the next census ends the request.
            self.signal.fetch_and(!Signal::CENSUS, Relaxed);
        }
    }

    /// Subtracts a worker from the number of idle workers, because a thread runs it now.
    pub(crate) fn announce_busy(&self) {
        // Relaxed: as in `announce_idle`.
        self.signal.fetch_sub(1, Relaxed);
    }

    /// Changes the number of threads that have left a worker in the middle of a turn and want to
    /// run this worker again. Adds the calling thread if `calls` is true. Subtracts the calling
    /// thread if `calls` is false, because this thread runs the worker again.
    fn calls_back(&self, calls: bool) {
        // Relaxed: a hint to look at the seat; `Crew::take_back` orders what follows.
        if calls {
            self.signal.fetch_add(Signal::CALLS_BACK, Relaxed);
        } else {
            self.signal.fetch_sub(Signal::CALLS_BACK, Relaxed);
        }
    }

    /// Returns how often threads have begun to run a worker, summed over all workers. The count of
    /// a worker never decreases. So if the sum has not changed, no count has changed.
    pub(crate) fn sits(&self) -> usize {
        let sits = self.homes.iter().map(|&home| Remote::of(home).ready.sits());
        sits.fold(0, usize::wrapping_add)
    }

    fn lock_queue(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        // No code that holds the lock can panic halfway.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of cells in the shared queue. The number may be outdated.
    pub(crate) fn queued(&self) -> usize {
        // Relaxed: a hint; the lock orders the entries, and fences order it against sleep.
        self.queued.load(Relaxed)
    }

    /// Returns true if a thread that has just left its worker should come back. There are three
    /// reasons: cells wait in the shared queue, another worker lends cells, or the sponsor stops.
    pub(crate) fn wants_hands(&self) -> bool {
        let signal = self.signal();
        self.queued() > 0
            || signal.is_stopping()
            || signal.is_lent() && self.crews[0].has_to_visit()
    }

    /// Pushes cells to the shared queue, and wakes at most one sleeping worker for each cell.
    pub(crate) fn publish(&self, entries: impl ExactSizeIterator<Item = Entry>) {
        let wanted = entries.len();
        self.enqueue(entries);
        self.wake_some(wanted);
    }

    /// Pushes cells to the shared queue, but wakes no worker. The caller must then release all its
    /// locks, and wake sleeping workers.
    fn enqueue(&self, entries: impl Iterator<Item = Entry>) {
        let mut queue = self.lock_queue();
        queue.extend(entries);
        self.note_queued(queue.len());
    }

    /// Wakes at most `wanted` workers, which then see all earlier writes of the caller.
    fn wake_some(&self, wanted: usize) {
        Remote::wake_some(self.homes.iter().map(|&home| Remote::of(home)), wanted);
    }

    /// Returns true if all workers have closed their cells.
    pub(crate) fn have_all_closed(&self) -> bool {
        // Acquire: pairs with the Release in `Worker::wind_up`.
        self.closed.load(Acquire) == self.homes.len()
    }

    /// Takes the oldest cell of the shared queue.
    pub(crate) fn claim(&self) -> Option<Entry> {
        if self.queued() == 0 {
            return None;
        }
        let mut queue = self.lock_queue();
        let entry = queue.pop_front();
        self.note_queued(queue.len());
        entry
    }

    /// Records the length of the shared queue, under the lock of the queue.
    fn note_queued(&self, len: usize) {
        let was_empty = self.queued() == 0;
        self.queued.store(len, Relaxed);
        // Relaxed: a hint to look closer.
        if was_empty && len > 0 {
            self.signal.fetch_or(Signal::QUEUED, Relaxed);
        } else if !was_empty && len == 0 {
            self.signal.fetch_and(!Signal::QUEUED, Relaxed);
        }
    }

    /// Creates the counters of worker number `index`, when it starts.
    pub(crate) fn open_lane(&self, index: usize) -> Box<Lane> {
        Box::new(self.lanes.open(index, || self.seed(), || self.now()))
    }

    pub(crate) fn index_of(&self, home: Home) -> usize {
        let index = self.homes.iter().position(|other| *other == home);
        index.expect("a worker's home is one of its sponsor's")
    }

    pub(crate) fn count_dead_letters(&self, name: NameOf, reason: LetterReason, count: u64) {
        // Each task that stops calls this function, usually with 0. A needless write would slow
        // down the other workers, because the counters lie beside words that all workers read.
        if count > 0 {
            self.letters.add(name, reason, count);
        }
    }

    /// Counts a failure without reporting it, because the task itself reports the failure.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    /// Counts and reports a failure. A panic of the reporter is caught.
    pub(crate) fn report(&self, task: &'static str, message: String, ends: bool) {
        self.count_failure();
        if let Some(reporter) = &self.reporter {
            let failure = Failure {
                task,
                message,
                at: self.now(),
                ends,
            };
            let _ = quiet::call(|| reporter(&failure));
        }
    }

    /// Returns a seed for a worker's random numbers.
    fn seed(&self) -> u64 {
        quiet::call(|| self.world.seed()).unwrap_or(1)
    }

    /// Records that worker number `index` is idle.
    fn note_free(&self, index: usize) {
        // Relaxed: a hint.
        self.last_free.store(index + 1, Relaxed);
    }

    /// Records the time that a worker takes to run each of its ready cells once. Returns the
    /// average of this time over all workers.
    pub(crate) fn tell_round(&self, index: usize, round: Nanos) -> Nanos {
        // Relaxed: approximate numbers on which no correctness depends.
        self.rounds[index].0.store(round, Relaxed);
        let rounds = self.rounds.iter().map(|round| round.0.load(Relaxed));
        rounds.fold(0, Nanos::saturating_add) / self.rounds.len() as Nanos
    }

    /// Returns the number of the worker that gets the next task spawned by another thread. If a
    /// worker has become idle since the last call, the task goes to the worker that became idle
    /// last, because the thread of this worker is most likely still running. Otherwise, the tasks
    /// are distributed round-robin.
    fn next_home(&self) -> Home {
        let next = match self.take_free() {
            Some(free) => {
                self.next_home.store(free + 1, Relaxed);
                free
            }
            None => self.next_home.fetch_add(1, Relaxed),
        };
        self.homes[next % self.homes.len()]
    }

    /// Returns the index of the worker that became idle last. Only one caller gets this index.
    /// Other callers get `None`.
    fn take_free(&self) -> Option<usize> {
        // Relaxed: a hint; a worker that has got work meanwhile gets one more task.
        if self.last_free.load(Relaxed) == 0 {
            return None;
        }
        self.last_free.swap(0, Relaxed).checked_sub(1)
    }
}

/// A handle to a sponsor (a group of workers). Any thread can use the handle to spawn tasks. A
/// handle does not keep the sponsor running.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

/// The error returned when a task cannot be spawned, because its sponsor (group of workers) is
/// shutting down or has stopped. Contains the task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SpawnError<T>(pub T);

impl<T> fmt::Debug for SpawnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpawnError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SpawnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sponsor is shutting down or has stopped")
    }
}

impl<T> std::error::Error for SpawnError<T> {}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Creates the cell of `task` by a call of `create`. Used by threads that do not run the worker
    /// of the new cell. If `starts` is true, the cell runs even if no message comes.
    ///
    /// Returns the cell, and a [`Wake`] for the worker of the cell. The caller must call
    /// `Wake::call`.
    ///
    /// # Errors
    /// Returns the task if the sponsor is shutting down or has stopped.
    pub(crate) fn create_cell<T>(
        &self,
        starts: bool,
        task: T,
        create: impl FnOnce(&Pool, T) -> CellPtr,
    ) -> Result<(CellPtr, Wake), SpawnError<T>> {
        // Held until the cell exists, so that its home finds it when it closes. Not longer: the
        // wake may call foreign code.
        let admits = self.shared.admits();
        if !*admits {
            return Err(SpawnError(task));
        }
        current::with_pool(|pool| {
            let cell = create(pool, task);
            pool::mark(cell);
            self.shared.lanes.begun_outside(cell);
            self.shared.hooks.born(cell);
            if !starts {
                return Ok((cell, Wake::NOBODY));
            }
            let note = Chain::of_one(pool.take_envelope(Kind::Wake, 0, 0));
            // SAFETY: the reference of the newborn is the caller's, who does not have it yet, and
            // the note is ours.
            let pushed = unsafe { push_out(cell, note, |_| false) };
            let wake = pushed.unwrap_or_else(|| unreachable!("a newborn's inbox is open"));
            Ok((cell, wake))
        })
    }

    /// Returns the number of the worker that gets the next task spawned by another thread.
    pub(crate) fn next_home(&self) -> Home {
        self.shared.next_home()
    }

    /// Returns true if `worker` belongs to the same sponsor (group of workers) as this handle.
    pub(crate) fn is_of(&self, worker: &Worker) -> bool {
        Arc::ptr_eq(&self.shared, &worker.shared)
    }

    /// Gives a cell to the sponsor (the group of workers), unless the sponsor is shutting down. If
    /// the sponsor accepts the cell, calls `hand_over` to take the cell from its worker. Returns
    /// true in this case.
    pub(crate) fn take_cell(&self, hand_over: impl FnOnce() -> Entry) -> bool {
        let taken = {
            // Held until the cell is in the queue, where the workers find it when they close. Not
            // longer: as in `spawn_at`.
            let admits = self.shared.admits();
            if *admits {
                let entry = hand_over();
                self.shared.lanes.begun_outside(entry.cell());
                self.shared.enqueue(std::iter::once(entry));
            }
            *admits
        };
        if taken {
            self.shared.wake_some(1);
        }
        taken
    }

    /// Returns true if the sponsor (group of workers) has begun to shut down. Once the result is
    /// true, it stays true. A false result may be outdated immediately.
    #[doc(hidden)]
    #[must_use]
    pub fn is_ending(&self) -> bool {
        !*self.shared.admits()
    }

    /// Returns the name of the sponsor (group of workers).
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the value that [`Builder::attach`] has attached to the sponsor (group of workers).
    /// Returns `None` if no value was attached, or if it is not a `T`.
    #[doc(hidden)]
    pub fn attachment<T: Any>(&self) -> Option<&T> {
        self.shared.attachment.as_ref()?.downcast_ref()
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.shared.homes.len()
    }

    /// Returns the counters of the sponsor (group of workers).
    ///
    /// A call does not wait for the workers. If [`Builder::probes`] was set, the call also requests
    /// a census: each worker then counts the messages in its mailboxes after its current turn. The
    /// count takes at most about 0.2 ms. The next sample contains the results.
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::{Flow, Sponsor, Task, Turn};
    ///
    /// struct Quiet;
    /// impl Task for Quiet {
    ///     type Message = ();
    ///     fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
    ///         Flow::Stop
    ///     }
    /// }
    ///
    /// let sponsor = Sponsor::builder().probes(true).start()?;
    /// let handle = sponsor.handle();
    /// handle.spawn(Quiet).unwrap().send(()).unwrap();
    /// sponsor.shutdown();
    ///
    /// let quiet = &handle.sample().kinds[0];
    /// assert!(quiet.name.ends_with("Quiet"));
    /// assert_eq!((quiet.begun, quiet.turns, quiet.ended), (1, 1, 1));
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    pub fn sample(&self) -> Sample {
        let shared = &*self.shared;
        let now = shared.now();
        // Read before the running turns. Otherwise, a turn that ends in between would be counted
        // twice: as a running turn, and in the total of its kind.
        let kinds = shared.lanes.kinds();
        let sample = Sample {
            name: shared.name.clone(),
            at: now,
            workers: (shared.lanes).workers(now, |index| shared.running(index), || shared.now()),
            away: shared.lanes.away(now),
            kinds,
            tasks: shared.lanes.tasks(now),
            queued: shared.queued() as u64,
            dead_letters: self.dead_letters(),
            letters: shared.letters.sample(),
            failures: self.failures() as u64,
        };
        shared.ask_census();
        sample
    }

    /// Returns the current time in nanoseconds, by the clock of the sponsor's [`World`].
    #[doc(hidden)]
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.shared.now()
    }

    /// Returns the number of dead letters: messages that were accepted but not handled, usually
    /// because their receiver has stopped.
    pub fn dead_letters(&self) -> u64 {
        self.shared.letters.total()
    }

    /// Returns the number of panics of tasks and of other user code, such as [doors](crate::Door)
    /// and [drivers](crate::Driver).
    pub fn failures(&self) -> usize {
        self.shared.failures.load(Relaxed)
    }
}

/// Two handles are equal if they belong to the same sponsor (group of workers).
impl PartialEq for Handle {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Handle {}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("name", &self.shared.name)
            .field("workers", &self.workers())
            .finish()
    }
}
