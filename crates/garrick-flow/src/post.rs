//! The state that all ends and stages of a graph share: addresses, votes, and the request to stop.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use garrick_sched::Address;

use crate::vote::{Ballot, Vote};
use crate::wires::{self, Wires};

pub(crate) use crate::vote::StageId;

/// Reason for waking a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The stage sent this to itself to go on. At most one of these is on its way to a stage.
    Again,
    /// A channel reached the count that the stage waits for, or was closed, or the graph is to
    /// stop.
    Note,
    /// The time that the stage waits for has come.
    Timer,
    /// A caller asks what the stage waits for.
    Tell,
}

/// Number of steps after which a stage sends a wake-up that it holds back. A few batches make the
/// thread switch worthwhile, but more would keep the woken stage waiting for a slow stage.
const HELD_STEPS_MAX: u32 = 8;

thread_local! {
    /// Wake-ups that the stages of this thread owe. Empty whenever none of them has a step to take.
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    /// The stage whose step, or end, this thread is in, with the number of its graph.
    static CURRENT: Cell<Option<(u64, StageId)>> = const { Cell::new(None) };
}

/// A wake-up that is owed, see [`Post::wake_later`].
struct Held {
    /// The stage that owes it.
    by: StageId,
    /// The stage to wake.
    waiter: StageId,
    /// Number of steps that `by` has taken since.
    steps: u32,
}

/// Takes the wake-ups that `by` has to send after one more step.
fn take_due(by: StageId, rests: bool) -> Vec<StageId> {
    HELD.with_borrow_mut(|held| {
        let due = |held: &mut Held| {
            held.steps += u32::from(held.by == by);
            held.by == by && (rests || held.steps == HELD_STEPS_MAX)
        };
        held.extract_if(.., due).map(|held| held.waiter).collect()
    })
}

/// State that all ends and stages of a graph share.
pub(crate) struct Post {
    /// Number of the graph in this process. A stage may also have ends of another graph's channels.
    graph: u64,
    /// Address of each stage, for wake-ups. Written once, when the graph starts.
    addresses: OnceLock<Vec<Address<Wake>>>,
    /// Votes of the stages on the end of the graph.
    ballot: Ballot,
    /// Edges from sending to receiving stages, as far as they are known.
    wires: Mutex<Wires>,
    /// True once a stage is refused. Written by that stage's thread, in its step.
    is_refused: AtomicBool,
    /// The refused stage, and the reason.
    refused: Mutex<Option<(StageId, String)>>,
}

impl Post {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            // Relaxed: every graph gets another one, and nothing else depends on it.
            graph: NEXT.fetch_add(1, Relaxed),
            addresses: OnceLock::new(),
            ballot: Ballot::default(),
            wires: Mutex::default(),
            is_refused: AtomicBool::new(false),
            refused: Mutex::default(),
        }
    }

    /// Returns the number of the graph in this process.
    pub(crate) fn graph(&self) -> u64 {
        self.graph
    }

    /// Takes over the edges that the stages have declared.
    pub(crate) fn know(&self, wires: Wires) {
        *locked(&self.wires) = wires;
    }

    /// Records that `from` sends to `to`, as was discovered in a step of `stage`. If that closes a
    /// cycle, `stage` is refused.
    pub(crate) fn join(&self, stage: StageId, from: StageId, to: StageId) {
        let mut wires = locked(&self.wires);
        if let Some(cycle) = wires.cycle_by(from, to) {
            let words = wires::refusal(&wires.names_of(&cycle));
            drop(wires);
            locked(&self.refused).get_or_insert((stage, words));
            // Relaxed: the step that it is for is on this thread.
            self.is_refused.store(true, Relaxed);
        } else {
            wires.add(from, to);
        }
    }

    /// Returns the reason `stage` cannot go on, if its step has just closed a cycle.
    #[inline]
    pub(crate) fn refusal_of(&self, stage: StageId) -> Option<String> {
        if !self.is_refused.load(Relaxed) {
            return None;
        }
        let refused = locked(&self.refused);
        let (by, words) = refused.as_ref()?;
        (*by == stage).then(|| words.clone())
    }

    /// Sets the addresses of the stages at the start, and makes each stage take its first step.
    pub(crate) fn open(&self, addresses: Vec<Address<Wake>>) {
        // The ballot first: a stage may stop the graph in its first step.
        self.ballot.open(addresses.len());
        let fresh = self.addresses.set(addresses).is_ok();
        assert!(fresh, "a graph starts once");
        self.wake_all(Wake::Again);
    }

    /// Opens the ballot for `stages` that the caller steps by hand. There is no stage to wake.
    pub(crate) fn open_by_hand(&self, stages: usize) {
        self.ballot.open(stages);
    }

    /// Returns the stage of this graph whose step, or end, the calling thread is in.
    pub(crate) fn current(&self) -> Option<StageId> {
        let (graph, stage) = CURRENT.get()?;
        (graph == self.graph).then_some(stage)
    }

    /// Makes `stage` the current one while `run` runs, also if it panics.
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

    /// Makes `stage` look again. Before the start there is no stage to wake: all stages begin with
    /// a look.
    pub(crate) fn wake(&self, stage: StageId) {
        self.tell(stage, Wake::Note);
    }

    /// Sends `wake` to `stage`. Returns true if the stage was there to take it.
    pub(crate) fn tell(&self, stage: StageId, wake: Wake) -> bool {
        let addresses = self.addresses.get();
        addresses.is_some_and(|addresses| addresses[stage as usize].send(wake).is_ok())
    }

    fn wake_all(&self, wake: Wake) {
        for address in self.addresses.get().into_iter().flatten() {
            // A stage that has ended needs no waking.
            let _ = address.send(wake);
        }
    }

    /// Holds a wake-up of `waiter` back until the stage `by`, whose step this thread is in, has
    /// [settled](Self::settle) its debts.
    pub(crate) fn wake_later(&self, by: StageId, waiter: StageId) {
        let steps = 0;
        HELD.with_borrow_mut(|held| held.push(Held { by, waiter, steps }));
    }

    /// Sends the wake-ups that `by` owes, after a step of `by`, if it is about to rest or has owed
    /// them for long. A stage that rests or ends must call this last.
    #[inline]
    pub(crate) fn settle(&self, by: StageId, rests: bool) {
        if HELD.with_borrow(Vec::is_empty) {
            return;
        }
        for waiter in take_due(by, rests) {
            self.wake(waiter);
        }
    }

    /// Asks all stages if the graph may end.
    pub(crate) fn stop(&self) {
        self.ballot.ask();
        // Each stage has to vote, or sees that the end is agreed.
        self.wake_all(Wake::Note);
    }

    /// Ends the sources even if a stage objects.
    pub(crate) fn overrule(&self) {
        self.ballot.overrule();
        self.wake_all(Wake::Note);
    }

    /// Takes the vote of `stage`.
    pub(crate) fn cast(&self, stage: StageId, vote: Vote) {
        if self.ballot.cast(stage, vote) {
            // The sources end; the others look, and rest again.
            self.wake_all(Wake::Note);
        }
    }

    /// Returns the vote of `stage`.
    pub(crate) fn vote(&self, stage: StageId) -> Vote {
        self.ballot.vote(stage)
    }

    /// Returns true if the end of the graph was requested.
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.ballot.is_asked()
    }

    /// Returns true if the sources are to end.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ballot.is_agreed()
    }
}

/// Locks `mutex`, also if it is poisoned: what it holds is valid at any time.
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
