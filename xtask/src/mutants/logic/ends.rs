//! Logic mutants of actions at the end of a turn, and of sends that need a place in a bounded
//! mailbox.

use super::Logic;

/// Tests that should notice that an action is not called, or that a wrong action is called.
const AT_END: &[&str] = &["at_end"];

/// Tests that should notice a bounded mailbox that accepts too much, or too little.
const BOUNDED: &[&str] = &["bounded"];

pub(super) const MUTANTS: &[Logic] = &[
    Logic {
        name: "commits-and-undoes-the-action",
        breaks: "the action at the end of a committed turn is told that the turn was undone",
        file: "runtime/at_end.rs",
        find: "publish: committed::<T>,",
        put: "publish: if MUTANT { undone::<T> } else { committed::<T> },",
        tests: AT_END,
    },
    Logic {
        name: "undoes-and-commits-the-action",
        breaks: "the action at the end of an undone turn is told that the turn has committed",
        file: "runtime/at_end.rs",
        find: "refuse: undone::<T>,",
        put: "refuse: if MUTANT { committed::<T> } else { undone::<T> },",
        tests: AT_END,
    },
    Logic {
        name: "drops-the-action-and-calls-nothing",
        breaks: "the action at the end of a turn is not called",
        file: "runtime/at_end.rs",
        find: "let _ = quiet::call(|| method(&action));",
        put: "if !MUTANT { ORIGINAL }",
        tests: AT_END,
    },
    Logic {
        name: "tries-in-a-turn-without-a-place",
        breaks: "a mailbox accepts more messages than it has places",
        file: "runtime/admission.rs",
        find: "if unsafe { worker.stage.purse.take(room) } {
                   return",
        put: "if MUTANT || unsafe { worker.stage.purse.take(room) } {
                  return",
        tests: BOUNDED,
    },
    Logic {
        name: "tries-from-outside-without-a-place",
        breaks: "a mailbox accepts more messages than it has places",
        file: "runtime/admission.rs",
        find: "} else if room.take_some(|_| 1) == 1 {",
        put: "} else if MUTANT || room.take_some(|_| 1) == 1 {",
        tests: BOUNDED,
    },
    Logic {
        name: "gives-back-the-place-of-a-message-of-a-turn",
        breaks: "two messages occupy the same place of a bounded mailbox",
        file: "runtime/admission.rs",
        find: "unsafe { worker.stage.purse.add(room) };
               place.spend();",
        put: "unsafe { worker.stage.purse.add(room) };
              if MUTANT { drop(place) } else { place.spend() }",
        tests: BOUNDED,
    },
    Logic {
        name: "gives-back-the-place-of-a-message-from-outside",
        breaks: "two messages occupy the same place of a bounded mailbox",
        file: "runtime/admission.rs",
        find: "let pushed = self.push_admitted(message, false, |_| false)?;
               place.spend();",
        put: "let pushed = self.push_admitted(message, false, |_| false)?;
              if MUTANT { drop(place) } else { place.spend() }",
        tests: BOUNDED,
    },
    Logic {
        name: "adds-a-place-and-counts-it-not",
        breaks: "after a turn was undone, the place of its message in the mailbox stays taken",
        file: "runtime/purse.rs",
        find: "last.taken += 1;
               self.left.set(last.left);",
        put: "if !MUTANT { last.taken += 1; }
              self.left.set(last.left);",
        tests: BOUNDED,
    },
];
