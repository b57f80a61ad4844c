//! Tests of many actors behind one address.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use garrick::mailbox::{Mailbox, OnFull};
use garrick::naming::{DeadLetter, DeadLetters, Key, Receptionist};
use garrick::prelude::*;
use garrick::route::{
    Broadcast, ConsistentHash, FirstCompleted, LeastLoaded, Measured, Policy, Pool, PoolError,
    Random, RoundRobin, Router, RouterMsg,
};
use garrick::{Handle, SendError};
use proptest::prelude::*;

/// Passes on its messages to the test, with its own name.
struct Collect<M>(usize, Sender<(usize, M)>);

impl<M: Send + 'static> Actor for Collect<M> {
    type Msg = M;
    type Outcome = ();

    fn receive(&mut self, msg: M, _: &mut Context<'_, M>) {
        let _ = self.1.send((self.0, msg));
    }
}

/// Router in `local`, and routees that report their messages.
struct Fixture {
    local: Local,
    router: Router<u32>,
    to: Sender<(usize, u32)>,
    got: Receiver<(usize, u32)>,
}

impl Fixture {
    fn new(policy: impl Policy<u32>) -> Self {
        let local = Local::new().unwrap();
        let router = Router::spawn(&local.handle(), policy).unwrap();
        let (to, got) = mpsc::channel();
        Self {
            local,
            router,
            to,
            got,
        }
    }

    fn add(&self, name: usize) -> Address<u32> {
        let routee = self.local.spawn(Collect(name, self.to.clone()));
        self.router.add(&routee).unwrap();
        routee
    }

    fn with(self, routees: usize) -> Self {
        for name in 0..routees {
            self.add(name);
        }
        self
    }

    fn send(&self, messages: impl IntoIterator<Item = u32>) -> Vec<(usize, u32)> {
        for message in messages {
            self.router.send(message).unwrap();
        }
        self.local.run();
        let mut got: Vec<_> = self.got.try_iter().collect();
        // Routees run in any order.
        got.sort_by_key(|(_, message)| *message);
        got
    }

    fn undelivered(&self) -> u64 {
        let status = self.router.status();
        self.local.run();
        status.wait().unwrap().undelivered
    }
}

fn stop(local: &Local, address: &Address<u32>) {
    address.stop();
    local.run();
}

fn names(got: &[(usize, u32)]) -> Vec<usize> {
    got.iter().map(|(name, _)| *name).collect()
}

#[derive(Debug, Clone)]
enum Act {
    Send,
    Add,
    Remove(prop::sample::Index),
    Stop(prop::sample::Index),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Send),
        2 => Just(Act::Add),
        1 => any::<prop::sample::Index>().prop_map(Act::Remove),
        1 => any::<prop::sample::Index>().prop_map(Act::Stop),
    ]
}

proptest! {
    #[test]
    fn round_robin_passes_nobody_over_whoever_comes_and_goes(
        acts in prop::collection::vec(act(), 1..60),
    ) {
        let f = Fixture::new(RoundRobin::new());
        let mut routees = Vec::new();
        let (mut made, mut last, mut lost) = (0, 0, 0);
        for act in acts {
            match act {
                Act::Send => {
                    let got = names(&f.send([0]));
                    // The first that came after the last one, or the first of all.
                    let next = routees.iter().map(|(name, _)| *name).find(|name| *name > last);
                    let next = next.or(routees.first().map(|(name, _)| *name));
                    prop_assert_eq!(got, next.into_iter().collect::<Vec<_>>());
                    last = next.unwrap_or(last);
                    lost += u64::from(next.is_none());
                }
                Act::Add => {
                    made += 1;
                    routees.push((made, f.add(made)));
                }
                Act::Remove(index) if !routees.is_empty() => {
                    let (_, routee) = routees.remove(index.index(routees.len()));
                    f.router.remove(&routee).unwrap();
                }
                Act::Stop(index) if !routees.is_empty() => {
                    let (_, routee) = routees.remove(index.index(routees.len()));
                    stop(&f.local, &routee);
                }
                Act::Remove(_) | Act::Stop(_) => {}
            }
        }
        prop_assert_eq!(f.undelivered(), lost);
        prop_assert_eq!(f.local.handle().dead_letters(), 0);
    }

    #[test]
    fn a_key_stays_with_its_routee_until_that_one_leaves(
        keys in prop::collection::vec(0_u32..1_000, 1..40),
        leaver in 0_usize..5,
    ) {
        let f = Fixture::new(ConsistentHash::new(|key: &u32| *key));
        let routees: Vec<_> = (0..5).map(|name| f.add(name)).collect();
        let before: BTreeSet<_> = f.send(keys.clone()).into_iter().collect();
        let distinct: BTreeSet<_> = keys.iter().copied().collect();
        prop_assert_eq!(before.len(), distinct.len(), "one routee for each key");
        stop(&f.local, &routees[leaver]);
        let after: BTreeSet<_> = f.send(keys).into_iter().collect();
        prop_assert_eq!(after.len(), distinct.len());
        for (name, key) in before {
            prop_assert!(name == leaver || after.contains(&(name, key)), "key {} moved", key);
        }
    }
}

#[test]
fn random_choices_follow_from_the_seed_and_reach_everybody() {
    let choices = |seed| names(&Fixture::new(Random::seeded(seed)).with(4).send(0..100));
    assert_eq!(choices(1), choices(1));
    assert_ne!(choices(1), choices(2));
    assert_eq!(choices(1).into_iter().collect::<BTreeSet<_>>().len(), 4);
}

#[test]
fn the_least_loaded_routee_is_the_one_that_has_handled_most_of_its_messages() {
    let f = Fixture::new(LeastLoaded::new());
    // Each routee has its own `Local`, like a thread of its own: it runs only on request.
    let threads = [Local::new().unwrap(), Local::new().unwrap()];
    for (name, thread) in threads.iter().enumerate() {
        let (routee, load) = Measured::new(Collect(name, f.to.clone()));
        f.router.add_measured(&thread.spawn(routee), load).unwrap();
    }
    let run = |thread: &Local| {
        thread.run();
        f.got.try_iter().map(|(_, msg)| msg).collect::<Vec<_>>()
    };
    f.send(0..4);
    assert_eq!(run(&threads[1]), [1, 3], "equals are served in turns");
    f.send(4..6);
    assert_eq!(run(&threads[1]), [4, 5], "the other one has two in flight");
    f.send(6..8);
    assert_eq!(run(&threads[0]), [0, 2]);
    f.send(8..10);
    assert_eq!(run(&threads[0]), [8, 9]);
    assert_eq!(run(&threads[1]), [6, 7]);
}

#[test]
fn an_undone_turn_of_a_routee_has_handled_its_message() {
    /// Undoes every turn.
    struct Undo;
    impl Actor for Undo {
        type Msg = u32;
        type Outcome = Next;

        fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) -> Next {
            Next::Undo
        }
    }
    let local = Local::new().unwrap();
    let (undo, load) = Measured::new(Undo);
    let routee = local.spawn(undo);
    routee.send(1).unwrap();
    routee.send(2).unwrap();
    local.run();
    assert_eq!(load.handled(), 2);
}

#[test]
fn messages_that_others_send_to_a_measured_routee_are_no_debt() {
    let f = Fixture::new(LeastLoaded::new());
    let threads = [Local::new().unwrap(), Local::new().unwrap()];
    let routees = [0, 1].map(|name| {
        let (routee, load) = Measured::new(Collect(name, f.to.clone()));
        let routee = threads[name].spawn(routee);
        f.router.add_measured(&routee, load).unwrap();
        routee
    });
    f.local.run();
    for n in 0..5 {
        routees[0].send(n).unwrap();
    }
    threads.iter().for_each(Local::run);
    assert_eq!(f.got.try_iter().count(), 5);
    f.send(0..4);
    threads.iter().for_each(Local::run);
    let got: Vec<_> = f.got.try_iter().collect();
    assert_eq!(names(&got), [0, 0, 1, 1], "two each");
}

#[test]
fn a_routee_whose_mailbox_is_full_stays_and_the_next_one_gets_the_message() {
    let local = Local::new().unwrap();
    let router = Router::spawn(&local.handle(), RoundRobin::new()).unwrap();
    let bounded = |capacity| {
        let mailbox = Mailbox::bounded(capacity, OnFull::Fail).unwrap();
        let routee = local.actor(behavior(|_: u32, _| {})).mailbox(mailbox);
        routee.spawn()
    };
    let (narrow, wide) = (bounded(1), bounded(3));
    for routee in [&narrow, &wide] {
        router.add(routee).unwrap();
    }
    local.run();
    // The router handles all of them before its routees run.
    for number in 0..6 {
        router.send(number).unwrap();
    }
    local.run();
    let status = router.status();
    local.run();
    let status = status.wait().unwrap();
    assert_eq!(status.undelivered, 2, "only when both were full");
    assert_eq!(status.routees, [narrow, wide]);
    for number in 0..2 {
        router.send(number).unwrap();
    }
    local.run();
    let status = router.status();
    local.run();
    assert_eq!(status.wait().unwrap().undelivered, 2);
}

/// Sends messages to a router with two bounded routees that do not run. Returns the numbers of
/// messages in their mailboxes.
fn waiting_behind(policy: impl Policy<u32>, capacities: [usize; 2], messages: u32) -> [usize; 2] {
    let local = Local::new().unwrap();
    let router = Router::spawn(&local.handle(), policy).unwrap();
    // The routees are in a system that does not run.
    let other = Local::new().unwrap();
    let routees = capacities.map(|capacity| {
        let mailbox = Mailbox::bounded(capacity, OnFull::Fail).unwrap();
        let routee = other.actor(behavior(|_: u32, _| {})).mailbox(mailbox);
        routee.spawn()
    });
    for routee in &routees {
        router.add(routee).unwrap();
    }
    for number in 0..messages {
        router.send(number).unwrap();
    }
    local.run();
    routees.map(|routee| routee.waiting().unwrap())
}

#[test]
fn no_message_is_lost_while_any_routee_has_room() {
    // A routee whose mailbox is smaller has fewer messages in flight, and is chosen first.
    assert_eq!(
        waiting_behind(LeastLoaded::new(), [10, 100], 110),
        [10, 100]
    );
    assert_eq!(waiting_behind(Random::seeded(1), [1, 200], 201), [1, 200]);
    assert_eq!(waiting_behind(RoundRobin::new(), [1, 200], 201), [1, 200]);
}

#[test]
fn a_message_with_a_key_goes_to_no_other_routee() {
    let by_key = || ConsistentHash::new(|_: &u32| 7);
    let waiting = waiting_behind(by_key(), [5, 5], 20);
    assert!(waiting == [5, 0] || waiting == [0, 5], "{waiting:?}");
}

#[test]
fn a_broadcast_reaches_everybody_who_is_there() {
    let f = Fixture::new(Broadcast::new()).with(2);
    let third = f.add(2);
    assert_eq!(f.send([7]).len(), 3);
    stop(&f.local, &third);
    assert_eq!(f.send([8]), [(0, 8), (1, 8)]);
    assert_eq!(f.undelivered(), 0);
    assert_eq!(Fixture::new(Broadcast::new()).send([1]), []);
}

#[test]
fn a_routee_is_there_once_and_for_what_is_sent_after_it_came() {
    let f = Fixture::new(RoundRobin::new());
    let routee = f.add(0);
    f.router.add(&routee).unwrap();
    f.add(1);
    assert_eq!(names(&f.send(0..4)), [0, 1, 0, 1]);
    f.router.remove(&routee).unwrap();
    assert_eq!(names(&f.send(0..2)), [1, 1]);
}

#[test]
fn without_routees_messages_are_counted_and_posted_and_askers_told() {
    let local = Local::new().unwrap();
    let router = Router::<Reply<u32>>::spawn(&local.handle(), RoundRobin::new()).unwrap();
    let dead_letters = DeadLetters::spawn(&local.handle()).unwrap();
    let (to, got) = mpsc::channel();
    dead_letters
        .subscribe(&local.spawn(Collect(0, to)))
        .unwrap();
    router.post_dead_letters_to(&dead_letters).unwrap();
    let ask = router.ask(|reply| reply);
    let status = router.status();
    local.run();
    assert_eq!(ask.wait(), Err(NoReply::Dropped));
    assert_eq!(status.wait().unwrap().undelivered, 1);
    let (_, letter): (usize, DeadLetter) = got.try_recv().unwrap();
    assert_eq!(letter.receiver, "a router without routees");
    assert!(letter.message.unwrap().contains("Reply<u32>"));
}

#[test]
fn a_message_that_its_routee_refuses_is_posted_with_this_reason() {
    let local = Local::new().unwrap();
    let router = Router::<u32>::spawn(&local.handle(), RoundRobin::new()).unwrap();
    let dead_letters = DeadLetters::spawn(&local.handle()).unwrap();
    let (to, got) = mpsc::channel();
    dead_letters
        .subscribe(&local.spawn(Collect(0, to)))
        .unwrap();
    router.post_dead_letters_to(&dead_letters).unwrap();
    let (to, handled) = mpsc::channel();
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let routee = local.actor(Collect(1, to)).mailbox(mailbox).spawn();
    router.add(&routee).unwrap();
    // The router sends both messages before the routee handles the first one.
    router.send(1).unwrap();
    router.send(2).unwrap();
    local.run();
    assert_eq!(Vec::from_iter(handled.try_iter()), [(1, 1)]);
    let (_, letter): (usize, DeadLetter) = got.try_recv().unwrap();
    assert_eq!(
        letter.receiver,
        "a router whose routees did not take the message"
    );
}

#[test]
fn every_message_is_handled_or_counted_while_routees_stop() {
    /// Stops after this number of messages.
    struct Mortal(u32, Arc<AtomicUsize>);
    impl Actor for Mortal {
        type Msg = u32;
        type Outcome = Next;

        fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) -> Next {
            self.1.fetch_add(1, Relaxed);
            self.0 -= 1;
            if self.0 == 0 {
                Next::Stop
            } else {
                Next::Continue
            }
        }
    }
    const MESSAGES: u64 = 5_000;
    let system = System::builder().workers(2).start().unwrap();
    let handle = system.handle();
    let handled = Arc::new(AtomicUsize::new(0));
    let router = Router::spawn(&handle, RoundRobin::new()).unwrap();
    for life in [10, 100, 1_000] {
        let routee = system.spawn(Mortal(life, handled.clone())).unwrap();
        router.add(&routee).unwrap();
    }
    for n in 0..MESSAGES {
        router.send(n as u32).unwrap();
    }
    let status = router.status();
    system.shutdown();
    let undelivered = status.wait().unwrap().undelivered;
    let handled = handled.load(Relaxed) as u64;
    assert_eq!(handled, 1_110);
    assert_eq!(handled + undelivered + handle.dead_letters(), MESSAGES);
}

struct Question(Reply<usize>);

/// Answers with its name, or fails.
struct Oracle(Result<usize, ()>);

impl Actor for Oracle {
    type Msg = Question;
    type Outcome = ();

    fn receive(&mut self, Question(reply): Question, _: &mut Context<'_, Question>) {
        match self.0 {
            Ok(name) => reply.send(name),
            Err(()) => resume_unwind(Box::new("as told")),
        }
    }
}

fn oracles(on: &Handle) -> Router<Question> {
    Router::spawn(on, FirstCompleted::new(|Question(reply)| (reply, Question))).unwrap()
}

#[test]
fn the_first_answer_wins_and_the_others_are_no_dead_letters() {
    let local = Local::new().unwrap();
    let asleep = Local::new().unwrap();
    let router = oracles(&local.handle());
    router.add(&local.spawn(Oracle(Err(())))).unwrap();
    router.add(&asleep.spawn(Oracle(Ok(1)))).unwrap();
    router.add(&local.spawn(Oracle(Ok(2)))).unwrap();
    let ask = router.ask(Question);
    local.run();
    assert_eq!(ask.wait(), Ok(2));
    asleep.run();
    local.run();
    assert_eq!(local.handle().dead_letters(), 0);
    let ask = router.ask(Question);
    local.run();
    assert_eq!(ask.wait(), Ok(2), "the one who failed is gone");
    let status = router.status();
    local.run();
    assert_eq!(status.wait().unwrap().routees.len(), 2);
}

#[test]
fn if_all_fail_the_asker_is_told() {
    let local = Local::new().unwrap();
    let router = oracles(&local.handle());
    for _ in 0..3 {
        router.add(&local.spawn(Oracle(Err(())))).unwrap();
    }
    for undelivered in [0, 1] {
        let (ask, status) = (router.ask(Question), router.status());
        local.run();
        assert_eq!(ask.wait(), Err(NoReply::Dropped));
        assert_eq!(status.wait().unwrap().undelivered, undelivered);
    }
}

#[test]
fn actors_ask_through_a_router_and_an_undone_turn_routes_nothing() {
    struct Asker(Router<Question>, Sender<Result<usize, NoReply>>);
    enum Msg {
        Ask(Next),
        Answer(Result<usize, NoReply>),
    }
    impl Actor for Asker {
        type Msg = Msg;
        type Outcome = Next;

        fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
            match msg {
                Msg::Ask(next) => {
                    let question = |reply| RouterMsg::Route(Question(reply));
                    cx.ask(self.0.address(), question, Msg::Answer);
                    next
                }
                Msg::Answer(answer) => {
                    self.1.send(answer).unwrap();
                    Next::Continue
                }
            }
        }
    }
    let local = Local::new().unwrap();
    let router = Router::spawn(&local.handle(), RoundRobin::new()).unwrap();
    router.add(&local.spawn(Oracle(Ok(0)))).unwrap();
    router.add(&local.spawn(Oracle(Ok(1)))).unwrap();
    let (to, answers) = mpsc::channel();
    let asker = local.spawn(Asker(router, to));
    for next in [Next::Continue, Next::Undo, Next::Continue] {
        asker.send(Msg::Ask(next)).unwrap();
        local.run();
    }
    let answers: Vec<_> = answers.try_iter().collect();
    assert_eq!(answers, [Ok(0), Err(NoReply::Dropped), Ok(1)]);
}

#[test]
fn who_holds_the_plain_address_cannot_tell_that_there_is_a_router() {
    let f = Fixture::new(RoundRobin::new()).with(2);
    let front: Address<u32> = f.router.front();
    front.send(5).unwrap();
    front.send(6).unwrap();
    assert_eq!(f.send([7]), [(0, 5), (1, 6), (0, 7)]);
    drop(f.local);
    assert_eq!(front.send(8), Err(SendError(8)));
}

#[test]
fn a_router_follows_who_serves_a_protocol() {
    const KEY: Key<u32> = Key::new("numbers");
    let f = Fixture::new(RoundRobin::new());
    let receptionist = Receptionist::spawn(&f.local.handle()).unwrap();
    let routees = [0, 1].map(|name| f.local.spawn(Collect(name, f.to.clone())));
    receptionist.serve(&KEY, &routees[0]).unwrap();
    let follower = f.router.follow(&receptionist, &KEY).unwrap();
    receptionist.serve(&KEY, &routees[1]).unwrap();
    f.local.run();
    assert_eq!(names(&f.send(0..3)), [0, 1, 0]);
    receptionist.withdraw(&KEY, &routees[0]).unwrap();
    f.local.run();
    assert_eq!(names(&f.send(0..2)), [1, 1]);
    receptionist.unsubscribe(&KEY, &follower).unwrap();
    receptionist.serve(&KEY, &routees[0]).unwrap();
    f.local.run();
    assert_eq!(names(&f.send(0..2)), [1, 1]);
}

#[test]
fn tasks_are_run_by_workers_that_are_used_again() {
    let system = System::builder().workers(2).start().unwrap();
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let pool = Pool::spawn(&system.handle(), 3, move || {
        count.fetch_add(1, Relaxed);
        |n: u64| 2 * n
    })
    .unwrap();
    let tasks: Vec<_> = (0..1_000).map(|n| pool.run(n)).collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.wait(), Ok(2 * n as u64));
    }
    assert_eq!(made.load(Relaxed), 3);
    system.shutdown();
}

#[test]
fn threads_share_a_pool_whose_workers_fail_now_and_then() {
    const TASKS: u64 = 500;
    let system = System::builder()
        .workers(2)
        .on_failure(|_| {})
        .start()
        .unwrap();
    let pool = Pool::spawn(&system.handle(), 3, || {
        |n: u64| {
            if n.is_multiple_of(50) {
                resume_unwind(Box::new("as told"));
            }
            n + 1
        }
    })
    .unwrap();
    let run_all = || {
        let tasks: Vec<_> = (0..TASKS).map(|n| pool.run(n)).collect();
        for (n, task) in (0..TASKS).zip(tasks) {
            assert_eq!(task.wait().ok(), (!n.is_multiple_of(50)).then_some(n + 1));
        }
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(run_all);
        }
    });
    // A task is dropped while its turn unwinds, before the failure is counted. So the threads may
    // have all answers although the last failure is not counted yet.
    let handle = system.handle();
    system.shutdown();
    assert_eq!(handle.failures(), 30);
}

#[test]
fn routees_come_and_go_while_threads_ask() {
    let system = System::builder().workers(2).start().unwrap();
    let router = Router::spawn(&system.handle(), RoundRobin::new()).unwrap();
    router.add(&system.spawn(Oracle(Ok(0))).unwrap()).unwrap();
    let (come_and_go, ask) = (router.clone(), router.clone());
    thread::scope(|scope| {
        scope.spawn(|| {
            for name in 1..300 {
                let routee = system.spawn(Oracle(Ok(name))).unwrap();
                come_and_go.add(&routee).unwrap();
                come_and_go.status().wait().unwrap();
                come_and_go.remove(&routee).unwrap();
            }
        });
        scope.spawn(|| {
            for _ in 0..1_000 {
                ask.ask(Question).wait().expect("one routee stays");
            }
        });
    });
    let status = router.status().wait().unwrap();
    assert_eq!((status.routees.len(), status.undelivered), (1, 0));
    system.shutdown();
}

#[test]
fn tasks_begin_in_order_and_those_that_wait_outlive_the_handle() {
    let local = Local::new().unwrap();
    let begun = Arc::new(Mutex::new(Vec::new()));
    let record = begun.clone();
    let pool = Pool::spawn(&local.handle(), 1, move || {
        let record = record.clone();
        move |n: u32| record.lock().unwrap().push(n)
    })
    .unwrap();
    let tasks: Vec<_> = (0..50).map(|n| pool.run(n)).collect();
    drop(pool);
    local.run();
    assert!(begun.lock().unwrap().iter().copied().eq(0..50));
    assert!(tasks.into_iter().all(|task| task.wait().is_ok()));
}

#[test]
fn a_full_pool_gives_the_task_back() {
    let local = Local::new().unwrap();
    let pool = Pool::bounded(&local.handle(), 2, 3, || |task: String| task).unwrap();
    let tasks: Vec<_> = (0..7).map(|n| pool.run(n.to_string())).collect();
    local.run();
    let results: Vec<_> = tasks.into_iter().map(garrick::ask::Request::wait).collect();
    let full = |task: &str| PoolError::Full {
        task: task.to_owned(),
        waiting_max: 3,
    };
    assert!(results[..5].iter().all(Result::is_ok));
    assert_eq!(results[5..], [Err(full("5")), Err(full("6"))]);
    let again = pool.run("there is room again".to_owned());
    local.run();
    assert!(again.wait().is_ok());
}

#[test]
fn a_worker_that_fails_is_replaced() {
    let local = Local::new().unwrap();
    let pool = Pool::spawn(&local.handle(), 2, || {
        |n: u32| {
            if n.is_multiple_of(2) {
                resume_unwind(Box::new("as told"));
            }
            n
        }
    })
    .unwrap();
    let tasks: Vec<_> = (0..20).map(|n| pool.run(n)).collect();
    local.run();
    for (n, task) in (0..20).zip(tasks) {
        let expected = match n % 2 {
            0 => Err(PoolError::Failed(NoReply::Dropped)),
            _ => Ok(n),
        };
        assert_eq!(task.wait(), expected);
    }
    assert_eq!(local.handle().failures(), 10);
}

#[test]
fn a_pool_that_is_gone_says_so() {
    let local = Local::new().unwrap();
    let pool = Pool::spawn(&local.handle(), 1, || |n: u32| n).unwrap();
    drop(local);
    let gone = pool.run(1).wait().unwrap_err();
    assert_eq!(
        gone.to_string(),
        "the task has no result: the reply was dropped without an answer"
    );
}

#[test]
#[should_panic(expected = "a pool needs at least one worker")]
fn a_pool_without_workers_is_refused() {
    let local = Local::new().unwrap();
    let _ = Pool::spawn(&local.handle(), 0, || |n: u32| n);
}
