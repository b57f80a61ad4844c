//! What a future's polls cost: a wrapper that looks at the clock when it is polled and when it is woken.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// A poll that takes longer is a slow one, as tokio's metrics have it.
const SLOW: Duration = Duration::from_micros(50);

/// Sums of a future's life.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Load {
    pub(super) polls: u64,
    pub(super) polling: Duration,
    pub(super) slow_polls: u64,
    /// Times between a poll and the wake after it.
    pub(super) idled: u64,
    pub(super) idle: Duration,
    /// Times between a wake and the poll after it.
    pub(super) scheduled: u64,
    pub(super) waiting: Duration,
}

/// The sums of several futures, one after the other.
#[derive(Debug, Default)]
pub(super) struct Loads {
    /// The wrapper writes it, the table reads it.
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

/// What a wake finds: when, and whom to wake.
#[derive(Debug, Default)]
struct Tap {
    /// When the last poll ended, and since when it is to be polled again; and who is to do it.
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

/// A future whose polls are looked at.
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

    /// A poll begins.
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
        // A mailbox of ours wakes nobody for a message: it polls. The wait is seen as idle then.
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
