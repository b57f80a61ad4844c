//! Tests of checks: mistakes in a setup, runs that differ, repetition, and endless turns.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, NoReply, Reply, StartError, System, behavior};
use garrick_sim::{Check, Crashed, Restarted, Sim};

/// Returns the message with which a check panics.
fn panic_of(setup: impl FnMut(&mut Sim)) -> String {
    let check = Check::new("mistake").seeds(200);
    let result = catch_unwind(AssertUnwindSafe(|| check.run(setup)));
    let panic = result.expect_err("the check panics");
    let text = panic.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*panic.downcast_ref::<&str>().expect("a text")).to_owned())
}

#[test]
fn mistakes_of_a_setup_are_named() {
    let nothing = panic_of(|_| ());
    assert!(nothing.contains("there are no nodes"), "{nothing}");
    let unknown = panic_of(|sim| {
        sim.node("one");
        sim.faults().crash("two");
    });
    assert!(
        unknown.contains("there is no node \"two\", only [\"one\"]"),
        "{unknown}"
    );
    let link = panic_of(|sim| {
        sim.node("one");
        sim.links().between("one", "three").loses(1);
    });
    assert!(link.contains("there is no node \"three\""), "{link}");
    let too_likely = panic_of(|sim| {
        sim.faults().any_turn_fails(1001);
    });
    assert!(too_likely.contains("at most 1000"), "{too_likely}");
    let nested = panic_of(|sim| {
        sim.node("one");
        let _ = Check::new("inner").run(|_| ());
    });
    assert!(nested.contains("cannot be nested"), "{nested}");
    let twice = panic_of(|sim| {
        sim.node("one");
        sim.restarting("one", |_| ());
    });
    assert!(twice.contains("the node \"one\" exists"), "{twice}");
}

#[test]
fn the_error_of_a_setup_is_passed_on() {
    let check = Check::new("error");
    let result = catch_unwind(AssertUnwindSafe(|| {
        check.run(|_| -> Result<(), &'static str> { Err("no luck") })
    }));
    let panic = result.expect_err("the setup has failed");
    let text = panic.downcast_ref::<String>().expect("a text");
    assert!(
        text.contains("tests/check.rs") && text.contains("no luck"),
        "{text}"
    );
    // The thread is free for the next simulation.
    Check::new("next")
        .seeds(1)
        .run(|sim| drop(sim.node("one")))
        .unwrap();
}

#[test]
fn threads_are_refused() {
    let check = Check::new("threads").seeds(1);
    let report = check.run(|sim| {
        let node = sim.node("one");
        assert!(matches!(System::new(), Err(StartError::InSimulation)));
        let answers = node
            .spawn(behavior(|reply: Reply<u32>, _| reply.send(1)))
            .unwrap();
        assert_eq!(answers.ask(|reply| reply).wait(), Err(NoReply::OnWorker));
        let slept = node
            .spawn(behavior(|(): (), cx| cx.blocking(|| ())))
            .unwrap();
        slept.send(()).unwrap();
    });
    assert_eq!(report.unwrap().cut, 0);
}

#[test]
fn another_thread_that_spawns_is_found() {
    let text = panic_of(|sim| {
        let node = sim.node("one");
        let handle = node.handle().clone();
        let address = std::thread::spawn(move || handle.spawn(Notes).unwrap())
            .join()
            .unwrap();
        address.send(1).unwrap();
    });
    assert!(
        text.contains("another thread has spawned an actor"),
        "{text}"
    );
    // Nothing is left of it.
    Check::new("next")
        .seeds(3)
        .run(race)
        .map(drop)
        .unwrap_or_else(drop);
}

/// An actor that records the numbers it receives as facts.
struct Notes;

#[derive(Debug)]
struct Number(#[expect(dead_code, reason = "formatted")] usize);

impl Actor for Notes {
    type Msg = usize;
    type Outcome = ();

    fn receive(&mut self, number: usize, cx: &mut Context<'_, usize>) {
        cx.note(Number(number));
    }
}

#[test]
fn a_program_that_is_not_deterministic_is_found() {
    let random_map = panic_of(|sim| {
        let node = sim.node("one");
        let notes = node.spawn(Notes).unwrap();
        let map: HashMap<usize, ()> = (0..20).map(|n| (n, ())).collect();
        for number in map.into_keys() {
            notes.send(number).unwrap();
        }
    });
    assert!(
        random_map.contains("two runs of seed 0 differ"),
        "{random_map}"
    );
    assert!(random_map.contains("HashMap"), "{random_map}");
    let runs = Rc::new(Cell::new(0));
    let kept = panic_of(move |sim| {
        runs.set(runs.get() + 1);
        sim.node("one")
            .spawn(Notes)
            .unwrap()
            .send(runs.get())
            .unwrap();
    });
    assert!(kept.contains("differ"), "{kept}");
}

/// Sets up three actors that race with each other: each sends its number to the same receiver.
fn race(sim: &mut Sim) {
    struct First(Vec<u32>);
    impl Actor for First {
        type Msg = u32;
        type Outcome = ();
        fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
            self.0.push(n);
            cx.note(self.0.clone());
        }
    }
    struct Runner(Address<u32>, u32);
    impl Actor for Runner {
        type Msg = ();
        type Outcome = ();
        fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
            let _ = cx.send(&self.0, self.1);
        }
    }
    let node = sim.node("track");
    let first = node.spawn(First(Vec::new())).unwrap();
    for n in 1..=3 {
        node.spawn(Runner(first.clone(), n))
            .unwrap()
            .send(())
            .unwrap();
    }
    sim.always("the third is never first", |facts| {
        facts.seen::<Vec<u32>>().all(|order| order[0] != 3)
    });
}

/// Returns an empty folder for the files of a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_failure_is_repeated_by_its_seed_and_by_its_file() {
    let folder = folder("repeated");
    let found = Check::new("a race").folder(&folder).run(race).unwrap_err();
    let seed = found.seed();
    let again = Check::new("again")
        .folder(&folder)
        .only(seed)
        .run(race)
        .unwrap_err();
    assert_eq!((again.moves(), again.report().runs), (found.moves(), 1));
    let file = |extension| folder.join(format!("a-race-{seed}.{extension}"));
    let repeated = Check::new("file").folder(&folder).replay(file("choices"));
    let repeated = repeated.run(race).unwrap_err();
    assert_eq!(repeated.trace().to_string(), found.trace().to_string());
    let text = fs::read_to_string(file("txt")).unwrap();
    assert!(
        text.contains("the third is never first") && text.contains("Runner#3"),
        "{text}"
    );
    let diagram = fs::read_to_string(file("mmd")).unwrap();
    assert!(
        diagram.starts_with("sequenceDiagram\n") && diagram.contains("->>"),
        "{diagram}"
    );
}

#[test]
fn a_file_of_another_build_is_refused() {
    let folder = folder("another");
    let found = Check::new("race").folder(&folder).run(race).unwrap_err();
    let file = folder.join(format!("race-{}.choices", found.seed()));
    let replay = Check::new("file").replay(&file);
    let result = catch_unwind(AssertUnwindSafe(|| {
        replay.run(|sim| {
            sim.node("track").spawn(Notes).unwrap().send(1).unwrap();
        })
    }));
    let panic = result.expect_err("it does not fit");
    let text = panic.downcast_ref::<String>().expect("a text");
    assert!(text.contains("was recorded by another build"), "{text}");
}

#[test]
fn runs_without_an_end_are_counted() {
    let check = Check::new("endless").seeds(10).steps(100);
    let report = check.run(|sim| {
        let endless = sim.node("one").spawn(behavior(|(): (), cx| {
            let me = cx.address();
            let _ = cx.send(&me, ());
        }));
        endless.unwrap().send(()).unwrap();
    });
    let report = report.unwrap();
    assert_eq!((report.runs, report.cut, report.steps), (10, 10, 1000));
    assert!(report.to_string().contains("10 runs were cut"), "{report}");
}

#[test]
fn coverage_counts_what_was_seen() {
    let check = Check::new("coverage").seeds(16).steps(100);
    let report = check.run(|sim| {
        sim.faults().any_turn_fails(500);
        sim.allow_failures();
        let notes = sim.node("one").spawn(Notes).unwrap();
        (0..5).for_each(|number| notes.send(number).unwrap());
    });
    let coverage = report.unwrap().coverage;
    assert_eq!(
        (coverage.pairs(), coverage.outcomes()),
        (1, 2),
        "{coverage}"
    );
    assert!(coverage.newest().is_some());
}

const CHILD: &str = "GARRICK_SIM_ENDLESS";

#[test]
fn a_turn_that_never_ends_is_named() {
    if env::var(CHILD).is_ok() {
        let check = Check::new("hangs").turn_limit(Duration::from_millis(200));
        let _ = check.run(|sim| {
            let hangs = sim.node("one").spawn(behavior(|(): (), _| -> () {
                loop {
                    std::hint::spin_loop();
                }
            }));
            hangs.unwrap().send(()).unwrap();
        });
        return;
    }
    let program = env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args(["a_turn_that_never_ends_is_named", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("the program runs");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("of \"hangs\" has run for more than"),
        "{text}"
    );
}

#[test]
fn a_second_rule_for_the_crashes_of_a_node_replaces_the_first() {
    let most = Rc::new(Cell::new(0));
    let report = Check::new("two rules").seeds(200).run(|sim| {
        sim.restarting("one", |node| {
            let notes = node.spawn(Notes).unwrap();
            (0..50).for_each(|number| notes.send(number).unwrap());
        });
        sim.faults().crash("one");
        let down = Duration::ZERO..Duration::from_millis(1);
        sim.faults().crash_and_restart("one", 2, down);
        let most = Rc::clone(&most);
        sim.always("restarts", move |facts| {
            let restarts = facts.seen::<Restarted>().len();
            most.set(most.get().max(restarts));
            restarts <= facts.seen::<Crashed>().len()
        });
    });
    report.unwrap();
    assert_eq!(most.get(), 2);
}

#[test]
fn seeds_go_on_after_the_largest_one() {
    let seen = RefCell::new(Vec::new());
    let setup = |sim: &mut Sim| {
        sim.node("one");
        seen.borrow_mut().push(sim.seed());
    };
    let check = Check::new("seeds").first_seed(u64::MAX - 1).seeds(3);
    assert_eq!(check.run(setup).unwrap().runs, 3);
    assert_eq!(check.only(u64::MAX).run(setup).unwrap().runs, 1);
    // The seed 0 runs twice, to check that its runs are equal.
    let max = u64::MAX;
    assert_eq!(seen.take(), [max - 1, max, 0, 0, max]);
}
