//! Disks in runs: bad input, crashes within turns, destructors, and repetition.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Actor, Address, Context, Incoming, Next, behavior};
use garrick_sim::{Check, Crashed, Disk, DiskEvent, DiskFault, Operation, Sim};

/// Returns the message with which a check panics.
fn panic_of(setup: impl FnMut(&mut Sim)) -> String {
    let check = Check::new("mistake").seeds(200);
    let result = catch_unwind(AssertUnwindSafe(|| check.run(setup)));
    let panic = result.expect_err("the check panics");
    panic.downcast_ref::<String>().expect("a text").clone()
}

#[test]
fn a_disk_or_a_rule_of_a_node_that_does_not_exist_is_named() {
    let disk = panic_of(|sim| {
        sim.node("one");
        sim.disk("two");
    });
    assert!(
        disk.contains("there is no node \"two\", only [\"one\"]"),
        "{disk}"
    );
    let rule = panic_of(|sim| {
        sim.node("one");
        sim.disks().of("three").tears();
    });
    assert!(rule.contains("there is no node \"three\""), "{rule}");
}

#[test]
fn a_disk_that_was_kept_from_another_run_is_refused() {
    let kept: RefCell<Option<Disk>> = RefCell::default();
    let refused = RefCell::new(0);
    let check = Check::new("kept").seeds(10);
    let report = check.run(|sim| {
        let disk = sim.disk("one");
        sim.node("one");
        if let Some(old) = kept.replace(Some(disk)) {
            let error = old.create("a").unwrap_err();
            assert!(error.to_string().contains("is over"), "{error}");
            *refused.borrow_mut() += 1;
        }
    });
    assert_eq!(report.unwrap().runs, 10);
    // The first seed is run twice.
    assert_eq!(refused.into_inner(), 10);
}

/// An actor that appends each message to a file. When it is dropped, it appends the letter `d`.
struct Appends {
    files: Arc<dyn Files>,
    /// The address of this actor, which keeps the actor alive.
    me: Option<Address<&'static str>>,
}

/// A fact: this text was appended.
#[derive(Debug)]
struct Appended(#[expect(dead_code, reason = "formatted")] &'static str);

/// A fact: the content of the file when the actor has started.
#[derive(Debug)]
struct Found(Vec<u8>);

impl Appends {
    fn append(&self, text: &str) -> io::Result<()> {
        let mut file = self.files.open("log")?;
        file.append(text.as_bytes())?;
        file.sync()
    }
}

impl Actor for Appends {
    type Msg = &'static str;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) {
        self.me = Some(cx.address());
        cx.note(Found(self.files.read("log").unwrap()));
    }

    fn receive(&mut self, text: &'static str, cx: &mut Context<'_, Self::Msg>) {
        cx.note(Appended(text));
        self.append(text).unwrap();
    }
}

impl Drop for Appends {
    fn drop(&mut self) {
        let _ = self.append("d");
    }
}

/// Opens a node whose actor appends two letters to a file.
fn appends(sim: &mut Sim) -> Disk {
    let disk = sim.disk("n");
    disk.replace("log", b"").unwrap();
    let files = Arc::new(disk.clone());
    sim.restarting("n", move |node| {
        let files = files.clone();
        let actor = node.spawn(Appends { files, me: None }).unwrap();
        actor.send("a").unwrap();
        actor.send("b").unwrap();
    });
    disk
}

/// Adds the rule that a node crashes once and starts again.
fn crash(sim: &mut Sim, node: &str) {
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart(node, 1, after);
}

#[test]
fn destructors_of_a_crashed_node_write_nothing() {
    for per_mille in [0, 200] {
        let check = Check::new("destructors").seeds(1000);
        let report = check.run(|sim| {
            appends(sim);
            sim.disks().all().crashes(per_mille);
            crash(sim, "n");
            sim.always("no letter of a destructor", |facts| {
                facts.seen::<Found>().all(|found| !found.0.contains(&b'd'))
            });
        });
        report.unwrap_or_else(|failed| panic!("{failed}"));
    }
}

#[test]
fn a_crash_within_a_turn_takes_the_facts_of_the_turn_with_it() {
    let crashes = Rc::new(RefCell::new(BTreeMap::new()));
    let check = Check::new("within").seeds(1000);
    let report = check.run(|sim| {
        appends(sim);
        sim.disks().all().crashes(200);
        crash(sim, "n");
        let crashes = Rc::clone(&crashes);
        sim.always("facts of a crash", move |facts| {
            let is_within = |fault: &&DiskFault| matches!(fault.what, DiskEvent::Crashed(_));
            let Some(fault) = facts.seen::<DiskFault>().find(is_within) else {
                return true;
            };
            if let DiskEvent::Crashed(operation) = fault.what {
                *crashes
                    .borrow_mut()
                    .entry(format!("{operation:?}"))
                    .or_insert(0) += 1;
            }
            let (at, _) = facts.placed::<Crashed>().next().expect("it has crashed");
            let before = facts
                .placed::<Appended>()
                .take_while(|(fact, _)| *fact < at);
            let is_last = |operation| fault.what == DiskEvent::Crashed(operation);
            // The letter of a turn that was cut off is not among the facts.
            before.count() < 2 || !(is_last(Operation::Write) || is_last(Operation::Sync))
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
    let crashes = crashes.borrow();
    let operations: Vec<&str> = crashes.keys().map(String::as_str).collect();
    assert_eq!(operations, ["Open", "Read", "Sync", "Write"]);
}

/// An actor that catches panics of a disk operation, and goes on. When a message says so, it stops
/// afterwards.
struct Catches {
    files: Arc<dyn Files>,
    other: Address<&'static str>,
}

impl Actor for Catches {
    type Msg = bool;
    type Outcome = Next;

    fn receive(&mut self, stops: bool, cx: &mut Context<'_, bool>) -> Next {
        let write = AssertUnwindSafe(|| self.files.replace("log", b"text"));
        if catch_unwind(write).is_err() {
            cx.note(Appended("after the crash"));
            cx.send(&self.other, "after the crash").unwrap();
        }
        if stops { Next::Stop } else { Next::Continue }
    }
}

#[test]
fn a_crash_ends_a_turn_that_catches_the_panic() {
    let crashes = Rc::new(RefCell::new(0));
    let check = Check::new("caught").seeds(1000);
    let report = check.run(|sim| {
        let disk = sim.disk("n");
        sim.disks().all().crashes(200);
        crash(sim, "n");
        let other = sim.node("other");
        let notes = behavior(|text: &'static str, cx| cx.note(Appended(text)));
        let other = other.spawn(notes).unwrap();
        sim.restarting("n", move |node| {
            for stops in [false, true] {
                let (files, other) = (Arc::new(disk.clone()), other.clone());
                let catches = node.spawn(Catches { files, other }).unwrap();
                catches.send(stops).unwrap();
            }
        });
        let crashes = Rc::clone(&crashes);
        sim.at_end("nothing happens after the crash", move |facts| {
            *crashes.borrow_mut() += facts.seen::<Crashed>().len();
            facts.seen::<Appended>().next().is_none()
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(*crashes.borrow() > 100);
}

#[test]
fn a_turn_that_is_undone_has_written_all_the_same() {
    let check = Check::new("undone").seeds(10);
    let report = check.run(|sim| {
        let disk = appends(sim);
        sim.disks().all().full(1);
        sim.faults().turn_fails::<Appends>(1000);
        sim.allow_failures();
        sim.explained("the letter is there", move |facts| {
            let content = disk.read("log").map_err(|error| error.to_string())?;
            // The turn notes nothing, but the fault of the destructor is noted.
            let faults = facts.seen::<DiskFault>().len();
            let is_right = content == b"d" && facts.is_empty() == (faults == 0);
            is_right
                .then_some(())
                .ok_or_else(|| format!("{content:?} {facts:?}"))
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
}

/// Runs a program with faults of all kinds. Returns, for each run, its seed and the content of the
/// file at the end of the run.
fn contents(seeds: u64) -> Vec<(u64, Vec<u8>)> {
    let all = Rc::new(RefCell::new(Vec::new()));
    let check = Check::new("contents").seeds(seeds);
    let report = check.run(|sim| {
        let disk = appends(sim);
        let rule = sim.disks().all().tears().reorders().crashes(50).full(5);
        rule.sync_fails(100).sync_lies(100).fails(20);
        sim.allow_failures();
        crash(sim, "n");
        let (seed, all) = (sim.seed(), Rc::clone(&all));
        sim.at_end("content", move |_| {
            let content = disk.read("log").unwrap_or_default();
            all.borrow_mut().push((seed, content));
            true
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
    all.take()
}

#[test]
fn a_program_that_runs_twice_leaves_equal_files() {
    let first = contents(300);
    assert_eq!(first, contents(300));
    let distinct: std::collections::BTreeSet<_> = first.iter().map(|(_, text)| text).collect();
    assert!(distinct.len() > 5, "{distinct:?}");
}

#[test]
fn content_that_depends_on_something_else_is_found() {
    let runs = Rc::new(RefCell::new(0_u8));
    let text = panic_of(|sim| {
        *runs.borrow_mut() += 1;
        let (disk, number) = (sim.disk("n"), *runs.borrow());
        let writes = behavior(move |(): (), _| {
            disk.replace("number", &[number]).unwrap();
        });
        sim.node("n").spawn(writes).unwrap().send(()).unwrap();
    });
    assert!(text.contains("two runs of seed 0 differ"), "{text}");
}

#[test]
fn faults_cease_at_last() {
    let check = Check::new("cease").seeds(10).steps(100);
    let report = check.run(|sim| {
        let disk = sim.disk("n");
        sim.disks().all().fails(1000);
        let tries = behavior(move |(): (), cx| {
            if disk.replace("file", b"text").is_ok() {
                cx.note(Appended("text"));
            } else {
                let me = cx.address();
                let _ = cx.send_after(Duration::from_millis(5), &me, ());
            }
        });
        sim.node("n").spawn(tries).unwrap().send(()).unwrap();
        sim.eventually("it is written", Duration::from_secs(1), |facts| {
            facts.seen::<Appended>().len() == 1
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
}

#[test]
fn faults_of_a_turn_come_before_its_facts() {
    let check = Check::new("order").seeds(10);
    let report = check.run(|sim| {
        let disk = sim.disk("n");
        sim.disks().all().full(2);
        let writes = behavior(move |text: &'static str, cx| {
            cx.note(Appended(text));
            let result = disk.replace("file", text.as_bytes());
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        });
        sim.node("n").spawn(writes).unwrap().send("text").unwrap();
        sim.at_end("order", |facts| {
            let fault = DiskFault {
                disk: "n".to_owned(),
                file: "file.new".to_owned(),
                what: DiskEvent::Full,
            };
            facts.placed::<DiskFault>().next() == Some((0, &fault))
                && facts
                    .placed::<Appended>()
                    .next()
                    .is_some_and(|(at, _)| at == 1)
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
}

/// Opens a node whose async actor appends letters to a file.
fn appends_async(sim: &mut Sim) {
    let disk = sim.disk("n");
    disk.replace("log", b"").unwrap();
    sim.disks().all().crashes(200).tears();
    sim.restarting("n", move |node| {
        let disk = disk.clone();
        let actor = node.spawn(async move |mut letters: Incoming<u8>| {
            assert_ne!(
                disk.read("log").unwrap(),
                b"ab",
                "both are there after a crash"
            );
            while let Some(letter) = letters.recv().await {
                let mut file = disk.open("log").unwrap();
                file.append(&[letter]).unwrap();
                file.sync().unwrap();
            }
        });
        let actor = actor.unwrap();
        b"ab".iter().for_each(|letter| actor.send(*letter).unwrap());
    });
    crash(sim, "n");
}

#[test]
fn a_failure_with_a_crash_within_a_turn_is_repeated_from_its_file() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("disk-repeated");
    let check = Check::new("async").folder(&folder);
    let found = check.run(appends_async).unwrap_err();
    let file = folder.join(format!("async-{}.choices", found.seed()));
    let again = Check::new("file").folder(&folder).replay(file);
    let again = again.run(appends_async).unwrap_err();
    assert_eq!(again.trace().to_string(), found.trace().to_string());
    assert!(found.to_string().contains("Crashed("), "{found}");
}
