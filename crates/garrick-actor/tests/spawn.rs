//! Tests of spawning: every kind of actor, at every place, with every option.
#![forbid(unsafe_code)]

mod common;

use std::num::NonZero;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use common::settle;
use garrick_actor::behaviors::{forward, label};
use garrick_actor::mailbox::{Mailbox, OnFull, TrySendError};
use garrick_actor::supervise::{Decision, Strategy, SuperviseError, Supervisor};
use garrick_actor::{
    Actor, Address, AsyncActor, AsyncContext, Context, Failure, Incoming, Local, Reply, SendError,
    System, behavior, cyclic,
};
use garrick_testkit::{fail, silence_panics};

/// An actor that adds up numbers and answers with the sum. It panics at 13.
#[derive(Default)]
struct Sum(u32);

type Msg = (u32, Reply<u32>);

impl Actor for Sum {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, (n, reply): Msg, _: &mut Context<'_, Msg>) {
        if n == 13 {
            fail();
        }
        self.0 += n;
        reply.send(self.0);
    }
}

/// An async actor that adds up numbers and answers with the sum. It panics at 13.
#[derive(Default)]
struct AsyncSum(u32);

impl AsyncActor for AsyncSum {
    type Msg = Msg;
    type Outcome = ();

    async fn receive(&mut self, (n, reply): Msg, _: &mut AsyncContext<Msg>) {
        if n == 13 {
            fail();
        }
        self.0 += n;
        reply.send(self.0);
    }
}

/// An async function that adds up numbers and answers with the sum. It panics at 13.
async fn sum(mut mailbox: Incoming<Msg>) {
    let mut sum = 0;
    while let Some((n, reply)) = mailbox.recv().await {
        if n == 13 {
            fail();
        }
        sum += n;
        reply.send(sum);
    }
}

fn ask(local: &Local, to: &Address<Msg>, n: u32) -> Option<u32> {
    local.block_on(to.ask(|reply| (n, reply))).ok()
}

#[test]
fn every_kind_is_spawned_at_every_place() {
    let (_, local) = common::local();
    let system = System::builder().workers(1).start().unwrap();
    let handle = system.handle();
    let closure = || {
        let mut sum = 0;
        behavior(move |(n, reply): Msg, _| {
            sum += n;
            reply.send(sum);
        })
    };
    let mut all = vec![
        local.spawn(Sum(0)),
        local.spawn(AsyncSum(0)),
        local.spawn(sum),
        local.spawn(closure()),
        local.spawn(closure),
        local.spawn(Sum::default),
        local.spawn(AsyncSum::default),
        local.actor(Sum(0)).on(&handle).spawn().unwrap(),
        system.spawn(Sum(0)).unwrap(),
        system.spawn(AsyncSum(0)).unwrap(),
        system.actor(sum).named("sum").spawn().unwrap(),
        handle.spawn(closure()).unwrap(),
        handle
            .actor(AsyncSum::default)
            .named("sum")
            .spawn()
            .unwrap(),
    ];
    let (told, made) = mpsc::channel();
    let maker = local.spawn(behavior(move |(): (), cx| {
        for child in [
            cx.spawn(Sum(0)),
            cx.spawn(AsyncSum(0)),
            cx.spawn(sum),
            cx.actor(closure).named("sum").spawn(),
            cx.actor(Sum(0)).on(&handle).spawn(),
            cx.actor(sum).on(&handle).named("sum").spawn(),
        ] {
            told.send(child).unwrap();
        }
    }));
    maker.send(()).unwrap();
    settle(&local);
    all.extend(made.try_iter());
    assert_eq!(all.len(), 19);
    for (at, to) in all.iter().enumerate() {
        assert_eq!(ask(&local, to, 2), Some(2), "number {at}");
        assert_eq!(ask(&local, to, 3), Some(5), "number {at}");
    }
}

#[test]
fn a_system_that_ends_gives_every_kind_back() {
    let system = System::builder().workers(1).start().unwrap();
    let handle = system.handle();
    system.shutdown();
    assert_eq!(handle.spawn(Sum(7)).unwrap_err().0.0, 7);
    assert_eq!(handle.spawn(AsyncSum(7)).unwrap_err().0.0, 7);
    let named = handle.actor(Sum(7)).named("sum").stash(1);
    assert_eq!(named.spawn().unwrap_err().0.0, 7);
    let named = handle.actor(AsyncSum(7)).named("sum");
    assert_eq!(named.spawn().unwrap_err().0.0, 7);
    let bounded = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let bounded = handle.actor(Sum(7)).mailbox(bounded).named("sum");
    assert_eq!(bounded.spawn().unwrap_err().0.0, 7);
    let made = AtomicUsize::new(0);
    let factory = move || {
        made.fetch_add(1, Relaxed);
        Sum(0)
    };
    // The closure comes back, and not what it has created.
    let factory = handle.spawn(factory).unwrap_err().0;
    assert_eq!(factory().0, 0);
}

#[test]
fn options_go_together() {
    let (clock, local) = common::local();
    let paths = Rc::new(std::cell::RefCell::new(Vec::new()));
    struct All(Rc<std::cell::RefCell<Vec<String>>>, bool);
    impl Actor for All {
        type Msg = Option<u32>;
        type Outcome = ();
        const STARTS: bool = false;

        fn receive(&mut self, msg: Option<u32>, cx: &mut Context<'_, Option<u32>>) {
            let said = match msg {
                None => format!("silence, {} back", cx.unstash_all()),
                Some(n) if self.1 => format!("{n} from the stash"),
                Some(n) => match cx.stash(Some(n)) {
                    Ok(()) => format!("{n} stashed"),
                    Err(_) => format!("{n} too many"),
                },
            };
            self.1 |= msg.is_none();
            self.0.borrow_mut().push(said);
            cx.pipe(async {}, |_| Some(0));
        }
    }
    let all = local
        .actor(All(paths.clone(), false))
        .named("all")
        .stash(2)
        .receive_timeout(Duration::from_millis(10), || None)
        .pipe_limit(NonZero::<usize>::MIN)
        .spawn();
    // `pipe` sends it a number, and so on.
    all.stop();
    settle(&local);
    let calm = local
        .actor(behavior(|n: Option<u32>, cx| {
            match n {
                Some(n) => drop(cx.stash(Some(n))),
                None => assert_eq!(cx.unstash(1), 1),
            }
            assert!(cx.path().as_str().contains("/calm#"));
        }))
        .receive_timeout(Duration::from_millis(10), || None)
        .stash(1)
        .named("calm")
        .spawn();
    calm.send(Some(1)).unwrap();
    settle(&local);
    clock.advance(Duration::from_millis(11));
    settle(&local);
    assert_eq!(local.handle().failures(), 0);
    assert!(all.is_stopped() && !calm.is_stopped());
}

/// Creates a system on the current thread, and a list of its failure reports.
fn reporting() -> (Local, Arc<Mutex<Vec<Failure>>>) {
    silence_panics();
    let failures = Arc::<Mutex<Vec<Failure>>>::default();
    let report = failures.clone();
    let builder = System::builder();
    let builder = builder.on_failure(move |failure| report.lock().unwrap().push(failure.clone()));
    (builder.local().unwrap(), failures)
}

#[test]
fn the_failure_of_every_kind_has_its_name() {
    let (local, failures) = reporting();
    let errs = behavior(|(n, reply): Msg, cx| {
        drop(reply);
        cx.fail(format!("{n} is not counted"))
    });
    for (name, to) in [
        ("actor", local.actor(Sum(0)).named("actor").spawn()),
        ("async", local.actor(AsyncSum(0)).named("async").spawn()),
        ("function", local.actor(sum).named("function").spawn()),
        ("error", local.actor(errs).named("error").spawn()),
    ] {
        assert_eq!(ask(&local, &to, 13), None);
        let failure = failures.lock().unwrap().pop().unwrap();
        let path = failure.path.unwrap();
        assert!(
            path.as_str().starts_with(&format!("/user/{name}#")),
            "{path}"
        );
        assert!(to.is_stopped());
    }
    // The next failure of such an actor has no name.
    let unnamed = local.spawn(Sum(0));
    assert_eq!(ask(&local, &unnamed, 13), None);
    assert_eq!(failures.lock().unwrap().pop().unwrap().path, None);
}

#[test]
fn a_supervised_actor_of_every_kind_is_created_again() {
    let (local, failures) = reporting();
    let tree = Supervisor::new("app", Strategy::OneForOne).intensity(100, Duration::MAX);
    let tree = tree.spawn(&local.handle()).unwrap();
    let resume = |_: &_| Decision::Resume;
    let child = || {
        local
            .actor(Sum::default)
            .named("child")
            .supervised_by(&tree)
    };
    let async_child = local.actor(AsyncSum::default).supervised_by(&tree);
    for (to, kept) in [
        (child().spawn(), 0),
        (child().decide(resume).spawn(), 2),
        (async_child.decide(resume).spawn(), 0),
        (local.actor(sum).supervised_by(&tree).spawn(), 0),
    ] {
        let to = to.unwrap();
        assert_eq!(ask(&local, &to, 2), Some(2));
        assert_eq!(ask(&local, &to, 13), None);
        assert_eq!(ask(&local, &to, 3), Some(kept + 3));
    }
    // Panics are reported, with the names that there are.
    let reported = std::mem::take(&mut *failures.lock().unwrap());
    let paths = reported.into_iter().map(|failure| failure.path);
    let is_named = |path: Option<garrick_actor::ActorPath>| {
        path.is_some_and(|path| path.as_str().contains("/child#"))
    };
    assert_eq!(
        paths.map(is_named).collect::<Vec<_>>(),
        [true, true, false, false]
    );
    let names: Vec<_> = tree
        .snapshot()
        .children
        .into_iter()
        .map(|child| child.name)
        .collect();
    assert_eq!(names, ["child", "child", "AsyncSum", "sum"]);
    // A report of the next failure does not have the name of a supervised actor of that type.
    let unnamed = local.spawn(Sum(0));
    assert_eq!(ask(&local, &unnamed, 13), None);
    assert_eq!(failures.lock().unwrap().pop().unwrap().path, None);
}

#[test]
fn a_supervised_actor_has_its_path_below_that_of_its_tree() {
    let (_, local) = common::local();
    let tree = Supervisor::new("app", Strategy::OneForOne)
        .spawn(&local.handle())
        .unwrap();
    let branch = Supervisor::new("branch", Strategy::OneForOne)
        .spawn_under(&tree)
        .unwrap();
    let paths = || behavior(|reply: Reply<String>, cx| reply.send(cx.path().to_string()));
    let leaf = local
        .actor(paths)
        .named("leaf")
        .supervised_by(&branch)
        .spawn()
        .unwrap();
    let path = local.block_on(leaf.ask(|reply| reply)).unwrap();
    let parts: Vec<_> = path.split(['/', '#']).collect();
    assert_eq!(
        [parts[1], parts[2], parts[4], parts[6]],
        ["user", "app", "branch", "leaf"]
    );
}

#[test]
fn messages_that_a_supervised_actor_holds_keep_their_places() {
    silence_panics();
    let (clock, local) = common::local();
    let tree = Supervisor::new("app", Strategy::OneForOne)
        .spawn(&local.handle())
        .unwrap();
    let backoff = garrick_actor::supervise::Backoff::exponential(
        Duration::from_secs(1),
        Duration::from_secs(1),
    );
    let mailbox = Mailbox::bounded(3, OnFull::Fail).unwrap();
    let child = local
        .actor(Sum::default)
        .mailbox(mailbox)
        .supervised_by(&tree);
    let child = child.backoff(backoff).spawn().unwrap();
    assert_eq!((child.capacity(), child.waiting()), (Some(3), Some(0)));
    drop(child.ask(|reply| (13, reply)));
    settle(&local);
    // It is down for a second.
    let asks: Vec<_> = (1..=3).map(|n| child.ask(|reply| (n, reply))).collect();
    settle(&local);
    assert_eq!(child.waiting(), Some(3));
    let (ask_more, reply) = garrick_actor::Ask::pair();
    assert!(matches!(
        child.try_send((4, reply)),
        Err(TrySendError::Full(_))
    ));
    drop(ask_more);
    clock.advance(Duration::from_secs(2));
    settle(&local);
    let sums: Vec<_> = asks
        .into_iter()
        .map(|ask| local.block_on(ask).unwrap())
        .collect();
    assert_eq!(sums, [1, 3, 6]);
    assert_eq!(child.waiting(), Some(0));
    // Also if the turn that would handle one panics.
    drop(child.ask(|reply| (13, reply)));
    settle(&local);
    assert_eq!(child.waiting(), Some(0));
}

#[test]
fn a_supervised_actor_is_refused_a_mailbox_that_its_seat_cannot_have() {
    let (_, local) = common::local();
    let tree = Supervisor::new("app", Strategy::OneForOne)
        .spawn(&local.handle())
        .unwrap();
    for mailbox in [
        Mailbox::priority(|_: &Msg| 0),
        Mailbox::bounded(1, OnFull::DropOldest).unwrap(),
    ] {
        let child = local
            .actor(Sum::default)
            .mailbox(mailbox)
            .supervised_by(&tree);
        assert_eq!(child.spawn().map(|_| ()), Err(SuperviseError::Mailbox));
    }
    assert!(tree.snapshot().children.is_empty());
}

#[test]
fn a_stash_does_not_outlive_the_supervised_actor_that_filled_it() {
    silence_panics();
    let (_, local) = common::local();
    let tree = Supervisor::new("app", Strategy::OneForOne)
        .spawn(&local.handle())
        .unwrap();
    let (told, heard) = mpsc::channel();
    let child = move || {
        let told = told.clone();
        behavior(move |n: u32, cx| match n {
            0 => told.send(cx.unstash_all()).unwrap(),
            13 => fail(),
            n => cx.stash(n).unwrap(),
        })
    };
    let child = local.actor(child).supervised_by(&tree).spawn().unwrap();
    for n in [1, 2, 13, 0, 3] {
        child.send(n).unwrap();
    }
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0]);
    assert_eq!(local.handle().dead_letters(), 2);
}

#[test]
fn two_actors_know_each_other_from_the_start() {
    struct Back(Address<u32>);
    impl Actor for Back {
        type Msg = u32;
        type Outcome = ();

        fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
            cx.send(&self.0, n - 1).unwrap();
        }
    }
    struct Forth(Address<u32>, mpsc::Sender<u32>);
    impl Actor for Forth {
        type Msg = u32;
        type Outcome = ();

        fn started(&mut self, _: &mut Context<'_, u32>) {
            self.1.send(100).unwrap();
        }

        fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
            self.1.send(n).unwrap();
            if n > 0 {
                cx.send(&self.0, n).unwrap();
            }
        }
    }
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let forth = cyclic(move |cx: &Context<'_, u32>| Forth(cx.spawn(Back(cx.address())), told));
    let forth = local.actor(forth).named("forth").spawn();
    forth.send(3).unwrap();
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [100, 3, 2, 1, 0]);
    // One that cannot be created ends.
    silence_panics();
    let never = local.spawn(cyclic(|_: &Context<'_, Msg>| -> Sum { fail() }));
    assert_eq!(ask(&local, &never, 1), None);
    assert!(never.is_stopped());
}

#[test]
fn a_supervised_actor_frees_the_place_of_a_message_when_its_turn_begins() {
    let system = System::builder().workers(1).start().unwrap();
    let tree = Supervisor::new("app", Strategy::OneForOne)
        .spawn(&system.handle())
        .unwrap();
    let child = || {
        behavior(|(left, reply): (u32, Reply<u32>), cx| {
            let me = cx.address();
            if left == 0 {
                return reply.send(7);
            }
            // The only place is free while this turn runs.
            cx.blocking(move || me.send((left - 1, reply)).unwrap());
        })
    };
    let mailbox = Mailbox::bounded(1, OnFull::Wait).unwrap();
    let child = system
        .actor(child)
        .mailbox(mailbox)
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    assert_eq!(child.ask(|reply| (3, reply)).wait(), Ok(7));
    tree.stop().wait().unwrap();
}

#[test]
fn an_actor_with_a_bound_for_a_system_that_has_ended_lives_here() {
    let (_, local) = common::local();
    let far = System::builder().workers(1).start().unwrap();
    let handle = far.handle();
    far.shutdown();
    let (told, heard) = mpsc::channel();
    let parent = local.spawn(behavior(move |undoes: bool, cx| {
        let told = told.clone();
        let child = cyclic(move |_: &Context<'_, Msg>| {
            told.send(undoes).unwrap();
            Sum(0)
        });
        let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
        drop(cx.actor(child).on(&handle).mailbox(mailbox).spawn());
        if undoes {
            garrick_actor::Next::Undo
        } else {
            garrick_actor::Next::Continue
        }
    }));
    parent.send(true).unwrap();
    parent.send(false).unwrap();
    settle(&local);
    assert_eq!(local.handle().failures(), 0);
    assert_eq!(
        heard.try_iter().collect::<Vec<_>>(),
        [false],
        "an undone turn spawns nothing"
    );
}

#[test]
fn the_message_of_a_silence_comes_in_above_the_bound() {
    let (clock, local) = common::local();
    let (told, heard) = mpsc::channel();
    let quiet = behavior(move |n: u32, _| told.send(n).unwrap());
    let quiet = local
        .actor(quiet)
        .receive_timeout(Duration::from_millis(10), || 0)
        .mailbox(Mailbox::bounded(1, OnFull::Fail).unwrap())
        .spawn();
    settle(&local);
    let place = local.block_on(quiet.place());
    clock.advance(Duration::from_millis(11));
    settle(&local);
    drop(place);
    quiet.send(1).unwrap();
    settle(&local);
    clock.advance(Duration::from_millis(11));
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn a_mapped_address_has_the_bound_of_its_target() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let lengths = behavior(move |n: usize, _| told.send(n).unwrap());
    let mailbox = Mailbox::bounded(1, OnFull::Wait).unwrap();
    let lengths = local.actor(lengths).mailbox(mailbox).spawn();
    let words = lengths.contramap(str::len);
    assert_eq!((words.capacity(), words.waiting()), (Some(1), Some(0)));
    words.try_send("one").unwrap();
    assert_eq!(words.try_send("two"), Err(TrySendError::Full("two")));
    // The future waits, and the thread runs the actor meanwhile.
    local.block_on(async {
        words.send_async("three").await.unwrap();
        words.send_async("twelve").await.unwrap();
    });
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [3, 5, 6]);
    lengths.stop();
    settle(&local);
    assert_eq!(words.try_send("late"), Err(TrySendError::Stopped("late")));
}

#[test]
fn an_address_that_forwards_has_the_bound_of_its_target() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let labelled = behavior(move |(label, n): (char, u32), _| told.send((label, n)).unwrap());
    let mailbox = Mailbox::bounded(1, OnFull::Wait).unwrap();
    let target = local.actor(labelled).mailbox(mailbox).spawn();
    let address = forward(forward(label(target.clone(), 'a')));
    assert_eq!((address.capacity(), address.waiting()), (Some(1), Some(0)));
    address.try_send(1).unwrap();
    // The thread would wait for itself.
    assert_eq!(address.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(address.send(2), Err(SendError(2)));
    assert_eq!(address.send_blocking(2), Err(SendError(2)));
    // The future waits, and the thread runs the actor meanwhile.
    local.block_on(async {
        address.send_async(3).await.unwrap();
        address.send_async(4).await.unwrap();
    });
    settle(&local);
    let heard = heard.try_iter().collect::<Vec<_>>();
    assert_eq!(heard, [('a', 1), ('a', 3), ('a', 4)]);
    assert_eq!(forward(local.spawn(Sum(0))).capacity(), None);
    target.stop();
    settle(&local);
    assert_eq!(address.try_send(5), Err(TrySendError::Stopped(5)));
}

#[test]
fn senders_through_an_address_that_forwards_wait_and_lose_nothing() {
    let system = System::builder().workers(1).start().unwrap();
    let (told, heard) = mpsc::channel();
    let slow = behavior(move |n: u32, _| told.send(n).unwrap());
    let mailbox = Mailbox::bounded(2, OnFull::Wait).unwrap();
    let address = forward(system.actor(slow).mailbox(mailbox).spawn().unwrap());
    std::thread::scope(|scope| {
        let blocking = address.clone();
        scope.spawn(move || (0..2_000).for_each(|n| blocking.send_blocking(n).unwrap()));
        let here = address.clone();
        scope.spawn(move || (0..2_000).for_each(|n| here.send(n).unwrap()));
        let (_, local) = common::local();
        local.block_on(async {
            for n in 0..2_000 {
                address.send_async(n).await.unwrap();
            }
        });
    });
    system.shutdown();
    assert_eq!(heard.try_iter().count(), 6_000);
}

#[test]
fn a_path_has_the_actors_type_also_behind_a_mailbox() {
    let (_, local) = common::local();
    struct Shows;
    impl Actor for Shows {
        type Msg = Reply<String>;
        type Outcome = ();

        fn receive(&mut self, reply: Reply<String>, cx: &mut Context<'_, Self::Msg>) {
            reply.send(cx.path().to_string());
        }
    }
    for shows in [
        local.spawn(Shows),
        local.actor(Shows).mailbox(Mailbox::priority(|_| 0)).spawn(),
    ] {
        let path = local.block_on(shows.ask(|reply| reply)).unwrap();
        assert!(path.starts_with("/user/Shows@"), "{path}");
    }
}

#[test]
fn a_path_has_the_type_of_an_async_actor_also_below_a_supervisor() {
    let (_, local) = common::local();
    #[derive(Default)]
    struct Shows;
    impl AsyncActor for Shows {
        type Msg = Reply<String>;
        type Outcome = ();

        async fn receive(&mut self, reply: Reply<String>, cx: &mut AsyncContext<Self::Msg>) {
            reply.send(cx.path().to_string());
        }
    }
    let tree = Supervisor::new("app", Strategy::OneForOne);
    let tree = tree.spawn(&local.handle()).unwrap();
    for shows in [
        local.spawn(Shows),
        local
            .actor(Shows::default)
            .supervised_by(&tree)
            .spawn()
            .unwrap(),
    ] {
        let path = local.block_on(shows.ask(|reply| reply)).unwrap();
        assert!(path.starts_with("/user/Shows@"), "{path}");
    }
}

/// An actor that tells its address at its start, and nothing at its end.
struct Mortal(mpsc::Sender<Option<Address<()>>>);

impl Actor for Mortal {
    type Msg = ();
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ()>) {
        self.0.send(Some(cx.address())).unwrap();
    }

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {}
}

impl Drop for Mortal {
    fn drop(&mut self) {
        let _ = self.0.send(None);
    }
}

#[test]
fn an_undone_turn_keeps_no_actor_behind_any_mailbox() {
    let mailboxes: [fn() -> Mailbox<()>; 3] = [
        || Mailbox::priority(|()| 0),
        || Mailbox::bounded(4, OnFull::DropOldest).unwrap(),
        || Mailbox::bounded(4, OnFull::Fail).unwrap(),
    ];
    for mailbox in mailboxes {
        let (_, local) = common::local();
        let (told, heard) = mpsc::channel();
        let (kept, spawned) = mpsc::channel();
        let parent = local.spawn(behavior(move |undoes: bool, cx| {
            let child = cx.actor(Mortal(told.clone())).mailbox(mailbox()).spawn();
            if undoes {
                garrick_actor::Next::Undo
            } else {
                kept.send(child).unwrap();
                garrick_actor::Next::Continue
            }
        }));
        parent.send(true).unwrap();
        settle(&local);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [None]);
        parent.send(false).unwrap();
        settle(&local);
        let child = spawned.try_recv().unwrap();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [Some(child)]);
        settle(&local);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [None]);
    }
}

#[test]
fn an_actor_starts_behind_its_mailbox_though_nobody_has_its_address() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let priority = Mailbox::priority(|()| 0);
    drop(local.actor(Mortal(told)).mailbox(priority).spawn());
    settle(&local);
    let started = heard.try_recv().unwrap().unwrap();
    started.send(()).unwrap();
    settle(&local);
    assert!(heard.try_recv().is_err());
    drop(started);
    settle(&local);
    assert_eq!(heard.try_recv(), Ok(None));
}
