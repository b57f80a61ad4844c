//! Tests of the counters for tasks that guests run. A guest is a thread that calls a task and runs
//! it itself.
#![forbid(unsafe_code)]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use common::{Fork, kind};
use garrick_sched::{Address, Flow, Handle, KindSample, Reply, Sponsor, Task, Turn};
use garrick_testkit::{ends, ends_alone, fail, silence_panics};

/// A task that answers each question after the time that the question contains.
struct Busy;

impl Task for Busy {
    type Message = (Duration, Reply<thread::ThreadId>);

    fn receive(&mut self, (time, reply): Self::Message, _: &Turn<'_, Self::Message>) -> Flow {
        let began = Instant::now();
        while began.elapsed() < time {}
        reply.send(thread::current().id());
        Flow::Continue
    }
}

/// A task that creates another task, which ends immediately, and then answers.
struct Mother;

impl Task for Mother {
    type Message = Reply<()>;

    fn receive(&mut self, reply: Reply<()>, turn: &Turn<'_, Reply<()>>) -> Flow {
        drop(turn.spawn(Busy));
        reply.send(());
        Flow::Continue
    }
}

fn counted() -> Sponsor {
    Sponsor::builder().probes(true).start().unwrap()
}

/// Waits until `is_so` returns true for the sample of the given kind of task.
fn until(handle: &Handle, name: &str, is_so: impl Fn(&KindSample) -> bool) -> KindSample {
    loop {
        let sample = kind(handle, name).unwrap_or_default();
        if is_so(&sample) {
            return sample;
        }
        thread::yield_now();
    }
}

/// Asks a question. Returns true if this thread has run the asked task.
fn call(task: &Address<(Duration, Reply<thread::ThreadId>)>, time: Duration) -> bool {
    task.call(|reply| (time, reply)).wait() == Ok(thread::current().id())
}

#[test]
fn all_turns_are_counted_soon_after_the_last_visit() {
    ends(|| {
        let sponsor = counted();
        let handle = sponsor.handle();
        let task = handle.spawn(Busy).unwrap();
        let mut here = 0;
        for burst in 1..=10 {
            here += (0..5_000).filter(|_| call(&task, Duration::ZERO)).count();
            // No other visit follows.
            let sample = until(&handle, "Busy", |sample| sample.turns >= 5_000 * burst);
            assert_eq!(
                (sample.turns, sample.begun, sample.ended),
                (5_000 * burst, 1, 0)
            );
        }
        assert!(here > 0, "some calls were run by the caller");
    });
}

#[test]
fn tasks_that_begin_and_end_in_visits_are_counted() {
    ends(|| {
        let sponsor = counted();
        let handle = sponsor.handle();
        let mother = handle.spawn(Mother).unwrap();
        for births in 1..=3_000 {
            mother.call(|reply| reply).wait().unwrap();
            if births % 100 == 0 {
                let all = |sample: &KindSample| sample.ended >= births;
                let sample = until(&handle, "Busy", all);
                assert_eq!((sample.begun, sample.ended), (births, births));
            }
        }
    });
}

#[test]
fn the_time_of_a_long_turn_among_short_visits_is_counted() {
    ends_alone(|| {
        let sponsor = counted();
        let handle = sponsor.handle();
        let task = handle.spawn(Busy).unwrap();
        let long = Duration::from_millis(300);
        let start = Instant::now();
        let mut truth = Duration::ZERO;
        for _ in 0..3 {
            for _ in 0..20_000 {
                call(&task, Duration::ZERO);
            }
            let began = Instant::now();
            call(&task, long);
            truth += began.elapsed();
            // Less is missing if the lookout runs on time, which a busy machine may not let it do.
            let seen = |sample: &KindSample| Duration::from_nanos(sample.busy) >= truth * 2 / 3;
            until(&handle, "Busy", seen);
        }
        // On a busy machine, short visits take long, too.
        let all = start.elapsed();
        let busy = Duration::from_nanos(kind(&handle, "Busy").unwrap_or_default().busy);
        assert!(
            busy < all * 3 / 2,
            "{busy:?} of {truth:?}, and {all:?} with 60,000 short visits"
        );
    });
}

/// A task that answers questions. It blocks before every 50th answer, and fails after every 30th.
struct Moody(u64);

impl Task for Moody {
    type Message = Reply<u64>;
    const RECOVERS: bool = true;

    fn receive(&mut self, reply: Reply<u64>, turn: &Turn<'_, Reply<u64>>) -> Flow {
        self.0 += 1;
        if self.0.is_multiple_of(50) {
            turn.blocking(thread::yield_now);
        }
        if self.0.is_multiple_of(30) {
            fail();
        }
        reply.send(self.0);
        Flow::Continue
    }

    fn recover(&mut self, _: &str, _: &Turn<'_, Reply<u64>>) -> Flow {
        Flow::Continue
    }
}

#[test]
fn turns_of_visits_that_block_or_fail_are_counted() {
    ends(|| {
        silence_panics();
        let sponsor = counted();
        let handle = sponsor.handle();
        let task = handle.spawn(Moody(0)).unwrap();
        let answers = (1..=6_000).filter(|_| task.call(|reply| reply).wait().is_ok());
        assert_eq!(answers.count(), 6_000 - 200);
        // Each recovery is a turn.
        let sample = until(&handle, "Moody", |sample| sample.turns >= 6_200);
        assert_eq!((sample.turns, sample.failures), (6_200, 200));
    });
}

#[test]
fn rare_turns_after_a_rest_are_measured_however_busy_the_worker_was_before() {
    ends_alone(|| {
        let sponsor = counted();
        let handle = sponsor.handle();
        let parks = || handle.sample().workers[0].parks;
        // So many short activations that only one in hundreds is measured.
        handle.spawn(Fork).unwrap().send(16).unwrap();
        let all = (2 << 16) - 1;
        until(&handle, "Fork", |sample| sample.ended >= all);
        let task = handle.spawn(Busy).unwrap();
        let mut truth = Duration::ZERO;
        for _ in 0..30 {
            let before = parks();
            let began = Instant::now();
            task.ask(|reply| (Duration::from_millis(1), reply))
                .wait()
                .unwrap();
            truth += began.elapsed();
            // The worker sleeps before the next question.
            while parks() == before {
                thread::yield_now();
            }
        }
        let busy = Duration::from_nanos(kind(&handle, "Busy").unwrap_or_default().busy);
        assert!(busy >= Duration::from_millis(27), "{busy:?}");
        // The pool may give the kind up to 20 ms too much.
        let most = truth + Duration::from_millis(20);
        assert!(busy <= most, "{busy:?} of {truth:?}");
    });
}
