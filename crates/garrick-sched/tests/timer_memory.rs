//! Tests that timers keep no memory after they have fired, were cancelled, or were undone with
//! their turn.
#![forbid(unsafe_code)]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allocation_counter::measure;
use common::does;
use garrick_sched::{Address, Flow, Here, Sponsor, Timer, Turn};
use garrick_testkit::{ByHand, alone};

/// Number of timers in one round.
const TIMERS: usize = 100_000;

/// Number of bytes that may be kept. A timer wheel, or a register of timers, with room for one
/// round would need more. A slab of memory blocks has 1 MiB.
const KEPT_MAX: i64 = 2_000_000;

struct Stand {
    clock: Arc<ByHand>,
    here: Here,
    doer: Address<fn() -> Flow>,
    timers: Arc<Mutex<Vec<Timer>>>,
}

fn stand() -> Stand {
    let clock = ByHand::new();
    let here = Sponsor::builder().world(clock.clone()).here().unwrap();
    let timers = Arc::new(Mutex::new(Vec::with_capacity(TIMERS)));
    let (to, started) = (here.spawn(does(|(), _| Flow::Continue)), timers.clone());
    let doer = here.spawn(does(move |flow: fn() -> Flow, turn: &Turn<'_, _>| {
        for _ in 0..TIMERS {
            let timer = turn.timer();
            let deadline = turn.now() + 1_000_000_000;
            turn.set_own_timer(&timer, deadline, &to, ()).unwrap();
            started.lock().unwrap().push(timer);
        }
        flow()
    }));
    Stand {
        clock,
        here,
        doer,
        timers,
    }
}

impl Stand {
    fn start(&self, flow: fn() -> Flow) -> Vec<Timer> {
        self.doer.send(flow).unwrap();
        self.here.run();
        self.timers.lock().unwrap().drain(..).collect()
    }

    /// Checks that a second round of timers, which ends by `end`, does not change the memory in
    /// use. The blocks of messages stay in the worker's pool, so they are counted after the first
    /// round.
    #[track_caller]
    fn keeps_nothing(&self, flow: fn() -> Flow, end: impl Fn(Vec<Timer>)) {
        end(self.start(flow));
        let kept = measure(|| end(self.start(flow))).bytes_current;
        assert!(kept < KEPT_MAX, "{kept} bytes are kept");
    }
}

#[test]
fn timers_that_were_cancelled_keep_nothing() {
    // The tests share the depot of blocks.
    let _alone = alone();
    let stand = stand();
    stand.keeps_nothing(
        || Flow::Continue,
        |timers| timers.iter().for_each(Timer::cancel),
    );
    // A timer that stays does not keep the room of the others.
    let stays = self::stand();
    stays.keeps_nothing(
        || Flow::Continue,
        |timers| timers[1..].iter().for_each(Timer::cancel),
    );
}

#[test]
fn timers_that_have_fired_keep_nothing() {
    // The tests share the depot of blocks.
    let _alone = alone();
    let stand = stand();
    stand.keeps_nothing(
        || Flow::Continue,
        |_| {
            stand.clock.advance(Duration::from_secs(2));
            (0..16).for_each(|_| stand.here.run());
        },
    );
}

#[test]
fn timers_of_an_undone_turn_keep_nothing() {
    // The tests share the depot of blocks.
    let _alone = alone();
    let stand = stand();
    stand.keeps_nothing(|| Flow::Undo, drop);
}

#[test]
fn timers_to_a_stopped_task_keep_nothing() {
    // The tests share the depot of blocks.
    let _alone = alone();
    let here = Sponsor::builder().here().unwrap();
    let gone = here.spawn(does(|(), _| Flow::Stop));
    gone.send(()).unwrap();
    here.run();
    let doer = here.spawn(does(move |flow: fn() -> Flow, turn: &Turn<'_, _>| {
        for _ in 0..TIMERS {
            turn.start_own_timer(Duration::from_secs(1), &gone, ())
                .unwrap_err();
        }
        flow()
    }));
    let round = |flow: fn() -> Flow| {
        doer.send(flow).unwrap();
        here.run();
    };
    round(|| Flow::Undo);
    for flow in [|| Flow::Continue, || Flow::Undo] as [fn() -> Flow; 2] {
        let kept = measure(|| round(flow)).bytes_current;
        assert!(kept < KEPT_MAX, "{kept} bytes are kept");
    }
}
