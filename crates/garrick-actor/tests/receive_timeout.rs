//! Tests of the receive timeout: one message per silence, cancellation, and changes of the timeout.
//! The timeout does not keep an actor alive.
#![forbid(unsafe_code)]

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use common::settle;
use garrick_actor::error::NoReceiveTimeout;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Decision, Strategy, Supervisor};
use garrick_actor::{Actor, Address, Context, Handle, Local, Next, System, behavior};
use garrick_testkit::{ByHand, fail, ms, silence_panics};

/// An actor that counts how often its receive timeout has passed.
struct Hermit {
    silences: Rc<RefCell<u32>>,
    /// Outcome of each turn that handles a receive timeout.
    then: Next,
}

#[derive(Clone, Copy)]
enum Msg {
    Knock,
    KnockAndUndo,
    Set(u64),
    SetAndUndo(u64),
    Cancel,
    Silence,
    Stop,
}

impl Actor for Hermit {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Knock => {}
            Msg::KnockAndUndo => return Next::Undo,
            Msg::Set(time) => cx.set_receive_timeout(ms(time)).unwrap(),
            Msg::SetAndUndo(time) => {
                cx.set_receive_timeout(ms(time)).unwrap();
                return Next::Undo;
            }
            Msg::Cancel => cx.cancel_receive_timeout().unwrap(),
            Msg::Silence => {
                *self.silences.borrow_mut() += 1;
                return self.then;
            }
            Msg::Stop => return Next::Stop,
        }
        Next::Continue
    }
}

struct Stand {
    clock: Arc<ByHand>,
    local: Local,
    hermit: Address<Msg>,
    silences: Rc<RefCell<u32>>,
}

/// Spawns an actor with a receive timeout of 10 ms.
fn stand() -> Stand {
    stand_of(Next::Continue)
}

/// Spawns an actor with a receive timeout of 10 ms. `then` is the outcome of each turn that handles
/// the timeout.
fn stand_of(then: Next) -> Stand {
    let (clock, local) = common::local();
    let silences = Rc::default();
    let hermit = Hermit {
        silences: Rc::clone(&silences),
        then,
    };
    let hermit = local.actor(hermit).stash(1);
    let hermit = hermit.receive_timeout(ms(10), || Msg::Silence).spawn();
    settle(&local);
    Stand {
        clock,
        local,
        hermit,
        silences,
    }
}

impl Stand {
    fn pass(&self, time: Duration) {
        self.clock.advance(time);
        settle(&self.local);
    }

    fn tell(&self, msg: Msg) {
        self.hermit.send(msg).unwrap();
        settle(&self.local);
    }

    fn silences(&self) -> u32 {
        *self.silences.borrow()
    }
}

#[test]
fn silence_is_told_once_from_the_start_on() {
    let stand = stand();
    stand.pass(ms(9));
    assert_eq!(stand.silences(), 0);
    stand.pass(ms(2));
    assert_eq!(stand.silences(), 1);
    stand.pass(ms(100));
    assert_eq!(stand.silences(), 1);
}

#[test]
fn every_message_puts_it_off() {
    let stand = stand();
    for _ in 0..10 {
        stand.pass(ms(9));
        stand.tell(Msg::Knock);
    }
    assert_eq!(stand.silences(), 0);
    stand.pass(ms(11));
    assert_eq!(stand.silences(), 1);
    stand.tell(Msg::Knock);
    stand.pass(ms(9));
    assert_eq!(stand.silences(), 1);
    stand.pass(ms(2));
    assert_eq!(stand.silences(), 2);
}

#[test]
fn an_undone_turn_does_not_put_it_off() {
    let stand = stand();
    stand.pass(ms(5));
    stand.tell(Msg::KnockAndUndo);
    stand.tell(Msg::SetAndUndo(1_000));
    stand.pass(ms(6));
    assert_eq!(stand.silences(), 1);
}

#[test]
fn the_next_message_starts_the_time_after_an_undone_silence() {
    let stand = stand_of(Next::Undo);
    for told in 1..4 {
        stand.pass(ms(11));
        assert_eq!(stand.silences(), told);
        stand.pass(ms(11));
        assert_eq!(stand.silences(), told, "nothing has come since");
        stand.tell(Msg::Knock);
    }
}

#[test]
fn the_next_message_starts_the_time_after_a_silence_that_has_failed() {
    silence_panics();
    let (clock, local) = common::local();
    let tree = Supervisor::new("tree", Strategy::OneForOne)
        .report_restarts(false)
        .spawn(&local.handle())
        .unwrap();
    let silences = Arc::new(AtomicU32::new(0));
    let heard = Arc::clone(&silences);
    let hermit = local.actor(move || {
        let heard = Arc::clone(&heard);
        behavior(move |is_silence: bool, _| {
            if is_silence {
                heard.fetch_add(1, Relaxed);
                fail();
            }
        })
    });
    let hermit = hermit
        .receive_timeout(ms(10), || true)
        .supervised_by(&tree)
        .decide(|_: &_| Decision::Resume)
        .spawn()
        .unwrap();
    settle(&local);
    for told in 1..4 {
        clock.advance(ms(11));
        settle(&local);
        assert_eq!(silences.load(Relaxed), told);
        hermit.send(false).unwrap();
        settle(&local);
    }
}

#[test]
fn it_can_be_made_shorter_and_longer() {
    let stand = stand();
    stand.tell(Msg::Set(3));
    stand.pass(ms(4));
    assert_eq!(stand.silences(), 1);
    stand.tell(Msg::Set(30));
    stand.pass(ms(29));
    assert_eq!(stand.silences(), 1);
    stand.pass(ms(2));
    assert_eq!(stand.silences(), 2);
}

#[test]
fn it_can_be_cancelled_and_set_again() {
    let stand = stand();
    stand.tell(Msg::Cancel);
    stand.tell(Msg::Knock);
    stand.pass(ms(100));
    assert_eq!(stand.silences(), 0);
    stand.tell(Msg::Set(10));
    stand.pass(ms(11));
    assert_eq!(stand.silences(), 1);
}

#[test]
fn an_actor_that_has_stopped_is_not_told() {
    let stand = stand();
    stand.tell(Msg::Stop);
    stand.pass(ms(100));
    assert_eq!(stand.silences(), 0);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn an_actor_that_nobody_can_reach_is_told_once_and_then_gone() {
    let Stand {
        clock,
        local,
        hermit,
        silences,
    } = stand();
    drop(hermit);
    settle(&local);
    assert_eq!(Rc::strong_count(&silences), 2);
    clock.advance(ms(11));
    settle(&local);
    assert_eq!(*silences.borrow(), 1);
    assert_eq!(Rc::strong_count(&silences), 1);
}

#[test]
fn an_actor_without_one_is_told_its_mistake() {
    let (_, local) = common::local();
    let plain = local.spawn(behavior(|(): (), cx| {
        assert_eq!(cx.cancel_receive_timeout(), Err(NoReceiveTimeout));
        assert_eq!(cx.set_receive_timeout(ms(1)), Err(NoReceiveTimeout));
    }));
    plain.send(()).unwrap();
    settle(&local);
    assert_eq!(local.handle().failures(), 0);
}

#[test]
fn an_actor_that_has_moved_is_told_though_its_old_system_has_ended() {
    let (clock, near) = common::local();
    let far = System::builder().world(clock.clone()).local().unwrap();
    let silences = Arc::new(AtomicU32::new(0));
    let told = Arc::clone(&silences);
    let hermit = behavior(move |msg: Msg, _| {
        if let Msg::Silence = msg {
            told.fetch_add(1, Relaxed);
        }
    });
    let handle = near.handle();
    let hermit = handle.actor(hermit);
    let hermit = hermit.receive_timeout(ms(10), || Msg::Silence);
    let hermit = hermit.spawn().unwrap();
    settle(&near);
    let to = hermit.clone();
    let mover = near.spawn(behavior(move |far: Handle, cx| {
        cx.send_on(&far, &to, Msg::Knock).unwrap();
    }));
    mover.send(far.handle()).unwrap();
    settle(&near);
    settle(&far);
    drop(near);
    hermit.send(Msg::Knock).unwrap();
    settle(&far);
    clock.advance(ms(9));
    settle(&far);
    assert_eq!(silences.load(Relaxed), 0);
    clock.advance(ms(2));
    settle(&far);
    assert_eq!(silences.load(Relaxed), 1);
}

#[test]
fn a_timeout_goes_on_though_a_full_mailbox_has_dropped_its_message() {
    let (clock, local) = common::local();
    let (silences, knocks) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let counts = (silences.clone(), knocks.clone());
    let hermit = behavior(move |is_silence: bool, _| {
        let count = if is_silence { &counts.0 } else { &counts.1 };
        count.fetch_add(1, Relaxed);
    });
    // The first silence is told behind so many messages that the mailbox drops its message.
    let own = Arc::new(OnceLock::<Address<bool>>::new());
    let (known, is_first) = (own.clone(), AtomicBool::new(true));
    let make = move || {
        if is_first.swap(false, Relaxed) {
            (0..2_000).for_each(|_| known.get().unwrap().send(false).unwrap());
        }
        true
    };
    let mailbox = Mailbox::bounded(1, OnFull::DropOldest).unwrap();
    let hermit = local.actor(hermit).mailbox(mailbox);
    let hermit = hermit.receive_timeout(ms(10), make).spawn();
    own.set(hermit).unwrap();
    settle(&local);
    clock.advance(ms(11));
    settle(&local);
    let counts = || (silences.load(Relaxed), knocks.load(Relaxed));
    assert_eq!(counts(), (0, 1));
    clock.advance(ms(11));
    settle(&local);
    assert_eq!(counts(), (1, 1));
    // This time the message has arrived, and the timeout is over.
    clock.advance(ms(11));
    settle(&local);
    assert_eq!(counts(), (1, 1));
}
