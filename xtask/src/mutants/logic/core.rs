//! Logic mutants of `garrick-core`.

use super::Logic;

const UNIT: &[&str] = &["lib"];

pub(super) const MUTANTS: &[Logic] = &[
    Logic {
        name: "looks-at-the-tail-before-the-close",
        breaks: "the last values of a closed ring are lost",
        file: "ring/consumer.rs",
        find: "self.is_closed() && self.readable() == 0",
        put: "if MUTANT { self.readable() == 0 && self.is_closed() } else { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "arms-after-the-fence",
        breaks: "a thread that begins to wait at the moment of an advance is not woken",
        file: "gate/mod.rs",
        find: "self.gate.wanted.store(target, Release);
               // SeqCst: pairs with the fences in `Mover::advance` and `Mover::close`; the mover
               // sees what is wanted, or the caller sees its count or its close.
               fence(SeqCst);",
        put: "if MUTANT { fence(SeqCst); self.gate.wanted.store(target, Release); } else { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "advances-past-who-waits",
        breaks: "a thread that waits for exactly the new count is not woken",
        file: "gate/mod.rs",
        find: "wanted > self.count",
        put: "if MUTANT { wanted >= self.count } else { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "closes-without-waking",
        breaks: "a sleeping thread is not woken by the close",
        file: "gate/mod.rs",
        find: "self.take()
               }

               /// Returns the exact count.",
        put: "if MUTANT { None } else { self.take() }
              }

              /// Returns the exact count.",
        tests: UNIT,
    },
    Logic {
        name: "shows-no-odd-version",
        breaks: "a snapshot mixes the values of two publications",
        file: "count/group.rs",
        find: "let odd = self.version.wrapping_add(1);",
        put: "let odd = if MUTANT { self.version } else { self.version.wrapping_add(1) };",
        tests: UNIT,
    },
    Logic {
        name: "takes-an-odd-version",
        breaks: "a snapshot is taken while values are being published",
        file: "count/group.rs",
        find: "before % 2 == 1",
        put: "!MUTANT && ORIGINAL",
        tests: UNIT,
    },
    Logic {
        name: "looks-once-at-the-version",
        breaks: "a snapshot mixes the values of two publications",
        file: "count/group.rs",
        find: "(before == after).then_some(values)",
        put: "(MUTANT || before == after).then_some(values)",
        tests: UNIT,
    },
    Logic {
        name: "sleeps-without-a-look-at-the-token",
        breaks: "a wake-up token that arrives before the thread sleeps is lost",
        file: "park/mod.rs",
        find: "return self.take_token();",
        put: "if !MUTANT { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "wakes-without-the-lock",
        breaks: "a notification that arrives between a thread's announcement of its sleep and the \
                 sleep itself is lost",
        file: "park/mod.rs",
        find: "drop(self.lock());",
        put: "if !MUTANT { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "gives-up-without-a-look",
        breaks: "a wake-up token that arrives at the deadline is lost",
        file: "park/mod.rs",
        find: "self.state.swap(EMPTY, Acquire) == NOTIFIED",
        put: "(ORIGINAL) && !MUTANT",
        tests: UNIT,
    },
    Logic {
        name: "rings-twice",
        breaks: "a bell that is already ringing is rung again, so one poll has nothing to do",
        file: "bell/mod.rs",
        find: "if word & WOKEN == 0 {
                   word
               } else {
                   word | RINGING
               }",
        put: "if MUTANT { word } else { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "does-not-ring-at-the-end-of-a-poll",
        breaks: "a wake-up that arrives during a poll is lost",
        file: "bell/mod.rs",
        find: "(before | again) & WOKEN != 0 && before & RINGING == 0",
        put: "!MUTANT && ORIGINAL",
        tests: UNIT,
    },
];
