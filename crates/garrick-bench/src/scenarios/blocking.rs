//! Turns that block, and allow the other actors of their worker to run meanwhile.

use std::sync::mpsc;

use garrick::{Actor, Context, Next};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{send_in, sent, worker};

pub(super) const BLOCKING: Scenario = Scenario {
    name: "blocking",
    operation: "one turn that calls Context::blocking with a closure that does nothing, on one \
                worker: the turn leaves its worker and comes back; beside a busy actor, another \
                thread runs the worker in between, for at least one turn of the busy actor",
    contenders: |_: &Effort| {
        let beside = |(name, is_beside_busy): (&str, bool)| {
            Contender::fitted("garrick", move |ops| blocking(ops, is_beside_busy))
                .with("beside", name)
        };
        [("nobody", false), ("a busy actor", true)]
            .map(beside)
            .into()
    },
};

/// An actor that calls [`Context::blocking`] in each turn, and then sends itself the next message.
struct Blocker {
    /// Sender for a notification after the last turn.
    done: mpsc::Sender<()>,
}

impl Actor for Blocker {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, left: u64, cx: &mut Context<'_, u64>) -> Next {
        cx.blocking(|| ());
        if left > 1 {
            return sent(&cx.send(&cx.address(), left - 1));
        }
        sent(&self.done.send(()))
    }
}

/// An actor that sends itself a message in each turn.
struct Busy;

impl Actor for Busy {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        sent(&cx.send(&cx.address(), ()))
    }
}

fn blocking(ops: u64, is_beside_busy: bool) -> Result<Measured> {
    let system = worker("blocking")?;
    let (done, waiting) = mpsc::channel();
    if is_beside_busy {
        send_in(&system.spawn(Busy)?, ());
    }
    let blocker = system.spawn(Blocker { done })?;
    let watch = Stopwatch::start(Clock::Process);
    send_in(&blocker, ops);
    waiting.recv()?;
    let span = watch.stop();
    system.shutdown_now();
    Ok(Measured::new(ops, span))
}
