//! Timers that do not come to ring, as most of production's.

use std::sync::mpsc;
use std::time::Duration;

use garrick::{Actor, Context, Next};

use super::actors::{measure_here, send_in, sent};
use crate::scenario::{Contender, Effort, Measured, Result, Scenario};

pub(super) const TIMER_CANCEL: Scenario = Scenario {
    name: "timer-cancel",
    operation: "one timer of an hour that an actor starts, for a message to itself, and cancels: 64 in one turn, which the next \
                turn cancels",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", timer_cancel)],
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Timers that are started in one turn.
const BURST: u64 = 64;

/// Starts timers and cancels them, in turns.
struct Starter {
    timers: Vec<garrick::Timer>,
    /// Bursts that are still to be started.
    left: u64,
    /// Whom to tell after the last.
    done: mpsc::Sender<()>,
}

impl Actor for Starter {
    type Msg = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        let me = cx.address();
        if self.timers.is_empty() {
            let timers = (0..BURST).map_while(|_| cx.start_timer(HOUR, &me, ()).ok());
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
        let timers = Vec::with_capacity(BURST as usize);
        let left = bursts;
        send_in(&local.spawn(Starter { timers, left, done }), ());
    });
    waiting.try_recv()?;
    measured
}
