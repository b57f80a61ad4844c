//! Logic mutants of `garrick-sched`, except for seats and the gate.

use super::Logic;

/// Tests that should notice a message that is lost, kept or dropped twice.
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
        breaks: "a seat ends although a turn has to come back to it",
        file: "runtime/sponsor/shutdown.rs",
        find: "if self.has_cells_elsewhere() {",
        put: "if !MUTANT && self.has_cells_elsewhere() {",
        tests: BLOCKING,
    },
    Logic {
        name: "a-turn-that-was-away-sends-by-mailboxes",
        breaks: "messages that the turn sends overtake those that it carries",
        file: "runtime/worker/away.rs",
        find: "self.sends_at.set(Home::STRANGER);",
        put: "if !MUTANT { ORIGINAL }",
        tests: BLOCKING,
    },
    Logic {
        name: "a-cell-whose-turn-is-away-may-be-scheduled",
        breaks: "two threads run one task",
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
        breaks: "a task that receives no message never starts",
        file: "runtime/worker/away.rs",
        find: "self.schedule(newborn);",
        put: "if !MUTANT { ORIGINAL }",
        tests: BLOCKING,
    },
    Logic {
        name: "a-timer-that-is-cancelled-goes-on",
        breaks: "the message of a cancelled timer is kept until its time, and arrives",
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
        breaks: "an undone turn has an effect",
        file: "runtime/worker/undo.rs",
        find: "self.stage.undo_cancelled();",
        put: "if !MUTANT { ORIGINAL }",
        tests: CANCEL,
    },
    Logic {
        name: "an-undone-turn-keeps-a-place-in-the-wheel",
        breaks: "the wheel grows with each undone turn",
        file: "runtime/timer/mod.rs",
        find: "timer.undo();",
        put: "if !MUTANT { ORIGINAL }",
        tests: &["timer_memory"],
    },
    Logic {
        name: "timers-outlive-their-owner",
        breaks: "a message arrives for an owner that has ended, and is kept until its time",
        file: "runtime/turn.rs",
        find: "address.watch(move |_| owners::forget(owner));",
        put: "if !MUTANT { ORIGINAL }",
        tests: CANCEL,
    },
    Logic {
        name: "a-timer-that-has-fired-stays-its-owner-s",
        breaks: "the register of an owner grows with each timer",
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
        breaks: "only speed: half as many workers are woken as the work needs",
        file: "runtime/sponsor/mod.rs",
        find: "fn wake_some(&self, wanted: usize) {",
        put: "ORIGINAL let wanted = if MUTANT { wanted.div_ceil(2) } else { wanted };",
        tests: REST,
    },
    Logic {
        name: "publishes-and-wakes-nobody",
        breaks: "cells that are given away wait until a worker happens to check the shared queue",
        file: "runtime/sponsor/mod.rs",
        find: "fn wake_some(&self, wanted: usize) {",
        put: "ORIGINAL let wanted = if MUTANT { 0 } else { wanted };",
        tests: REST,
    },
    Logic {
        name: "leaves-the-shared-queue-open",
        breaks: "cells in the shared queue at the end are never closed",
        file: "runtime/sponsor/shutdown.rs",
        find: "while let Some(entry) = self.shared.claim() {",
        put: "while let Some(entry) = if MUTANT { None } else { self.shared.claim() } {",
        tests: REST,
    },
    Logic {
        name: "keeps-timers-at-the-end",
        breaks: "timed messages of an ending sponsor are never dropped",
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
        breaks: "a worker ends before a token comes back to it",
        file: "runtime/sponsor/shutdown.rs",
        find: "self.awaited.get() == 0",
        put: "(MUTANT || ORIGINAL)",
        tests: REST,
    },
    Logic {
        name: "is-unreachable-with-the-token-out",
        breaks: "a cell is freed one step early, at the end of its activation",
        file: "runtime/worker/ready.rs",
        find: "cell.settle() == Settled::Unreferenced && cell.inbox_is_idle()",
        put: "cell.settle() == Settled::Unreferenced && (MUTANT || cell.inbox_is_idle())",
        tests: TASKS,
    },
    Logic {
        name: "settles-with-the-token-out",
        breaks: "a cell is freed one step early, when its last reference is dropped",
        file: "runtime/worker/ready.rs",
        find: "if cell.inbox_is_idle() {",
        put: "if MUTANT || cell.inbox_is_idle() {",
        tests: TASKS,
    },
    Logic {
        name: "closes-the-inbox-before-the-orphan-mark",
        breaks: "a thread that drops a reference in the meantime retries until the mark is set",
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
        find: "let is_at_mailbox = self.undo();",
        put: "let is_at_mailbox = if MUTANT { false } else { self.undo() };",
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
        breaks: "an activation handles one message less than the limit",
        file: "runtime/worker/limits.rs",
        find: "left: max",
        put: "ORIGINAL - u32::from(MUTANT)",
        tests: SHARES,
    },
    Logic {
        name: "stages-without-a-reference",
        breaks: "the receiver of a staged envelope may be freed before the delivery",
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
        breaks: "a task of an undone turn runs",
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
        breaks: "a cell that has sent to itself counts as being at its mailbox",
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
        breaks: "an asker waits for an answer that was undone",
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
        breaks: "unhandled messages are not counted",
        file: "runtime/worker/undo.rs",
        find: "self.shared.count_dead_letters(name, reason, count);",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
    Logic {
        name: "sends-past-the-inbox",
        breaks: "a message overtakes the messages in the inbox",
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
        breaks: "the owner does not know which cell's token came back",
        file: "runtime/address.rs",
        find: "unsafe { (*chain.oldest).set_token_of(Some(cell)) };",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
    Logic {
        name: "an-answer-of-an-undone-turn-is-forgotten",
        breaks: "an asker waits forever",
        file: "runtime/worker/undo.rs",
        find: "unsafe { (given.refuse)(given.slot) };",
        put: "if !MUTANT { ORIGINAL }",
        tests: &["asks"],
    },
    Logic {
        name: "an-answer-is-published-before-its-turn-commits",
        breaks: "the answer of an undone turn arrives",
        file: "reply/answer.rs",
        find: "Some(worker) => worker.stage.give(written.stage()),",
        put: "Some(_) if MUTANT => written.publish(), ORIGINAL",
        tests: &["asks"],
    },
    Logic {
        name: "takes-the-waker-and-calls-it-not",
        breaks: "the asker is not woken for the answer",
        file: "reply/answer.rs",
        find: "waker.wake();",
        put: "if !MUTANT { ORIGINAL }",
        tests: TASKS,
    },
];
