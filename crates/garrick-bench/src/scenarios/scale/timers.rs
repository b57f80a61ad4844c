//! Many timers of one actor.

use std::time::Duration;

use garrick::{Actor, Context, Local, Next};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::super::actors::{send_in, sent};
use super::{Counted, Tally, sized};

pub(crate) const TIMERS: Scenario = Scenario {
    name: "scale-timers",
    operation: "one of size timers of one actor, on one thread: it is started, and then it fires, \
                or it is cancelled because the actor stops",
    contenders,
};

const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 400_000];

fn contenders(effort: &Effort) -> Vec<Contender> {
    let rung = sized(effort, &SIZES, |size| timed(size, Duration::from_millis(1)));
    let cancelled = sized(effort, &SIZES, |size| {
        timed(size, Duration::from_secs(3600))
    });
    let rung = rung.into_iter().map(|row| row.with("end", "rings"));
    let cancelled = cancelled
        .into_iter()
        .map(|row| row.with("end", "cancelled"));
    rung.chain(cancelled).collect()
}

enum Msg {
    Start(u64, Duration),
    /// Reports that a timer has fired. The field counts this message when the message is dropped,
    /// even if the timer was cancelled.
    Rung {
        _bell: Counted,
    },
    Stop,
}

/// An actor that starts timers for itself.
struct Sleeper(Tally);

/// Number of timers that are started in one turn.
const LITTER: u64 = 256;

impl Actor for Sleeper {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Start(left, delay) => {
                let to = cx.address();
                for _ in 0..left.min(LITTER) {
                    let rung = Msg::Rung {
                        _bell: Counted(self.0.clone()),
                    };
                    if cx.start_timer(delay, &to, rung).is_err() {
                        return Next::Stop;
                    }
                }
                let left = left.saturating_sub(LITTER);
                let next = if left > 0 {
                    Msg::Start(left, delay)
                } else if delay > Duration::from_secs(1) {
                    Msg::Stop
                } else {
                    return Next::Continue;
                };
                sent(&cx.send(&to, next))
            }
            Msg::Rung { .. } => Next::Continue,
            Msg::Stop => Next::Stop,
        }
    }
}

fn timed(size: u64, delay: Duration) -> Result<Measured> {
    let local = Local::new()?;
    let over = Tally::default();
    let sleeper = local.spawn(Sleeper(over.clone()));
    let stopwatch = Stopwatch::start(Clock::Thread);
    send_in(&sleeper, Msg::Start(size, delay));
    local.run_until(|| over.get() == size);
    Ok(Measured::new(size, stopwatch.stop()))
}
