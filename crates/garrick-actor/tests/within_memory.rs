//! Tests that asks allocate no memory once the pools are warm. Only the timers of asks with a
//! timeout may allocate, because the scheduler keeps the timers of a turn in a list.
#![forbid(unsafe_code)]

mod common;

use std::time::Duration;

use allocation_counter::measure;
use common::local;
use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply};
use garrick_testkit::{ByHand, ms};

/// Number of asks in one round.
const ASKS: u64 = 1_000;

/// Maximum number of lists that may grow again after they shrank between two rounds.
const LISTS_MAX: u64 = 2;

/// Number of rounds after which all pools and lists have reached their maximum size.
const ROUNDS_WARM: u32 = 4;

struct Double;

impl Actor for Double {
    type Msg = (u64, Reply<u64>);
    type Outcome = ();

    fn receive(&mut self, (n, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        reply.send(2 * n);
    }
}

/// An actor that asks the next question after every answer.
struct Asker {
    double: Address<(u64, Reply<u64>)>,
    /// True if the asks have a timeout.
    within: bool,
    left: u64,
}

impl Actor for Asker {
    type Msg = Result<u64, NoReply>;
    type Outcome = ();

    fn receive(&mut self, answer: Self::Msg, cx: &mut Context<'_, Self::Msg>) {
        assert!(answer.is_ok());
        let question = |reply| (self.left, reply);
        match (self.left, self.within) {
            (0, _) => {}
            (_, true) => cx.ask_within(ms(1), &self.double, question, |answer| answer),
            (_, false) => cx.ask(&self.double, question, |answer| answer),
        }
        self.left = self.left.checked_sub(1).unwrap_or(ASKS);
    }
}

fn round(clock: &ByHand, local: &Local, asker: &Address<Result<u64, NoReply>>) {
    asker.send(Ok(0)).unwrap();
    local.run();
    clock.advance(ms(2));
    local.run();
}

/// Returns the number of allocations in one round of asks.
fn allocations(within: bool) -> u64 {
    let (clock, local) = local();
    let double = local.spawn(Double);
    let asker = local.spawn(Asker {
        double,
        within,
        left: ASKS,
    });
    (0..ROUNDS_WARM).for_each(|_| round(&clock, &local, &asker));
    measure(|| round(&clock, &local, &asker)).count_total
}

#[test]
fn actors_ask_without_allocating() {
    assert_eq!(allocations(false), 0);
    assert!(allocations(true) <= LISTS_MAX);
}

#[test]
fn threads_and_futures_ask_without_allocating() {
    let (clock, local) = local();
    let double = local.spawn(Double);
    let handle = local.handle();
    let round = |within: bool| {
        for n in 0..ASKS {
            let question = |reply| (n, reply);
            let answer = if within {
                let answer = handle.ask_within(ms(1), &double, question);
                local.run();
                answer.wait()
            } else {
                let answer = double.ask(question);
                local.run();
                answer.wait_timeout(Duration::from_secs(60))
            };
            assert_eq!(answer, Ok(2 * n));
        }
        clock.advance(ms(2));
        local.run();
    };
    (0..ROUNDS_WARM).for_each(|_| [true, false].into_iter().for_each(&round));
    assert_eq!(measure(|| round(false)).count_total, 0);
    assert!(measure(|| round(true)).count_total <= LISTS_MAX);
}
