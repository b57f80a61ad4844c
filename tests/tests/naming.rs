//! Tests of names and topics.
#![forbid(unsafe_code)]

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use garrick::mailbox::{Mailbox, OnFull};
use garrick::naming::{
    DeadLetter, DeadLetters, EventStream, Key, Listing, LookupError, RegisterError, Registry,
};
use garrick::naming::{Receptionist, Topic};
use garrick::prelude::*;
use proptest::prelude::*;

/// Passes on its messages to the test.
struct Collect<M>(Sender<M>);

impl<M: Send + 'static> Actor for Collect<M> {
    type Msg = M;
    type Outcome = ();

    fn receive(&mut self, msg: M, _: &mut Context<'_, M>) {
        let _ = self.0.send(msg);
    }
}

fn collect<M: Send + 'static>(local: &Local) -> (Address<M>, Receiver<M>) {
    let (to, got) = mpsc::channel();
    (local.spawn(Collect(to)), got)
}

fn stop<M: 'static>(local: &Local, address: &Address<M>) {
    address.stop();
    local.run();
    assert!(address.is_stopped());
}

/// Waits for an answer of an actor that this thread runs.
macro_rules! answer {
    ($local:expr, $ask:expr) => {{
        let ask = $ask;
        $local.run();
        ask.wait()
    }};
}

/// Does what its messages request, and undoes it.
struct Undone;

impl Actor for Undone {
    type Msg = Box<dyn FnOnce() + Send>;
    type Outcome = Next;

    fn receive(&mut self, act: Self::Msg, _: &mut Context<'_, Self::Msg>) -> Next {
        act();
        Next::Undo
    }
}

#[test]
fn a_name_is_found_with_the_right_type_only() {
    let local = Local::new().unwrap();
    let registry = Registry::spawn(&local.handle()).unwrap();
    let (printer, _) = collect::<String>(&local);
    assert_eq!(
        answer!(local, registry.register("printer", &printer)),
        Ok(())
    );
    let found = answer!(local, registry.lookup::<String>("printer"));
    assert_eq!(found, Ok(printer));
    let wrong = answer!(local, registry.lookup::<u32>("printer")).unwrap_err();
    assert_eq!(
        wrong,
        LookupError::Mismatch {
            name: "printer".to_owned(),
            registered: "alloc::string::String",
            asked: "u32",
        }
    );
    let none = answer!(local, registry.lookup::<u32>("scanner")).unwrap_err();
    assert_eq!(none.to_string(), "no actor has the name `scanner`");
}

#[test]
fn a_name_in_use_is_refused_and_is_free_once_its_actor_has_stopped() {
    let local = Local::new().unwrap();
    let registry = Registry::spawn(&local.handle()).unwrap();
    let (first, _) = collect::<u32>(&local);
    let (second, _) = collect::<String>(&local);
    answer!(local, registry.register("it", &first)).unwrap();
    answer!(local, registry.register("it", &first)).expect("it has that name already");
    let taken = answer!(local, registry.register("it", &second)).unwrap_err();
    assert_eq!(
        taken,
        RegisterError::Taken {
            name: "it".to_owned(),
            message: "u32"
        }
    );
    assert_eq!(
        taken.to_string(),
        "the name `it` is already taken by an actor with messages of type u32"
    );
    stop(&local, &first);
    assert!(answer!(local, registry.lookup::<u32>("it")).is_err());
    answer!(local, registry.register("it", &second)).unwrap();
    assert_eq!(answer!(local, registry.names()).unwrap(), ["it"]);
    registry.unregister("it").unwrap();
    assert!(answer!(local, registry.names()).unwrap().is_empty());
}

#[test]
fn a_registry_that_is_gone_says_so() {
    let local = Local::new().unwrap();
    let registry = Registry::spawn(&local.handle()).unwrap();
    drop(local);
    let gone = registry.lookup::<u32>("it").wait().unwrap_err();
    assert_eq!(gone, LookupError::NoRegistry(NoReply::Dropped));
    assert_eq!(
        gone.to_string(),
        "the registry did not answer: the reply was dropped without an answer"
    );
}

#[test]
fn actors_register_themselves_and_find_one_another() {
    struct Clerk {
        registry: Registry,
        found: Sender<bool>,
    }
    enum Msg {
        Begin,
        Registered(Result<(), RegisterError>),
        Found(Result<Address<Msg>, LookupError>),
    }
    impl Actor for Clerk {
        type Msg = Msg;
        type Outcome = ();

        fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
            match msg {
                Msg::Begin => {
                    let me = cx.address();
                    self.registry.register_from(cx, "me", &me, Msg::Registered);
                }
                Msg::Registered(result) => {
                    result.unwrap();
                    self.registry.lookup_from(cx, "me", Msg::Found);
                }
                Msg::Found(found) => self.found.send(found == Ok(cx.address())).unwrap(),
            }
        }
    }
    let system = System::builder().workers(2).start().unwrap();
    let registry = Registry::spawn(&system.handle()).unwrap();
    let (to, found) = mpsc::channel();
    let clerk = Clerk {
        registry,
        found: to,
    };
    system.spawn(clerk).unwrap().send(Msg::Begin).unwrap();
    assert_eq!(found.recv(), Ok(true));
    system.shutdown();
}

#[test]
fn what_an_undone_turn_registers_subscribes_and_publishes_never_was() {
    let local = Local::new().unwrap();
    let registry = Registry::spawn(&local.handle()).unwrap();
    let topic = Topic::spawn(&local.handle()).unwrap();
    let events = EventStream::spawn(&local.handle()).unwrap();
    let (inside, got_inside) = collect::<u32>(&local);
    let (outside, got) = collect::<u32>(&local);
    topic.subscribe(&outside).unwrap();
    events.subscribe(&outside).unwrap();
    let act = {
        let (registry, topic, events) = (registry.clone(), topic.clone(), events.clone());
        move || {
            drop(registry.register("it", &inside));
            topic.subscribe(&inside).unwrap();
            topic.publish(1).unwrap();
            events.publish(2_u32).unwrap();
        }
    };
    local.spawn(Undone).send(Box::new(act)).unwrap();
    local.run();
    topic.publish(3).unwrap();
    local.run();
    assert_eq!(got.try_iter().collect::<Vec<_>>(), [3]);
    assert_eq!(got_inside.try_iter().count(), 0);
    assert!(answer!(local, registry.names()).unwrap().is_empty());
}

#[test]
fn a_subscriber_hears_who_serves_and_then_every_change() {
    const KEY: Key<u32> = Key::new("numbers");
    let local = Local::new().unwrap();
    let receptionist = Receptionist::spawn(&local.handle()).unwrap();
    let (a, _) = collect::<u32>(&local);
    let (b, _) = collect::<u32>(&local);
    let (subscriber, heard) = collect::<Listing<u32>>(&local);
    receptionist.serve(&KEY, &a).unwrap();
    for _ in 0..2 {
        receptionist.subscribe(&KEY, &subscriber).unwrap();
        receptionist.serve(&KEY, &b).unwrap();
    }
    receptionist.withdraw(&KEY, &a).unwrap();
    local.run();
    stop(&local, &b);
    let expected = [
        Listing::Present(vec![a.clone()]),
        Listing::Added(b.clone()),
        Listing::Removed(a.clone()),
        Listing::Removed(b.clone()),
    ];
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
    assert_eq!(answer!(local, receptionist.find(&KEY)), Ok(Vec::new()));
    receptionist.unsubscribe(&KEY, &subscriber).unwrap();
    receptionist.serve(&KEY, &b).unwrap();
    receptionist.serve(&KEY, &a).unwrap();
    local.run();
    assert_eq!(heard.try_iter().count(), 0);
}

#[test]
fn a_subscriber_whose_mailbox_is_full_receives_its_first_list() {
    const KEY: Key<u32> = Key::new("numbers");
    let local = Local::new().unwrap();
    let receptionist = Receptionist::spawn(&local.handle()).unwrap();
    let (a, _) = collect::<u32>(&local);
    receptionist.serve(&KEY, &a).unwrap();
    local.run();
    // The subscriber is in a system that does not run yet.
    let other = Local::new().unwrap();
    let (told, heard) = mpsc::channel();
    let subscriber = behavior(move |listing: Listing<u32>, _| {
        told.send(listing).unwrap();
        Next::Continue
    });
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let subscriber = other.actor(subscriber).mailbox(mailbox).spawn();
    subscriber.send(Listing::Removed(a.clone())).unwrap();
    receptionist.subscribe(&KEY, &subscriber).unwrap();
    local.run();
    other.run();
    let expected = [Listing::Removed(a.clone()), Listing::Present(vec![a])];
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_key_is_a_name_and_a_type() {
    let local = Local::new().unwrap();
    let receptionist = Receptionist::spawn(&local.handle()).unwrap();
    let (numbers, _) = collect::<u32>(&local);
    let (words, _) = collect::<String>(&local);
    receptionist.serve(&Key::new("it"), &numbers).unwrap();
    receptionist.serve(&Key::owned("it"), &words).unwrap();
    let found = answer!(local, receptionist.find(&Key::<u32>::owned("it")));
    assert_eq!(found, Ok(vec![numbers]));
    let found = answer!(local, receptionist.find(&Key::new("it")));
    assert_eq!(found, Ok(vec![words]));
    let found = answer!(local, receptionist.find(&Key::<u32>::new("that")));
    assert_eq!(found, Ok(Vec::new()));
}

#[test]
fn an_actor_finds_who_serves() {
    struct Clerk(Receptionist, Sender<usize>);
    enum Msg {
        Begin,
        Found(Result<Vec<Address<u32>>, NoReply>),
    }
    impl Actor for Clerk {
        type Msg = Msg;
        type Outcome = ();

        fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
            match msg {
                Msg::Begin => self.0.find_from(cx, &Key::new("numbers"), Msg::Found),
                Msg::Found(found) => self.1.send(found.unwrap().len()).unwrap(),
            }
        }
    }
    let local = Local::new().unwrap();
    let receptionist = Receptionist::spawn(&local.handle()).unwrap();
    let (numbers, _) = collect::<u32>(&local);
    receptionist.serve(&Key::new("numbers"), &numbers).unwrap();
    let (to, found) = mpsc::channel();
    let clerk = local.spawn(Clerk(receptionist, to));
    clerk.send(Msg::Begin).unwrap();
    local.run();
    assert_eq!(found.try_recv(), Ok(1));
}

#[derive(Debug, Clone)]
enum Act {
    Publish,
    Subscribe(usize),
    Unsubscribe(usize),
    Stop(usize),
    Run,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Publish),
        3 => (0_usize..4).prop_map(Act::Subscribe),
        1 => (0_usize..4).prop_map(Act::Unsubscribe),
        1 => (0_usize..4).prop_map(Act::Stop),
        3 => Just(Act::Run),
    ]
}

proptest! {
    #[test]
    fn a_subscriber_gets_each_message_once_and_in_order_from_subscribing_to_unsubscribing(
        acts in prop::collection::vec(act(), 1..60),
    ) {
        let local = Local::new().unwrap();
        let topic = Topic::<u32>::spawn(&local.handle()).unwrap();
        let subscribers: Vec<_> = (0..4).map(|_| collect::<u32>(&local)).collect();
        let mut expected = vec![Vec::new(); 4];
        let mut subscribed = [false; 4];
        let mut published = 0;
        for act in acts {
            match act {
                Act::Publish => {
                    published += 1;
                    topic.publish(published).unwrap();
                    for (expected, _) in expected.iter_mut().zip(subscribed).filter(|(_, is)| *is) {
                        expected.push(published);
                    }
                }
                Act::Subscribe(i) => {
                    topic.subscribe(&subscribers[i].0).unwrap();
                    subscribed[i] = !subscribers[i].0.is_stopped();
                }
                Act::Unsubscribe(i) => {
                    topic.unsubscribe(&subscribers[i].0).unwrap();
                    subscribed[i] = false;
                }
                Act::Stop(i) => {
                    // Messages published before have to arrive first.
                    local.run();
                    stop(&local, &subscribers[i].0);
                    subscribed[i] = false;
                }
                Act::Run => local.run(),
            }
        }
        let count = answer!(local, topic.subscribers()).unwrap();
        prop_assert_eq!(count, subscribed.into_iter().filter(|is| *is).count());
        for ((_, got), expected) in subscribers.iter().zip(expected) {
            prop_assert_eq!(got.try_iter().collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn many_publishers_reach_many_subscribers_each_in_its_own_order() {
    const MESSAGES: u32 = 2_000;
    let system = System::builder().workers(2).start().unwrap();
    let topic = Topic::spawn(&system.handle()).unwrap();
    let all_got: Vec<_> = (0..3)
        .map(|_| {
            let (to, got) = mpsc::channel();
            topic
                .subscribe(&system.spawn(Collect(to)).unwrap())
                .unwrap();
            got
        })
        .collect();
    let publish = |publisher: usize| {
        let topic = topic.clone();
        move || {
            for n in 0..MESSAGES {
                topic.publish((publisher, n)).unwrap();
            }
        }
    };
    let threads: Vec<_> = (0..3).map(|p| thread::spawn(publish(p))).collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    system.shutdown();
    for got in all_got {
        let mut next = [0; 3];
        for (publisher, n) in got.try_iter() {
            assert_eq!(n, next[publisher]);
            next[publisher] += 1;
        }
        assert_eq!(next, [MESSAGES; 3]);
    }
}

#[test]
fn a_slow_subscriber_loses_nothing_and_holds_up_nobody() {
    let local = Local::new().unwrap();
    // No actor runs here until the end.
    let asleep = Local::new().unwrap();
    let topic = Topic::spawn(&local.handle()).unwrap();
    let (slow, got_slowly) = collect::<u32>(&asleep);
    let (quick, got_quickly) = collect::<u32>(&local);
    topic.subscribe(&slow).unwrap();
    topic.subscribe(&quick).unwrap();
    for n in 0..20_000 {
        topic.publish(n).unwrap();
    }
    local.run();
    assert!(got_quickly.try_iter().eq(0..20_000));
    assert_eq!(got_slowly.try_iter().count(), 0);
    assert_eq!(answer!(local, topic.subscribers()), Ok(2));
    asleep.run();
    assert!(got_slowly.try_iter().eq(0..20_000));
}

#[test]
fn an_event_reaches_those_who_subscribed_to_its_type() {
    let local = Local::new().unwrap();
    let events = EventStream::spawn(&local.handle()).unwrap();
    let (numbers, got_numbers) = collect::<u32>(&local);
    let (words, got_words) = collect::<&str>(&local);
    events.subscribe(&numbers).unwrap();
    events.subscribe(&words).unwrap();
    for (number, word) in [(1_u32, "one"), (2, "two")] {
        events.publish(number).unwrap();
        events.publish(word).unwrap();
        events.publish(f64::from(number)).unwrap();
    }
    assert_eq!(answer!(local, events.subscribers::<u32>()), Ok(1));
    assert_eq!(answer!(local, events.subscribers::<f64>()), Ok(0));
    assert_eq!(got_numbers.try_iter().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(got_words.try_iter().collect::<Vec<_>>(), ["one", "two"]);
    events.unsubscribe(&numbers).unwrap();
    stop(&local, &words);
    events.publish(3_u32).unwrap();
    events.publish("three").unwrap();
    assert_eq!(answer!(local, events.subscribers::<&str>()), Ok(0));
    assert_eq!(got_numbers.try_iter().count(), 0);
    assert_eq!(local.handle().dead_letters(), 0);
}

#[test]
fn dead_letters_of_a_system_are_published_once() {
    let local = Local::new().unwrap();
    let dead_letters = DeadLetters::spawn(&local.handle()).unwrap();
    let (clerk, got) = collect::<DeadLetter>(&local);
    dead_letters.subscribe(&clerk).unwrap();
    let (gone, _) = collect::<u32>(&local);
    gone.stop();
    for n in 0..3 {
        gone.send(n).unwrap();
    }
    local.run();
    for _ in 0..2 {
        dead_letters.collect(&local.handle()).unwrap();
    }
    local.run();
    let letters: Vec<_> = got.try_iter().collect();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].count, letters[0].message), (3, None));
    assert_eq!(letters[0].to_string(), "3 dead letters for local");
    dead_letters.unsubscribe(&clerk).unwrap();
    dead_letters.post(DeadLetter::of::<u32>("it")).unwrap();
    local.run();
    assert_eq!(got.try_iter().count(), 0);
}

#[test]
fn when_the_last_handle_is_gone_so_is_the_actor_behind_it_and_whom_it_held() {
    /// Signals its drop by dropping its sender.
    struct Mortal(#[expect(dead_code)] Sender<()>);
    impl Actor for Mortal {
        type Msg = u32;
        type Outcome = ();

        fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) {}
    }
    const KEY: Key<u32> = Key::new("numbers");
    let local = Local::new().unwrap();
    let registry = Registry::spawn(&local.handle()).unwrap();
    let receptionist = Receptionist::spawn(&local.handle()).unwrap();
    let topic = Topic::spawn(&local.handle()).unwrap();
    let (alive, dead) = mpsc::channel();
    let mortal = local.spawn(Mortal(alive));
    topic.subscribe(&mortal).unwrap();
    receptionist.serve(&KEY, &mortal).unwrap();
    answer!(local, registry.register("it", &mortal)).unwrap();
    drop(mortal);
    local.run();
    assert_eq!(dead.try_recv(), Err(mpsc::TryRecvError::Empty));
    drop((registry, receptionist, topic));
    local.run();
    assert_eq!(dead.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn what_publishes_is_an_address_among_others() {
    let local = Local::new().unwrap();
    let topic = Topic::spawn(&local.handle()).unwrap();
    let (subscriber, got) = collect::<u32>(&local);
    topic.subscribe(&subscriber).unwrap();
    let publisher: Address<u32> = topic.publisher();
    publisher.send(1).unwrap();
    topic.publish(2).unwrap();
    publisher.send(3).unwrap();
    local.run();
    assert_eq!(got.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn ends_on_other_threads_are_heard_of_and_nobody_is_missed() {
    const KEY: Key<u32> = Key::new("numbers");
    const SERVING: usize = 200;
    let system = System::builder().workers(2).start().unwrap();
    let receptionist = Receptionist::spawn(&system.handle()).unwrap();
    let (to, heard) = mpsc::channel();
    let subscriber = system.spawn(Collect(to)).unwrap();
    receptionist.subscribe(&KEY, &subscriber).unwrap();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (handle, receptionist) = (system.handle(), receptionist.clone());
            thread::spawn(move || {
                for _ in 0..SERVING / 2 {
                    let (to, _) = mpsc::channel();
                    let serving = handle.spawn(Collect(to)).unwrap();
                    receptionist.serve(&KEY, &serving).unwrap();
                    receptionist.find(&KEY).wait().unwrap();
                    serving.stop();
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(heard.recv(), Ok(Listing::Present(Vec::new())));
    let mut serving = Vec::new();
    for _ in 0..2 * SERVING {
        match heard.recv().unwrap() {
            Listing::Present(_) => panic!("that is said once"),
            Listing::Added(one) => serving.push(one),
            Listing::Removed(one) => {
                let index = serving.iter().position(|other| *other == one);
                serving.remove(index.expect("it was added before"));
            }
        }
    }
    assert!(serving.is_empty());
    system.shutdown();
    assert!(heard.try_recv().is_err());
}
