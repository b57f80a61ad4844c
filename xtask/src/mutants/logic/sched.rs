//! Logic mutants of `garrick-sched`, except for seats and the gate.

use super::Logic;

/// Tests that should notice a message that is lost, that is never dropped, or that is dropped
/// twice.
const TASKS: &[&str] = &[
    "asks",
    "destructors",
    "here",
    "ends",
    "references",
    "undo",
    "stress",
];

/// Tests that should notice a worker that sleeps too long, or a sponsor that ends too early.
const REST: &[&str] = &["asks", "idle", "sponsors", "ends", "stress", "big"];

/// Tests that should notice a blocking turn that does not come back, or comes back incomplete.
const BLOCKING: &[&str] = &["blocking"];

/// Tests that should notice a sponsor that ends too early.
const END: &[&str] = &["lib", "sponsors", "ends", "stress"];

/// Tests that should notice a timer that continues although it was cancelled.
const CANCEL: &[&str] = &["cancelled_timers"];

/// Tests that should notice a wrong number of messages in an activation.
const SHARES: &[&str] = &["fairness::full_mailboxes_are_handled_by_turns_256_messages_at_a_time"];

pub(super) const MUTANTS: &[Logic] = &[
    Logic {
        name: "winds-up-while-a-turn-is-away",
        breaks: "a worker ends although a blocked turn still has to come back to it",
        file: "runtime/sponsor/shutdown.rs",
        find: "if self.has_cells_elsewhere() {\n            self.closing",
        put: "if !MUTANT && self.has_cells_elsewhere() {\n            self.closing",
        tests: BLOCKING,
    },
    Logic {
        name: "keeps-cells-open-while-a-turn-is-away",
        breaks: "a turn that blocks waits forever for an answer of a task of its own worker, after \
                 the end of the sponsor has begun",
        file: "runtime/sponsor/shutdown.rs",
        find: "self.close_all();\n            // A message of the turn's closure",
        put: "if !MUTANT { self.close_all(); }\n            // A message of the turn's closure",
        tests: BLOCKING,
    },
    Logic {
        name: "a-turn-that-was-away-sends-by-mailboxes",
        breaks: "messages that a turn sends after it has blocked overtake messages that it sent \
                 before",
        file: "runtime/worker/away.rs",
        find: "self.sends_at.set(Home::STRANGER);",
        put: "if !MUTANT { ORIGINAL }",
        tests: BLOCKING,
    },
    Logic {
        name: "a-cell-whose-turn-is-away-may-be-scheduled",
        breaks: "two threads run one task at the same time",
        file: "runtime/worker/away.rs",
        find: "cell.keep_scheduled(); self.stop_running();",
        put: "if !MUTANT { cell.keep_scheduled(); } self.stop_running();",
        tests: BLOCKING,
    },
    Logic {
        name: "a-cell-in-line-is-taken-to-be-at-its-mailbox",
        breaks: "a cell is freed while it is in a run queue",
        file: "runtime/worker/undo.rs",
        find: "self.in_line.replace(false)",
        put: "self.in_line.replace(false) && !MUTANT",
        tests: BLOCKING,
    },
    Logic {
        name: "newborns-of-a-turn-that-was-away-do-not-start",
        breaks: "a task that a turn spawned before it blocked does not start until it receives a \
                 message",
        file: "runtime/worker/away.rs",
        find: "self.schedule(newborn);",
        put: "if !MUTANT { ORIGINAL }",
        tests: BLOCKING,
    },
    Logic {
        name: "a-timer-that-is-cancelled-goes-on",
        breaks: "a cancelled timer keeps its message, and still sends it at its deadline",
        file: "runtime/worker/timers.rs",
        find: ".commit_cancelled(|timer| self.stage.keep_unsent(timer.take_out()));",
        put: ".commit_cancelled(|timer| if !MUTANT { self.stage.keep_unsent(timer.take_out()) });",
        tests: CANCEL,
    },
    Logic {
        name: "timers-are-set-before-they-are-cancelled",
        breaks: "a timer fires although the turn that started it has cancelled it",
        file: "runtime/worker/timers.rs",
        find: "self.stage
               .commit_cancelled(|timer| self.stage.keep_unsent(timer.take_out()));",
        put: "if MUTANT {
                  self.stage.commit_later(|later| self.stage.keep_unsent(self.insert_timed(later, running)));
              }
              ORIGINAL",
        tests: CANCEL,
    },
    Logic {
        name: "an-undone-turn-has-cancelled",
        breaks: "a timer stays cancelled although the turn that cancelled it was undone",
        file: "runtime/worker/undo.rs",
        find: "self.stage.undo_cancelled();",
        put: "if !MUTANT { ORIGINAL }",
        tests: CANCEL,
    },
    Logic {
        name: "an-undone-turn-keeps-a-place-in-the-wheel",
        breaks: "the timer wheel grows with each undone turn",
        file: "runtime/timer/mod.rs",
        find: "timer.undo();",
        put: "if !MUTANT { ORIGINAL }",
        tests: &["timer_memory"],
    },
    Logic {
        name: "timers-outlive-their-owner",
        breaks: "a timer of a task that has ended keeps its message, and still fires",
        file: "runtime/turn.rs",
        find: "address.watch(move |_| owners::forget(owner));",
        put: "if !MUTANT { ORIGINAL }",
        tests: CANCEL,
    },
    Logic {
        name: "a-timer-that-has-fired-stays-its-owner-s",
        breaks: "the register of a task's timers grows with each timer that has fired",
        file: "runtime/timer/mod.rs",
        find: "membership.end();",
        put: "if !MUTANT { ORIGINAL }",
        tests: &["timer_memory"],
    },
    Logic {
        name: "counts-no-wake",
        breaks: "`shutdown()` may return before all work is done",
        file: "runtime/sponsor/mod.rs",
        find: "sits.fold(0, usize::wrapping_add)",
        put: "if MUTANT { 0 } else { ORIGINAL }",
        tests: END,
    },
    Logic {
        name: "publishes-and-wakes-half",
        breaks: "no error, but less speed: only half of the workers that the work needs are woken",
        file: "runtime/sponsor/mod.rs",
        find: "fn wake_some(&self, wanted: usize) {",
        put: "ORIGINAL let wanted = if MUTANT { wanted.div_ceil(2) } else { wanted };",
        tests: REST,
    },
    Logic {
        name: "publishes-and-wakes-nobody",
        breaks: "no worker is woken for cells in the shared queue, so they wait until a worker \
                 happens to check this queue",
        file: "runtime/sponsor/mod.rs",
        find: "fn wake_some(&self, wanted: usize) {",
        put: "ORIGINAL let wanted = if MUTANT { 0 } else { wanted };",
        tests: REST,
    },
    Logic {
        name: "leaves-the-shared-queue-open",
        breaks: "cells that are in the shared queue when the sponsor ends are never closed",
        file: "runtime/sponsor/shutdown.rs",
        find: "while let Some(entry) = self.shared.claim() {",
        put: "while let Some(entry) = if MUTANT { None } else { self.shared.claim() } {",
        tests: REST,
    },
    Logic {
        name: "keeps-timers-at-the-end",
        breaks: "when a sponsor ends, the messages of its timers are never dropped",
        file: "runtime/sponsor/shutdown.rs",
        find: "while let Some(mut timed) = self.pop_timed() {",
        put: "while let Some(mut timed) = if MUTANT { None } else { self.pop_timed() } {",
        tests: &["timers", "destructors", "ends"],
    },
    Logic {
        name: "awaited-is-never-counted-down",
        breaks: "a sponsor never ends",
        file: "runtime/worker/ready.rs",
        find: "self.awaited.set(self.awaited.get().saturating_sub(1));",
        put: "if !MUTANT { ORIGINAL }",
        tests: REST,
    },
    Logic {
        name: "awaited-is-not-waited-for",
        breaks: "a worker ends before the token of one of its cells has come back",
        file: "runtime/sponsor/shutdown.rs",
        find: "self.awaited.get() == 0",
        put: "(MUTANT || ORIGINAL)",
        tests: REST,
    },
    Logic {
        name: "is-unreachable-with-the-token-out",
        breaks: "a cell is freed at the end of its activation, although its token has not come \
                 back",
        file: "runtime/worker/ready.rs",
        find: "cell.settle() == Settled::Unreferenced && cell.inbox_is_idle()",
        put: "cell.settle() == Settled::Unreferenced && (MUTANT || cell.inbox_is_idle())",
        tests: TASKS,
    },
    Logic {
        name: "settles-with-the-token-out",
        breaks: "a cell is freed when its last reference is dropped, although its token has not \
                 come back",
        file: "runtime/worker/ready.rs",
        find: "if cell.inbox_is_idle() {",
        put: "if MUTANT || cell.inbox_is_idle() {",
        tests: TASKS,
    },
    Logic {
        name: "closes-the-inbox-before-the-orphan-mark",
        breaks: "a thread that drops a reference meanwhile retries until the cell has the mark \
                 ORPHAN",
        file: "runtime/worker/end.rs",
        find: "cell.orphan_refs();
               let left = cell.close();",
        put: "let early = MUTANT.then(|| cell.close());
              cell.orphan_refs();
              let left = early.unwrap_or_else(|| cell.close());",
        tests: TASKS,
    },
    Logic {
        name: "a-panic-undoes-nothing",
        breaks: "the effects of a turn that panicked are not undone",
        file: "runtime/worker/end.rs",
        find: "let is_at_mailbox = self.undo_keeping(undecided);",
        put: "let is_at_mailbox = if MUTANT { false } else { self.undo_keeping(undecided) };",
        tests: TASKS,
    },
    Logic {
        name: "does-not-drop-the-task",
        breaks: "the destructor of a stopped task does not run",
        file: "runtime/worker/end.rs",
        find: "if let Err(panic) = quiet::call(|| unsafe { (table.drop_task)(cell) }) {",
        put: "if let Err(panic) = quiet::call(|| unsafe { if !MUTANT { (table.drop_task)(cell) } }) {",
        tests: TASKS,
    },
    Logic {
        name: "finishes-without-dropping-the-task",
        breaks: "the destructor of an unreachable task does not run",
        file: "runtime/run.rs",
        find: "task_of::<T>(cell).drop_in_place()",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
    Logic {
        name: "one-over-the-limit",
        breaks: "an activation handles one message more than the limit",
        file: "runtime/worker/limits.rs",
        find: "left: max",
        put: "ORIGINAL + u32::from(MUTANT)",
        tests: SHARES,
    },
    Logic {
        name: "one-under-the-limit",
        breaks: "an activation handles one message fewer than the limit",
        file: "runtime/worker/limits.rs",
        find: "left: max",
        put: "ORIGINAL - u32::from(MUTANT)",
        tests: SHARES,
    },
    Logic {
        name: "stages-without-a-reference",
        breaks: "the receiver of staged messages may be freed before they are delivered",
        file: "runtime/stage.rs",
        find: "cell.clone_foreign();
               self.set_dirty();
               outgoing.push(",
        put: "if !MUTANT { cell.clone_foreign(); }
              self.set_dirty();
              outgoing.push(",
        tests: TASKS,
    },
    Logic {
        name: "undo-leaves-part-of-an-envelope",
        breaks: "messages of an undone turn are handled",
        file: "runtime/stage.rs",
        find: "if !entry.tail.is_null() {
                   let count =",
        put: "if !entry.tail.is_null() && !MUTANT {
                   let count =",
        tests: TASKS,
    },
    Logic {
        name: "undo-leaves-the-handoff",
        breaks: "a message of an undone turn is handled",
        file: "runtime/worker/undo.rs",
        find: "Vec::from_iter(self.handoff.take_of_turn(turn))",
        put: "Vec::from_iter(if MUTANT { None } else { self.handoff.take_of_turn(turn) })",
        tests: TASKS,
    },
    Logic {
        name: "undo-leaves-newborns",
        breaks: "a task that an undone turn has spawned runs",
        file: "runtime/worker/undo.rs",
        find: "for queue in [&self.old, &self.born] {",
        put: "for queue in [&self.old, if MUTANT { &self.old } else { &self.born }] {",
        tests: TASKS,
    },
    Logic {
        name: "undo-leaves-the-scheduled-mark",
        breaks: "a cell that is in no queue counts as scheduled",
        file: "runtime/worker/undo.rs",
        find: "entry.cell().unschedule();",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
    Logic {
        name: "undo-looks-at-the-mark-before-it-is-cleared",
        breaks: "after an undone turn, a cell that has sent a message to itself is treated as if \
                 it were handling its mailbox",
        file: "runtime/worker/undo.rs",
        find: "let entries = self.unschedule(turn);
               let running = self.shown.get();
               let in_line = self.in_line.replace(false);
               let is_at_mailbox = running.is_some_and(|cell| cell.state().is_scheduled()) && !in_line;",
        put: "let early = self.shown.get().is_some_and(|cell| cell.state().is_scheduled());
              ORIGINAL
              let is_at_mailbox = if MUTANT { early } else { is_at_mailbox };",
        tests: TASKS,
    },
    Logic {
        name: "undo-refuses-no-answer",
        breaks: "an asker waits forever for an answer that was undone",
        file: "runtime/worker/undo.rs",
        find: "let _ = quiet::call(|| unsafe { (owed.refuse)(self, owed.cell) });",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
    Logic {
        name: "does-not-drop-messages",
        breaks: "unhandled messages leak",
        file: "runtime/worker/undo.rs",
        find: "Kind::Messages => dropped += (cell.table().drop_unread)(list),",
        put: "Kind::Messages if MUTANT => {}
              ORIGINAL",
        tests: TASKS,
    },
    Logic {
        name: "counts-no-dead-letters",
        breaks: "unhandled messages are not counted as dead letters",
        file: "runtime/worker/undo.rs",
        find: "self.shared.count_dead_letters(name, reason, count);",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
    Logic {
        name: "sends-past-the-inbox",
        breaks: "a message overtakes earlier messages that are still in the inbox",
        file: "runtime/send.rs",
        find: "if !cell.inbox_is_idle_and_unbounded() {
               return self.send_out(cell, message);",
        put: "if !MUTANT && !cell.inbox_is_idle_and_unbounded() {
              return self.send_out(cell, message);",
        tests: TASKS,
    },
    Logic {
        name: "sends-no-release-note",
        breaks: "a cell without references is never freed",
        file: "runtime/address.rs",
        find: "Dropped::WithOwner => unsafe {",
        put: "Dropped::WithOwner if MUTANT => return,
              Dropped::WithOwner => unsafe {",
        tests: TASKS,
    },
    Logic {
        name: "a-token-names-no-cell",
        breaks: "a worker gets a token back, but does not learn to which of its cells the token \
                 belongs",
        file: "runtime/address.rs",
        find: "unsafe { (*chain.oldest).set_token_of(Some(cell)) };",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
    Logic {
        name: "an-answer-of-an-undone-turn-is-forgotten",
        breaks: "an asker waits forever for an answer that an undone turn has given",
        file: "runtime/worker/undo.rs",
        find: "unsafe { (given.refuse)(given.slot) };",
        put: "if !MUTANT { ORIGINAL }",
        tests: &["asks"],
    },
    Logic {
        name: "an-answer-is-published-before-its-turn-commits",
        breaks: "an answer arrives although the turn that gave it was undone",
        file: "reply/answer.rs",
        find: "Some(worker) => worker.stage.give(written.stage()),",
        put: "Some(_) if MUTANT => written.publish(), ORIGINAL",
        tests: &["asks"],
    },
    Logic {
        name: "takes-the-waker-and-calls-it-not",
        breaks: "the arrival of an answer does not wake the asker",
        file: "reply/answer.rs",
        find: "waker.wake();",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
];
