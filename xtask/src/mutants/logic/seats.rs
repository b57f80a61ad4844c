//! Logic mutants of the seats of `garrick-sched`. A seat is the state of a worker, and one thread
//! at a time uses it. The mutants break taking and leaving a seat, waking and ending.

use super::Logic;

/// Tests that should notice a worker that sleeps too long, or a sponsor that ends too early.
const REST: &[&str] = &["asks", "idle", "sponsors", "ends", "stress", "big"];

/// Tests that should notice that a guest leaves too early. A guest is a thread that waits for an
/// answer, and meanwhile runs the worker of the task that it has asked.
const CALLS: &[&str] = &["asks", "calls"];

/// Tests that should notice a blocking turn that does not come back, or comes back incomplete.
const BLOCKING: &[&str] = &["blocking"];

/// Tests that should notice a sponsor that ends too early.
const END: &[&str] = &["lib", "sponsors", "ends", "stress"];

/// Tests that should notice a ready task that waits behind a long turn or destructor of another
/// task.
const RESCUE: &[&str] = &["rescue", "lib"];

pub(super) const MUTANTS: &[Logic] = &[
    Logic {
        name: "drops-the-unpark",
        breaks: "a sleeping worker is not woken for a message",
        file: "cell/ready.rs",
        find: "Ok(_) if is_free => return Notice::Yours,",
        put: "Ok(_) if is_free && !MUTANT => return Notice::Yours,",
        tests: REST,
    },
    Logic {
        name: "parks-without-a-second-look",
        breaks: "work that arrives just before a thread announces its sleep is left waiting",
        file: "runtime/sponsor/idle.rs",
        find: "let is_wanted = wanted() || self.shared.end_if_drained();",
        put: "let is_wanted = (!MUTANT && wanted()) || self.shared.end_if_drained();",
        tests: REST,
    },
    Logic {
        name: "a-push-wipes-the-mark-of-who-looks",
        breaks: "no thread runs a worker that received a message while a thread checked the worker \
                 for work",
        file: "cell/ready.rs",
        find: "let mark = if is_free { 0 } else { seen.addr() & MARKS };",
        put: "let mark = if is_free || MUTANT { 0 } else { seen.addr() & MARKS };",
        tests: REST,
    },
    Logic {
        name: "keeps-a-seat-and-forgets-it",
        breaks: "no thread ever runs a worker that the last turn has woken",
        file: "runtime/worker/mod.rs",
        find: "self.next_seat.set(kept);",
        put: "if !MUTANT { ORIGINAL }",
        tests: END,
    },
    Logic {
        name: "gathers-over-what-others-have-sent",
        breaks: "a thread leaves a worker although the worker's ready stack is not empty",
        file: "runtime/sponsor/keep.rs",
        find: "|| !other.remote().ready.take_only(carrier)",
        put: "|| (!other.remote().ready.take_only(carrier) && !MUTANT)",
        tests: END,
    },
    Logic {
        name: "does-not-gather-and-forgets-the-seat",
        breaks: "a cell waits forever if its worker has other work, too",
        file: "runtime/sponsor/keep.rs",
        find: "self.crew.hand_over(kept.seat);",
        put: "if !MUTANT { ORIGINAL }",
        tests: END,
    },
    Logic {
        name: "what-was-gathered-waits-for-a-destructor",
        breaks: "a destructor waits forever for a cell that its worker has taken over from another \
                 worker",
        file: "runtime/sponsor/keep.rs",
        find: "if let Some(cell) = self.gathered.take() {",
        put: "if let Some(cell) = self.gathered.take().filter(|_| !MUTANT) {",
        tests: END,
    },
    Logic {
        name: "cells-that-a-turn-has-scheduled-wait-for-its-destructors",
        breaks: "a destructor waits forever for a task to which the same turn has sent a message",
        file: "runtime/sponsor/keep.rs",
        find: "if has_pushed {",
        put: "if has_pushed && !MUTANT {",
        tests: RESCUE,
    },
    Logic {
        name: "nobody-looks-at-a-worker-that-runs-destructors",
        breaks: "a destructor waits forever for a ready task, because no thread checks whether the \
                 worker is stuck",
        file: "runtime/sponsor/keep.rs",
        find: "self.crew.watch_ready(&self.shared, has_ready);",
        put: "if !MUTANT { ORIGINAL }",
        tests: RESCUE,
    },
    Logic {
        name: "cells-wait-for-the-destructor-of-a-task-that-stops",
        breaks: "the destructor of a stopped task waits forever for a ready task",
        file: "runtime/worker/end.rs",
        find: "self.shown.name_drops();",
        put: "if MUTANT { self.forget_running() } else { ORIGINAL }",
        tests: RESCUE,
    },
    Logic {
        name: "visits-that-outlast-their-loan-wait-for-the-owner",
        breaks: "a cell that another worker took during a long turn, and still runs at the end of \
                 it, has to wait for the next long turn",
        file: "runtime/sponsor/rescue.rs",
        find: "if !matches!(self.told[place].1.outcome, Outcome::Done | Outcome::Later) {",
        put: "if MUTANT || !matches!(self.told[place].1.outcome, Outcome::Done | Outcome::Later) {",
        tests: RESCUE,
    },
    Logic {
        name: "the-owner-waits-for-resumed-visits",
        breaks: "a worker that ends waits forever for a cell that another worker has taken a \
                 second time",
        file: "runtime/worker/rescue.rs",
        find: "self.visited.get() + recalled.to_be_told - recalled.resumed;",
        put: "self.visited.get() + recalled.to_be_told - if MUTANT { 0 } else { recalled.resumed };",
        tests: RESCUE,
    },
    Logic {
        name: "goes-without-a-look-at-what-is-shared",
        breaks: "a cell in the shared queue waits while a thread is idle",
        file: "runtime/sponsor/idle.rs",
        find: "if !is_wanted || !self.crew.retake(seat, Ready::sit) {",
        put: "if MUTANT || !is_wanted || !self.crew.retake(seat, Ready::sit) {",
        tests: END,
    },
    Logic {
        name: "a-guest-leaves-work-behind",
        breaks: "messages that a task sends while its caller's thread runs it are not handled",
        file: "runtime/sponsor/idle.rs",
        find: "if worker.has_something() || worker.closing.get() == Closing::All {",
        put: "if !MUTANT && (worker.has_something() || worker.closing.get() == Closing::All) {",
        tests: CALLS,
    },
    Logic {
        name: "a-guest-leaves-without-a-second-look",
        breaks: "a cell in the shared queue waits forever, or the sponsor never ends",
        file: "runtime/sponsor/idle.rs",
        find: "self.wants_hands() || crew.is_wanted_back(seat) || self.end_if_drained()",
        put: "!MUTANT && (ORIGINAL)",
        tests: CALLS,
    },
    Logic {
        name: "a-hand-that-leaves-does-not-ask-who-wants-its-seat-back",
        breaks: "a turn that has blocked never continues",
        file: "runtime/sponsor/idle.rs",
        find: "wants || hand.crew.is_wanted_back(seat)",
        put: "wants || !MUTANT && hand.crew.is_wanted_back(seat)",
        tests: BLOCKING,
    },
    Logic {
        name: "a-hand-that-works-does-not-ask-who-wants-its-seat-back",
        breaks: "a turn that has blocked does not continue until its worker has no other work",
        file: "runtime/sponsor/idle.rs",
        find: "signal.calls_back() && self.crew.is_wanted_back(self.seat())",
        put: "!MUTANT && ORIGINAL",
        tests: BLOCKING,
    },
    Logic {
        name: "the-end-does-not-ask-who-is-away",
        breaks: "`shutdown()` may return while a blocking turn is in progress",
        file: "runtime/sponsor/idle.rs",
        find: "|| self.away.are_some()",
        put: "|| !MUTANT && self.away.are_some()",
        tests: BLOCKING,
    },
    Logic {
        name: "ends-without-a-second-look",
        breaks: "`shutdown()` may return before all work is done",
        file: "runtime/sponsor/idle.rs",
        find: "if !parked() || self.sits() != sits {",
        put: "if !MUTANT && (!parked() || self.sits() != sits) {",
        tests: END,
    },
    Logic {
        name: "ends-without-a-look-at-the-shared-queue",
        breaks: "`shutdown()` may return before all work is done",
        file: "runtime/sponsor/idle.rs",
        find: "!parked() || self.queued() > 0",
        put: "!parked() || (!MUTANT && self.queued() > 0)",
        tests: END,
    },
    Logic {
        name: "takes-over-without-a-reference",
        breaks: "a worker that does not own a cell drops the last reference to this cell",
        file: "runtime/sponsor/idle.rs",
        find: "if cell.local_refs() == 0 {",
        put: "if cell.local_refs() == 0 && !MUTANT {",
        tests: &["stress", "references", "moves"],
    },
    Logic {
        name: "gives-away-with-the-token-out",
        breaks: "a cell moves to another worker while a message for it is on its way to the old \
                 worker",
        file: "runtime/sponsor/idle.rs",
        find: "!cell.table().moves || !cell.try_hold()",
        put: "!cell.table().moves || (!cell.try_hold() && !MUTANT)",
        tests: &["stress", "moves", "big"],
    },
    Logic {
        name: "clears-the-home-before-references-are-shared",
        breaks: "no known error, because the worker holds the token of the cell meanwhile",
        file: "runtime/sponsor/idle.rs",
        find: "cell.share_refs();
               cell.set_home(queue_home);
               true",
        put: "if MUTANT {
                  cell.set_home(queue_home);
                  cell.share_refs();
              } else {
                  cell.share_refs();
                  cell.set_home(queue_home);
              }
              true",
        tests: &["stress", "moves", "big"],
    },
    Logic {
        name: "puts-an-entry-before-those-that-are-lent",
        breaks: "a ready cell is never run if other workers were allowed to run cells of its \
                 worker just before",
        file: "runtime/worker/ready.rs",
        find: "self.end_loan();\n        let in_hand = self.in_hand.take();",
        put: "if !MUTANT { self.end_loan() }\n        let in_hand = self.in_hand.take();",
        tests: RESCUE,
    },
];
