//! The cost of a future's polls, measured by a wrapper that reads the clock at each poll and each
//! wake.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Maximum duration of a fast poll. A longer poll counts as slow, as in tokio's metrics.
const SLOW: Duration = Duration::from_micros(50);

/// Counts and times of a future's polls, measured from the first poll to the last one.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Load {
    pub(super) polls: u64,
    pub(super) polling: Duration,
    pub(super) slow_polls: u64,
    /// Number of idle intervals. An idle interval lasts from the end of a poll to the next wake, or
    /// to the next poll if nothing woke the future. Intervals of length zero are not counted.
    pub(super) idled: u64,
    pub(super) idle: Duration,
    /// Number of measured intervals, each from a wake to the next poll.
    pub(super) scheduled: u64,
    pub(super) waiting: Duration,
}

/// The counts and times of the polls of several futures, added up. The futures run one after
/// another.
#[derive(Debug, Default)]
pub(super) struct Loads {
    /// The sums, which the wrappers of the futures write and the table reads.
    sums: Mutex<Load>,
}

impl Loads {
    pub(super) fn sum(&self) -> Load {
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Load)) {
        change(&mut self.sums.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// State that a measured future shares with its waker.
#[derive(Debug, Default)]
struct Tap {
    /// End of the last poll, time of the first wake after that poll, and the waker of the outer
    /// future.
    state: Mutex<(Option<Instant>, Option<Instant>, Option<Waker>)>,
}

impl Wake for Tap {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.get_or_insert_with(Instant::now);
        let waker = state.2.clone();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A future whose polls are measured.
pub(super) struct Watched<F> {
    future: Pin<Box<F>>,
    loads: Arc<Loads>,
    tap: Arc<Tap>,
    waker: Waker,
}

impl<F: Future> Watched<F> {
    pub(super) fn new(future: F, loads: Arc<Loads>) -> Self {
        let tap = Arc::<Tap>::default();
        Self {
            future: Box::pin(future),
            loads,
            waker: Waker::from(tap.clone()),
            tap,
        }
    }

    /// Records the start of a poll.
    fn begin(&self, now: Instant, outer: &Waker) {
        let mut state = self
            .tap
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (ended, woken) = (state.0.take(), state.1.take());
        if !state.2.as_ref().is_some_and(|known| known.will_wake(outer)) {
            state.2 = Some(outer.clone());
        }
        drop(state);
        // Garrick polls the future for a message without calling its waker. The wait then counts as
        // idle time.
        self.loads.change(|load| {
            if let Some(woken) = woken {
                load.scheduled += 1;
                load.waiting += now.saturating_duration_since(woken);
            }
            if let Some(ended) = ended {
                let idle = woken.unwrap_or(now).saturating_duration_since(ended);
                load.idled += u64::from(!idle.is_zero());
                load.idle += idle;
            }
        });
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let began = Instant::now();
        self.begin(began, context.waker());
        let waker = self.waker.clone();
        let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
        let ended = Instant::now();
        let took = ended - began;
        self.loads.change(|load| {
            load.polls += 1;
            load.polling += took;
            load.slow_polls += u64::from(took > SLOW);
        });
        let mut state = self
            .tap
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.0 = Some(ended);
        drop(state);
        polled
    }
}
