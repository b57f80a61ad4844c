//! Logic mutants of the gate of `garrick-sched`, which admits messages from threads outside of the
//! sponsor.

use super::Logic;

/// Tests that should notice that a message from a thread outside of the sponsor is handled too
/// late.
const STRANGERS: &[&str] = &["strangers"];

pub(super) const MUTANTS: &[Logic] = &[
    Logic {
        name: "a-gate-stays-open",
        breaks: "messages from threads outside of the sponsor are accepted until its end",
        file: "gate.rs",
        find: "self.set_open(false);",
        put: "if !MUTANT { ORIGINAL }",
        tests: STRANGERS,
    },
    Logic {
        name: "lets-go-of-the-gate-before-the-push",
        breaks: "a message from a thread outside of the sponsor is accepted after the workers have \
                 checked that no work is left",
        file: "runtime/address.rs",
        find: "if matches!(pass, Way::Refused) {
                   return Err(SendError(message));
               }",
        put: "ORIGINAL
              let pass = if MUTANT {
                  drop(pass);
                  Way::Free
              } else {
                  pass
              };",
        tests: STRANGERS,
    },
    Logic {
        name: "a-cell-from-another-sponsor-stands-before-the-gate",
        breaks: "a message from a thread outside of the sponsor is accepted after the workers have \
                 checked that no work is left",
        file: "runtime/sponsor/idle.rs",
        find: "cell.set_home(to.shared.queue_home());",
        put: "cell.set_home(if MUTANT { Home::NOBODY } else { to.shared.queue_home() });",
        tests: STRANGERS,
    },
    Logic {
        name: "a-cell-leaves-the-gate-before-it-is-closed",
        breaks: "a message from a thread outside of the sponsor is accepted, but dropped with the \
                 task that should handle it",
        file: "runtime/worker/end.rs",
        find: "let list = self.shut(cell);",
        put: "if MUTANT {
                  cell.set_home(Home::NOBODY);
              }
              ORIGINAL",
        tests: STRANGERS,
    },
    Logic {
        name: "an-answer-is-refused-at-the-gate",
        breaks: "a task of a sponsor that shuts down waits for an answer that was already given",
        file: "reply/answer.rs",
        find: "return drop(to.send_from_outside(message, true));",
        put: "return drop(to.send_from_outside(message, !MUTANT));",
        tests: STRANGERS,
    },
    Logic {
        name: "a-guest-goes-round-the-gate",
        breaks: "a question from a thread outside of the sponsor is answered although the sponsor \
                 has begun to end",
        file: "runtime/sponsor/guest.rs",
        find: "|| is_refused(cell) {",
        put: "|| !MUTANT && is_refused(cell) {",
        tests: STRANGERS,
    },
];
