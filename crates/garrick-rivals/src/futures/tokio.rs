//! The four tokio actors of the first of chainbound's async-rust-benchmarks, on tokio's
//! current-thread runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use ::tokio::runtime;
use ::tokio::sync::mpsc;
use ::tokio::task::coop;
use ::tokio::time::sleep;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::load::{Loads, Watched};
use super::rounds::{DELAY, Round, Timing};

/// The channel ends of an actor: the receiver of tasks, and the sender of their results.
struct Ends {
    tasks: mpsc::Receiver<Instant>,
    results: mpsc::Sender<Instant>,
    /// Results of the round. The list of latencies is empty at first, with room for all tasks.
    round: Round,
}

/// Runs one task: sleeps, and returns the time at which the task was sent.
async fn task(sent: Instant) -> Instant {
    sleep(DELAY).await;
    sent
}

impl Ends {
    /// Raises the recorded maximum number of tasks in flight to `count`, unless it is already
    /// larger.
    fn pending(&mut self, count: usize) {
        self.round.pending_max = self.round.pending_max.max(count);
    }

    /// Records the latency of a finished task, and sends the result of the task.
    fn report(&mut self, sent: Instant) {
        self.round
            .latencies
            .push(sent.elapsed().saturating_sub(DELAY));
        self.results
            .try_send(sent)
            .expect("the channel has room for all results");
    }
}

/// An actor with a hand-written `poll`, which handles completed tasks before new tasks.
struct FutureActor<T> {
    ends: Ends,
    flying: FuturesUnordered<T>,
    start: fn(Instant) -> T,
}

impl<T: Future<Output = Instant>> Future for FutureActor<T> {
    type Output = Round;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Round> {
        let this = self.get_mut();
        loop {
            if let Poll::Ready(Some(sent)) = this.flying.poll_next_unpin(context) {
                this.ends.report(sent);
                continue;
            }
            match this.ends.tasks.poll_recv(context) {
                Poll::Ready(Some(sent)) => {
                    this.flying.push((this.start)(sent));
                    this.ends.pending(this.flying.len());
                }
                Poll::Ready(None) if this.flying.is_empty() => {
                    return Poll::Ready(std::mem::take(&mut this.ends.round));
                }
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

// No field is pinned. `FuturesUnordered` pins its futures on the heap.
impl<T> Unpin for FutureActor<T> {}

fn by_hand(ends: Ends) -> impl Future<Output = Round> + Send + 'static {
    FutureActor {
        ends,
        flying: FuturesUnordered::new(),
        start: task,
    }
}

async fn select_at_random(mut ends: Ends) -> Round {
    let mut flying = FuturesUnordered::new();
    loop {
        ::tokio::select! {
            received = ends.tasks.recv(), if !ends.tasks.is_closed() || !ends.tasks.is_empty() => match received {
                Some(sent) => {
                    flying.push(task(sent));
                    ends.pending(flying.len());
                }
                None if flying.is_empty() => return ends.round,
                None => {}
            },
            Some(sent) = flying.next() => ends.report(sent),
            else => return ends.round,
        }
    }
}

async fn select_biased(mut ends: Ends) -> Round {
    let mut flying = FuturesUnordered::new();
    loop {
        ::tokio::select! {
            biased;
            Some(sent) = flying.next() => ends.report(sent),
            received = ends.tasks.recv(), if !ends.tasks.is_closed() || !ends.tasks.is_empty() => match received {
                Some(sent) => {
                    flying.push(task(sent));
                    ends.pending(flying.len());
                }
                None if flying.is_empty() => return ends.round,
                None => {}
            },
            else => return ends.round,
        }
    }
}

/// Runs one round, with actor, sender and reader on one thread.
fn run<F>(tasks: usize, loads: Option<Arc<Loads>>, actor: impl FnOnce(Ends) -> F) -> Round
where
    F: Future<Output = Round> + Send + 'static,
{
    let runtime = runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O can always be built");
    let (give, take) = mpsc::channel(tasks);
    let (results, mut read) = mpsc::channel(tasks);
    let actor = actor(Ends {
        tasks: take,
        results,
        round: Round::of(tasks),
    });
    let done = match loads {
        Some(loads) => runtime.spawn(Watched::new(actor, loads)),
        None => runtime.spawn(actor),
    };
    let sender = runtime.spawn(async move {
        let timing = Timing::start();
        for _ in 0..tasks {
            give.send(Instant::now())
                .await
                .expect("the actor has not stopped");
        }
        timing
    });
    let mut timed = Round::default();
    runtime.block_on(async move {
        for _ in 0..tasks {
            read.recv().await.expect("there is a result for every task");
        }
        sender
            .await
            .expect("the task does not panic")
            .stop(&mut timed);
        let round = done.await.expect("the task does not panic");
        Round {
            duration: timed.duration,
            cpu: timed.cpu,
            ..round
        }
    })
}

pub(super) fn future(tasks: usize, loads: Option<Arc<Loads>>) -> Round {
    run(tasks, loads, by_hand)
}

pub(super) fn unconstrained(tasks: usize, loads: Option<Arc<Loads>>) -> Round {
    run(tasks, loads, |ends| coop::unconstrained(by_hand(ends)))
}

pub(super) fn random_select(tasks: usize, loads: Option<Arc<Loads>>) -> Round {
    run(tasks, loads, select_at_random)
}

pub(super) fn biased_select(tasks: usize, loads: Option<Arc<Loads>>) -> Round {
    run(tasks, loads, select_biased)
}
