//! Tests of how actors stop: by themselves, on request, or because they are unreachable. The tests
//! also check what happens to their messages.
#![forbid(unsafe_code)]

use std::sync::mpsc::{self, Sender};

use garrick_actor::{
    Actor, Address, Context, Local, Next, NoReply, Reply, SendError, System, behavior,
};

/// A value that sends its name when it is dropped.
struct Mortal {
    name: &'static str,
    dead: Sender<&'static str>,
}

impl Drop for Mortal {
    fn drop(&mut self) {
        let _ = self.dead.send(self.name);
    }
}

enum Msg {
    Nothing,
    Stop,
    Hold(Address<Msg>),
    Ask(Reply<()>),
}

impl Actor for Mortal {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Nothing => Next::Continue,
            Msg::Stop => Next::Stop,
            Msg::Hold(other) => match cx.send(&other, Msg::Nothing) {
                Ok(()) => Next::Continue,
                Err(_) => Next::Stop,
            },
            Msg::Ask(reply) => {
                reply.send(());
                Next::Continue
            }
        }
    }
}

fn mortal(name: &'static str) -> (Mortal, mpsc::Receiver<&'static str>) {
    let (dead, died) = mpsc::channel();
    (Mortal { name, dead }, died)
}

#[test]
fn a_stopped_actor_gives_messages_back() {
    let local = Local::new().unwrap();
    let (actor, died) = mortal("a");
    let address = local.spawn(actor);
    address.send(Msg::Stop).unwrap();
    local.run();
    assert_eq!(died.try_recv(), Ok("a"));
    assert!(address.is_stopped());
    assert!(matches!(
        address.send(Msg::Nothing),
        Err(SendError(Msg::Nothing))
    ));
    assert_eq!(
        local.handle().dead_letters(),
        0,
        "what came back is no dead letter"
    );
}

#[test]
fn messages_behind_a_stop_are_dead_letters() {
    let local = Local::new().unwrap();
    let address = local.spawn(mortal("a").0);
    for msg in [Msg::Nothing, Msg::Stop, Msg::Nothing, Msg::Nothing] {
        address.send(msg).unwrap();
    }
    local.run();
    assert_eq!(local.handle().dead_letters(), 2);
}

#[test]
fn an_actor_can_be_stopped_through_its_address_after_what_was_sent_before() {
    let local = Local::new().unwrap();
    let address = local.spawn(mortal("a").0);
    let before = address.ask(Msg::Ask);
    address.stop();
    let behind = address.ask(Msg::Ask);
    local.run();
    assert!(address.is_stopped());
    assert_eq!(before.wait(), Ok(()));
    assert_eq!(behind.wait(), Err(NoReply::Dropped));
    assert_eq!(local.handle().dead_letters(), 1);
}

#[test]
fn a_question_to_a_stopped_actor_has_no_answer() {
    let system = System::new().unwrap();
    let address = system.spawn(mortal("a").0).unwrap();
    address.send(Msg::Stop).unwrap();
    // It may be handled before or after the stop, but never answered.
    assert_eq!(address.ask(Msg::Ask).wait(), Err(NoReply::Dropped));
}

#[test]
fn an_actor_that_nobody_can_reach_is_dropped() {
    let system = System::new().unwrap();
    let (actor, died) = mortal("a");
    let address = system.spawn(actor).unwrap();
    address.send(Msg::Nothing).unwrap();
    let copy = address.clone();
    drop(address);
    assert_eq!(copy.ask(Msg::Ask).wait(), Ok(()));
    assert!(died.try_recv().is_err(), "somebody can reach it");
    drop(copy);
    assert_eq!(died.recv(), Ok("a"), "nobody can");
    system.shutdown();
}

#[test]
fn a_message_with_an_address_keeps_its_actor_alive() {
    let local = Local::new().unwrap();
    let (actor, died) = mortal("a");
    let (holder, holder_died) = mortal("holder");
    let holder = local.spawn(holder);
    holder.send(Msg::Hold(local.spawn(actor))).unwrap();
    assert!(died.try_recv().is_err());
    local.run();
    assert_eq!(died.try_recv(), Ok("a"));
    assert!(holder_died.try_recv().is_err());
    assert_eq!(local.handle().failures(), 0);
}

#[test]
fn shutdown_handles_all_that_was_sent() {
    const ACTORS: usize = 10;
    const MESSAGES: usize = 1000;
    let system = System::new().unwrap();
    let (handled, count) = mpsc::channel();
    for _ in 0..ACTORS {
        let handled = handled.clone();
        let address = system
            .spawn(behavior(move |_: usize, _| {
                handled.send(()).unwrap();
                Next::Continue
            }))
            .unwrap();
        (0..MESSAGES).for_each(|n| address.send(n).unwrap());
    }
    drop(handled);
    system.shutdown();
    assert_eq!(count.iter().count(), ACTORS * MESSAGES);
}

#[test]
fn shutdown_now_drops_actors_and_messages() {
    let system = System::builder().workers(1).start().unwrap();
    let (actor, died) = mortal("a");
    let address = system.spawn(actor).unwrap();
    let (entered, busy) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let blocker = system
        .spawn(behavior(move |(), _| {
            entered.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
            Next::Continue
        }))
        .unwrap();
    blocker.send(()).unwrap();
    busy.recv().unwrap();
    let ask = address.ask(Msg::Ask);
    let ender = std::thread::spawn(move || system.shutdown_now());
    // The system refuses newborns before it ends, and the blocked worker keeps it from ending.
    drop(go);
    ender.join().unwrap();
    assert_eq!(died.recv(), Ok("a"));
    assert!(address.is_stopped());
    // Whether the question was handled is a race; that it has an end is not.
    assert!(matches!(ask.wait(), Ok(()) | Err(NoReply::Dropped)));
}

#[test]
fn an_actor_that_starts_runs_without_a_message() {
    struct Starter(Sender<&'static str>);
    impl Actor for Starter {
        type Msg = Next;
        type Outcome = Next;
        fn started(&mut self, cx: &mut Context<'_, Next>) -> Next {
            self.0.send("started").unwrap();
            let _ = cx.send(&cx.address(), Next::Stop);
            Next::Continue
        }
        fn receive(&mut self, next: Next, _: &mut Context<'_, Next>) -> Next {
            self.0.send("received").unwrap();
            next
        }
    }
    let (said, heard) = mpsc::channel();
    let system = System::new().unwrap();
    system.spawn(Starter(said)).unwrap();
    assert_eq!(heard.iter().collect::<Vec<_>>(), ["started", "received"]);
    system.shutdown();
}
