//! The benchmark's actor in Garrick: a future with a mailbox, on the calling thread.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};
use garrick::{Actor, Address, AsyncContext, Incoming, Local, Next};

use super::load::{Loads, Watched};
use super::rounds::{DELAY, Round, Timing};

/// Number of tasks that the sender sends before it yields. An async actor receives at most the same
/// number of messages in one poll.
const TASKS_AT_ONCE: usize = 64;

/// Runs one task: sleeps, and returns the time at which the task was sent.
async fn one(cx: &AsyncContext<Instant>, sent: Instant) -> Instant {
    cx.sleep(DELAY).await;
    sent
}

/// Runs the actor. Each poll first receives tasks until the mailbox returns `Pending` or is closed,
/// and then reports the tasks that are done.
async fn actor(
    mut mailbox: Incoming<Instant>,
    results: Address<Instant>,
    mut round: Round,
) -> Round {
    let cx = mailbox.context();
    let mut flying = FuturesUnordered::new();
    poll_fn(|task: &mut Context<'_>| {
        let over = loop {
            match mailbox.poll_recv(task) {
                Poll::Ready(Some(sent)) => flying.push(one(&cx, sent)),
                Poll::Ready(None) => break true,
                Poll::Pending => break false,
            }
        };
        round.pending_max = round.pending_max.max(flying.len());
        while let Poll::Ready(Some(sent)) = flying.poll_next_unpin(task) {
            round.latencies.push(sent.elapsed().saturating_sub(DELAY));
            cx.send(&results, sent).expect("the reader has not stopped");
        }
        if over && flying.is_empty() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
    round
}

pub(super) fn round(tasks: usize, loads: Option<Arc<Loads>>) -> Round {
    let local = Local::new().expect("the thread has no other Local");
    let finished = Rc::new(Cell::new(None::<Round>));
    let timing = Rc::new(RefCell::new(None::<Timing>));
    let result = Rc::new(RefCell::new(Round::default()));
    let reader = local.spawn(Reader {
        left: tasks,
        timing: timing.clone(),
        finished: finished.clone(),
    });
    let (kept, room) = (result.clone(), Round::of(tasks));
    let actor = local.spawn(move |mailbox| async move {
        let actor = actor(mailbox, reader, room);
        *kept.borrow_mut() = match loads {
            Some(loads) => Watched::new(actor, loads).await,
            None => actor.await,
        };
    });
    let ended = actor.clone();
    drop(local.spawn(move |mailbox: Incoming<()>| async move {
        *timing.borrow_mut() = Some(Timing::start());
        for number in 1..=tasks {
            actor
                .send(Instant::now())
                .expect("the actor has not stopped");
            if number % TASKS_AT_ONCE == 0 {
                mailbox.context().yield_now().await;
            }
        }
    }));
    let timed = Cell::new(Round::default());
    local.run_until(|| {
        let Some(round) = finished.take() else {
            return false;
        };
        timed.set(round);
        true
    });
    drop(ended);
    local.run();
    let timed = timed.take();
    Round {
        duration: timed.duration,
        cpu: timed.cpu,
        ..result.take()
    }
}

/// The reader, an actor that receives the results of all tasks.
struct Reader {
    /// Number of results that have not arrived yet.
    left: usize,
    /// Start of the round, set by the sender.
    timing: Rc<RefCell<Option<Timing>>>,
    /// Result of the round, for the main thread.
    finished: Rc<Cell<Option<Round>>>,
}

impl Actor for Reader {
    type Msg = Instant;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, _: Instant, _: &mut garrick::Context<'_, Instant>) -> Next {
        self.left -= 1;
        if self.left > 0 {
            return Next::Continue;
        }
        let mut round = Round::default();
        if let Some(timing) = self.timing.take() {
            timing.stop(&mut round);
        }
        self.finished.set(Some(round));
        Next::Stop
    }
}
