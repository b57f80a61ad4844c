//! Tests of the failure reports that a system passes to its reporter.

use std::sync::mpsc;

use garrick_actor::supervise::{Decision, Restart};
use garrick_actor::{Consequence, Failure, Next, System, behavior, door};
use garrick_testkit::{ON_PURPOSE, silence_panics, wait};

use crate::stand::{Do, NO_ACCOUNT, Stand, Teller, clerk, strict, supervisor};

fn consequences(reports: &[Failure]) -> Vec<Consequence> {
    reports.iter().map(|report| report.consequence).collect()
}

#[test]
fn each_restart_is_reported_once_with_path_reason_and_count() {
    let stand = Stand::new();
    let tree = stand.tree();
    let teller = stand.teller(&tree, "teller");
    for what in [Do::Fail, Do::Panic, Do::Stop] {
        stand.tell(&teller, what);
    }
    let reports = stand.reports();
    let restarted: Vec<_> = (1..=3)
        .map(|restarts| Consequence::Restarted { restarts })
        .collect();
    assert_eq!(consequences(&reports), restarted);
    let reasons: Vec<_> = reports.iter().map(|report| &*report.message).collect();
    assert_eq!(reasons, [NO_ACCOUNT, ON_PURPOSE, "it stopped by itself"]);
    for report in &reports {
        let path = report.path.as_ref().unwrap().as_str();
        assert!(path.starts_with("/user/bank#") && path.contains("/teller#"));
        assert!(report.task.ends_with("::Teller"), "{}", report.task);
    }
}

#[test]
fn an_actor_without_a_supervisor_is_reported_as_before() {
    let stand = Stand::new();
    let named = stand.local.actor(Teller).named("alone").spawn();
    stand.tell(&named, Do::Fail);
    let nameless = stand.local.spawn(Teller);
    stand.tell(&nameless, Do::Panic);
    let reports = stand.reports();
    assert_eq!(consequences(&reports), [Consequence::Stopped; 2]);
    assert_eq!(reports[0].message, NO_ACCOUNT);
    let path = reports[0].path.as_ref().unwrap().as_str();
    assert!(path.starts_with("/user/alone#"));
    assert_eq!(
        (reports[1].message.as_str(), &reports[1].path),
        (ON_PURPOSE, &None)
    );
}

#[test]
fn the_reaction_of_the_supervisor_is_reported() {
    let stand = Stand::new();
    let tree = stand.tree();
    for (decision, expected) in [
        (Decision::Resume, Consequence::Resumed),
        (Decision::Stop, Consequence::GivenUp),
        (Decision::Escalate, Consequence::GivenUp),
    ] {
        let child = stand.local.actor(|| Teller).supervised_by(&tree);
        let child = child.decide(move |_| decision).spawn().unwrap();
        stand.run();
        stand.tell(&child, Do::Fail);
        assert_eq!(stand.reports()[0].consequence, expected, "{decision:?}");
    }
}

#[test]
fn a_child_that_may_stop_is_not_reported_when_it_stops() {
    let stand = Stand::new();
    let tree = stand.tree();
    let child = stand.local.actor(|| Teller).supervised_by(&tree);
    let child = child.restart(Restart::Transient).spawn().unwrap();
    stand.run();
    stand.tell(&child, Do::Stop);
    assert!(stand.reports().is_empty());
}

#[test]
fn a_supervisor_that_gives_up_reports_the_child_and_then_itself() {
    let stand = Stand::new();
    let tree = strict("bank", 1).spawn(&stand.handle()).unwrap();
    let teller = stand.teller(&tree, "teller");
    stand.tell(&teller, Do::Fail);
    stand.tell(&teller, Do::Fail);
    let reports = stand.reports();
    let restarted = Consequence::Restarted { restarts: 1 };
    let expected = [restarted, Consequence::GivenUp, Consequence::Stopped];
    assert_eq!(consequences(&reports), expected);
    let path = reports[2].path.as_ref().unwrap().as_str();
    assert!(path.starts_with("/user/bank#") && !path.contains("teller"));
    assert_eq!(reports[2].task, "supervisor");
    assert!(reports[2].message.contains("supervisor `bank` gave up"));
    assert!(tree.is_stopped());
}

#[test]
fn a_branch_that_gives_up_is_a_child_that_is_restarted() {
    let stand = Stand::new();
    let tree = stand.tree();
    let branch = strict("desk", 0).spawn_under(&tree).unwrap();
    let teller = stand.teller(&branch, "teller");
    stand.tell(&teller, Do::Fail);
    let reports = stand.reports();
    let restarted = Consequence::Restarted { restarts: 1 };
    assert_eq!(consequences(&reports), [Consequence::GivenUp, restarted]);
    let path = reports[1].path.as_ref().unwrap().as_str();
    assert!(
        path.contains("/desk#") && !path.contains("teller"),
        "{path}"
    );
    assert!(!branch.is_stopped());
}

#[test]
fn a_reporter_can_ask_the_tree_and_send_even_if_the_tree_gives_up() {
    silence_panics();
    let (told, heard) = mpsc::channel();
    let slot = std::sync::Arc::new(std::sync::OnceLock::<(
        garrick_actor::supervise::Tree,
        garrick_actor::Address<String>,
    )>::new());
    let known = slot.clone();
    let system = System::builder()
        .workers(1)
        .on_failure(move |failure| {
            if let Some((tree, address)) = known.get() {
                let _ = address.send(format!("{}: {}", tree.snapshot().name, failure.message));
            }
        })
        .start()
        .unwrap();
    let hear = system
        .spawn(garrick_actor::behavior(move |line: String, _| {
            told.send(line).unwrap();
        }))
        .unwrap();
    let tree = strict("bank", 0).spawn(&system.handle()).unwrap();
    assert!(slot.set((tree.clone(), hear)).is_ok());
    let teller = system.actor(|| Teller).supervised_by(&tree);
    teller.spawn().unwrap().send(Do::Fail).unwrap();
    assert_eq!(wait(&heard), format!("bank: {NO_ACCOUNT}"));
    assert!(wait(&heard).starts_with("bank: supervisor `bank` gave up"));
}

#[test]
fn reports_can_be_switched_off_for_a_supervisor_and_for_a_system() {
    let stand = Stand::new();
    let tree = supervisor("quiet").report_restarts(false);
    let tree = tree.spawn(&stand.handle()).unwrap();
    let teller = stand.teller(&tree, "teller");
    stand.tell(&teller, Do::Fail);
    stand.tell(&teller, Do::Panic);
    assert!(stand.reports().is_empty());
    assert_eq!(stand.handle().recent_failures().len(), 2);

    let stand = Stand::of(System::builder().report_restarts(false));
    let teller = stand.teller(&stand.tree(), "teller");
    stand.tell(&teller, Do::Fail);
    assert!(stand.reports().is_empty());
    assert_eq!(stand.handle().recent_failures().len(), 1);
    let alone = stand.local.spawn(Teller);
    stand.tell(&alone, Do::Fail);
    assert_eq!(stand.reports().len(), 1, "it has no supervisor");
}

#[test]
fn async_actors_have_the_name_of_their_function_whoever_supervises_them() {
    let stand = Stand::new();
    let alone = stand.local.spawn(clerk);
    stand.tell(&alone, Do::Panic);
    let tree = stand.tree();
    let child = stand.local.actor(clerk).supervised_by(&tree);
    let child = child.spawn().unwrap();
    stand.run();
    stand.tell(&child, Do::Panic);
    let [first, second] = &stand.reports()[..] else {
        panic!("two reports are expected");
    };
    assert!(first.task.contains("stand::clerk"), "{}", first.task);
    assert_eq!(first.task, second.task);
}

#[test]
fn the_system_of_the_child_is_told() {
    silence_panics();
    let (told, heard) = mpsc::channel();
    let near = System::builder().workers(1).start().unwrap();
    let far = System::builder()
        .workers(1)
        .on_failure(move |failure| told.send(failure.clone()).unwrap())
        .start()
        .unwrap();
    let tree = supervisor("bank").spawn(&near.handle()).unwrap();
    let teller = far.actor(|| Teller).supervised_by(&tree).spawn().unwrap();
    teller.send(Do::Fail).unwrap();
    let restarted = Consequence::Restarted { restarts: 1 };
    assert_eq!(wait(&heard).consequence, restarted);
    assert_eq!(far.recent_failures().len(), 1);
    assert!(near.recent_failures().is_empty());
}

#[test]
fn a_failure_after_the_supervisor_has_ended_is_reported_too() {
    let stand = Stand::new();
    let tree = stand.tree();
    let child = stand.teller(&tree, "teller");
    // The tree stops, but the child stays because its turn is not over until the reporter is told.
    child.send(Do::Panic).unwrap();
    drop(tree.stop());
    stand.run();
    let reports = stand.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].message, ON_PURPOSE);
}

#[test]
fn a_door_that_panics_continues() {
    struct Fails;

    impl door::Door for Fails {
        type Message = ();

        fn pass(
            &self,
            (): (),
            _: &garrick_actor::Address<()>,
        ) -> Result<(), garrick_actor::SendError<()>> {
            garrick_testkit::fail()
        }
    }

    let stand = Stand::new();
    let fails = door::door(Fails);
    let sends = stand
        .local
        .spawn(garrick_actor::behavior(move |(): (), cx| {
            let _: Result<(), _> = cx.send(&fails, ());
        }));
    sends.send(()).unwrap();
    stand.run();
    assert_eq!(consequences(&stand.reports()), [Consequence::Continued]);
}

#[test]
fn the_reason_of_a_failure_that_did_not_happen_is_not_told_by_a_later_one() {
    let stand = Stand::new();
    let tree = stand.tree();
    let undecided = stand.local.spawn(behavior(|(): (), cx| {
        let _: Next = cx.fail("it did not happen");
        Next::Continue
    }));
    let alone = stand.local.spawn(behavior(|(): (), _| Next::Fail));
    let child = stand.local.actor(|| behavior(|(): (), _| Next::Fail));
    let child = child.supervised_by(&tree).spawn().unwrap();
    stand.run();
    for fails in [alone, child] {
        undecided.send(()).unwrap();
        stand.run();
        fails.send(()).unwrap();
        stand.run();
        let reports = stand.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        let expected = "the handler returned `Next::Fail` without a reason";
        assert_eq!(reports[0].message, expected);
    }
}
