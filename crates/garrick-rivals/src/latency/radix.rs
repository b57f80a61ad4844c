//! Radix sort through a chain of stages, created by the driver or by an actor.
//!
//! The stages are those of Savina's radix sort. Each stage checks one bit, beginning with the
//! lowest. A value whose bit is 0 is passed on at once. A value whose bit is 1 is kept, and passed
//! on when the last value has arrived. So after the stage of the highest bit, the output is sorted.
//!
//! xtra 0.6.0 is omitted. Its mailbox is a heap ordered by priority, which does not keep the order
//! of messages of the same priority. So the output would not be sorted.

use std::sync::mpsc::{self, Sender};

use garrick_measure::{Clock, Result, Span, Stopwatch};

use super::peers::{Peer, peers};
use super::told;
use super::turns::{Contender, in_turns, median, shown};
use crate::actors::framework::{Flow, Framework, Role};
use crate::actors::frameworks::Xtra;

/// Number of stages, which is also the number of bits of a value.
const STAGES: u32 = 60;

#[derive(Debug, Clone, Copy)]
struct Plan {
    /// True if an actor creates the stages, false if the measuring thread creates them.
    is_inside: bool,
    workers: usize,
    values: u64,
}

/// An actor in a chain. Each actor except the last one sorts its input by one bit. The last actor
/// checks the order.
struct Stage<F: Peer> {
    /// Index of the bit that the stage checks.
    bit: u32,
    /// Values in which the bit number `bit` is 1, in order of arrival.
    ones: Vec<u64>,
    /// Number of values that have not arrived yet.
    left: u64,
    /// Address of the next stage. `None` in the last stage.
    next: Option<F::Address<Stage<F>>>,
    /// Sender by which the last stage reports true if the output was sorted. Each stage holds a
    /// clone of the sender until the stage stops.
    done: Sender<bool>,
    /// The value that has arrived most recently in the last stage.
    last: u64,
    /// True if every value so far was at least as large as the value before it.
    is_sorted: bool,
}

impl<F: Peer> Stage<F> {
    fn new(plan: Plan, bit: u32, next: Option<F::Address<Self>>, done: &Sender<bool>) -> Self {
        Self {
            bit,
            ones: Vec::new(),
            left: plan.values,
            next,
            done: done.clone(),
            last: 0,
            is_sorted: true,
        }
    }

    /// Handles a value in a stage: passes the value on to the next stage, or keeps it.
    async fn sort(&mut self, value: u64, next: &F::Address<Self>) {
        if value >> self.bit & 1 == 0 {
            F::tell::<Self>(next, value).await;
        } else {
            self.ones.push(value);
        }
        if self.left == 0 {
            for value in std::mem::take(&mut self.ones) {
                F::tell::<Self>(next, value).await;
            }
        }
    }

    /// Handles a value in the last stage, which checks that the values arrive in ascending order.
    fn check(&mut self, value: u64) {
        self.is_sorted &= self.last <= value;
        self.last = value;
        if self.left == 0 {
            // A driver that has given up no longer receives.
            let _ = self.done.send(self.is_sorted);
        }
    }
}

impl<F: Peer> Role<F> for Stage<F> {
    type Message = u64;

    async fn receive(&mut self, value: u64) -> Flow {
        self.left -= 1;
        match self.next.take() {
            Some(next) => {
                self.sort(value, &next).await;
                self.next = Some(next);
            }
            None => self.check(value),
        }
        if self.left > 0 {
            return Flow::Continue;
        }
        self.next = None;
        Flow::Stop
    }
}

/// An actor that creates the stages, and reports the first one.
struct Maker<F: Peer> {
    plan: Plan,
    done: Sender<bool>,
    first: Sender<F::Address<Stage<F>>>,
}

impl<F: Peer> Role<F> for Maker<F> {
    type Message = ();

    async fn receive(&mut self, (): ()) -> Flow {
        let mut first = F::spawn(Stage::<F>::new(self.plan, 0, None, &self.done), None).await;
        for bit in (0..STAGES).rev() {
            let stage = Stage::<F>::new(self.plan, bit, Some(first), &self.done);
            first = F::spawn(stage, None).await;
        }
        // A driver that has given up no longer receives.
        let _ = self.first.send(first);
        Flow::Stop
    }
}

fn contender<F: Peer>() -> Contender<Plan, Span> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(plan.workers, round::<F>(*plan))?,
    }
}

/// Returns the contenders that keep the order of the messages from one actor to another.
fn contenders() -> Vec<Contender<Plan, Span>> {
    let all = peers!(contender).into_iter();
    all.filter(|contender| contender.name != Xtra::NAME)
        .collect()
}

async fn round<F: Peer>(plan: Plan) -> Result<Span> {
    let (done, all_done) = mpsc::channel();
    let watch = Stopwatch::start(Clock::Process);
    let first = if plan.is_inside {
        let (first, made) = mpsc::channel();
        let done = done.clone();
        let maker = F::place(Maker { plan, done, first }).await;
        F::tell::<Maker<F>>(&maker, ()).await;
        made.recv()?
    } else {
        let mut first = F::place(Stage::<F>::new(plan, 0, None, &done)).await;
        for bit in (0..STAGES).rev() {
            first = F::place(Stage::<F>::new(plan, bit, Some(first), &done)).await;
        }
        first
    };
    for number in 0..plan.values {
        F::tell::<Stage<F>>(&first, value(number)).await;
    }
    let is_sorted = all_done.recv()?;
    let span = watch.stop();
    assert!(is_sorted, "{} has sorted the values", F::NAME);
    drop((first, done));
    // Wait for the end of all actors. If the threads were stopped now, an actor could find that the
    // next actor is gone.
    assert!(all_done.recv().is_err(), "the end is reported once");
    Ok(span)
}

/// Returns a value that is computed from `number`. The values look random, so sorting them is real
/// work.
fn value(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (u64::BITS - STAGES)
}

pub(super) fn section(quick: bool) -> Result<String> {
    let (rounds, values) = if quick { (3, 2_000) } else { (5, 20_000) };
    let mut rows = Vec::new();
    for is_inside in [false, true] {
        for workers in [1, 2] {
            let plan = Plan {
                is_inside,
                workers,
                values,
            };
            for (name, rounds) in in_turns(&contenders(), &plan, rounds)? {
                rows.push([
                    if is_inside { "inside" } else { "outside" }.to_owned(),
                    workers.to_string(),
                    name.to_owned(),
                    shown(median(&rounds, |span| span.wall)),
                    shown(median(&rounds, |span| span.cpu)),
                ]);
            }
        }
    }
    let sentence = format!(
        "radix: {values} values that {STAGES} stages sort, each stage by one bit. The stages are \
         created from outside, or inside by an actor. The time is measured from the creation of \
         the first actor to the last value. Medians of {rounds} rounds"
    );
    let header = ["created", "workers", "contender", "wall", "CPU"];
    Ok(told(&sentence, header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_sorts() {
        for is_inside in [false, true] {
            for workers in [1, 2] {
                let plan = Plan {
                    is_inside,
                    workers,
                    values: 200,
                };
                let rounds = in_turns(&contenders(), &plan, 1).expect("all come to an end");
                assert_eq!(rounds.len(), 5);
            }
        }
    }

    #[test]
    fn values_come_unsorted_and_have_as_many_bits_as_there_are_stages() {
        let values: Vec<u64> = (0..200).map(value).collect();
        assert!(!values.is_sorted());
        let bits = values.iter().fold(0, |bits, value| bits | value);
        assert_eq!(bits, (1 << STAGES) - 1);
    }
}
