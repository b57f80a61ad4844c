//! Tests that a timer frees all of its memory when it ends.
#![forbid(unsafe_code)]

mod common;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use common::{local, settle};
use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{
    Actor, Address, Context, Incoming, Local, Next, NoReply, Reply, System, behavior, behaviors,
    behaviors::Request,
};
use garrick_sched::{Audit, audit};
use garrick_testkit::{fail, ms, silence_panics};

const HOUR: Duration = Duration::from_secs(3_600);

/// An actor that answers every question immediately, or never.
struct Asked {
    kept: Vec<Reply<u32>>,
    answers: bool,
}

impl Actor for Asked {
    type Msg = Request<(), u32>;
    type Outcome = ();

    fn receive(&mut self, ((), reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        if self.answers {
            reply.send(1);
        } else {
            self.kept.push(reply);
        }
    }
}

fn asked(local: &Local, answers: bool) -> Address<Request<(), u32>> {
    let kept = Vec::new();
    local.spawn(Asked { kept, answers })
}

/// An actor that asks a given number of questions, one after another. It can panic at each answer.
struct Asker {
    asked: Address<Request<(), u32>>,
    panics: bool,
}

enum Ask {
    Again(u32),
    Answered(u32, Result<u32, NoReply>),
}

impl Actor for Asker {
    type Msg = Ask;
    type Outcome = ();

    fn receive(&mut self, ask: Ask, cx: &mut Context<'_, Ask>) {
        let left = match ask {
            Ask::Again(left) => left,
            Ask::Answered(left, answer) => {
                assert_eq!(answer, Ok(1));
                left
            }
        };
        if left > 0 {
            let panics = self.panics;
            let convert = move |answer| {
                if panics {
                    fail()
                }
                Ask::Answered(left - 1, answer)
            };
            cx.ask_within(HOUR, &self.asked, |reply| ((), reply), convert);
        }
    }
}

/// Number of repetitions of the action that a test measures.
const TIMES: usize = 2_000;

/// Lock for tests that count memory blocks, because all tests of the process share one counter.
static COUNTING: Mutex<()> = Mutex::new(());

/// Repeats an action that creates actors and messages, which have ended when the action returns.
/// Checks that on average, less than half a memory block per repetition stays in use. A worker may
/// keep some blocks in its pool.
#[track_caller]
fn leaves_nothing(local: &Local, does: impl Fn()) {
    (0..TIMES).for_each(|_| does());
    settle(local);
    let blocks = |audit: Audit| audit.cells + audit.envelopes;
    let before = blocks(audit());
    (0..TIMES).for_each(|_| does());
    settle(local);
    let kept = blocks(audit()).saturating_sub(before);
    assert!(kept < TIMES as u64 / 2, "{kept} blocks are kept");
}

fn counting() -> MutexGuard<'static, ()> {
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn asks_that_were_answered_leave_nothing() {
    let _counting = counting();
    let (_clock, local) = local();
    let asked = asked(&local, true);
    let panics = false;
    let asker = local.spawn(Asker {
        asked: asked.clone(),
        panics,
    });
    leaves_nothing(&local, || {
        assert!(asker.send(Ask::Again(10)).is_ok());
        let handle = local.handle();
        let answer = handle.ask_within(HOUR, &asked, |reply| ((), reply));
        settle(&local);
        assert_eq!(answer.wait(), Ok(1));
    });
    assert_eq!(local.handle().dead_letters(), 0);
}

/// The conversion of the answer panics. Therefore, the turn that has cancelled the timer is undone.
#[test]
fn answers_whose_conversion_panics_leave_nothing() {
    let _counting = counting();
    silence_panics();
    let (_clock, local) = local();
    let asked = asked(&local, true);
    let panics = true;
    let asker = local.spawn(Asker { asked, panics });
    leaves_nothing(&local, || {
        assert!(asker.send(Ask::Again(10)).is_ok());
        settle(&local);
    });
}

#[test]
fn services_that_answered_in_time_leave_nothing() {
    let _counting = counting();
    let (_clock, local) = local();
    let timed = behaviors::timeout(&local.handle(), asked(&local, true), HOUR);
    leaves_nothing(&local, || {
        let answer = timed.ask(|reply| ((), reply));
        settle(&local);
        assert_eq!(answer.wait(), Ok(1));
    });
    assert_eq!(local.handle().dead_letters(), 0);
}

#[test]
fn futures_that_end_leave_no_sleep() {
    let _counting = counting();
    let (_clock, local) = local();
    leaves_nothing(&local, || {
        let sleeper = local.spawn(|mailbox: Incoming<()>| async move {
            let cx = mailbox.context();
            let mut sleep = pin!(cx.sleep(HOUR));
            let mut is_over = false;
            poll_fn(|context| {
                assert!(sleep.as_mut().poll(context).is_pending());
                if std::mem::replace(&mut is_over, true) {
                    return Poll::Ready(());
                }
                // Its alarm is set meanwhile.
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        });
        settle(&local);
        assert!(sleeper.is_stopped());
    });
}

/// An actor that starts timers of one hour when it starts, and keeps none of the handles.
struct Starts;

impl Actor for Starts {
    type Msg = u32;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, u32>) -> Next {
        cx.start_timer(HOUR, &cx.address(), 1).unwrap();
        cx.send_every(HOUR, &cx.address(), 2).unwrap();
        Next::Continue
    }

    fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) -> Next {
        Next::Stop
    }
}

#[test]
fn actors_that_end_leave_no_timers() {
    let _counting = counting();
    let (_clock, local) = local();
    leaves_nothing(&local, || {
        let starts = local.spawn(Starts);
        settle(&local);
        starts.send(0).unwrap();
        settle(&local);
        assert!(starts.is_stopped());
        let waits = local.actor(Starts).receive_timeout(HOUR, || 1).spawn();
        settle(&local);
        waits.send(0).unwrap();
        settle(&local);
        assert!(waits.is_stopped());
    });
}

/// An actor that starts timers when it starts. It reports its start and each timer message, and
/// panics on request.
struct Restarted {
    told: Sender<&'static str>,
}

#[derive(Clone)]
enum Heard {
    Fail,
    Rung,
}

impl Actor for Restarted {
    type Msg = Heard;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Heard>) {
        self.told.send("started").unwrap();
        cx.start_timer(ms(10), &cx.address(), Heard::Rung).ok();
        cx.send_every(ms(20), &cx.address(), Heard::Rung).unwrap();
    }

    fn receive(&mut self, heard: Heard, _: &mut Context<'_, Heard>) {
        match heard {
            Heard::Fail => fail(),
            Heard::Rung => self.told.send("rung").unwrap(),
        }
    }
}

#[test]
fn a_restart_ends_the_timers_of_the_one_before() {
    let _counting = counting();
    silence_panics();
    let (clock, local) = local();
    let (told, heard) = channel();
    let tree = Supervisor::new("tree", Strategy::OneForOne).spawn(&local.handle());
    let tree = tree.unwrap();
    let child = tree
        .handle()
        .actor(move || Restarted { told: told.clone() })
        .named("child")
        .supervised_by(&tree)
        .spawn();
    settle(&local);
    let child = child.unwrap();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["started"]);
    for _ in 0..3 {
        assert!(child.send(Heard::Fail).is_ok());
        settle(&local);
    }
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["started"; 3]);
    // One that rings once and one that has rung twice by then.
    clock.advance(ms(45));
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["rung"; 2]);
}

/// Any thread can cancel a timer, even after the system of the timer has ended.
#[test]
fn a_timer_is_cancelled_from_outside() {
    let _counting = counting();
    let system = System::builder().workers(2).start().unwrap();
    let (timers, started) = channel();
    let act = move |(), cx: &mut garrick_actor::BehaviorContext<'_, ()>| {
        let timer = cx.start_timer(HOUR, &cx.address(), ()).unwrap();
        let every = cx.send_every(HOUR, &cx.address(), ()).unwrap();
        timers.send([timer, every]).unwrap();
        Next::Continue
    };
    let actor = system.spawn(behavior(act)).unwrap();
    actor.send(()).unwrap();
    let pair = started.recv().unwrap();
    pair.iter().for_each(garrick_actor::Timer::cancel);
    actor.send(()).unwrap();
    let pair = started.recv().unwrap();
    system.shutdown();
    pair.iter().for_each(garrick_actor::Timer::cancel);
}
