//! The cost of tokio's budget: why a `FuturesUnordered` in a tokio task is much slower with the
//! budget than without it.
//!
//! A task waits for many sleeps that are due at the same time. tokio gives the task 128 units per
//! poll, and every completed sleep takes one unit. When there are no units left, each of the other
//! sleeps returns `Pending`, although the sleep has ended. The set of futures does not know the
//! reason, and polls the next future. tokio wakes all these futures again after the poll. If `n`
//! sleeps are left, one poll of the task polls `n - 128` sleeps in vain. The completion of all
//! sleeps takes `n * n / 256` polls instead of `n`.
//!
//! ```text
//!   poll 1:  128 done, n - 128 polled in vain, and woken
//!   poll 2:  128 done, n - 256 polled in vain, and woken ...
//! ```
//!
//! Without the budget, each sleep is polled only twice: when it begins, and when it ends.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use ::tokio::runtime;
use ::tokio::task::coop;
use ::tokio::time::{Instant, sleep_until};
use futures_util::stream::{FuturesUnordered, StreamExt};
use garrick::{Incoming, Local};
use garrick_measure::{Clock, Stopwatch};

/// Measured numbers of sleeps that are due at the same time. The table has three lines for each
/// number: one for each contender.
pub(super) const SIZES: &[usize] = &[1_000, 4_000, 16_000];

/// Duration of each sleep, long enough for all sleeps to begin before the first one ends.
const DELAY: Duration = Duration::from_millis(20);

/// The result of one burst of sleeps that are due at the same time.
#[derive(Debug)]
pub(super) struct Burst {
    pub(super) name: &'static str,
    pub(super) children: usize,
    /// Total number of polls of the sleeps.
    pub(super) polls: u64,
    /// CPU time of the thread for the whole burst.
    pub(super) cpu: Duration,
}

/// A future in a `FuturesUnordered`. Its polls are counted.
struct Counted<F> {
    child: Pin<Box<F>>,
    /// Total number of polls of all futures in the set.
    polls: Arc<AtomicU64>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        self.child.as_mut().poll(context)
    }
}

/// Creates `children` futures by calling `child`, waits for all of them, and counts their polls.
async fn wait_for<F: Future>(children: usize, polls: Arc<AtomicU64>, child: impl Fn() -> F) {
    let counted = |_| Counted {
        child: Box::pin(child()),
        polls: polls.clone(),
    };
    let mut flying: FuturesUnordered<_> = (0..children).map(counted).collect();
    while flying.next().await.is_some() {}
}

fn on_tokio(children: usize, polls: Arc<AtomicU64>, is_free: bool) {
    let runtime = runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O can always be built");
    runtime.block_on(async move {
        let due = Instant::now() + DELAY;
        let waiting = wait_for(children, polls, move || sleep_until(due));
        let task = if is_free {
            ::tokio::spawn(coop::unconstrained(waiting))
        } else {
            ::tokio::spawn(waiting)
        };
        task.await.expect("the task does not panic");
    });
}

fn on_garrick(children: usize, polls: Arc<AtomicU64>) {
    let local = Local::new().expect("the thread has no other Local");
    let is_done = Rc::new(Cell::new(false));
    let done = is_done.clone();
    drop(local.spawn(move |mailbox: Incoming<()>| async move {
        let cx = mailbox.context();
        wait_for(children, polls, || cx.sleep(DELAY)).await;
        done.set(true);
    }));
    local.run_until(|| is_done.get());
}

fn burst(name: &'static str, children: usize, run: impl FnOnce(usize, Arc<AtomicU64>)) -> Burst {
    let polls = Arc::<AtomicU64>::default();
    let watch = Stopwatch::start(Clock::Thread);
    run(children, polls.clone());
    Burst {
        name,
        children,
        cpu: watch.stop().cpu,
        polls: polls.load(Ordering::Relaxed),
    }
}

/// Measures three bursts for each of `sizes`: one in an async actor, one in a tokio task, and one
/// in a tokio task without a budget. A size is the number of sleeps in a burst.
pub(super) fn measure(sizes: &[usize]) -> Vec<Burst> {
    let of_size = |children: &usize| {
        [
            burst("garrick", *children, on_garrick),
            burst("tokio", *children, |n, polls| on_tokio(n, polls, false)),
            burst("tokio, unconstrained", *children, |n, polls| {
                on_tokio(n, polls, true);
            }),
        ]
    };
    sizes.iter().flat_map(of_size).collect()
}
