//! The four actors of the original, on tokio's current-thread runtime.

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

/// What an actor is given: tasks, and where their results go.
struct Ends {
    tasks: mpsc::Receiver<Instant>,
    results: mpsc::Sender<Instant>,
}

/// One task: sleeps, and returns when it was sent.
async fn task(sent: Instant) -> Instant {
    sleep(DELAY).await;
    sent
}

impl Ends {
    /// A task is done.
    fn report(&self, sent: Instant, round: &mut Round) {
        round.latencies.push(sent.elapsed().saturating_sub(DELAY));
        self.results
            .try_send(sent)
            .expect("the channel has room for all results");
    }
}

/// The actor whose `poll` is written by hand: tasks that are done come before new ones.
struct FutureActor<T> {
    ends: Ends,
    flying: FuturesUnordered<T>,
    start: fn(Instant) -> T,
    round: Round,
}

impl<T: Future<Output = Instant>> Future for FutureActor<T> {
    type Output = Round;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Round> {
        let this = self.get_mut();
        loop {
            if let Poll::Ready(Some(sent)) = this.flying.poll_next_unpin(context) {
                this.ends.report(sent, &mut this.round);
                continue;
            }
            match this.ends.tasks.poll_recv(context) {
                Poll::Ready(Some(sent)) => {
                    this.flying.push((this.start)(sent));
                    this.round.pending_max = this.round.pending_max.max(this.flying.len());
                }
                Poll::Ready(None) if this.flying.is_empty() => {
                    return Poll::Ready(std::mem::take(&mut this.round));
                }
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

// Nothing in it is pinned but what `FuturesUnordered` keeps on the heap.
impl<T> Unpin for FutureActor<T> {}

fn by_hand(ends: Ends) -> impl Future<Output = Round> + Send + 'static {
    FutureActor {
        ends,
        flying: FuturesUnordered::new(),
        start: task,
        round: Round::default(),
    }
}

async fn select_at_random(mut ends: Ends) -> Round {
    let (mut flying, mut round) = (FuturesUnordered::new(), Round::default());
    loop {
        ::tokio::select! {
            received = ends.tasks.recv(), if !ends.tasks.is_closed() || !ends.tasks.is_empty() => match received {
                Some(sent) => {
                    flying.push(task(sent));
                    round.pending_max = round.pending_max.max(flying.len());
                }
                None if flying.is_empty() => return round,
                None => {}
            },
            Some(sent) = flying.next() => ends.report(sent, &mut round),
            else => return round,
        }
    }
}

async fn select_biased(mut ends: Ends) -> Round {
    let (mut flying, mut round) = (FuturesUnordered::new(), Round::default());
    loop {
        ::tokio::select! {
            biased;
            Some(sent) = flying.next() => ends.report(sent, &mut round),
            received = ends.tasks.recv(), if !ends.tasks.is_closed() || !ends.tasks.is_empty() => match received {
                Some(sent) => {
                    flying.push(task(sent));
                    round.pending_max = round.pending_max.max(flying.len());
                }
                None if flying.is_empty() => return round,
                None => {}
            },
            else => return round,
        }
    }
}

/// One round: actor, sender and reader on one thread.
fn run<F>(tasks: usize, loads: Option<Arc<Loads>>, actor: impl FnOnce(Ends) -> F) -> Round
where
    F: Future<Output = Round> + Send + 'static,
{
    let runtime = runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs nothing");
    let (give, take) = mpsc::channel(tasks);
    let (results, mut read) = mpsc::channel(tasks);
    let actor = actor(Ends {
        tasks: take,
        results,
    });
    let done = match loads {
        Some(loads) => runtime.spawn(Watched::new(actor, loads)),
        None => runtime.spawn(actor),
    };
    let sender = runtime.spawn(async move {
        let timing = Timing::start();
        for _ in 0..tasks {
            give.send(Instant::now()).await.expect("the actor receives");
        }
        timing
    });
    let mut timed = Round::default();
    runtime.block_on(async move {
        for _ in 0..tasks {
            read.recv().await.expect("a result for every task");
        }
        sender.await.expect("it does not fail").stop(&mut timed);
        let round = done.await.expect("it does not fail");
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
