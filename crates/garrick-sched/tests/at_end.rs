//! Tests of the actions that a turn registers for its end.
#![forbid(unsafe_code)]

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};

use common::does;
use garrick_sched::{AtEnd, Flow, Here, Turn};
use garrick_testkit::{ends_alone, fail, silence_panics};

/// An action at the end of a turn that reports which of its methods was called, and when it was
/// dropped.
struct Reports {
    to: Sender<&'static str>,
    panics: bool,
}

impl Reports {
    fn report(&self, end: &'static str) {
        self.to.send(end).unwrap();
        if self.panics {
            fail();
        }
    }
}

impl AtEnd for Reports {
    fn committed(&self) {
        self.report("committed");
    }

    fn undone(&self) {
        self.report("undone");
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.to.send("dropped").unwrap();
    }
}

/// Runs one turn that registers two actions and ends with `flow`. Returns the reports of the
/// actions.
fn ends_of_turn(flow: Flow, panics: bool) -> Receiver<&'static str> {
    let (to, reports) = channel();
    let here = Here::new_here().unwrap();
    let task = here.spawn(does(move |flow: Flow, turn: &Turn<'_, Flow>| {
        for _ in 0..2 {
            let to = to.clone();
            turn.at_end(Reports { to, panics });
        }
        flow
    }));
    task.send(flow).unwrap();
    here.run();
    drop((task, here));
    reports
}

#[test]
fn a_turn_that_commits_calls_each_action_once() {
    ends_alone(|| {
        let reports: Vec<_> = ends_of_turn(Flow::Continue, false).iter().collect();
        assert_eq!(reports, ["committed", "dropped", "committed", "dropped"]);
    });
}

#[test]
fn an_undone_turn_calls_each_action_once() {
    ends_alone(|| {
        let reports: Vec<_> = ends_of_turn(Flow::Undo, false).iter().collect();
        assert_eq!(reports, ["undone", "dropped", "undone", "dropped"]);
    });
}

#[test]
fn an_action_that_panics_hinders_no_other() {
    silence_panics();
    ends_alone(|| {
        let reports: Vec<_> = ends_of_turn(Flow::Continue, true).iter().collect();
        assert_eq!(reports, ["committed", "dropped", "committed", "dropped"]);
    });
}
