//! Who is where in a graph: the addresses of its stages, and the word that it is to stop.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use garrick_sched::Address;

use crate::vote::{Ballot, Vote};
use crate::wires::{self, Wires};

pub(crate) use crate::vote::StageId;

/// Why a stage is looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// It told itself to go on. There is at most one of these on its way to a stage.
    Again,
    /// A channel got as far as it had asked for, was closed, or the graph is to stop.
    Note,
    /// The time it had asked for has come.
    Timer,
    /// Somebody wants to know what it waits for.
    Tell,
}

/// Steps of a stage until it sends a wake-up that it holds back: some batches, so that they are worth changing
/// to another thread for, but not so many that this would wait long for a slow stage.
const HELD_STEPS_MAX: u32 = 8;

thread_local! {
    /// Wake-ups that the stages of this thread owe. Empty whenever none of them has a step to take.
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    /// The stage whose step, or end, this thread is in, behind the number of its graph.
    static CURRENT: Cell<Option<(u64, StageId)>> = const { Cell::new(None) };
}

/// A wake-up that is owed, see [`Post::wake_later`].
struct Held {
    /// Who owes it.
    by: StageId,
    /// Whom to wake.
    waiter: StageId,
    /// Steps that `by` has taken since.
    steps: u32,
}

/// Takes the wake-ups away that `by`, a step further now, has to send.
fn take_due(by: StageId, rests: bool) -> Vec<StageId> {
    HELD.with_borrow_mut(|held| {
        let due = |held: &mut Held| {
            held.steps += u32::from(held.by == by);
            held.by == by && (rests || held.steps == HELD_STEPS_MAX)
        };
        held.extract_if(.., due).map(|held| held.waiter).collect()
    })
}

/// What all ends and stages of a graph share.
pub(crate) struct Post {
    /// The number of the graph in this process: a stage may have ends of channels of another one.
    graph: u64,
    /// Where each stage can be told to look. Written once, when the graph starts.
    addresses: OnceLock<Vec<Address<Wake>>>,
    /// What the stages say to the end of the graph.
    ballot: Ballot,
    /// Which stage sends to which, as far as that is known.
    wires: Mutex<Wires>,
    /// Whether a stage is refused. Written by that stage's thread, in its step.
    is_refused: AtomicBool,
    /// Which one, and why.
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

    /// The number of the graph in this process.
    pub(crate) fn graph(&self) -> u64 {
        self.graph
    }

    /// Takes over what the stages have told of who sends to whom.
    pub(crate) fn know(&self, wires: Wires) {
        *locked(&self.wires) = wires;
    }

    /// Takes note that `from` sends to `to`, as has come to light in a step of `stage`. If that closes a cycle, `stage` is
    /// refused.
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

    /// Why `stage` cannot go on, if its step has just closed a cycle.
    #[inline]
    pub(crate) fn refusal_of(&self, stage: StageId) -> Option<String> {
        if !self.is_refused.load(Relaxed) {
            return None;
        }
        let refused = locked(&self.refused);
        let (by, words) = refused.as_ref()?;
        (*by == stage).then(|| words.clone())
    }

    /// Fills in what is known at the start, and makes each stage take its first step.
    pub(crate) fn open(&self, addresses: Vec<Address<Wake>>) {
        // The ballot first: a stage may stop the graph in its first step.
        self.ballot.open(addresses.len());
        let fresh = self.addresses.set(addresses).is_ok();
        assert!(fresh, "a graph starts once");
        self.wake_all(Wake::Again);
    }

    /// As [`open`](Self::open), for `stages` that somebody steps by hand: there is nobody to wake.
    pub(crate) fn open_by_hand(&self, stages: usize) {
        self.ballot.open(stages);
    }

    /// The stage of this graph whose step, or end, the calling thread is in.
    pub(crate) fn current(&self) -> Option<StageId> {
        let (graph, stage) = CURRENT.get()?;
        (graph == self.graph).then_some(stage)
    }

    /// Makes `stage` the current one for the time of `run`, also if that panics.
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

    /// Has `stage` look again. Before the start there is nobody to wake: all stages begin with a look.
    pub(crate) fn wake(&self, stage: StageId) {
        self.tell(stage, Wake::Note);
    }

    /// Sends `wake` to `stage`; says whether it was there to take it.
    pub(crate) fn tell(&self, stage: StageId, wake: Wake) -> bool {
        let addresses = self.addresses.get();
        addresses.is_some_and(|addresses| addresses[stage as usize].send(wake).is_ok())
    }

    fn wake_all(&self, wake: Wake) {
        for address in self.addresses.get().into_iter().flatten() {
            // A stage that has ended already needs no waking.
            let _ = address.send(wake);
        }
    }

    /// As [`wake`](Self::wake), but when the stage `by`, whose step this thread is in, has
    /// [settled](Self::settle) its debts.
    pub(crate) fn wake_later(&self, by: StageId, waiter: StageId) {
        let steps = 0;
        HELD.with_borrow_mut(|held| held.push(Held { by, waiter, steps }));
    }

    /// A step of stage `by` is over. Sends the wake-ups that it owes, if it is about to rest or has owed them
    /// for long. Who rests or ends must come here last.
    #[inline]
    pub(crate) fn settle(&self, by: StageId, rests: bool) {
        if HELD.with_borrow(Vec::is_empty) {
            return;
        }
        for waiter in take_due(by, rests) {
            self.wake(waiter);
        }
    }

    /// Asks all stages whether the graph may end.
    pub(crate) fn stop(&self) {
        self.ballot.ask();
        // Each has to vote, or sees that it is agreed.
        self.wake_all(Wake::Note);
    }

    /// Ends the sources, whoever is against it.
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

    /// What `stage` says to the end.
    pub(crate) fn vote(&self, stage: StageId) -> Vote {
        self.ballot.vote(stage)
    }

    /// Whether the end of the graph was asked for.
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.ballot.is_asked()
    }

    /// Whether the sources are to end.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ballot.is_agreed()
    }
}

/// A lock that does not mind a panic elsewhere: what it holds is whole at any time.
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
