//! Tests of services that call foreign code of a customer. A panic of this code must not affect
//! other customers.
#![forbid(unsafe_code)]

mod common;

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;

use common::{local, settle};
use garrick_actor::naming::{EventStream, Key, LookupError, Receptionist, Registry, Topic};
use garrick_actor::route::{Pool, RoundRobin, Router};
use garrick_actor::{Actor, Address, Context, Local, Next, NoReply, behavior};
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
