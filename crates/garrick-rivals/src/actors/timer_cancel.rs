//! Benchmark of timers that are cancelled soon after they are started.

use std::future::Future;
use std::task::{Context as Task, Waker};
use std::time::Duration;

use ::actix::{Actor as _, AsyncContext as _};
use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};
use tokio::sync::oneshot;

use super::framework::{Framework, run_on_tokio};
use super::frameworks::{Actix, Letter, Ractor};
use super::roles::Counter;
use super::{measured, ours, watch};

pub(crate) const TIMER_CANCEL: Scenario = Scenario {
    name: "timer-cancel",
    operation: "one timer of an hour that an actor or a task starts and cancels: 64 timers are \
                started, and then cancelled; tokio: each timer is a sleep that is polled once and \
                dropped",
    contenders: |effort: &Effort| {
        let mut contenders = ours("timer-cancel", effort, &Point::default());
        contenders.push(Contender::fitted("actix", actix));
        contenders.push(Contender::fitted("ractor", ractor));
        contenders.push(Contender::fitted("tokio", sleeps));
        contenders
    },
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Number of timers that exist at the same time.
const BURST: u64 = 64;

/// Repeats `burst` until it has started at least `ops` timers, and measures the whole loop.
async fn bursts(ops: u64, mut burst: impl FnMut()) -> Measured {
    let count = ops.div_ceil(BURST);
    let watch = watch();
    for _ in 0..count {
        burst();
        tokio::task::yield_now().await;
    }
    measured(count * BURST, &watch)
}

/// Measures a tokio task that starts sleeps, polls each of them once, and drops them all.
fn sleeps(ops: u64) -> Result<Measured> {
    run_on_tokio(1, async move {
        bursts(ops, || {
            let mut sleeps: Vec<_> = (0..BURST)
                .map(|_| Box::pin(tokio::time::sleep(HOUR)))
                .collect();
            for sleep in &mut sleeps {
                let polled = sleep.as_mut().poll(&mut Task::from_waker(Waker::noop()));
                assert!(polled.is_pending(), "an hour is not over");
            }
        })
        .await
    })
}

/// Measures delayed messages of ractor. Each delayed message is a tokio task, which is aborted to
/// cancel the message.
fn ractor(ops: u64) -> Result<Measured> {
    Ractor::run(1, async move {
        let (counter, _done) = Counter::new(1);
        let counter = Ractor::spawn(counter, None).await;
        bursts(ops, || {
            let timers: Vec<_> = (0..BURST)
                .map(|_| counter.send_after(HOUR, || Letter(1)))
                .collect();
            timers.iter().for_each(tokio::task::JoinHandle::abort);
        })
        .await
    })
}

/// An actor that alternately starts timers and cancels them.
struct Starter {
    timers: Vec<::actix::SpawnHandle>,
    left: u64,
    done: Option<oneshot::Sender<()>>,
}

/// A message to a [`Starter`].
struct Go;

impl ::actix::Message for Go {
    type Result = ();
}

impl ::actix::Actor for Starter {
    type Context = ::actix::Context<Self>;
}

impl ::actix::Handler<Go> for Starter {
    type Result = ();

    fn handle(&mut self, _: Go, cx: &mut Self::Context) {
        if self.timers.is_empty() {
            for _ in 0..BURST {
                self.timers.push(cx.run_later(HOUR, |_, _| {}));
            }
        } else {
            for timer in self.timers.drain(..) {
                cx.cancel_future(timer);
            }
            self.left -= 1;
        }
        if self.left > 0 {
            cx.notify(Go);
        } else if let Some(done) = self.done.take() {
            let _ = done.send(());
        }
    }
}

fn actix(ops: u64) -> Result<Measured> {
    Actix::run(1, async move {
        let (done, over) = oneshot::channel();
        let left = ops.div_ceil(BURST);
        let starter = Starter {
            timers: Vec::new(),
            left,
            done: Some(done),
        };
        let starter = starter.start();
        let watch = watch();
        starter.do_send(Go);
        over.await.expect("the starter reports");
        measured(left * BURST, &watch)
    })
}
