//! Tests that a long turn that was not announced does not delay the timers of its worker. Workers
//! lend their timers only on Linux, where the fence before each check is cheap.
#![cfg(all(target_os = "linux", not(garrick_portable)))]

use std::sync::mpsc::channel;
use std::time::Duration;

use garrick_sched::{Flow, Sponsor, Task, Turn};
use garrick_testkit::HANGS_AFTER;

/// A task that calls the functions that it receives.
struct Calls;

/// A function that the task calls in a turn.
struct Call(Box<Function>);

type Function = dyn FnOnce(&Turn<'_, Call>) + Send;

impl Call {
    fn of(function: impl FnOnce(&Turn<'_, Call>) + Send + 'static) -> Self {
        Self(Box::new(function))
    }
}

impl Task for Calls {
    type Message = Call;

    fn receive(&mut self, call: Call, turn: &Turn<'_, Call>) -> Flow {
        (call.0)(turn);
        Flow::Continue
    }
}

/// Calls a function in a turn of a new task.
fn call_in_turn(sponsor: &Sponsor, function: impl FnOnce(&Turn<'_, Call>) + Send + 'static) {
    let calls = sponsor.handle().spawn(Calls).unwrap();
    calls.send(Call::of(function)).unwrap();
}

/// Time after which no thread checks for stuck workers any more.
const LATER: Duration = Duration::from_millis(50);
/// Delay of a timer that is due while no other event happens.
const SOON: Duration = Duration::from_millis(1);
/// Largest number of turns that a worker runs before it checks its timers again.
const MANY: usize = 64;

#[test]
fn a_timer_is_delivered_while_the_next_turn_of_the_task_that_has_set_it_is_long() {
    let sponsor = Sponsor::pool(2).unwrap();
    let (fired, has_fired) = channel();
    let (ended, has_ended) = channel();
    let begins = move |turn: &Turn<'_, Call>| {
        let (sets, hears) = (turn.spawn(Calls), turn.spawn(Calls));
        let first = Call::of(move |turn| {
            let fires = Call::of(move |_| fired.send(()).unwrap());
            turn.send_after(SOON, &hears, fires).unwrap();
        });
        // Both messages are handled in one activation.
        turn.send(&sets, first).unwrap();
        let second = Call::of(move |_| ended.send(has_fired.recv_timeout(HANGS_AFTER)).unwrap());
        turn.send(&sets, second).unwrap();
    };
    // The workers sleep, and nobody looks for stuck ones.
    call_in_turn(&sponsor, move |turn| {
        let begin = turn.spawn(Calls);
        turn.send_after(LATER, &begin, Call::of(begins)).unwrap();
    });
    has_ended
        .recv()
        .unwrap()
        .expect("delivered during the second turn");
    sponsor.shutdown();
}

#[test]
fn a_timer_is_delivered_while_the_turn_of_an_earlier_timer_is_long() {
    let sponsor = Sponsor::pool(2).unwrap();
    let (fired, has_fired) = channel();
    let (ended, has_ended) = channel();
    call_in_turn(&sponsor, move |turn| {
        let (waits, hears) = (turn.spawn(Calls), turn.spawn(Calls));
        let first = Call::of(move |_| ended.send(has_fired.recv_timeout(HANGS_AFTER)).unwrap());
        turn.send_after(LATER, &waits, first).unwrap();
        let second = Call::of(move |_| fired.send(()).unwrap());
        turn.send_after(LATER + SOON, &hears, second).unwrap();
    });
    has_ended
        .recv()
        .unwrap()
        .expect("delivered during the turn of the first timer");
    sponsor.shutdown();
}

#[test]
fn a_timer_is_delivered_while_the_turn_of_a_timer_that_was_due_between_two_turns_is_long() {
    let sponsor = Sponsor::pool(2).unwrap();
    let (fired, has_fired) = channel();
    let (ended, has_ended) = channel();
    let begins = move |turn: &Turn<'_, Call>| {
        let (waits, hears) = (turn.spawn(Calls), turn.spawn(Calls));
        let sets = turn.spawn(Calls);
        // Until the second timer is delivered, no task ends: there is no other event.
        let alive = sets.clone();
        for _ in 0..MANY {
            turn.send(&sets, Call::of(|_| ())).unwrap();
        }
        let last = Call::of(move |turn| {
            let first = Call::of(move |_| ended.send(has_fired.recv_timeout(HANGS_AFTER)).unwrap());
            turn.send_after(Duration::ZERO, &waits, first).unwrap();
            let second = Call::of(move |_| {
                drop(alive);
                fired.send(()).unwrap();
            });
            turn.send_after(SOON, &hears, second).unwrap();
        });
        turn.send(&sets, last).unwrap();
    };
    call_in_turn(&sponsor, move |turn| {
        let begin = turn.spawn(Calls);
        turn.send_after(LATER, &begin, Call::of(begins)).unwrap();
    });
    has_ended
        .recv()
        .unwrap()
        .expect("delivered during the turn of the first timer");
    sponsor.shutdown();
}

#[test]
fn a_timer_is_delivered_if_another_worker_becomes_idle_during_the_long_turn() {
    let sponsor = Sponsor::pool(2).unwrap();
    // From here on, there is a hand that has no seat while all workers are busy.
    call_in_turn(&sponsor, |turn| turn.blocking(|| ()));
    let (fired, has_fired) = channel();
    let (ended, has_ended) = channel();
    let (is_long, becomes_long) = channel();
    let (is_busy, becomes_busy) = channel();
    call_in_turn(&sponsor, move |_| {
        is_busy.send(()).unwrap();
        becomes_long.recv_timeout(HANGS_AFTER).unwrap();
    });
    becomes_busy.recv_timeout(HANGS_AFTER).unwrap();
    let begins = sponsor.handle().spawn(Calls).unwrap();
    let (rested, has_rested) = channel();
    let rest = Call::of(move |turn: &Turn<'_, Call>| {
        let tell = Call::of(move |_| rested.send(()).unwrap());
        turn.send_after(LATER, &turn.address(), tell).unwrap();
    });
    begins.send(rest).unwrap();
    has_rested.recv_timeout(HANGS_AFTER).unwrap();
    let begin = Call::of(move |turn: &Turn<'_, Call>| {
        let (sets, hears) = (turn.spawn(Calls), turn.spawn(Calls));
        let first = Call::of(move |turn| {
            let fires = Call::of(move |_| fired.send(()).unwrap());
            turn.send_after(LATER, &hears, fires).unwrap();
        });
        turn.send(&sets, first).unwrap();
        let second = Call::of(move |_| {
            is_long.send(()).unwrap();
            ended.send(has_fired.recv_timeout(HANGS_AFTER)).unwrap();
        });
        turn.send(&sets, second).unwrap();
    });
    begins.send(begin).unwrap();
    has_ended
        .recv()
        .unwrap()
        .expect("delivered during the long turn");
    sponsor.shutdown();
}
