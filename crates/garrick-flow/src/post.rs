//! State that all channel ends and stages of a graph share: the addresses of the stages, their
//! votes, and the request to stop.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use garrick_sched::{Address, in_turn, outside_of_turns};

use crate::vote::{Ballot, Vote};
use crate::wires::{self, Wires};

pub(crate) use crate::vote::StageId;

/// Reason for waking a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The stage must take its next step. The graph sends this message to each stage at the start.
    /// Later, each stage sends this message to itself. At most one such message is in flight to a
    /// stage.
    Again,
    /// A channel has reached the count that the stage waits for, a channel was closed, or a stop of
    /// the graph was requested.
    Note,
    /// A future of the stage was woken. Stages handle this message like [`Wake::Note`]. A
    /// simulation distinguishes the two messages: a future may be woken by an answer from another
    /// node, but a channel is always on the same node.
    Ring,
    /// The time that the stage waits for has been reached.
    Timer,
    /// A caller asks what the stage is waiting for.
    Tell,
    /// A simulation has chosen that the next step of the stage must panic.
    #[cfg(feature = "sim")]
    Panic,
}

/// Maximum number of steps for which a stage delays the wake-up of another stage. After so many
/// steps, a few batches are ready for the other stage, which is enough to be worth a thread switch.
/// If the steps are slow, a larger number would make the other stage wait too long.
const HELD_STEPS_MAX: u32 = 8;

thread_local! {
    /// The wake-ups that stages of this thread have delayed. Empty when no stage of this thread can
    /// take a step.
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    /// The stage whose step or destructor runs on this thread, with the id of its graph.
    static CURRENT: Cell<Option<(u64, StageId)>> = const { Cell::new(None) };
}

/// A wake-up that [`Post::wake_later`] delays.
struct Held {
    /// The stage that delays the wake-up.
    by: StageId,
    /// The stage to wake.
    waiter: StageId,
    /// Number of steps that the stage `by` has taken since it began to delay the wake-up.
    steps: u32,
}

/// Counts a step of the stage `by`, which is about to sleep if `rests` is true. Removes the
/// wake-ups that this stage must send now, and returns the stages to wake.
fn take_due(by: StageId, rests: bool) -> Vec<StageId> {
    HELD.with_borrow_mut(|held| {
        let due = |held: &mut Held| {
            held.steps += u32::from(held.by == by);
            held.by == by && (rests || held.steps == HELD_STEPS_MAX)
        };
        held.extract_if(.., due).map(|held| held.waiter).collect()
    })
}

/// State that all channel ends and stages of a graph share.
pub(crate) struct Post {
    /// Id of the graph, unique in this process. A stage that also has ends of another graph's
    /// channels uses the id to distinguish the channels of the two graphs.
    graph: u64,
    /// Address of each stage, for wake-ups. Written once, when the graph starts.
    addresses: OnceLock<Vec<Address<Wake>>>,
    /// Votes of the stages on stopping the graph.
    ballot: Ballot,
    /// Known connections between stages, as edges from the sending to the receiving stage.
    wires: Mutex<Wires>,
    /// True while `refused` is not empty. Written by the threads of the stages in `refused`, in a
    /// step or a destructor, while they hold the lock of `refused`. Read by all stages after each
    /// step.
    is_refused: AtomicBool,
    /// Stages that must fail, because each of them has closed a cycle, with their error messages. A
    /// stage has at most one entry, which it removes after its step. The entry of a stage that has
    /// closed a cycle in its destructor stays.
    refused: Mutex<Vec<(StageId, String)>>,
    /// Detects wake-ups of simulated stages by threads outside of the simulation.
    #[cfg(feature = "sim")]
    simulated: Simulated,
}

/// Detects wake-ups of simulated stages by threads outside of the simulation.
#[cfg(feature = "sim")]
#[derive(Default)]
struct Simulated {
    /// Thread of the simulation. Empty if the graph is not part of a simulation. Written before the
    /// start.
    home: OnceLock<std::thread::ThreadId>,
    /// True if a thread outside of the simulation has woken a stage.
    woken_from_elsewhere: AtomicBool,
}

#[cfg(feature = "sim")]
impl Post {
    /// Records that the calling thread runs a simulation of the graph.
    pub(crate) fn set_simulated(&self) {
        let _ = self.simulated.home.set(std::thread::current().id());
    }

    /// Returns true if a thread outside of the simulation has woken a stage since the last call of
    /// this method.
    pub(crate) fn take_foreign_wake(&self) -> bool {
        // Relaxed, here and below: the flag alone is the message.
        self.simulated.woken_from_elsewhere.swap(false, Relaxed)
    }

    /// Records that the calling thread has woken a stage. Does nothing if the calling thread runs
    /// the simulation.
    pub(crate) fn note_thread(&self) {
        let home = self.simulated.home.get();
        if home.is_some_and(|home| *home != std::thread::current().id()) {
            self.simulated.woken_from_elsewhere.store(true, Relaxed);
        }
    }
}

impl Post {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            // Relaxed: every graph gets a different number, and nothing else depends on it.
            graph: NEXT.fetch_add(1, Relaxed),
            addresses: OnceLock::new(),
            ballot: Ballot::default(),
            wires: Mutex::default(),
            is_refused: AtomicBool::new(false),
            refused: Mutex::default(),
            #[cfg(feature = "sim")]
            simulated: Simulated::default(),
        }
    }

    /// Returns the id of the graph, which is unique in this process.
    pub(crate) fn graph(&self) -> u64 {
        self.graph
    }

    /// Stores `wires`, the connections between stages. The connections follow from the channel ends
    /// that the stages have declared.
    pub(crate) fn know(&self, wires: Wires) {
        *locked(&self.wires) = wires;
    }

    /// Records that the stage `from` sends messages to the stage `to`. This connection was
    /// discovered in a step of `stage`. If the connection closes a cycle, `stage` fails after the
    /// step.
    pub(crate) fn join(&self, stage: StageId, from: StageId, to: StageId) {
        let mut wires = locked(&self.wires);
        if let Some(cycle) = wires.cycle_by(from, to) {
            let words = wires::refusal(&wires.names_of(&cycle));
            drop(wires);
            let mut refused = locked(&self.refused);
            // A step that closes several cycles fails because of the first one.
            if refused.iter().all(|(by, _)| *by != stage) {
                refused.push((stage, words));
            }
            // Relaxed: the stage that has to fail checks the flag on this thread. If another thread
            // writes the flag later, it holds the lock, and so sees the new entry.
            self.is_refused.store(true, Relaxed);
        } else {
            wires.add(from, to);
        }
    }

    /// Removes and returns the reason why `stage` must fail, if its last step has closed a cycle.
    #[inline]
    pub(crate) fn take_refusal_of(&self, stage: StageId) -> Option<String> {
        if !self.is_refused.load(Relaxed) {
            return None;
        }
        let mut refused = locked(&self.refused);
        let index = refused.iter().position(|(by, _)| *by == stage)?;
        let (_, words) = refused.swap_remove(index);
        self.is_refused.store(!refused.is_empty(), Relaxed);
        Some(words)
    }

    /// Stores the addresses of the stages when the graph starts, and makes each stage take its
    /// first step.
    pub(crate) fn open(&self, addresses: Vec<Address<Wake>>) {
        // The ballot first: a stage may stop the graph in its first step.
        self.ballot.open(addresses.len());
        let fresh = self.addresses.set(addresses).is_ok();
        assert!(fresh, "a graph starts once");
        self.wake_all(Wake::Again);
    }

    /// Prepares the votes of `stages` stages without threads. The caller takes the steps of these
    /// stages, so they need no wake-ups.
    pub(crate) fn open_by_hand(&self, stages: usize) {
        self.ballot.open(stages);
    }

    /// Returns the stage of this graph whose step or destructor runs on the calling thread.
    pub(crate) fn current(&self) -> Option<StageId> {
        let (graph, stage) = CURRENT.get()?;
        (graph == self.graph).then_some(stage)
    }

    /// Marks `stage` as the current stage while `run` runs, even if `run` panics.
    #[inline]
    pub(crate) fn with_current<R>(&self, stage: StageId, run: impl FnOnce() -> R) -> R {
        struct Back(Option<(u64, StageId)>);
        impl Drop for Back {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _back = Back(CURRENT.replace(Some((self.graph, stage))));
        run()
    }

    /// Makes `stage` check again whether its next step is due. Does nothing before the start,
    /// because each stage also checks when it starts.
    pub(crate) fn wake(&self, stage: StageId) {
        self.tell(stage, Wake::Note);
    }

    /// Sends `wake` to `stage`. Returns false if the stage has ended or was not started yet.
    pub(crate) fn tell(&self, stage: StageId, wake: Wake) -> bool {
        self.at_once(|| self.send(stage, wake))
    }

    /// Sends `wake` to `stage`, like [`tell`](Self::tell), but as a part of the current turn, if
    /// there is one. This must be a turn of a stage.
    fn send(&self, stage: StageId, wake: Wake) -> bool {
        #[cfg(feature = "sim")]
        self.note_thread();
        let addresses = self.addresses.get();
        addresses.is_some_and(|addresses| addresses[stage as usize].send(wake).is_ok())
    }

    fn wake_all(&self, wake: Wake) {
        self.at_once(|| {
            for address in self.addresses.get().into_iter().flatten() {
                // A stage that has ended needs no waking.
                let _ = address.send(wake);
            }
        });
    }

    /// Calls `f`, which wakes stages or calls a waker. If the calling thread is in a turn of an
    /// actor, or of a stage of another graph, what `f` sends is not a part of this turn. The turn
    /// may be undone or may block, but what the wake-up reports, such as a push, has happened
    /// already. A step of this graph is never undone.
    pub(crate) fn at_once<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.current().is_none() && in_turn() {
            outside_of_turns(f)
        } else {
            f()
        }
    }

    /// Delays a wake-up of `waiter` until [`settle`](Self::settle) sends it. The calling thread
    /// must be in a step of the stage `by`.
    pub(crate) fn wake_later(&self, by: StageId, waiter: StageId) {
        let steps = 0;
        HELD.with_borrow_mut(|held| held.push(Held { by, waiter, steps }));
    }

    /// Sends delayed wake-ups after a step of the stage `by`: all of them if this stage is about to
    /// sleep, otherwise those that were delayed for several steps. A stage must call this method as
    /// the last thing before it sleeps or ends.
    #[inline]
    pub(crate) fn settle(&self, by: StageId, rests: bool) {
        // At the end of the thread, the list may have been destroyed, and nothing is delayed.
        let is_empty = HELD.try_with(|held| held.borrow().is_empty());
        if is_empty.unwrap_or(true) {
            return;
        }
        for waiter in take_due(by, rests) {
            self.send(waiter, Wake::Note);
        }
    }

    /// Asks all stages whether the graph may stop.
    pub(crate) fn stop(&self) {
        self.ballot.ask();
        // Each stage has to vote, or sees that the end is agreed.
        self.wake_all(Wake::Note);
    }

    /// Stops the sources, even if a stage vetoes.
    pub(crate) fn overrule(&self) {
        self.ballot.overrule();
        self.wake_all(Wake::Note);
    }

    /// Records the vote of `stage`.
    pub(crate) fn cast(&self, stage: StageId, vote: Vote) {
        if self.ballot.cast(stage, vote) {
            // The sources end; the other stages check their waits, and rest again.
            self.wake_all(Wake::Note);
        }
    }

    pub(crate) fn vote(&self, stage: StageId) -> Vote {
        self.ballot.vote(stage)
    }

    /// Returns true if a stop of the graph was requested.
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.ballot.is_asked()
    }

    /// Returns true if the sources must end.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ballot.is_agreed()
    }
}

/// Locks `mutex`, even if it is poisoned, because its contents are valid at any time.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post")
            .field("stopping", &self.is_stopping())
            .finish_non_exhaustive()
    }
}
