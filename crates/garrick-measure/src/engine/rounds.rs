//! The actor that measures contenders alternately. Before and after each measurement of a
//! contender, the actor measures the yardstick, an atomic addition.

use garrick_actor::{Actor, Address, Context, Next};

use crate::next::sent;
use crate::noise::Moment;
use crate::scenario::Measured;

use super::median::Finished;
use super::step::{Over, Set, Step, Trial, Who};
use super::timer::Timing;

/// An actor that measures one set of contenders at a time, one round after another.
pub(super) struct Rounds {
    timer: Address<Timing>,
    /// Actor that receives the measurements of a finished set of contenders.
    median: Address<Finished>,
    under_way: Option<UnderWay>,
}

/// The set of contenders that is being measured.
struct UnderWay {
    set: Set,
    /// State of the machine when the measurement of this set of contenders began.
    began: Moment,
    /// Number of rounds: the maximum over all contenders of the set.
    rounds: usize,
    /// The trial that is running or comes next: the index of its round, and the index of its
    /// contender.
    at: (usize, usize),
    /// Measurement of a contender, kept until the yardstick (an atomic addition) has been measured
    /// again.
    measured: Option<Measured>,
    /// Result of the latest trial of the yardstick, in nanoseconds of CPU time per atomic addition.
    /// `None` at the beginning.
    before: Option<f64>,
}

impl UnderWay {
    fn new(set: Set) -> Self {
        let rounds = set.entrants.iter().map(|entrant| entrant.rounds).max();
        Self {
            set,
            began: Moment::now(),
            rounds: rounds.unwrap_or(0),
            at: (0, 0),
            measured: None,
            before: None,
        }
    }

    /// Returns the next trial. Skips contenders whose rounds are all done.
    fn next(&mut self) -> Option<Trial> {
        let (mut round, mut index) = self.at;
        while round < self.rounds {
            if let Some(entrant) = self.set.entrants.get(index) {
                if round < entrant.rounds {
                    self.at = (round, index);
                    return Some(Trial {
                        who: Who::Entrant(index),
                        ops: entrant.ops,
                        done: round as f64 / self.rounds as f64,
                    });
                }
                index += 1;
            } else {
                (round, index) = (round + 1, 0);
            }
        }
        None
    }

    /// Creates the trial that measures the yardstick, which is one atomic addition.
    fn addition(&self) -> Trial {
        Trial {
            who: Who::Yardstick,
            ops: self.set.additions,
            done: 0.0,
        }
    }

    /// Stores a measurement and returns the next trial.
    fn took(&mut self, took: Measured) -> Option<Trial> {
        if self.before.is_some() && self.measured.is_none() {
            self.measured = Some(took);
            return Some(self.addition());
        }
        self.set.yardsticks.push((took.span(), took.ops));
        let after = took.cpu_per_op();
        if let (Some(before), Some(measured)) = (self.before, self.measured.take()) {
            let sample = (measured, f64::midpoint(before, after));
            self.set.entrants[self.at.1].samples.push(sample);
            self.at.1 += 1;
        }
        self.before = Some(after);
        self.next()
    }
}

impl Rounds {
    pub(super) fn new(timer: Address<Timing>, median: Address<Finished>) -> Self {
        Self {
            timer,
            median,
            under_way: None,
        }
    }

    fn try_out(&mut self, trial: Trial, under_way: UnderWay, cx: &Context<'_, Step>) -> Next {
        self.under_way = Some(under_way);
        sent(&cx.send(&self.timer, Timing::Try(cx.address(), trial)))
    }

    fn finish(&self, under_way: UnderWay, cx: &Context<'_, Step>) -> Next {
        let over = under_way.set.over.clone();
        let finished = Finished {
            noise: under_way.began.until(&Moment::now()),
            set: under_way.set,
        };
        let handed_on = cx.send(&self.median, finished);
        if handed_on.is_err() {
            return Next::Stop;
        }
        sent(&cx.send(&over, Over))
    }
}

impl Actor for Rounds {
    type Msg = Step;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Step, cx: &mut Context<'_, Step>) -> Next {
        match (message, self.under_way.take()) {
            (Step::Begin(set), _) => {
                let under_way = UnderWay::new(set);
                self.try_out(under_way.addition(), under_way, cx)
            }
            (Step::Took(took), Some(mut under_way)) => match under_way.took(took) {
                Some(trial) => self.try_out(trial, under_way, cx),
                None => self.finish(under_way, cx),
            },
            (Step::Stop, Some(under_way)) => self.finish(under_way, cx),
            (Step::Took(_) | Step::Stop, None) => Next::Continue,
        }
    }
}
