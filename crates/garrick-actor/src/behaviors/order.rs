//! A sequencer, which forwards numbered messages in the order of their numbers.

use std::any::type_name;
use std::collections::BTreeMap;

use garrick_sched::{Address, count_left_letters};

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Several;

/// Creates an actor that receives numbered messages and forwards them to `to` in the order of their
/// numbers, starting with 0. The numbers are not forwarded.
///
/// A message that arrives early waits until all messages with smaller numbers have arrived. The
/// number of waiting messages is unbounded, even if the mailbox of the sequencer is bounded. If a
/// number never arrives, all messages with higher numbers wait forever. A message whose number has
/// already been received is a dead letter.
///
/// Each message costs one additional send. A message that arrives early also needs an entry in a
/// sorted map. If the target has stopped, the sequencer stops too, and the current message and all
/// waiting messages become dead letters.
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
    /// Sequence number of the next message to forward.
    next: u64,
    /// Messages that have arrived early, with their numbers as keys. All numbers are greater than
    /// `next`.
    early: Several<BTreeMap<u64, M>>,
}

impl<M: Send + 'static> Sequencer<M> {
    /// Forwards `msg`, which has the number `next`. Then forwards the waiting messages whose
    /// numbers follow without a gap.
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

impl<M> Drop for Sequencer<M> {
    fn drop(&mut self) {
        // The sequencer has been stopped, or the system ends.
        count_left_letters(type_name::<M>, self.early.len() as u64);
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
