//! Tests of cancelled timers. They are cancelled before or after they fire: by their turn, by
//! another thread, by the end of their owner, or because their turn is undone.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::{Listening, does};
use garrick_sched::{
    Address, Flow, Here, Nanos, Sponsor, Task, Timer, Turn, audit, cancel_timers_of,
};
use garrick_testkit::{OnDrop, ends, fail, silence_panics};

const HOUR: Nanos = 3_600_000_000_000;

/// A message whose destructor calls a function.
type Dropping = OnDrop<Box<dyn FnMut() + Send>>;

fn dropping(does: impl FnMut() + Send + 'static) -> Dropping {
    OnDrop(Box::new(does))
}

type Job = Box<dyn FnOnce(&Turn<'_, Do>) -> Flow + Send>;

/// A function that a [`Doer`] calls in its turn.
struct Do(Job);

/// A task that runs the functions that it receives.
struct Doer;

impl Task for Doer {
    type Message = Do;

    fn receive(&mut self, Do(job): Do, turn: &Turn<'_, Do>) -> Flow {
        job(turn)
    }
}

/// A setup for tests of timers, with a task that runs functions.
struct Stand {
    on: Listening,
    doer: Address<Do>,
}

fn stand() -> Stand {
    let on = Listening::new();
    let doer = on.here.spawn(Doer);
    Stand { on, doer }
}

impl Stand {
    fn turn(&self, job: impl FnOnce(&Turn<'_, Do>) -> Flow + Send + 'static) {
        assert!(self.doer.send(Do(Box::new(job))).is_ok());
        self.on.here.run();
    }

    /// Sets a timer of 1 ms in a turn that ends with `flow`. The timer belongs to the task of the
    /// turn or to no task.
    fn set(&self, is_owned: bool, flow: fn() -> Flow) -> Timer {
        let (to, made) = (self.on.listener.clone(), Arc::new(Mutex::new(None)));
        let made_there = made.clone();
        self.turn(move |turn| {
            let timer = made_there.lock().unwrap().insert(turn.timer()).clone();
            set(turn, &timer, 1_000_000, &to, is_owned);
            flow()
        });
        made.lock().unwrap().take().unwrap()
    }

    /// Returns the messages that were received when all due timers have fired.
    fn heard(&self) -> Vec<u64> {
        self.on.clock.advance(Duration::from_secs(1));
        self.on.heard()
    }
}

fn set(turn: &Turn<'_, Do>, timer: &Timer, after: Nanos, to: &Address<u64>, is_owned: bool) {
    let deadline = turn.now() + after;
    let set = if is_owned {
        turn.set_own_timer(timer, deadline, to, 7)
    } else {
        turn.set_timer(timer, deadline, to, 7)
    };
    set.unwrap();
}

#[test]
fn a_timer_fires_once_if_nobody_cancels_it() {
    let stand = stand();
    for is_owned in [false, true] {
        let timer = stand.set(is_owned, || Flow::Continue);
        assert_eq!(stand.heard(), [7]);
        // The timer is over.
        timer.cancel();
        timer.cancel();
        assert_eq!(stand.heard(), []);
    }
}

#[test]
fn a_timer_that_is_cancelled_never_fires() {
    let stand = stand();
    for is_owned in [false, true] {
        let timer = stand.set(is_owned, || Flow::Continue);
        timer.cancel();
        timer.cancel();
        assert_eq!(stand.heard(), []);
        // In a turn, and twice.
        let timer = stand.set(is_owned, || Flow::Continue);
        stand.turn(move |_| {
            timer.cancel();
            timer.cancel();
            Flow::Continue
        });
        assert_eq!(stand.heard(), []);
    }
}

#[test]
fn a_turn_may_cancel_what_it_has_set() {
    let stand = stand();
    let to = stand.on.listener.clone();
    stand.turn(move |turn| {
        let (first, second) = (turn.timer(), turn.timer());
        set(turn, &first, 1, &to, true);
        set(turn, &second, 1, &to, false);
        first.cancel();
        second.cancel();
        Flow::Continue
    });
    assert_eq!(stand.heard(), []);
}

#[test]
fn an_undone_turn_has_cancelled_and_set_nothing() {
    silence_panics();
    let stand = stand();
    let timer = stand.set(true, || Flow::Continue);
    stand.turn(move |_| {
        timer.cancel();
        Flow::Undo
    });
    let undone = stand.set(true, || Flow::Undo);
    assert_eq!(stand.heard(), [7]);
    undone.cancel();
    let timer = stand.set(false, || Flow::Continue);
    stand.turn(move |_| {
        timer.cancel();
        fail()
    });
    assert_eq!(stand.heard(), [7]);
}

#[test]
fn a_timer_that_repeats_is_set_again_and_again_and_replaced() {
    let stand = stand();
    let timer = Timer::repeating();
    for _ in 0..3 {
        let (to, timer) = (stand.on.listener.clone(), timer.clone());
        stand.turn(move |turn| {
            set(turn, &timer, HOUR, &to, true);
            set(turn, &timer, 1, &to, true);
            Flow::Continue
        });
        assert_eq!(stand.heard(), [7]);
    }
    assert!(!timer.is_cancelled());
    timer.cancel();
    assert!(timer.is_cancelled());
    let to = stand.on.listener.clone();
    stand.turn(move |turn| {
        set(turn, &timer, 1, &to, true);
        Flow::Continue
    });
    assert_eq!(stand.heard(), []);
}

#[test]
fn timers_end_with_their_owner_or_when_it_begins_anew() {
    let stand = stand();
    let kept = stand.set(false, || Flow::Continue);
    stand.set(true, || Flow::Continue);
    stand.set(true, || Flow::Continue);
    cancel_timers_of(stand.doer.id());
    assert_eq!(stand.heard(), [7]);
    kept.cancel();
    stand.set(false, || Flow::Continue);
    stand.set(true, || Flow::Continue);
    // The last turn sets one, too.
    stand.set(true, || Flow::Stop);
    assert!(stand.doer.is_stopped());
    assert_eq!(stand.heard(), [7]);
}

#[test]
fn a_message_for_one_that_has_stopped_is_no_dead_letter() {
    let stand = stand();
    stand.set(true, || Flow::Continue);
    stand.on.listener.stop();
    assert_eq!(stand.heard(), []);
    assert_eq!(stand.on.here.handle().dead_letters(), 0);
    let stand = self::stand();
    stand.set(false, || Flow::Continue);
    let handle = stand.on.here.handle();
    drop(stand);
    assert_eq!(handle.dead_letters(), 0);
}

/// Returns a function that makes a task for each message, which is dropped with the message.
fn keeps(here: &Here, dropped: &Arc<AtomicUsize>) -> impl Fn(&Turn<'_, Do>) -> Timer + use<> {
    let dropped = dropped.clone();
    let to = here.spawn(does(|_: Dropping, _: &Turn<'_, Dropping>| Flow::Continue));
    move |turn| {
        let (dropped, timer) = (dropped.clone(), turn.timer());
        let message = dropping(move || {
            dropped.fetch_add(1, Relaxed);
        });
        let set = turn.set_own_timer(&timer, turn.now() + HOUR, &to, message);
        assert!(set.is_ok());
        timer
    }
}

#[test]
fn what_is_cancelled_is_dropped_at_once() {
    let stand = stand();
    let dropped = Arc::new(AtomicUsize::new(0));
    let start = keeps(&stand.on.here, &dropped);
    let before = audit();
    const COUNT: usize = 10_000;
    let timers = Arc::new(Mutex::new(Vec::new()));
    let started = timers.clone();
    stand.turn(move |turn| {
        started
            .lock()
            .unwrap()
            .extend((0..COUNT).map(|_| start(turn)));
        Flow::Continue
    });
    assert_ne!(audit(), before);
    let timers = std::mem::take(&mut *timers.lock().unwrap());
    let (mine, others) = timers.split_at(COUNT / 2);
    // By a turn, by a stranger, and by the end of the owner.
    let mine = mine.to_vec();
    stand.turn(move |_| {
        mine.iter().for_each(Timer::cancel);
        Flow::Continue
    });
    assert_eq!(dropped.load(Relaxed), COUNT / 2);
    let (mine, rest) = others.split_at(COUNT / 4);
    thread::scope(|scope| {
        scope.spawn(|| mine.iter().for_each(Timer::cancel));
    });
    assert_eq!(dropped.load(Relaxed), COUNT / 2 + COUNT / 4);
    stand.doer.stop();
    stand.on.here.run();
    assert_eq!(dropped.load(Relaxed), COUNT);
    assert_eq!(rest.len(), COUNT / 4);
}

/// Checks that a message can cancel and set timers while it is dropped.
#[test]
fn a_message_may_cancel_and_send_while_it_is_dropped() {
    let stand = stand();
    let (to, other) = (
        stand.on.listener.clone(),
        stand.set(true, || Flow::Continue),
    );
    let receiver = stand
        .on
        .here
        .spawn(does(|_: Dropping, _: &Turn<'_, Dropping>| Flow::Continue));
    stand.turn(move |turn| {
        let timer = turn.timer();
        let message = dropping(move || {
            other.cancel();
            to.send(3).unwrap();
        });
        let set = turn.set_own_timer(&timer, turn.now() + HOUR, &receiver, message);
        assert!(set.is_ok());
        timer.cancel();
        Flow::Continue
    });
    assert_eq!(stand.heard(), [3]);
}

/// Another thread cancels each of many timers, which are all due at the same time, while workers
/// fire the timers. Each timer either fires, or its message is dropped. After the call of `cancel`,
/// no message comes any more, even if the timer had already fired.
#[test]
fn a_timer_is_cancelled_or_fires() {
    const ROUNDS: usize = 200;
    const TIMERS: usize = 64;
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let fired = Arc::new(AtomicUsize::new(0));
        let dropped = Arc::new(AtomicUsize::new(0));
        let counts = fired.clone();
        let counter = does(move |message: Dropping, _: &Turn<'_, Dropping>| {
            counts.fetch_add(1, Relaxed);
            drop(message);
            Flow::Continue
        });
        let counter = sponsor.handle().spawn(counter).unwrap();
        let doer = sponsor.handle().spawn(Doer).unwrap();
        for _ in 0..ROUNDS {
            let (timers, set) = channel();
            let (to, dropped) = (counter.clone(), dropped.clone());
            let both = Arc::new(Barrier::new(2));
            let meet = both.clone();
            let job = move |turn: &Turn<'_, Do>| {
                for number in 0..TIMERS as u64 {
                    let (timer, dropped) = (turn.timer(), dropped.clone());
                    let message = dropping(move || {
                        dropped.fetch_add(1, Relaxed);
                    });
                    let deadline = turn.now() + 1_000 * number;
                    assert!(turn.set_own_timer(&timer, deadline, &to, message).is_ok());
                    timers.send(timer).unwrap();
                }
                meet.wait();
                Flow::Continue
            };
            assert!(doer.send(Do(Box::new(job))).is_ok());
            both.wait();
            set.iter().for_each(|timer| timer.cancel());
        }
        sponsor.shutdown();
        // Each message was dropped once, handled or not.
        assert_eq!(dropped.load(Relaxed), ROUNDS * TIMERS);
        assert!(fired.load(Relaxed) <= ROUNDS * TIMERS);
    });
}
