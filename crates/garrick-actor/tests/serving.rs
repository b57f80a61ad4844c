//! Tests of services that call foreign code of a customer. A panic of this code must not affect
//! other customers.
#![forbid(unsafe_code)]

mod common;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use common::{local, settle};
use garrick_actor::door::{Door, door};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::naming::{
    DeadLetter, DeadLetters, EventStream, Key, Listing, LookupError, Receptionist, Registry, Topic,
};
use garrick_actor::route::{Broadcast, FirstCompleted, Policy, Pool, RoundRobin, Router};
use garrick_actor::{Actor, Address, Context, Local, Next, NoReply, Reply, SendError, behavior};
use garrick_testkit::{fail, ms, silence_panics};

/// An event that can panic when it is cloned or dropped.
struct Event {
    number: u32,
    clone_fails: bool,
    drop_fails: bool,
}

impl Event {
    fn plain(number: u32) -> Self {
        Self {
            number,
            clone_fails: false,
            drop_fails: false,
        }
    }
}

impl Clone for Event {
    fn clone(&self) -> Self {
        if self.clone_fails {
            fail();
        }
        Self { ..*self }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.drop_fails {
            fail();
        }
    }
}

/// Spawns an actor that reports the numbers of the events it receives.
fn reader(local: &Local) -> (Address<Event>, mpsc::Receiver<u32>) {
    let (told, heard) = mpsc::channel();
    let address = local.spawn(behavior(move |event: Event, _| {
        told.send(event.number).unwrap();
        std::mem::forget(event);
        Next::Continue
    }));
    (address, heard)
}

fn numbers(heard: &mpsc::Receiver<u32>) -> Vec<u32> {
    heard.try_iter().collect()
}

#[test]
fn a_clone_that_panics_ends_neither_topic_nor_events() {
    silence_panics();
    let (_, local) = local();
    let (one, one_heard) = reader(&local);
    let (other, other_heard) = reader(&local);
    let topic = Topic::spawn(&local.handle()).unwrap();
    let events = EventStream::spawn(&local.handle()).unwrap();
    for address in [&one, &other] {
        topic.subscribe(address).unwrap();
        events.subscribe(address).unwrap();
    }
    let mut fails = Event::plain(1);
    fails.clone_fails = true;
    topic.publish(fails).unwrap();
    topic.publish(Event::plain(2)).unwrap();
    settle(&local);
    let mut fails = Event::plain(3);
    fails.clone_fails = true;
    events.publish(fails).unwrap();
    events.publish(Event::plain(4)).unwrap();
    settle(&local);
    assert_eq!(
        (numbers(&one_heard), numbers(&other_heard)),
        (vec![2, 4], vec![2, 4])
    );
    assert_eq!(local.handle().failures(), 2, "they were reported");
}

#[test]
fn an_event_that_nobody_takes_does_not_end_the_way_of_the_others() {
    silence_panics();
    let (_, local) = local();
    let (gone, _) = reader(&local);
    let (stays, heard) = reader(&local);
    let topic = Topic::spawn(&local.handle()).unwrap();
    topic.subscribe(&gone).unwrap();
    topic.subscribe(&stays).unwrap();
    settle(&local);
    gone.stop();
    settle(&local);
    let mut fails = Event::plain(1);
    fails.drop_fails = true;
    topic.publish(fails).unwrap();
    settle(&local);
    assert_eq!(numbers(&heard), [1]);
    let count = topic.subscribers();
    settle(&local);
    assert_eq!(count.wait_timeout(ms(0)), Ok(1));
}

/// An actor that asks two services, with conversions that panic.
struct Careless {
    registry: Registry,
    receptionist: Receptionist,
}

const SERVICE: Key<u32> = Key::new("service");

impl Actor for Careless {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        self.registry
            .lookup_from::<u32, _, _>(cx, "nobody", |_| fail());
        self.receptionist.find_from(cx, &SERVICE, |_| fail());
    }
}

#[test]
fn what_is_made_of_an_answer_does_not_end_who_has_answered() {
    silence_panics();
    let (_, local) = local();
    let registry = Registry::spawn(&local.handle()).unwrap();
    let receptionist = Receptionist::spawn(&local.handle()).unwrap();
    let careless = local.spawn(Careless {
        registry: registry.clone(),
        receptionist: receptionist.clone(),
    });
    careless.send(()).unwrap();
    settle(&local);
    let (looked, found) = (
        registry.lookup::<u32>("nobody"),
        receptionist.find(&SERVICE),
    );
    settle(&local);
    let unknown = LookupError::Unknown {
        name: "nobody".to_owned(),
    };
    assert_eq!(looked.wait().unwrap_err(), unknown);
    assert_eq!(found.wait_timeout(ms(0)), Ok::<_, NoReply>(Vec::new()));
}

/// A receiver that has stopped once its flag is true, and that forgets its watchers.
struct Forgetful(Arc<AtomicBool>);

impl Door for Forgetful {
    type Message = u32;

    fn pass(&self, _: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Relaxed)
    }
}

#[test]
fn subscribers_learn_of_an_end_whatever_is_made_of_an_answer() {
    silence_panics();
    let (_, local) = local();
    let receptionist = Receptionist::spawn(&local.handle()).unwrap();
    let has_stopped = Arc::<AtomicBool>::default();
    let server = door(Forgetful(has_stopped.clone()));
    let (told, heard) = mpsc::channel();
    let subscriber = local.spawn(behavior(move |change: Listing<u32>, _| {
        told.send(change).unwrap();
        Next::Continue
    }));
    receptionist.serve(&SERVICE, &server).unwrap();
    receptionist.subscribe(&SERVICE, &subscriber).unwrap();
    let careless = local.spawn(Careless {
        registry: Registry::spawn(&local.handle()).unwrap(),
        receptionist,
    });
    settle(&local);
    has_stopped.store(true, Relaxed);
    careless.send(()).unwrap();
    settle(&local);
    let expected = [
        Listing::Present(vec![server.clone()]),
        Listing::Removed(server),
    ];
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
}

/// An actor that runs a task on a pool, with a conversion that panics.
struct TooLate(Pool<u32, u32>);

impl Actor for TooLate {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        self.0.run_from(cx, 1, |_| fail());
    }
}

#[test]
fn a_pool_goes_on_whatever_is_made_of_its_refusal() {
    silence_panics();
    let (_, local) = local();
    let pool = Pool::bounded(&local.handle(), 1, 0, || |n: u32| n + 1).unwrap();
    let late = local.spawn(TooLate(pool.clone()));
    let first = pool.run(1);
    late.send(()).unwrap();
    settle(&local);
    let second = pool.run(2);
    settle(&local);
    assert_eq!((first.wait().unwrap(), second.wait().unwrap()), (2, 3));
}

#[test]
fn a_worker_of_a_pool_stays_whatever_is_made_of_its_result() {
    silence_panics();
    let (_, local) = local();
    let made = Arc::new(AtomicU32::new(0));
    let count = made.clone();
    let pool = Pool::spawn(&local.handle(), 1, move || {
        count.fetch_add(1, Relaxed);
        |n: u32| n + 1
    });
    let pool = pool.unwrap();
    local.spawn(TooLate(pool.clone())).send(()).unwrap();
    settle(&local);
    let second = pool.run(2);
    settle(&local);
    assert_eq!(second.wait(), Ok(3));
    assert_eq!(made.load(Relaxed), 1);
}

#[test]
fn a_message_for_nobody_does_not_end_the_router() {
    silence_panics();
    let (_, local) = local();
    let router = Router::spawn(&local.handle(), RoundRobin::new()).unwrap();
    let mut fails = Event::plain(1);
    fails.drop_fails = true;
    router.send(fails).unwrap();
    settle(&local);
    let (reader, heard) = reader(&local);
    router.add(&reader).unwrap();
    router.send(Event::plain(2)).unwrap();
    settle(&local);
    assert_eq!(numbers(&heard), [2]);
}

/// Spawns an actor on a system of its own that never runs. Its mailbox is full.
fn full<M: Send + 'static>(message: M) -> (Local, Address<M>) {
    let local = Local::new().unwrap();
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let actor = local.actor(behavior(|_: M, _| Next::Continue));
    let address = actor.mailbox(mailbox).spawn();
    address.send(message).unwrap();
    (local, address)
}

/// Checks that a router with this policy counts a message that all routees refuse, posts a dead
/// letter for it, drops its reply, and keeps its routees.
fn refused_by_all(policy: impl Policy<Arc<Mutex<Option<Reply<u32>>>>>) {
    let (_, local) = local();
    let router = Router::spawn(&local.handle(), policy).unwrap();
    let dead_letters = DeadLetters::spawn(&local.handle()).unwrap();
    let (told, posted) = mpsc::channel();
    let reader = local.spawn(behavior(move |_: DeadLetter, _| {
        told.send(()).unwrap();
        Next::Continue
    }));
    dead_letters.subscribe(&reader).unwrap();
    router.post_dead_letters_to(&dead_letters).unwrap();
    let all_full: Vec<_> = (0..2).map(|_| full(Arc::default())).collect();
    for (_, routee) in &all_full {
        router.add(routee).unwrap();
    }
    let asked = router.ask(|reply| Arc::new(Mutex::new(Some(reply))));
    settle(&local);
    assert_eq!(asked.wait_timeout(ms(0)), Err(NoReply::Dropped));
    let status = router.status();
    settle(&local);
    let status = status.wait().unwrap();
    assert_eq!((status.undelivered, status.routees.len()), (1, 2));
    assert_eq!(posted.try_iter().count(), 1);
}

#[test]
fn a_message_that_all_routees_refuse_is_undelivered() {
    refused_by_all(Broadcast::new());
    refused_by_all(FirstCompleted::new(|shared: Arc<Mutex<Option<_>>>| {
        let reply = shared.lock().unwrap().take().unwrap();
        (reply, |reply| Arc::new(Mutex::new(Some(reply))))
    }));
}

#[test]
fn what_one_of_several_routees_refuses_is_a_dead_letter() {
    let (_, local) = local();
    let router = Router::spawn(&local.handle(), Broadcast::new()).unwrap();
    let (_elsewhere, full) = full(Event::plain(0));
    let (reader, heard) = reader(&local);
    for routee in [&full, &reader] {
        router.add(routee).unwrap();
    }
    router.send(Event::plain(1)).unwrap();
    settle(&local);
    assert_eq!(numbers(&heard), [1]);
    assert_eq!(local.handle().dead_letters(), 1);
}

/// An actor that reports each receive timeout with its number.
struct Quiet(mpsc::Sender<u32>);

impl Actor for Quiet {
    type Msg = Option<u32>;
    type Outcome = ();

    fn receive(&mut self, silence: Option<u32>, _: &mut Context<'_, Option<u32>>) {
        if let Some(number) = silence {
            self.0.send(number).unwrap();
        }
    }
}

#[test]
fn a_silence_whose_message_cannot_be_made_is_not_the_last() {
    silence_panics();
    let (clock, local) = local();
    let (told, heard) = mpsc::channel();
    let made = AtomicU32::new(0);
    let make = move || {
        let made = 1 + made.fetch_add(1, Relaxed);
        if made == 1 {
            fail();
        }
        Some(made)
    };
    let quiet = local
        .actor(Quiet(told))
        .receive_timeout(ms(10), make)
        .spawn();
    for _ in 0..3 {
        quiet.send(None).unwrap();
        settle(&local);
        clock.advance(ms(11));
        settle(&local);
    }
    assert_eq!(numbers(&heard), [2, 3]);
    assert_eq!(local.handle().failures(), 1, "it was reported");
}
