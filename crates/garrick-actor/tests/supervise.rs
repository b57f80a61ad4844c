//! Tests of supervision: which children restart, when and in which order, and what happens to their
//! messages.
#![forbid(unsafe_code)]

mod troupe;

use std::sync::mpsc;
use std::time::Duration;

use garrick_actor::supervise::{
    Backoff, ChildState, Decision, Fault, Restart, Shutdown, Strategy, SuperviseError, Supervisor,
    Tree,
};
use garrick_actor::{
    Actor, Address, Behavior, Context, Ended, Next, NoReply, Reply, System, behavior,
};
use garrick_testkit::{ByHand, HANGS_AFTER};
use troupe::{Msg, Stage, player};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn one_for_one_restarts_the_one_that_failed() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let [a, b, c] = stage.three(&tree);
    stage.run();
    assert_eq!(stage.said(), ["+a1", "+b1", "+c1"]);
    b.send(Msg::Panic).unwrap();
    b.send(Msg::Say(1)).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["-b1", "+b2", "b2: 1"]);
    for address in [&a, &b, &c] {
        address.send(Msg::Say(2)).unwrap();
    }
    stage.run();
    let mut said = stage.said();
    said.sort();
    assert_eq!(said, ["a1: 2", "b2: 2", "c1: 2"]);
}

#[test]
fn one_for_all_stops_latest_first_and_starts_in_order() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForAll);
    let [a, b, _c] = stage.three(&tree);
    stage.run();
    stage.said();
    b.send(Msg::Panic).unwrap();
    a.send(Msg::Say(1)).unwrap();
    stage.run();
    let said = stage.said();
    // Whether `a` hears of 1 before its stop is a matter of who runs first, and it hears of it
    // once.
    let order: Vec<_> = said.iter().filter(|line| !line.contains(": 1")).collect();
    assert_eq!(order, ["-c1", "-b1", "-a1", "+a2", "+b2", "+c2"]);
    assert_eq!(said.len(), 7);
}

#[test]
fn rest_for_one_restarts_those_behind_it() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::RestForOne);
    let [_a, b, _c] = stage.three(&tree);
    stage.run();
    stage.said();
    b.send(Msg::Fail).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["-c1", "-b1", "+b2", "+c2"]);
}

#[test]
fn messages_wait_for_the_next_incarnation_and_the_failed_one_is_gone() {
    for end in [|| Msg::Panic, || Msg::Fail, || Msg::Stop] {
        let stage = Stage::new();
        let tree = stage.tree(Strategy::OneForOne);
        let a = tree
            .handle()
            .actor(player(&stage, "a"))
            .named("a")
            .supervised_by(&tree)
            .spawn()
            .unwrap();
        for msg in [
            Msg::Say(1),
            end(),
            Msg::Say(2),
            Msg::Undo(3),
            Msg::Say(4),
            end(),
            Msg::Say(5),
        ] {
            a.send(msg).unwrap();
        }
        stage.run();
        a.send(Msg::Say(6)).unwrap();
        stage.run();
        let expected = [
            "+a1",
            "a1: 1",
            "-a1",
            "+a2",
            "a2: 2",
            "a2: undo 3",
            "a2: 4",
            "-a2",
            "+a3",
            "a3: 5",
            "a3: 6",
        ];
        assert_eq!(stage.said(), expected);
    }
}

#[test]
fn resume_keeps_the_fields_and_stop_ends_for_good() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let decide = |fault: &Fault| match fault {
        Fault::Error(_) => Decision::Resume,
        _ => Decision::Stop,
    };
    let a = tree
        .handle()
        .actor(player(&stage, "a"))
        .named("a")
        .supervised_by(&tree)
        .decide(decide)
        .spawn()
        .unwrap();
    a.send(Msg::Fail).unwrap();
    a.send(Msg::Say(1)).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["+a1", "a1: 1"]);
    a.send(Msg::Panic).unwrap();
    a.send(Msg::Say(2)).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["-a1"]);
    assert!(a.is_stopped());
    assert_eq!(tree.to_string(), "tree (one for one)");
}

#[test]
fn a_decider_sees_the_error_itself() {
    #[derive(Debug)]
    struct Boring(u32);
    impl std::fmt::Display for Boring {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "boring: {}", self.0)
        }
    }
    impl std::error::Error for Boring {}
    struct Bored;
    impl Actor for Bored {
        type Msg = u32;
        type Outcome = Next;
        fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) -> Next {
            cx.fail(Boring(n))
        }
    }
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let (seen, saw) = mpsc::channel();
    let decide = move |fault: &Fault| {
        let Fault::Error(error) = fault else {
            return Decision::Escalate;
        };
        seen.send(error.downcast_ref::<Boring>().unwrap().0)
            .unwrap();
        Decision::Resume
    };
    let bored = tree
        .handle()
        .actor(|| Bored)
        .named("bored")
        .supervised_by(&tree)
        .decide(decide)
        .spawn()
        .unwrap();
    bored.send(7).unwrap();
    bored.send(8).unwrap();
    stage.run();
    assert_eq!(saw.try_iter().collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn a_decider_that_panics_escalates() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let a = tree
        .handle()
        .actor(player(&stage, "a"))
        .named("a")
        .supervised_by(&tree)
        .decide(|_| garrick_testkit::fail())
        .spawn()
        .unwrap();
    a.send(Msg::Fail).unwrap();
    stage.run();
    assert!(tree.is_stopped());
    assert!(a.is_stopped());
}

#[test]
fn restart_types_are_those_of_otp() {
    // What is left of an actor of each type after a stop of its own, and after a failure.
    let kinds = [
        (Restart::Permanent, true, true),
        (Restart::Transient, false, true),
        (Restart::Temporary, false, false),
    ];
    for (restart, after_stop, after_failure) in kinds {
        for (msg, is_left) in [(Msg::Stop, after_stop), (Msg::Panic, after_failure)] {
            let stage = Stage::new();
            let tree = stage.tree(Strategy::OneForOne);
            let a = tree
                .handle()
                .actor(player(&stage, "a"))
                .named("a")
                .supervised_by(&tree)
                .restart(restart)
                .spawn()
                .unwrap();
            a.send(msg).unwrap();
            stage.run();
            assert_eq!(!a.is_stopped(), is_left, "{restart:?}");
            assert_eq!(tree.snapshot().children.len(), usize::from(is_left));
        }
    }
}

#[test]
fn a_temporary_sibling_does_not_come_back() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForAll);
    let a = tree
        .handle()
        .actor(player(&stage, "a"))
        .named("a")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    let b = tree
        .handle()
        .actor(player(&stage, "b"))
        .named("b")
        .supervised_by(&tree)
        .restart(Restart::Temporary)
        .spawn()
        .unwrap();
    a.send(Msg::Panic).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["+a1", "+b1", "-b1", "-a1", "+a2"]);
    assert!(b.is_stopped());
}

#[test]
fn too_many_restarts_in_the_window_escalate() {
    let stage = Stage::new();
    let supervisor = Supervisor::new("tree", Strategy::OneForOne).intensity(2, SECOND);
    let tree = supervisor.spawn(&stage.handle()).unwrap();
    let (told, ended) = mpsc::channel();
    tree.watch(move |how| told.send(how).unwrap());
    let [a, b, c] = stage.three(&tree);
    for _ in 0..3 {
        // Two of these leave the window before the next two.
        a.send(Msg::Panic).unwrap();
        b.send(Msg::Fail).unwrap();
        stage.run();
        stage.world.advance(SECOND);
    }
    assert!(!tree.is_stopped());
    stage.said();
    for _ in 0..3 {
        c.send(Msg::Panic).unwrap();
    }
    stage.run();
    let said = stage.said();
    assert_eq!(said, ["-c1", "+c2", "-c2", "+c3", "-c3", "-b4", "-a4"]);
    for address in [a, b, c] {
        assert!(address.is_stopped());
        assert!(address.send(Msg::Say(1)).is_err());
    }
    let Ok(Ended::Failed(why)) = ended.try_recv() else {
        panic!("it fails");
    };
    assert_eq!(
        &*why,
        "supervisor `tree` gave up: at most 2 restarts are allowed within 1s, but child `c` needs another one because the actor panicked: on purpose"
    );
}

#[test]
fn a_supervisor_that_gives_up_is_restarted_by_its_parent() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::RestForOne);
    let _a = tree
        .handle()
        .actor(player(&stage, "a"))
        .named("a")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    let below = Supervisor::new("below", Strategy::OneForAll).intensity(0, SECOND);
    let below = below.spawn_under(&tree).unwrap();
    let b = below
        .handle()
        .actor(player(&stage, "b"))
        .named("b")
        .supervised_by(&below)
        .spawn()
        .unwrap();
    let _c = below
        .handle()
        .actor(player(&stage, "c"))
        .named("c")
        .supervised_by(&below)
        .spawn()
        .unwrap();
    let _d = tree
        .handle()
        .actor(player(&stage, "d"))
        .named("d")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    stage.run();
    assert_eq!(stage.said(), ["+a1", "+b1", "+c1", "+d1"]);
    b.send(Msg::Panic).unwrap();
    b.send(Msg::Say(1)).unwrap();
    stage.run();
    let expected = ["-c1", "-b1", "-d1", "+b2", "+c2", "+d2", "b2: 1"];
    let mut said = stage.said();
    said.retain(|line| line != "b2: 1");
    said.push("b2: 1".into());
    assert_eq!(said, expected);
    let picture = "\
tree (rest for one)
├─ a: up
├─ below: up, restarts: 1 (one for all)
│  ├─ b: up
│  └─ c: up
└─ d: up";
    assert_eq!(tree.to_string(), picture);
}

#[test]
fn escalation_by_decision_goes_up_to_the_root() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let escalate = |_: &Fault| Decision::Escalate;
    let below = Supervisor::new("below", Strategy::OneForOne)
        .decide(escalate)
        .spawn_under(&tree)
        .unwrap();
    let a = below
        .handle()
        .actor(player(&stage, "a"))
        .named("a")
        .supervised_by(&below)
        .decide(escalate)
        .spawn()
        .unwrap();
    a.send(Msg::Fail).unwrap();
    stage.run();
    assert!(tree.is_stopped() && below.is_stopped() && a.is_stopped());
    assert_eq!(stage.said(), ["+a1", "-a1"]);
}

#[test]
fn a_factory_or_a_start_that_fails_is_a_failure() {
    struct Late(u32);
    impl Actor for Late {
        type Msg = Reply<u32>;
        type Outcome = Next;
        fn started(&mut self, cx: &mut Context<'_, Reply<u32>>) -> Next {
            match self.0 {
                1 => garrick_testkit::fail(),
                2 => cx.fail("not yet"),
                _ => Next::Undo,
            }
        }
        fn receive(&mut self, reply: Reply<u32>, _: &mut Context<'_, Reply<u32>>) -> Next {
            reply.send(self.0);
            Next::Continue
        }
    }
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let made = std::cell::Cell::new(0);
    let late = tree
        .handle()
        .actor(move || {
            made.set(made.get() + 1);
            if made.get() == 3 {
                garrick_testkit::fail();
            }
            Late(made.get())
        })
        .named("late")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    let answer = late.ask(|reply| reply);
    stage.run();
    assert_eq!(answer.wait(), Ok(4));
    assert_eq!(tree.snapshot().children[0].restarts, 3);
}

#[test]
fn backoff_doubles_up_to_a_limit_and_begins_anew_after_a_while() {
    let stage = Stage::new();
    let tree = Supervisor::new("tree", Strategy::OneForOne)
        .intensity(100, SECOND)
        .spawn(&stage.handle())
        .unwrap();
    let backoff = Backoff::exponential(SECOND, 4 * SECOND)
        .jitter(0.0)
        .reset_after(10 * SECOND);
    let a = tree
        .handle()
        .actor(player(&stage, "a"))
        .named("a")
        .supervised_by(&tree)
        .backoff(backoff)
        .spawn()
        .unwrap();
    let b = tree
        .handle()
        .actor(player(&stage, "b"))
        .named("b")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    stage.run();
    let mut waits = Vec::new();
    for at in 0..6 {
        if at == 5 {
            stage.world.advance(10 * SECOND);
        }
        stage.said();
        a.send(Msg::Panic).unwrap();
        a.send(Msg::Say(at)).unwrap();
        let mut waited = 0;
        stage.run();
        assert_eq!(stage.said(), [format!("-a{}", at + 1)]);
        while stage.said().is_empty() {
            b.send(Msg::Undo(0)).unwrap();
            stage.run();
            assert_eq!(stage.said(), ["b1: undo 0"], "others go on");
            // A timer comes no earlier than told, and some microseconds later.
            stage.world.advance(SECOND + Duration::from_millis(1));
            waited += 1;
            stage.run();
            if tree.snapshot().children[0].state == ChildState::Up {
                break;
            }
        }
        waits.push(waited);
    }
    assert_eq!(waits, [1, 2, 4, 4, 4, 1]);
}

#[test]
fn an_earlier_failure_during_a_wait_takes_the_plan_over() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::RestForOne);
    let a = tree
        .handle()
        .actor(player(&stage, "a"))
        .named("a")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    let backoff = Backoff::exponential(SECOND, SECOND).jitter(0.0);
    let b = tree
        .handle()
        .actor(player(&stage, "b"))
        .named("b")
        .supervised_by(&tree)
        .backoff(backoff)
        .spawn()
        .unwrap();
    let _c = tree
        .handle()
        .actor(player(&stage, "c"))
        .named("c")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    b.send(Msg::Panic).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["+a1", "+b1", "+c1", "-c1", "-b1"]);
    a.send(Msg::Panic).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["-a1", "+a2", "+b2", "+c2"]);
    stage.world.advance(2 * SECOND);
    stage.run();
    assert!(stage.said().is_empty());
}

#[test]
fn a_graceful_stop_drains_in_reverse_order_and_is_heard_of_twice() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let [a, b, c] = stage.three(&tree);
    for address in [&a, &b, &c] {
        address.send(Msg::Say(1)).unwrap();
    }
    let (first, second) = (tree.stop(), tree.stop());
    // Said while a start is still to come: nothing that was accepted is lost.
    c.send(Msg::Say(2)).unwrap();
    stage.run();
    let said = stage.said();
    let ends: Vec<_> = said.iter().filter(|line| line.starts_with('-')).collect();
    assert_eq!(ends, ["-c1", "-b1", "-a1"]);
    for line in ["a1: 1", "b1: 1", "c1: 1", "c1: 2"] {
        assert!(said.iter().any(|said| said == line), "{line}");
    }
    assert_eq!(first.wait(), Ok(()));
    assert_eq!(second.wait(), Ok(()));
    assert_eq!(
        tree.stop().wait(),
        Err(NoReply::Dropped),
        "it had ended before"
    );
    assert!(
        a.send(Msg::Say(3)).is_err(),
        "what is not handled is not accepted"
    );
    assert_eq!(stage.dead_letters(), 0);
    let late = tree
        .handle()
        .actor(player(&stage, "d"))
        .named("d")
        .supervised_by(&tree)
        .spawn()
        .map(|_| ());
    assert_eq!(late, Err(SuperviseError::SupervisorEnded));
}

#[test]
fn deadlines_and_waits_that_are_over_are_no_dead_letters() {
    let stage = Stage::new();
    let handle = stage.handle();
    let tree = stage.tree(Strategy::OneForOne);
    let _children = stage.three(&tree);
    let backoff = Backoff::exponential(SECOND, SECOND);
    tree.handle()
        .actor(player(&stage, "d"))
        .named("d")
        .supervised_by(&tree)
        .backoff(backoff)
        .spawn()
        .unwrap();
    stage.run();
    // All end long before their deadlines.
    let stopped = tree.stop();
    stage.run();
    assert_eq!(stopped.wait(), Ok(()));
    drop((tree, stage));
    assert_eq!(handle.dead_letters(), 0);

    let stage = Stage::new();
    let handle = stage.handle();
    let tree = stage.tree(Strategy::OneForOne);
    let d = tree
        .handle()
        .actor(player(&stage, "d"))
        .named("d")
        .supervised_by(&tree)
        .backoff(backoff)
        .spawn()
        .unwrap();
    stage.run();
    // It waits to be started again when all ends.
    d.send(Msg::Panic).unwrap();
    stage.run();
    drop((tree, stage));
    assert_eq!(handle.dead_letters(), 0);
}

#[test]
fn a_child_that_does_not_drain_in_time_is_left_behind() {
    let [system, slow] = [(), ()].map(|()| {
        let builder = System::builder().workers(1).world(ByHand::new());
        builder.start().unwrap()
    });
    let (go, gate) = mpsc::channel::<()>();
    let (entered, busy) = mpsc::channel();
    let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
    struct Stuck(
        std::sync::Arc<std::sync::Mutex<mpsc::Receiver<()>>>,
        mpsc::Sender<()>,
    );
    impl Actor for Stuck {
        type Msg = ();
        type Outcome = ();
        fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {
            self.1.send(()).unwrap();
            let _ = self.0.lock().unwrap().recv();
        }
    }
    let tree = Supervisor::new("tree", Strategy::OneForOne)
        .spawn(&system.handle())
        .unwrap();
    let stuck = slow
        .actor(move || Stuck(gate.clone(), entered.clone()))
        .supervised_by(&tree)
        .shutdown(Shutdown::Drain(Duration::ZERO))
        .spawn()
        .unwrap();
    stuck.send(()).unwrap();
    stuck.send(()).unwrap();
    busy.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!(
        tree.stop().wait(),
        Ok(()),
        "it does not wait for the handler"
    );
    drop(go);
    slow.shutdown();
    system.shutdown();
    assert_eq!(
        busy.iter().count(),
        0,
        "nothing is handled after the deadline"
    );
    assert!(stuck.is_stopped());
}

#[test]
fn a_branch_that_does_not_end_in_time_stops_its_child_though_it_drains_already() {
    for is_deep in [false, true] {
        let stage = Stage::new();
        let tree = stage.tree(Strategy::OneForOne);
        let mut branch = Supervisor::new("branch", Strategy::OneForOne)
            .shutdown(Shutdown::Drain(SECOND))
            .spawn_under(&tree)
            .unwrap();
        if is_deep {
            branch = Supervisor::new("twig", Strategy::OneForOne)
                .shutdown(Shutdown::DrainAll)
                .spawn_under(&branch)
                .unwrap();
        }
        // The child is on a system that runs only when the test says so.
        let far = Stage::new();
        let child = far.handle();
        let child = child.actor(player(&far, "a")).supervised_by(&branch);
        let child = child.shutdown(Shutdown::DrainAll).spawn().unwrap();
        for _ in 0..4 {
            stage.run();
            far.run();
        }
        for n in 0..3 {
            child.send(Msg::Say(n)).unwrap();
        }
        let stopped = tree.stop();
        stage.run();
        stage.world.advance(2 * SECOND);
        stage.run();
        assert_eq!(stopped.wait_timeout(Duration::ZERO), Ok(()));
        far.run();
        assert_eq!(far.said(), ["+a1", "-a1"]);
        assert!(child.is_stopped());
        assert_eq!(far.dead_letters(), 3);
    }
}

#[test]
fn children_are_removed_at_run_time() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForAll);
    let [_a, b, _c] = stage.three(&tree);
    stage.run();
    b.send(Msg::Say(1)).unwrap();
    let (removed, again) = (tree.remove("b"), tree.remove("nobody"));
    stage.run();
    assert_eq!(removed.wait(), Ok(true));
    assert_eq!(again.wait(), Ok(false));
    let said = stage.said();
    assert_eq!(said.last().unwrap(), "-b1");
    assert!(said.contains(&"b1: 1".to_owned()), "it drains: {said:?}");
    let d = tree
        .handle()
        .actor(player(&stage, "d"))
        .named("d")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    d.send(Msg::Say(2)).unwrap();
    stage.run();
    assert_eq!(stage.said(), ["+d1", "d1: 2"]);
}

#[test]
fn whoever_has_the_address_can_end_a_child() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForAll);
    let [a, b, c] = stage.three(&tree);
    stage.run();
    b.stop();
    stage.run();
    assert_eq!(stage.said().last().unwrap(), "-b1");
    assert!(b.is_stopped() && !a.is_stopped() && !c.is_stopped());
    assert_eq!(tree.snapshot().children.len(), 2);
}

#[test]
fn the_address_that_an_actor_gives_away_outlives_it() {
    /// An actor that sends its own address to the test, both when it starts and when it handles a
    /// message.
    struct Giver(mpsc::Sender<Address<Msg>>);
    impl Actor for Giver {
        type Msg = Msg;
        type Outcome = Next;
        fn started(&mut self, cx: &mut Context<'_, Msg>) -> Next {
            self.0.send(cx.address()).unwrap();
            Next::Continue
        }
        fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
            self.0.send(cx.address()).unwrap();
            match msg {
                Msg::Panic => garrick_testkit::fail(),
                _ => Next::Continue,
            }
        }
    }
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let (give, given) = mpsc::channel();
    let giver = tree
        .handle()
        .actor(move || Giver(give.clone()))
        .named("giver")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    giver.send(Msg::Say(0)).unwrap();
    giver.send(Msg::Panic).unwrap();
    giver.send(Msg::Say(0)).unwrap();
    stage.run();
    let given: Vec<_> = given.try_iter().collect();
    assert_eq!(given.len(), 5);
    assert!(given.iter().all(|address| *address == giver));
    let watched = mpsc::channel();
    giver.watch(move |ended| watched.0.send(ended).unwrap());
    giver.send(Msg::Panic).unwrap();
    stage.run();
    assert!(watched.1.try_recv().is_err(), "a restart is not an end");
}

/// Returns a factory of actors that report when they begin to work, and then work until the test
/// lets them continue.
fn busy(entered: &mpsc::Sender<()>, gate: &Gate) -> impl Fn() -> Behavior<Busy> + Send + use<> {
    let (entered, gate) = (entered.clone(), gate.clone());
    move || {
        let (entered, gate) = (entered.clone(), gate.clone());
        behavior(move |msg: Busy, cx| match msg {
            Busy::Work => {
                entered.send(()).unwrap();
                let _ = gate.lock().unwrap().recv_timeout(HANGS_AFTER);
                Next::Continue
            }
            Busy::Fail => cx.fail("as it is told"),
            Busy::Answer(reply) => {
                reply.send(());
                Next::Continue
            }
        })
    }
}

enum Busy {
    Work,
    Fail,
    Answer(Reply<()>),
}

type Gate = std::sync::Arc<std::sync::Mutex<mpsc::Receiver<()>>>;

/// Starts two systems with one worker each. Also returns both ends of a channel that lets busy
/// actors continue.
fn two_systems() -> ([System; 2], mpsc::Sender<()>, Gate) {
    let systems = [(), ()].map(|()| {
        let builder = System::builder().workers(1).on_failure(|_| ());
        builder.start().unwrap()
    });
    let (go, gate) = mpsc::channel();
    (systems, go, Gate::new(gate.into()))
}

/// Starts a child on the system `far`, under a supervisor on the system `near`. Then moves the
/// child to `near`.
fn moved(
    near: &System,
    far: &System,
    busy: impl Fn() -> Behavior<Busy> + Send + 'static,
    shutdown: Shutdown,
) -> (Tree, Address<Busy>) {
    let tree = Supervisor::new("app", Strategy::OneForOne);
    let tree = tree.spawn(&near.handle()).unwrap();
    let child = far.actor(busy).supervised_by(&tree).shutdown(shutdown);
    let child = child.spawn().unwrap();
    let (here, moved) = (near.handle(), child.clone());
    let mover = near.spawn(behavior(move |reply: Reply<()>, cx| {
        cx.send_on(&here, &moved, Busy::Answer(reply)).unwrap();
        Next::Continue
    }));
    let arrived = mover.unwrap().ask(|reply| reply);
    assert_eq!(arrived.wait_timeout(HANGS_AFTER), Ok(()));
    (tree, child)
}

#[test]
fn a_child_that_has_moved_is_started_again_where_it_is_until_its_system_ends() {
    let ([near, far], go, gate) = two_systems();
    let (entered, at_work) = mpsc::channel();
    let (tree, child) = moved(&near, &far, busy(&entered, &gate), Shutdown::default());

    let blocks = far.spawn(behavior(move |(): (), _| {
        entered.send(()).unwrap();
        let _ = gate.lock().unwrap().recv_timeout(HANGS_AFTER);
        Next::Continue
    }));
    blocks.unwrap().send(()).unwrap();
    at_work.recv_timeout(HANGS_AFTER).unwrap();
    // Its system is busy, which does not keep it from being started again.
    child.send(Busy::Fail).unwrap();
    let asked = child.ask(Busy::Answer).wait_timeout(HANGS_AFTER);
    assert_eq!(asked, Ok(()));
    assert!(tree.to_string().contains("restarts: 1"));
    far.begin_shutdown_now();
    child.send(Busy::Fail).unwrap();
    let asked = child.ask(Busy::Answer).wait_timeout(HANGS_AFTER);
    assert_eq!(asked, Err(NoReply::Dropped));
    go.send(()).unwrap();
    far.shutdown_now();
}

#[test]
fn a_child_that_has_moved_is_not_started_again_elsewhere_if_its_system_has_ended() {
    let ([near, far], _go, gate) = two_systems();
    let (entered, _at_work) = mpsc::channel();
    let (_tree, child) = moved(&near, &far, busy(&entered, &gate), Shutdown::default());
    far.shutdown_now();
    child.send(Busy::Fail).unwrap();
    let asked = child.ask(Busy::Answer).wait_timeout(HANGS_AFTER);
    assert_eq!(asked, Err(NoReply::Dropped));
}

/// A value that reports the beginning of its drop, and waits in its destructor until the test lets
/// it continue.
struct Slow(mpsc::Sender<()>, Gate);

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = self.0.send(());
        let _ = self.1.lock().unwrap().recv_timeout(HANGS_AFTER);
    }
}

#[test]
fn a_child_that_ends_while_it_is_to_be_started_again_is_not_made_again() {
    let ([near, far], go, gate) = two_systems();
    let (entered, dropping) = mpsc::channel();
    let tree = Supervisor::new("app", Strategy::OneForAll);
    let tree = tree.spawn(&near.handle()).unwrap();
    let made = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = made.clone();
    let (telling, waiting) = (entered.clone(), gate.clone());
    let slow = move || {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let slow = Slow(telling.clone(), waiting.clone());
        behavior(move |reply: Reply<()>, _| {
            let _kept = &slow;
            reply.send(());
            Next::Continue
        })
    };
    let slow = near.actor(slow).named("slow").supervised_by(&tree);
    let slow = slow.spawn().unwrap();
    let sibling = tree
        .handle()
        .actor(busy(&entered, &gate))
        .named("busy")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    // It ends on the second system, where that takes long.
    let (there, moved) = (far.handle(), slow.clone());
    let mover = near.spawn(behavior(move |reply: Reply<()>, cx| {
        cx.send_on(&there, &moved, reply).unwrap();
        Next::Continue
    }));
    let arrived = mover.unwrap().ask(|reply| reply);
    assert_eq!(arrived.wait_timeout(HANGS_AFTER), Ok(()));
    slow.stop();
    dropping.recv_timeout(HANGS_AFTER).unwrap();
    sibling.send(Busy::Fail).unwrap();
    // The supervisor wants it dropped, to start it again, and hears that it has ended.
    while !tree.to_string().contains("stopping") {
        std::thread::yield_now();
    }
    go.send(()).unwrap();
    let asked = sibling.ask(Busy::Answer).wait_timeout(HANGS_AFTER);
    assert_eq!(asked, Ok(()));
    assert_eq!(made.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[test]
fn a_branch_that_is_stopped_for_good_stops_though_its_parent_halts_it() {
    let ([near, far], go, gate) = two_systems();
    let (entered, at_work) = mpsc::channel();
    let tree = Supervisor::new("app", Strategy::OneForAll);
    let tree = tree.spawn(&near.handle()).unwrap();
    let sibling = tree
        .handle()
        .actor(busy(&entered, &gate))
        .named("busy")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    let branch = Supervisor::new("branch", Strategy::OneForOne);
    let branch = branch.spawn_under(&tree).unwrap();
    let child = far.actor(busy(&entered, &gate)).supervised_by(&branch);
    let child = child.shutdown(Shutdown::DrainAll).spawn().unwrap();
    child.send(Busy::Work).unwrap();
    at_work.recv_timeout(HANGS_AFTER).unwrap();
    let stopped = branch.stop();
    while !branch.to_string().contains("stopping") {
        std::thread::yield_now();
    }
    sibling.send(Busy::Fail).unwrap();
    while !tree.to_string().contains("branch: stopping") {
        std::thread::yield_now();
    }
    go.send(()).unwrap();
    assert_eq!(stopped.wait_timeout(HANGS_AFTER), Ok(()));
    let asked = sibling.ask(Busy::Answer).wait_timeout(HANGS_AFTER);
    assert_eq!(asked, Ok(()), "the others go on");
}

/// A value whose destructor removes a child from a tree.
struct Removes(Tree, &'static str);

impl Drop for Removes {
    fn drop(&mut self) {
        drop(self.0.remove(self.1));
    }
}

#[test]
fn a_child_that_is_removed_while_its_supervisor_is_halted_spares_nobody() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForAll);
    let sibling = tree
        .handle()
        .actor(player(&stage, "s"))
        .named("s")
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    let branch = Supervisor::new("branch", Strategy::OneForAll);
    let branch = branch.spawn_under(&tree).unwrap();
    for name in ["a", "b"] {
        branch
            .handle()
            .actor(player(&stage, name))
            .named(name)
            .supervised_by(&branch)
            .spawn()
            .unwrap();
    }
    let removing = branch.clone();
    let last = move || {
        let removes = Removes(removing.clone(), "b");
        behavior(move |(): (), _| {
            let _kept = &removes;
            Next::Continue
        })
    };
    let last = branch.handle().actor(last).supervised_by(&branch);
    last.spawn().unwrap();
    stage.run();
    stage.said();
    sibling.send(Msg::Fail).unwrap();
    stage.run();
    // All of the branch has stopped before its sibling is started again, also those that had not
    // been stopped yet.
    assert_eq!(stage.said(), ["-b1", "-a1", "-s1", "+s2", "+a2"]);
    assert!(!tree.to_string().contains("stopping"), "{tree}");
}

#[test]
fn a_branch_that_is_stopped_for_good_is_not_begun_again() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForAll);
    let kept: std::sync::Arc<std::sync::Mutex<Option<Tree>>> = std::sync::Arc::default();
    let stopping = kept.clone();
    let sibling = move || {
        let stopping = stopping.clone();
        let stops = Stops(stopping);
        behavior(move |(): (), cx| {
            let _kept = &stops;
            cx.fail("as it is told")
        })
    };
    let sibling = tree.handle().actor(sibling).named("s").supervised_by(&tree);
    let sibling = sibling.spawn().unwrap();
    let branch = Supervisor::new("branch", Strategy::OneForAll);
    let branch = branch.spawn_under(&tree).unwrap();
    for _ in 0..100 {
        branch
            .handle()
            .actor(player(&stage, "a"))
            .named("a")
            .supervised_by(&branch)
            .spawn()
            .unwrap();
    }
    stage.run();
    stage.said();
    *kept.lock().unwrap() = Some(branch.clone());
    sibling.send(()).unwrap();
    stage.run();
    // It is stopped while it is down, and its parent begins it while it takes leave of its
    // children.
    let said = stage.said();
    assert!(said.iter().all(|line| line.starts_with('-')), "{said:?}");
    assert!(branch.is_stopped());
    assert_eq!(
        tree.to_string().trim_end(),
        "tree (one for all)\n└─ s: up, restarts: 1"
    );
}

#[test]
fn one_that_fails_while_its_supervisor_hears_of_an_undone_turn_handles_nothing_more() {
    let ([near, far], go, gate) = two_systems();
    let (entered, at_work) = mpsc::channel();
    let (told, heard) = mpsc::channel();
    let made = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let tree = Supervisor::new("app", Strategy::OneForOne);
    let tree = tree.spawn(&near.handle()).unwrap();
    // A gate of its own: the child waits at the other one.
    let (go_near, gate_near) = mpsc::channel();
    let gate_near = Gate::new(gate_near.into());
    let blocks_near = || {
        let (entered, gate) = (entered.clone(), gate_near.clone());
        let blocks = near.spawn(behavior(move |(): (), _| {
            entered.send(()).unwrap();
            let _ = gate.lock().unwrap().recv_timeout(HANGS_AFTER);
            Next::Stop
        }));
        blocks.unwrap().send(()).unwrap();
        at_work.recv_timeout(HANGS_AFTER).unwrap();
    };
    let child = {
        let (entered, gate) = (entered.clone(), gate.clone());
        move || {
            let (entered, gate, told) = (entered.clone(), gate.clone(), told.clone());
            let incarnation = 1 + made.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            behavior(move |number: u32, cx| {
                if number == 1 {
                    entered.send(()).unwrap();
                    let _ = gate.lock().unwrap().recv_timeout(HANGS_AFTER);
                }
                told.send((incarnation, number)).unwrap();
                match number {
                    1 => Next::Undo,
                    2 => cx.fail("as it is told"),
                    _ => Next::Continue,
                }
            })
        }
    };
    // Held, because nobody makes the actor yet.
    blocks_near();
    let child = far.actor(child).supervised_by(&tree).spawn().unwrap();
    (1..=3).for_each(|number| child.send(number).unwrap());
    go_near.send(()).unwrap();
    at_work.recv_timeout(HANGS_AFTER).unwrap();
    // The supervisor hears of the first turn, which is undone, when the second one has failed, for
    // which a message has come.
    blocks_near();
    child.send(4).unwrap();
    go.send(()).unwrap();
    let hear = || heard.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!([hear(), hear()], [(1, 1), (1, 2)]);
    go_near.send(()).unwrap();
    assert_eq!([hear(), hear()], [(2, 3), (2, 4)]);
}

/// A value whose destructor stops a tree.
struct Stops(std::sync::Arc<std::sync::Mutex<Option<Tree>>>);

impl Drop for Stops {
    fn drop(&mut self) {
        let tree = self.0.lock().unwrap().take();
        drop(tree.map(|tree| tree.stop()));
    }
}

/// Spawns a child. Returns its address, that of an actor that is linked to the child, and a channel
/// for the reason of the child's end.
fn watched(
    stage: &Stage,
    tree: &Tree,
    restart: Restart,
) -> (Address<Msg>, Address<Address<Msg>>, mpsc::Receiver<Ended>) {
    let child = tree
        .handle()
        .actor(player(stage, "a"))
        .named("a")
        .supervised_by(tree)
        .restart(restart)
        .spawn()
        .unwrap();
    let (told, ended) = mpsc::channel();
    child.watch(move |how| told.send(how).unwrap());
    let linked = stage
        .handle()
        .spawn(behavior(|to: Address<Msg>, cx| cx.link(&to)));
    let linked = linked.unwrap();
    linked.send(child.clone()).unwrap();
    stage.run();
    (child, linked, ended)
}

#[test]
fn a_child_that_fails_for_good_is_no_child_that_stops() {
    for (msg, why) in [(Msg::Panic, "on purpose"), (Msg::Fail, "as told")] {
        let stage = Stage::new();
        let tree = stage.tree(Strategy::OneForOne);
        let (child, linked, ended) = watched(&stage, &tree, Restart::Temporary);
        child.send(msg).unwrap();
        stage.run();
        assert_eq!(ended.try_recv(), Ok(Ended::Failed(why.into())));
        assert!(linked.is_stopped());
    }
}

#[test]
fn a_child_that_was_restarted_after_its_failure_only_stops() {
    for ends in [
        |_: &Tree, child: &Address<Msg>| child.send(Msg::Stop).unwrap(),
        |tree: &Tree, _: &Address<Msg>| drop(tree.stop()),
        |_: &Tree, child: &Address<Msg>| child.stop(),
    ] {
        let stage = Stage::new();
        let tree = stage.tree(Strategy::OneForOne);
        let (child, linked, ended) = watched(&stage, &tree, Restart::Transient);
        child.send(Msg::Panic).unwrap();
        child.send(Msg::Fail).unwrap();
        stage.run();
        assert!(ended.try_recv().is_err());
        ends(&tree, &child);
        stage.run();
        assert_eq!(ended.try_recv(), Ok(Ended::Stopped));
        assert!(!linked.is_stopped());
    }
}

#[test]
fn a_child_that_fails_at_its_end_or_waits_for_its_restart_has_failed() {
    let stage = Stage::new();
    let tree = stage.tree(Strategy::OneForOne);
    let (child, _, ended) = watched(&stage, &tree, Restart::Permanent);
    child.send(Msg::Fail).unwrap();
    child.send(Msg::Panic).unwrap();
    drop(tree.stop());
    stage.run();
    assert!(matches!(ended.try_recv(), Ok(Ended::Failed(_))));
    let tree = stage.tree(Strategy::OneForOne);
    let slow = Backoff::exponential(Duration::from_secs(60), Duration::from_secs(60));
    let actor = tree.handle().actor(player(&stage, "b"));
    let child = actor.supervised_by(&tree).backoff(slow).spawn().unwrap();
    let (told, ended) = mpsc::channel();
    child.watch(move |how| told.send(how).unwrap());
    child.send(Msg::Fail).unwrap();
    stage.run();
    assert!(ended.try_recv().is_err());
    drop(tree.stop());
    stage.run();
    assert_eq!(ended.try_recv(), Ok(Ended::Failed("as told".into())));
}

#[test]
fn a_supervisor_that_gives_up_and_is_not_restarted_has_failed() {
    for (decision, restarts) in [(Decision::Stop, false), (Decision::Restart, true)] {
        let stage = Stage::new();
        let tree = stage.tree(Strategy::OneForOne);
        let inner = Supervisor::new("inner", Strategy::OneForOne)
            .intensity(0, SECOND)
            .decide(move |_| decision)
            .spawn_under(&tree)
            .unwrap();
        let (told, ended) = mpsc::channel();
        inner.watch(move |how| told.send(how).unwrap());
        let [a, ..] = stage.three(&inner);
        stage.run();
        a.send(Msg::Fail).unwrap();
        stage.run();
        if restarts {
            assert!(ended.try_recv().is_err());
            drop(tree.stop());
            stage.run();
            assert_eq!(ended.try_recv(), Ok(Ended::Stopped));
        } else {
            let how = ended.try_recv();
            assert!(matches!(how, Ok(Ended::Failed(why)) if why.contains("`inner` gave up")));
        }
    }
}
