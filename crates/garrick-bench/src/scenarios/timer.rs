//! Timers that never fire, like most timers in production.

use std::sync::mpsc;
use std::time::Duration;

use garrick::{Actor, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::actors::{measure_here, send_in, sent};

pub(super) const TIMER_CANCEL: Scenario = Scenario {
    name: "timer-cancel",
    operation: "one timer of an hour that an actor starts for a message to itself and cancels: one \
                turn starts 64 timers, and the next turn cancels them",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", timer_cancel)],
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Number of timers that are started in one turn.
pub(super) const BURST: u64 = 64;

/// An actor that starts timers in one or more turns, and cancels all these timers in the next turn.
pub(super) struct Starter {
    timers: Vec<garrick::Timer>,
    /// Number of timers that are started before all of them are cancelled.
    at_once: usize,
    /// Number of remaining rounds.
    left: u64,
    /// Sender for a notification after the last round.
    done: mpsc::Sender<()>,
}

impl Starter {
    /// Returns a starter that starts and cancels `at_once` timers in each of `rounds` rounds. The
    /// starter begins at its first message.
    pub(super) fn new(at_once: u64, rounds: u64, done: mpsc::Sender<()>) -> Self {
        let at_once = at_once as usize;
        Self {
            timers: Vec::with_capacity(at_once),
            at_once,
            left: rounds,
            done,
        }
    }
}

impl Actor for Starter {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        let me = cx.address();
        let missing = self.at_once - self.timers.len();
        if missing > 0 {
            let burst = missing.min(BURST as usize);
            let timers = (0..burst).map_while(|_| cx.start_timer(HOUR, &me, ()).ok());
            self.timers.extend(timers);
            return sent(&cx.send(&me, ()));
        }
        for timer in self.timers.drain(..) {
            timer.cancel();
        }
        self.left -= 1;
        if self.left == 0 {
            return sent(&self.done.send(()));
        }
        sent(&cx.send(&me, ()))
    }
}

fn timer_cancel(ops: u64) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let bursts = ops.div_ceil(BURST);
    let measured = measure_here(bursts * BURST, |local| {
        send_in(&local.spawn(Starter::new(BURST, bursts, done)), ());
    });
    waiting.try_recv()?;
    measured
}
