//! Tests of actors that panic. The panicking actor stops, its turn is undone, and all other actors
//! continue.
#![forbid(unsafe_code)]

use std::sync::mpsc;

use garrick_actor::system::Builder;
use garrick_actor::{Actor, Address, Context, Next, NoReply, Reply, System, behavior};

struct Fragile {
    others: Vec<Address<Msg>>,
    spawned: mpsc::Sender<()>,
}

enum Msg {
    Get(Reply<u32>),
    Know(Address<Msg>),
    /// A message that never arrives, because only a turn that fails sends it.
    Poison,
    /// Stage every kind of effect, and then panic.
    Fail(Reply<u32>),
}

/// An actor that notifies the test when it is dropped.
struct Child(mpsc::Sender<()>);

impl Actor for Child {
    type Msg = ();
    type Outcome = Next;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        panic!("nobody can have sent this");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl Actor for Fragile {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
        match msg {
            Msg::Get(reply) => reply.send(1),
            Msg::Know(other) => self.others.push(other),
            Msg::Poison => panic!("the turn that sent this has failed"),
            Msg::Fail(reply) => {
                for other in &self.others {
                    let _ = cx.send(other, Msg::Poison);
                }
                let child = cx.spawn(Child(self.spawned.clone()));
                let _ = child.send(());
                reply.send(2);
                panic!("as told");
            }
        }
    }

    fn name() -> &'static str {
        "fragile"
    }
}

fn quiet() -> (Builder, mpsc::Receiver<String>) {
    let (failed, failures) = mpsc::channel();
    let failed = std::sync::Mutex::new(failed);
    let builder = System::builder().on_failure(move |failure| {
        let line = format!("{}: {}", failure.task, failure.message);
        failed.lock().unwrap().send(line).unwrap();
    });
    (builder, failures)
}

#[test]
fn a_panic_stops_one_actor_and_undoes_its_turn() {
    for workers in [1, 2] {
        let (builder, failures) = quiet();
        let system = builder.workers(workers).start().unwrap();
        let (spawned, dropped) = mpsc::channel();
        let fragile = |spawned: &mpsc::Sender<()>| Fragile {
            others: Vec::new(),
            spawned: spawned.clone(),
        };
        let healthy: Vec<_> = (0..4)
            .map(|_| system.spawn(fragile(&spawned)).unwrap())
            .collect();
        let failing = system.spawn(fragile(&spawned)).unwrap();
        drop(spawned);
        for other in &healthy {
            failing.send(Msg::Know(other.clone())).unwrap();
        }
        let doomed = failing.ask(Msg::Fail);
        let behind = failing.ask(Msg::Get);
        assert_eq!(
            doomed.wait(),
            Err(NoReply::Dropped),
            "an answer is part of the turn"
        );
        assert_eq!(behind.wait(), Err(NoReply::Dropped));
        assert_eq!(failures.recv().unwrap(), "fragile: as told");
        for other in &healthy {
            assert_eq!(other.ask(Msg::Get).wait(), Ok(1), "the others go on");
        }
        assert_eq!(dropped.recv(), Ok(()), "the child of the turn is gone");
        assert_eq!(system.failures(), 1, "what the turn sent did not arrive");
        assert!(
            failing.ask(Msg::Get).wait().is_err(),
            "it handles nothing more"
        );
        system.shutdown();
        assert!(failures.try_recv().is_err());
    }
}

#[test]
fn what_undo_stages_vanishes_and_the_actor_goes_on() {
    let (builder, _failures) = quiet();
    let system = builder.workers(1).start().unwrap();
    let (sent, received) = mpsc::channel();
    let sink = system
        .spawn(behavior(move |n: u32, _| {
            sent.send(n).unwrap();
            Next::Continue
        }))
        .unwrap();
    let doubtful = system
        .spawn(behavior(move |n: u32, cx| {
            let _ = cx.send(&sink, n);
            if n.is_multiple_of(2) {
                Next::Continue
            } else {
                Next::Undo
            }
        }))
        .unwrap();
    (0..10).for_each(|n| doubtful.send(n).unwrap());
    system.shutdown();
    assert_eq!(received.iter().collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
}

#[test]
fn a_failure_is_counted_by_the_default_report_too() {
    let system = System::builder().name("loud").workers(1).start().unwrap();
    let failing = system
        .spawn(behavior(|(), _| panic!("heard on standard error")))
        .unwrap();
    failing.send(()).unwrap();
    let handle = system.handle();
    system.shutdown();
    assert_eq!(handle.failures(), 1);
}
