//! Delivery in order.

use std::collections::BTreeMap;

use garrick_sched::Address;

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Several;

/// Passes numbered messages on to `to` in the order of their numbers, from 0 on, without the
/// numbers.
///
/// A message that is too early waits for those before it. The number of waiting messages has no
/// bound: they wait here and not in a mailbox. A number that never comes holds back all behind it
/// forever. A number that has come before is a dead letter.
///
/// It costs one message, and a place in a sorted map for a message that is too early. When the
/// sequencer finds that the target has stopped, that message and the waiting messages are dead
/// letters, and the sequencer stops.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behavior, behaviors};
///
/// let local = Local::new()?;
/// let (to, heard) = std::sync::mpsc::channel();
/// let listener = local.spawn(behavior(move |word: &str, _| {
///     to.send(word).unwrap();
/// }));
/// let sequencer = local.spawn(behaviors::sequencer(listener));
/// for numbered in [(1, "b"), (2, "c"), (0, "a")] {
///     sequencer.send(numbered)?;
/// }
/// local.run();
/// assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sequencer<M: Send + 'static>(to: Address<M>) -> impl Actor<Msg = (u64, M)> + Send {
    Sequencer {
        to,
        next: 0,
        early: Several::default(),
    }
}

struct Sequencer<M> {
    to: Address<M>,
    /// Number that is due.
    next: u64,
    /// Messages that came before they were due, all with higher numbers.
    early: Several<BTreeMap<u64, M>>,
}

impl<M: Send + 'static> Sequencer<M> {
    /// Passes on `msg`, which is due, and all waiting messages that become due.
    fn pass_on(&mut self, msg: M, cx: &Context<'_, (u64, M)>) -> Next {
        let mut due = Some(msg);
        while let Some(msg) = due {
            if cx.relay(&self.to, msg) == Next::Stop {
                while let Some((_, msg)) = self.early.pop_first() {
                    cx.dead_letter(msg);
                }
                return Next::Stop;
            }
            self.next += 1;
            due = self.early.remove(&self.next);
        }
        Next::Continue
    }
}

impl<M: Send + 'static> Actor for Sequencer<M> {
    type Msg = (u64, M);
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (number, msg): (u64, M), cx: &mut Context<'_, (u64, M)>) -> Next {
        if number == self.next {
            return self.pass_on(msg, cx);
        }
        if number < self.next || self.early.contains_key(&number) {
            cx.dead_letter(msg);
        } else {
            self.early.insert(number, msg);
        }
        Next::Continue
    }
}
