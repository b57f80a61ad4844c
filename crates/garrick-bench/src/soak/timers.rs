//! Work of a soak: timers that are cancelled at once, timers that are cancelled in the next turn,
//! and timers that fire.

use std::time::Duration;

use garrick::{Actor, Address, Ask, Context, Handle, Next, Reply, System, Timer};
use garrick_measure::{Result, sent};

use super::part::{Outcome, Part, outcome, same, sum_below};

/// Number of one-hour timers that are started in one turn and cancelled in a later turn.
const FAR: u64 = 2_000;

/// Number of timers that are cancelled in the turn that starts them.
const NEVER: u64 = 200;

/// Number of timers that fire.
const RINGS: u64 = 200;

/// Number of messages after which the periodic timer is cancelled.
const TICKS: u64 = 3;

const HOUR: Duration = Duration::from_secs(3_600);

const SOON: Duration = Duration::from_micros(500);

pub(super) struct Timers {
    alarms: Address<Msg>,
    round: Option<Ask<Outcome>>,
}

impl Timers {
    pub(super) fn new(system: &System) -> Result<Self> {
        Ok(Self {
            alarms: system.spawn(Alarms::default())?,
            round: None,
        })
    }
}

impl Part for Timers {
    fn name(&self) -> &'static str {
        "timers"
    }

    fn begin(&mut self, _: &Handle) -> Result<()> {
        self.round = Some(self.alarms.ask(Msg::Round));
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        outcome(self.round.take())
    }
}

enum Msg {
    Round(Reply<Outcome>),
    CancelFar,
    Ring(u64),
    Tick,
    /// Message of a timer that is cancelled. This message must never arrive.
    Cancelled,
}

#[derive(Default)]
struct Alarms {
    far: Vec<Timer>,
    ticking: Option<Timer>,
    ticks: u64,
    rings: u64,
    /// Sum over the timers that have fired in this round: each timer adds its own number.
    sum: u64,
    /// Number of messages from cancelled timers, in all rounds. This number must be 0.
    cancelled: u64,
    reply: Option<Reply<Outcome>>,
}

impl Alarms {
    fn start(&mut self, cx: &Context<'_, Msg>) -> Next {
        let me = cx.address();
        (self.ticks, self.rings, self.sum) = (0, 0, 0);
        for number in 0..FAR.max(NEVER).max(RINGS) {
            if number < FAR {
                self.far.extend(cx.start_timer(HOUR, &me, Msg::Cancelled));
            }
            if number < NEVER
                && let Ok(timer) = cx.start_timer(SOON, &me, Msg::Cancelled)
            {
                timer.cancel();
            }
            if number < RINGS && cx.start_timer(SOON, &me, Msg::Ring(number)).is_err() {
                return Next::Stop;
            }
        }
        self.ticking = cx.send_every_with(SOON, &me, |_| Msg::Tick).ok();
        sent(&cx.send(&me, Msg::CancelFar))
    }

    /// Reports the outcome if the round is over: all timers of the round have fired or were
    /// cancelled.
    fn tell(&mut self) -> Next {
        let is_over = self.rings == RINGS && self.ticks >= TICKS && self.far.is_empty();
        if is_over && let Some(reply) = self.reply.take() {
            let checked = same("messages of cancelled timers", self.cancelled, 0)
                .and_then(|_| same("the sum of all rings", self.sum, sum_below(RINGS)));
            reply.send(checked.map(|_| FAR + NEVER + RINGS + TICKS));
        }
        Next::Continue
    }
}

impl Actor for Alarms {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Round(reply) => {
                self.reply = Some(reply);
                return self.start(cx);
            }
            Msg::CancelFar => self.far.drain(..).for_each(|timer| timer.cancel()),
            Msg::Ring(number) => {
                self.rings += 1;
                self.sum += number;
            }
            Msg::Tick => {
                self.ticks += 1;
                // A tick that was sent before the cancellation may still come after it.
                if self.ticks >= TICKS
                    && let Some(timer) = self.ticking.take()
                {
                    timer.cancel();
                }
            }
            Msg::Cancelled => self.cancelled += 1,
        }
        self.tell()
    }
}
