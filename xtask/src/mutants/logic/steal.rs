//! Logic mutants of `garrick-steal`.

use super::Logic;

const UNIT: &[&str] = &["lib"];

pub(super) const MUTANTS: &[Logic] = &[
    Logic {
        name: "pops-without-a-look-at-claims",
        breaks: "the owner and a thief take the same value",
        file: "deque/worker.rs",
        find: "let head = self.shared.head.load(Relaxed);
               if (tail.wrapping_sub(head) as isize) < 0 {",
        put: "let head = self.shared.head.load(Relaxed);
              if (tail.wrapping_sub(head) as isize) < if MUTANT { -1 } else { 0 } {",
        tests: UNIT,
    },
    Logic {
        name: "looks-at-claims-before-the-tail-is-shown",
        breaks: "the owner and a thief take the same value",
        file: "deque/worker.rs",
        find: "self.publish_tail(tail);
               self.fence.light();",
        put: "let early = MUTANT.then(|| self.shared.head.load(Relaxed));
              ORIGINAL
              if let Some(early) = early {
                  if (tail.wrapping_sub(early) as isize) < 0 { return self.pop_contended(tail); }
                  self.tail = tail;
                  // SAFETY: that it is not safe is what the mutant shows.
                  return Some(unsafe { buffer.read(tail) });
              }",
        tests: UNIT,
    },
    Logic {
        name: "contends-without-the-lock",
        breaks: "the owner and a thief take the same value",
        file: "deque/worker.rs",
        find: "fn pop_under_lock(&self, tail: usize) -> Option<T> {
                   let guard = self.shared.lock();
                   let is_ours = guard.head() != tail.wrapping_add(1);",
        put: "fn pop_under_lock(&self, tail: usize) -> Option<T> {
                  let guard = if MUTANT { None } else { Some(self.shared.lock()) };
                  let head = guard.as_ref().map_or_else(|| self.shared.head.load(Relaxed), |guard| guard.head());
                  let is_ours = head != tail.wrapping_add(1);",
        tests: UNIT,
    },
    Logic {
        name: "claims-without-a-second-look-at-the-tail",
        breaks: "a thief takes a value that the owner has popped",
        file: "deque/stealer.rs",
        find: "claim.settle(count, shared.tail.load(Acquire));",
        put: "if MUTANT { claim.settle(count, tail); } else { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "shrinks-its-claim-late",
        breaks: "no error, but less speed: the owner waits until the thief has copied the values",
        file: "deque/stealer.rs",
        find: "self.guard.set_head(self.end);",
        put: "if !MUTANT { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "is-done-before-the-head-is-back",
        breaks: "`done` is larger than `head` for a moment",
        file: "deque/stealer.rs",
        find: "self.guard.set_head(self.next);
               self.guard.set_done(self.next);",
        put: "if MUTANT {
                  self.guard.set_done(self.next);
                  self.guard.set_head(self.next);
              } else {
                  ORIGINAL
              }",
        tests: UNIT,
    },
    Logic {
        name: "counts-the-tail-before-the-done",
        breaks: "a deque counts as drained while a value is in it",
        file: "deque/shared.rs",
        find: "let done = self.done();",
        put: "let early = MUTANT.then(|| self.tail.load(Acquire));
              let done = self.done();
              if let Some(early) = early { return distance(done, early) == 0; }",
        tests: UNIT,
    },
    Logic {
        name: "rings-no-doorbell",
        breaks: "a push does not wake a sleeping receiver",
        file: "queue/banker.rs",
        find: "if head == dozing() {
                   self.shared.doorbell.ring();",
        put: "if head == dozing() && !MUTANT {
                  self.shared.doorbell.ring();",
        tests: UNIT,
    },
    Logic {
        name: "marks-nothing-when-it-dozes",
        breaks: "a push does not notice that the receiver is sleeping",
        file: "queue/banker.rs",
        find: "let head = &self.shared.head;
               match head.compare_exchange(ptr::null_mut(), dozing(), Relaxed, Relaxed) {",
        put: "let head = &self.shared.head;
              if MUTANT && head.load(Relaxed).is_null() { return Doze::Marked; }
              match head.compare_exchange(ptr::null_mut(), dozing(), Relaxed, Relaxed) {",
        tests: UNIT,
    },
    Logic {
        name: "rings-no-doorbell-chunked",
        breaks: "a push does not wake a sleeping receiver",
        file: "queue/chunked/mod.rs",
        find: "if claimed.is_dozing() {",
        put: "if claimed.is_dozing() && !MUTANT {",
        tests: UNIT,
    },
    Logic {
        name: "drops-the-mark-when-it-grows",
        breaks: "a receiver that sleeps at the end of a chunk is not woken",
        file: "queue/chunked/mod.rs",
        find: "let next = Tail::new(fresh, class, 0).with_marks_of(tail);",
        put: "let next = Tail::new(fresh, class, 0);
              let next = if MUTANT { next } else { next.with_marks_of(tail) };",
        tests: UNIT,
    },
    Logic {
        name: "does-not-ring-for-the-last-sender",
        breaks: "a receiver waits for senders that no longer exist",
        file: "queue/wait.rs",
        find: "== 1 {
                   self.ring();",
        put: "== 1 && !MUTANT {
                  self.ring();",
        tests: UNIT,
    },
    Logic {
        name: "closes-without-a-last-look",
        breaks: "the last values of dropped senders are lost",
        file: "queue/wait.rs",
        find: "return queue.try_pop().ok_or(PopTimeoutError::Closed);",
        put: "return if MUTANT { None } else { queue.try_pop() }.ok_or(PopTimeoutError::Closed);",
        tests: UNIT,
    },
    Logic {
        name: "steals-without-an-odd-mark",
        breaks: "a channel is reported as empty while a worker moves stolen values",
        file: "steal/hand.rs",
        find: "let mark = self.mark.begin();
               let stealer = &self.shared.places[victim].stealer;",
        put: "let mark = if MUTANT { self.mark.count() * 2 } else { self.mark.begin() };
              let stealer = &self.shared.places[victim].stealer;",
        tests: UNIT,
    },
    Logic {
        name: "takes-its-share-without-an-odd-mark",
        breaks: "a channel is reported as empty while a worker moves values from the global queue \
                 to its deque",
        file: "steal/hand.rs",
        find: "let mark = self.mark.begin();
               self.shared
                   .global
                   .pop_share(",
        put: "let mark = if MUTANT { self.mark.count() * 2 } else { self.mark.begin() };
              self.shared
                  .global
                  .pop_share(",
        tests: UNIT,
    },
    Logic {
        name: "overflows-without-an-odd-mark",
        breaks: "a channel is reported as empty while a worker moves values from its deque to the \
                 global queue",
        file: "steal/hand.rs",
        find: "let mark = self.mark.begin();
               let reserved = self.shared.global.reserve(self.half);",
        put: "let mark = if MUTANT { self.mark.count() * 2 } else { self.mark.begin() };
              let reserved = self.shared.global.reserve(self.half);",
        tests: UNIT,
    },
    Logic {
        name: "keeps-what-it-took-to-itself",
        breaks: "a worker that takes several values at once does not wake another receiver for the \
                 rest of them",
        file: "steal/hand.rs",
        find: "if is_more {",
        put: "if is_more && !MUTANT {",
        tests: UNIT,
    },
    Logic {
        name: "sends-without-a-mark",
        breaks: "a channel is reported as empty although a value arrived during the check",
        file: "steal/hand.rs",
        find: "self.mark.came();",
        put: "if !MUTANT { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "gives-a-verdict-without-a-second-look-at-marks",
        breaks: "a channel is reported as empty although a value arrived during the check",
        file: "steal/shared.rs",
        find: "(self.places.iter().zip(&*marks)).all(|(place, mark)| place.mark.load() == *mark)",
        put: "(MUTANT || ORIGINAL)",
        tests: UNIT,
    },
    Logic {
        name: "gives-a-verdict-without-a-second-look-at-pushes",
        breaks: "a channel is reported as empty although a value arrived in the global queue \
                 during the check",
        file: "steal/shared.rs",
        find: "self.global.pushed() == pushed",
        put: "(MUTANT || ORIGINAL)",
        tests: UNIT,
    },
    Logic {
        name: "gives-a-verdict-without-a-fence",
        breaks: "a channel is reported as empty although a value arrived during the check, if the \
                 owner and a thief compete for the last value of a deque",
        file: "steal/shared.rs",
        find: "self.fence.light();
               let is_still",
        put: "if !MUTANT { self.fence.light(); }
              let is_still",
        tests: UNIT,
    },
    Logic {
        name: "settles-before-the-heavy-fence",
        breaks: "a channel counts as finished although a send is still in progress",
        file: "steal/shared.rs",
        find: "self.fence.heavy();
               // Release: pairs with the Acquire in `is_settled`. A thread that sees us
               // settled sees what was sent before.
               self.is_settled.store(true, Release);",
        put: "if MUTANT {
                  self.is_settled.store(true, Release);
                  self.fence.heavy();
              } else {
                  ORIGINAL
              }",
        tests: UNIT,
    },
    Logic {
        name: "closes-without-waking",
        breaks: "a waiting receiver is not notified of the close",
        file: "steal/shared.rs",
        find: "self.bell.wake_all();",
        put: "if !MUTANT { ORIGINAL }",
        tests: UNIT,
    },
    Logic {
        name: "answers-without-a-look",
        breaks: "a value that arrives while a receiver searches for values is not received until \
                 the next value arrives",
        file: "steal/bell.rs",
        find: "if has_work() {",
        put: "if !MUTANT && has_work() {",
        tests: UNIT,
    },
    Logic {
        name: "sleeps-without-a-last-look",
        breaks: "a value that arrives just before a receiver sleeps is not received until the next \
                 value arrives",
        file: "steal/wait.rs",
        find: "if !is_disturbed {",
        put: "if MUTANT || !is_disturbed {",
        tests: UNIT,
    },
    Logic {
        name: "takes-a-call-with-it",
        breaks: "if a woken future is dropped, its wake-up is not passed on to another future that \
                 could receive the value",
        file: "steal/bell.rs",
        find: "let Some(left) = list.remove(ticket) else {
                   return woken;
               };",
        put: "let Some(left) = list.remove(ticket) else {
                  return if MUTANT { Call::None } else { woken };
              };",
        tests: UNIT,
    },
];
