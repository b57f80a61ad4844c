//! Tests of children that fail after their supervisor has stopped waiting for them.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use garrick_actor::supervise::{Shutdown, Strategy, Supervisor};
use garrick_actor::{Consequence, Next, System, behavior};
use garrick_testkit::{ON_PURPOSE, ends, fail, silence_panics, wait};

use crate::stand::{NO_ACCOUNT, NoAccount};

/// The way in which the turn of a removed child ends.
#[derive(Clone, Copy)]
enum End {
    Error,
    Panic,
    Destructor,
}

/// An error whose destructor panics.
#[derive(Debug)]
struct Bomb;

impl std::fmt::Display for Bomb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bomb")
    }
}

impl std::error::Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        fail();
    }
}

/// Removes a child while the child is in a turn, lets the turn end, and returns the message of the
/// failure report. Then checks that the supervisor still restarts another child.
fn reason_of_late(end: End) -> String {
    silence_panics();
    let (report, reports) = mpsc::channel();
    let system = System::builder()
        .workers(2)
        .on_failure(move |failure| report.send(failure.clone()).unwrap())
        .start()
        .unwrap();
    let tree = Supervisor::new("tree", Strategy::OneForOne)
        .spawn(&system.handle())
        .unwrap();
    let (begins, begun) = mpsc::channel();
    let child = system.actor(move || {
        let begins = begins.clone();
        behavior(move |go_on: Receiver<()>, cx| {
            begins.send(()).unwrap();
            go_on.recv().unwrap();
            match end {
                End::Error => cx.fail(NoAccount),
                End::Panic => fail(),
                End::Destructor => cx.fail(Bomb),
            }
        })
    });
    let child = child
        .named("child")
        .supervised_by(&tree)
        .shutdown(Shutdown::Drain(Duration::from_millis(1)))
        .spawn()
        .unwrap();
    let (go_on, waits) = mpsc::channel();
    child.send(waits).unwrap();
    wait(&begun);
    // The answer comes when the supervisor has stopped to wait for the child.
    assert_eq!(tree.remove("child").wait(), Ok(true));
    go_on.send(()).unwrap();
    let report = wait(&reports);
    assert_eq!(report.consequence, Consequence::Stopped);
    assert!(report.path.unwrap().as_str().contains("child"));
    let other = system
        .actor(|| behavior(|(): (), _| -> Next { fail() }))
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    other.send(()).unwrap();
    let restart = wait(&reports).consequence;
    assert_eq!(restart, Consequence::Restarted { restarts: 1 });
    system.shutdown();
    report.message
}

#[test]
fn an_error_is_reported() {
    ends(|| assert_eq!(reason_of_late(End::Error), NO_ACCOUNT));
}

#[test]
fn a_panic_is_reported() {
    ends(|| assert_eq!(reason_of_late(End::Panic), ON_PURPOSE));
}

#[test]
fn an_error_whose_destructor_panics_leaves_the_supervisor_alone() {
    ends(|| assert_eq!(reason_of_late(End::Destructor), "bomb"));
}
