//! Problems that users of other actor libraries have reported, as scenarios that must not happen
//! here. Each test is named after the complaint. The parts involved have tests of their own.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use garrick::naming::Topic;
use garrick::prelude::*;
use garrick::supervise::Ended;
use garrick::supervise::{Decision, Strategy, Supervisor};
use garrick_testkit::HANGS_AFTER;

/// Calls a function with each message.
struct Each<M, F>(F, std::marker::PhantomData<fn(M)>);

fn each<M: 'static, F: FnMut(M) + Send + 'static>(function: F) -> Each<M, F> {
    Each(function, std::marker::PhantomData)
}

impl<M: 'static, F: FnMut(M) + Send + 'static> Actor for Each<M, F> {
    type Msg = M;
    type Outcome = ();

    fn receive(&mut self, msg: M, _: &mut Context<'_, M>) {
        (self.0)(msg);
    }
}

#[test]
fn a_send_that_was_accepted_is_never_lost_on_the_way_down() {
    const SENDERS: usize = 3;
    let system = System::builder().workers(2).start().unwrap();
    let handle = system.handle();
    let handled = Arc::new(AtomicU64::new(0));
    let count = handled.clone();
    let sink = system
        .spawn(each(move |_: u64| {
            count.fetch_add(1, SeqCst);
        }))
        .unwrap();
    let begin = Arc::new(Barrier::new(SENDERS + 1));
    let senders = [(); SENDERS].map(|()| {
        let (sink, begin) = (sink.clone(), begin.clone());
        thread::spawn(move || {
            begin.wait();
            // Sends until the actor is gone: then the message comes back.
            (0..).take_while(|n| sink.send(*n).is_ok()).count() as u64
        })
    });
    begin.wait();
    sink.stop();
    let accepted: u64 = senders
        .into_iter()
        .map(|sender| sender.join().unwrap())
        .sum();
    drop(sink);
    system.shutdown();
    assert_eq!(handled.load(SeqCst) + handle.dead_letters(), accepted);
}

#[test]
fn a_second_wait_for_the_same_end_does_not_hang() {
    let system = System::new().unwrap();
    let (told, ends) = mpsc::channel();
    let actor = system.spawn(each(|(): ()| ())).unwrap();
    let watch = |number: u32| {
        let told = told.clone();
        actor.watch(move |ended| told.send((number, ended)).unwrap())
    };
    let (_first, _second) = (watch(1), watch(2));
    actor.stop();
    let mut heard = [(); 2].map(|()| ends.recv_timeout(HANGS_AFTER).unwrap());
    heard.sort_by_key(|(number, _)| *number);
    assert_eq!(heard, [(1, Ended::Stopped), (2, Ended::Stopped)]);
    let _late = watch(3);
    assert_eq!(ends.recv_timeout(HANGS_AFTER).unwrap(), (3, Ended::Before));
}

#[test]
fn a_subscriber_that_lags_is_not_dropped() {
    const EVENTS: u64 = 50_000;
    let (system, slow_system) = (System::new().unwrap(), System::new().unwrap());
    let topic = Topic::spawn(&system.handle()).unwrap();
    let ((enter, gate), (told, heard)) = (mpsc::channel::<()>(), mpsc::channel());
    let mut is_open = false;
    let slow = slow_system.spawn(each(move |event: u64| {
        if !is_open {
            gate.recv_timeout(HANGS_AFTER).unwrap();
            is_open = true;
        }
        told.send(event).unwrap();
    }));
    topic.subscribe(&slow.unwrap()).unwrap();
    (0..EVENTS).for_each(|event| topic.publish(event).unwrap());
    assert_eq!(
        topic.subscribers().wait(),
        Ok(1),
        "all were published before this"
    );
    enter.send(()).unwrap();
    let all = (0..EVENTS).map(|_| heard.recv_timeout(HANGS_AFTER).unwrap());
    assert!(all.eq(0..EVENTS));
}

/// Resource that can exist only once at a time.
struct Resource {
    taken: Arc<AtomicBool>,
    number: u64,
}

enum Use {
    Fail,
    Number(Reply<u64>),
}

impl Actor for Resource {
    type Msg = Use;
    type Outcome = Next;

    fn started(&mut self, _: &mut Context<'_, Use>) -> Next {
        assert!(
            !self.taken.swap(true, SeqCst),
            "the one before is still there"
        );
        Next::Continue
    }

    fn receive(&mut self, msg: Use, cx: &mut Context<'_, Use>) -> Next {
        match msg {
            Use::Fail => return cx.fail("on purpose"),
            Use::Number(reply) => reply.send(self.number),
        }
        Next::Continue
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        self.taken.store(false, SeqCst);
    }
}

#[test]
fn an_address_leads_to_the_living_and_a_start_waits_for_the_stop_before_it() {
    const RESTARTS: u64 = 1000;
    let system = System::builder().workers(2).start().unwrap();
    let tree = Supervisor::new("tree", Strategy::OneForAll)
        .intensity(usize::MAX, Duration::from_secs(1))
        .spawn(&system.handle())
        .unwrap();
    let children = ["a", "b"].map(|name| {
        let taken = Arc::new(AtomicBool::new(false));
        let numbers = AtomicU64::new(1);
        let make = move || {
            let (taken, number) = (taken.clone(), numbers.fetch_add(1, SeqCst));
            Resource { taken, number }
        };
        tree.handle()
            .actor(make)
            .named(name)
            .supervised_by(&tree)
            .decide(|_| Decision::Restart)
            .spawn()
            .unwrap()
    });
    // The addresses are those of the first incarnations, which are long gone at the end.
    for _ in 0..RESTARTS {
        children[0].send(Use::Fail).unwrap();
    }
    let numbers = children.map(|child| child.ask(Use::Number).wait_timeout(HANGS_AFTER));
    assert_eq!(numbers[0], Ok(RESTARTS + 1));
    assert!(
        numbers[1].is_ok_and(|number| number > 1),
        "all are restarted: {numbers:?}"
    );
    assert_eq!(system.handle().failures(), 0, "no start met the one before");
    tree.stop().wait().unwrap();
}

/// Withholds its answer until the other actor answers.
struct Polite {
    other: Option<Address<Say>>,
    told: mpsc::Sender<NoReply>,
    kept: Vec<Reply<()>>,
}

enum Say {
    Meet(Address<Say>),
    AfterYou(Reply<()>),
    Answer(Result<(), NoReply>),
}

impl Actor for Polite {
    type Msg = Say;
    type Outcome = ();

    fn receive(&mut self, msg: Say, cx: &mut Context<'_, Say>) {
        match (msg, &self.other) {
            (Say::Meet(other), _) => self.other = Some(other),
            (Say::AfterYou(reply), Some(other)) => {
                if self.kept.is_empty() {
                    let patience = Duration::from_millis(20);
                    cx.ask_within(patience, other, Say::AfterYou, Say::Answer);
                }
                self.kept.push(reply);
            }
            (Say::AfterYou(_), None) => {}
            (Say::Answer(answer), _) => {
                self.kept.clear();
                if let Err(none @ NoReply::Circle(_)) = answer {
                    self.told.send(none).unwrap();
                }
            }
        }
    }
}

#[test]
fn asks_in_a_circle_end_and_the_error_names_it() {
    let system = System::new().unwrap();
    let (told, errors) = mpsc::channel();
    let polite = || {
        let told = told.clone();
        system
            .spawn(Polite {
                other: None,
                told,
                kept: Vec::new(),
            })
            .unwrap()
    };
    let (one, other) = (polite(), polite());
    one.send(Say::Meet(other.clone())).unwrap();
    other.send(Say::Meet(one.clone())).unwrap();
    let asked = one.ask(Say::AfterYou);
    let error = errors.recv_timeout(HANGS_AFTER).unwrap().to_string();
    assert_eq!(error.matches("Polite -> ").count(), 2, "{error}");
    assert_eq!(asked.wait_timeout(HANGS_AFTER), Err(NoReply::Dropped));
}
