//! Tests of timers: single and periodic messages, cancellation, delays, undone turns, and the end
//! of the actor that set a timer.
#![forbid(unsafe_code)]

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use common::settle;
use garrick_actor::behaviors::broadcast;
use garrick_actor::error::SendEveryError;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context, Local, Next, Timer, behavior};
use garrick_testkit::{ByHand, fail, ms, silence_panics};

/// An actor that runs the closure in each message, and holds a timer.
#[derive(Default)]
struct Doer {
    timer: Option<Timer>,
}

type Deed = Box<dyn FnOnce(&mut Doer, &mut Context<'_, Do>) -> Next>;
struct Do(Deed);

impl Actor for Doer {
    type Msg = Do;
    type Outcome = Next;

    fn receive(&mut self, Do(deed): Do, cx: &mut Context<'_, Do>) -> Next {
        deed(self, cx)
    }
}

/// An actor that records the numbers it receives.
struct Listener(Rc<RefCell<Vec<u64>>>);

impl Actor for Listener {
    type Msg = u64;
    type Outcome = Next;

    fn receive(&mut self, n: u64, _: &mut Context<'_, u64>) -> Next {
        self.0.borrow_mut().push(n);
        if n == STOP {
            Next::Stop
        } else {
            Next::Continue
        }
    }
}

/// The number at which a listener stops.
const STOP: u64 = 99;

struct Stand {
    clock: Arc<ByHand>,
    local: Local,
    doer: Address<Do>,
    listener: Address<u64>,
    heard: Rc<RefCell<Vec<u64>>>,
}

fn stand() -> Stand {
    let (clock, local) = common::local();
    let heard = Rc::default();
    let doer = local.spawn(Doer::default());
    let listener = local.spawn(Listener(Rc::clone(&heard)));
    Stand {
        clock,
        local,
        doer,
        listener,
        heard,
    }
}

impl Stand {
    fn turn(&self, deed: impl FnOnce(&mut Doer, &mut Context<'_, Do>) -> Next + 'static) {
        self.doer.send(Do(Box::new(deed))).unwrap();
        settle(&self.local);
    }

    /// Starts a periodic timer of 10 ms, in a turn with the outcome that `end` returns.
    fn every_10_ms(&self, end: impl FnOnce() -> Next + 'static) {
        let to = self.listener.clone();
        self.turn(move |doer, cx| {
            doer.timer = Some(cx.send_every(ms(10), &to, 1).unwrap());
            end()
        });
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
        settle(&self.local);
    }

    fn heard(&self) -> Vec<u64> {
        self.heard.take()
    }
}

#[test]
fn a_message_comes_once_and_not_early() {
    let stand = stand();
    let to = stand.listener.clone();
    stand.turn(move |_, cx| {
        cx.send_after(ms(5), &to, 1).unwrap();
        cx.start_timer(ms(6), &to, 2).unwrap();
        Next::Continue
    });
    stand.pass(ms(4));
    assert_eq!(stand.heard(), []);
    stand.pass(ms(3));
    assert_eq!(stand.heard(), [1, 2]);
    stand.pass(ms(100));
    assert_eq!(stand.heard(), []);
}

#[test]
fn a_cancelled_timer_is_silent() {
    let stand = stand();
    let to = stand.listener.clone();
    stand.turn(move |doer, cx| {
        doer.timer = Some(cx.start_timer(ms(5), &to, 1).unwrap());
        Next::Continue
    });
    stand.turn(|doer, _| {
        doer.timer.as_ref().unwrap().cancel();
        Next::Continue
    });
    stand.pass(ms(10));
    assert_eq!(stand.heard(), []);
    stand.every_10_ms(|| Next::Continue);
    stand.pass(ms(11));
    stand.turn(|doer, _| {
        doer.timer.as_ref().unwrap().cancel();
        Next::Continue
    });
    stand.pass(ms(50));
    assert_eq!(stand.heard(), [1]);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn cancelling_is_undone_with_its_turn() {
    let stand = stand();
    stand.every_10_ms(|| Next::Continue);
    stand.turn(|doer, _| {
        doer.timer.as_ref().unwrap().cancel();
        Next::Undo
    });
    stand.pass(ms(11));
    assert_eq!(stand.heard(), [1]);
}

#[test]
fn a_timer_of_an_undone_turn_never_was() {
    silence_panics();
    let stand = stand();
    stand.every_10_ms(|| Next::Undo);
    // The handle in the field is that of nothing, and harmless.
    stand.turn(|doer, _| {
        doer.timer.take().unwrap().cancel();
        Next::Continue
    });
    stand.every_10_ms(|| fail());
    stand.pass(ms(50));
    assert_eq!(stand.heard(), []);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn a_periodic_timer_does_not_drift() {
    let stand = stand();
    stand.every_10_ms(|| Next::Continue);
    stand.pass(ms(1));
    // It runs at 14, 21, 34, 41 and so on: late by 4 ms or 1 ms, and due at 10, 20, 30 and 40 all
    // the same.
    for _ in 0..10 {
        stand.pass(ms(13));
        stand.pass(ms(7));
    }
    assert_eq!(stand.heard().len(), 20);
}

#[test]
fn periods_that_were_missed_come_as_one_message() {
    let stand = stand();
    let to = stand.listener.clone();
    stand.turn(move |_, cx| {
        cx.send_every_with(ms(10), &to, |periods| periods).unwrap();
        Next::Continue
    });
    stand.pass(ms(11));
    stand.pass(ms(34));
    stand.pass(ms(4));
    assert_eq!(stand.heard(), [1, 3]);
    stand.pass(ms(2));
    assert_eq!(stand.heard(), [1]);
}

#[test]
fn a_period_of_zero_and_a_stopped_receiver_are_errors() {
    let stand = stand();
    let to = stand.listener.clone();
    stand.turn(move |_, cx| {
        let error = cx.send_every(Duration::ZERO, &to, 5).unwrap_err();
        assert_eq!(error, SendEveryError::ZeroPeriod(5));
        assert!(error.to_string().contains("zero"));
        Next::Continue
    });
    stand.listener.send(STOP).unwrap();
    settle(&stand.local);
    let to = stand.listener.clone();
    stand.turn(move |_, cx| {
        let error = cx.send_every(ms(1), &to, 5).unwrap_err();
        assert_eq!(error, SendEveryError::Stopped(5));
        assert_eq!(cx.start_timer(ms(1), &to, 6).unwrap_err().0, 6);
        assert_eq!(cx.send_after(ms(1), &to, 7).unwrap_err().0, 7);
        Next::Continue
    });
    assert_eq!(stand.local.handle().failures(), 0);
}

#[test]
fn timers_end_with_the_actor_that_started_them() {
    silence_panics();
    let ends: [fn() -> Next; 2] = [|| Next::Stop, || fail()];
    for end in ends {
        let stand = stand();
        stand.every_10_ms(|| Next::Continue);
        let to = stand.listener.clone();
        stand.turn(move |_, cx| {
            cx.start_timer(ms(25), &to, 2).unwrap();
            Next::Continue
        });
        stand.pass(ms(11));
        stand.turn(move |_, _| end());
        stand.pass(ms(50));
        assert_eq!(stand.heard(), [1]);
        assert_eq!(stand.local.handle().dead_letters(), 0);
    }
}

#[test]
fn a_timer_for_another_does_not_keep_its_actor() {
    let Stand {
        clock,
        local,
        doer,
        listener,
        heard,
    } = stand();
    let deed = move |_: &mut Doer, cx: &mut Context<'_, Do>| {
        cx.send_every(ms(10), &listener, 1).unwrap();
        Next::Continue
    };
    doer.send(Do(Box::new(deed))).unwrap();
    settle(&local);
    drop(doer);
    settle(&local);
    clock.advance(ms(50));
    settle(&local);
    assert_eq!(heard.take(), []);
}

#[test]
fn a_timer_that_is_started_by_the_last_turn_ends_with_it() {
    let stand = stand();
    stand.every_10_ms(|| Next::Stop);
    stand.pass(ms(50));
    assert_eq!(stand.heard(), []);
}

#[test]
fn a_periodic_timer_ends_when_its_receiver_has_stopped() {
    let stand = stand();
    stand.every_10_ms(|| Next::Continue);
    stand.listener.send(STOP).unwrap();
    stand.pass(ms(50));
    stand.pass(ms(50));
    assert_eq!(stand.heard(), [STOP]);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn a_periodic_timer_outlives_a_time_in_which_there_is_no_room() {
    // A door in front of the mailbox need not show that the mailbox is bounded.
    for through in [Address::clone, |to: &Address<u64>| {
        broadcast(vec![to.clone()])
    }] {
        let (clock, local) = common::local();
        let full = Mailbox::bounded(1, OnFull::Fail).unwrap();
        let front = local.spawn(Doer::default());
        let (told, ticks) = std::sync::mpsc::channel();
        let bounded = local.actor(behavior(move |n: u64, _| told.send(n).unwrap()));
        let bounded = bounded.mailbox(full).spawn();
        let to = through(&bounded);
        front
            .send(Do(Box::new(move |_, cx| {
                cx.send_every_with(ms(10), &to, |periods| periods).unwrap();
                Next::Continue
            })))
            .unwrap();
        settle(&local);
        // The place is taken while three periods pass.
        let place = local.block_on(bounded.place());
        clock.advance(ms(1));
        for _ in 0..3 {
            clock.advance(ms(10));
            settle(&local);
        }
        assert!(ticks.try_recv().is_err());
        drop(place);
        clock.advance(ms(10));
        settle(&local);
        clock.advance(ms(10));
        settle(&local);
        assert_eq!(ticks.try_iter().collect::<Vec<_>>(), [4, 1]);
    }
}
