//! Logic mutants of places for messages in bounded mailboxes: taking places, waiting for them, and
//! giving them back during a turn.

use super::Logic;

/// Tests that should notice a place that is never given to a sender.
const ROOM: &[&str] = &["lib", "here", "doors"];

/// Tests that should notice a bounded mailbox that accepts too much, or too little.
const BOUNDED: &[&str] = &["lib", "bounded"];

pub(super) const MUTANTS: &[Logic] = &[
    Logic {
        name: "a-place-back-wakes-nobody",
        breaks: "a place in a mailbox becomes free, but no waiting sender is woken",
        file: "runtime/room/mod.rs",
        find: "if self.give_back_quietly(count) {",
        put: "if self.give_back_quietly(count) && !MUTANT {",
        tests: ROOM,
    },
    Logic {
        name: "waits-without-a-second-look",
        breaks: "a sender waits although a place became free just before",
        file: "runtime/room/mod.rs",
        find: "let ticket = self.senders.line.stand(waker_of_thread());
               if self.take_some(|_| 1) == 1 {",
        put: "let ticket = self.senders.line.stand(waker_of_thread());
              if !MUTANT && self.take_some(|_| 1) == 1 {",
        tests: ROOM,
    },
    Logic {
        name: "awaits-without-a-second-look",
        breaks: "a sender waits although a place became free just before",
        file: "runtime/room/mod.rs",
        find: "if let Some(place) = self.try_take() {
               *ticket = None;",
        put: "if let Some(place) = if MUTANT { None } else { self.try_take() } {
              *ticket = None;",
        tests: ROOM,
    },
    Logic {
        name: "uses-a-place-up-and-wakes-nobody",
        breaks: "when the receiver handles a message, it does not wake a sender that waits for \
                 room",
        file: "runtime/room/mod.rs",
        find: "if self.senders.line.any() {
                   self.senders.line.wake_first();",
        put: "if self.senders.line.any() && !MUTANT {
                  self.senders.line.wake_first();",
        tests: BOUNDED,
    },
    Logic {
        name: "waits-without-a-nudge",
        breaks: "a sender that begins to wait while the receiver checks for waiting senders is not \
                 woken",
        file: "runtime/room/mod.rs",
        find: "nudge();",
        put: "if !MUTANT { ORIGINAL }",
        tests: BOUNDED,
    },
    Logic {
        name: "leaves-the-nudge-standing",
        breaks: "only the first waiting sender tells the receiver that it waits",
        file: "runtime/room/mod.rs",
        find: "self.keeper.is_nudged.swap(false, Acquire);",
        put: "ORIGINAL
              if MUTANT { self.keeper.is_nudged.store(true, Relaxed); }",
        tests: BOUNDED,
    },
    Logic {
        name: "closes-a-room-and-wakes-nobody",
        breaks: "a sender waits forever for room in the mailbox of a task that has stopped",
        file: "runtime/room/mod.rs",
        find: "self.senders.line.wake_all();",
        put: "if !MUTANT { ORIGINAL }",
        tests: BOUNDED,
    },
    Logic {
        name: "undoes-a-turn-and-keeps-its-places",
        breaks: "after a turn was undone, the places that it took in a mailbox stay taken",
        file: "runtime/purse.rs",
        find: "self.freed.borrow_mut().give_back(room.room, room.taken);",
        put: "if !MUTANT { ORIGINAL }",
        tests: BOUNDED,
    },
    Logic {
        name: "keeps-the-places-that-a-turn-did-not-use",
        breaks: "places that a turn has taken in a mailbox, but has not used, stay taken",
        file: "runtime/purse.rs",
        find: "self.freed.borrow_mut().give_back(room.room, left);",
        put: "if !MUTANT { ORIGINAL }",
        tests: BOUNDED,
    },
    Logic {
        name: "sends-to-a-bounded-cell-by-the-last-chain",
        breaks: "messages to a bounded mailbox of another worker take no places in the mailbox",
        file: "runtime/stage.rs",
        find: "if !cell.is_bounded() {
               self.out_cell.set(cell.0.as_ptr());",
        put: "if MUTANT || !cell.is_bounded() {
              self.out_cell.set(cell.0.as_ptr());",
        tests: BOUNDED,
    },
];
