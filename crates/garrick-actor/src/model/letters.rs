//! Messages that cannot be delivered.
//!
//! A message that is in the mailbox of an actor when the actor stops is a dead letter. An actor
//! that forwards a message may also find that the receiver has already stopped. This module counts
//! such a message as a dead letter too.

use std::any::type_name;

use garrick_sched::{Address, LetterReason, SendError, count_dead_letters};

use crate::model::context::Context;
use crate::model::next::Next;

impl<M: 'static> Context<'_, M> {
    /// Drops `msg` and counts it as a dead letter, even if the turn is undone. Use this method in
    /// an actor that forwards messages, if the receiver of `msg` has stopped.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, behavior};
    ///
    /// let local = Local::new()?;
    /// let refuses = local.spawn(behavior(|n: u32, cx| {
    ///     cx.dead_letter(n);
    /// }));
    /// refuses.send(1)?;
    /// local.run();
    /// assert_eq!(local.handle().dead_letters(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cold]
    pub fn dead_letter<N>(&self, msg: N) {
        count_dead_letters(type_name::<N>, LetterReason::Discarded, 1);
        drop(msg);
    }

    /// Sends `msg` to `to`. If the receiver has stopped, counts `msg` as a dead letter and stops
    /// this actor, which has no purpose without its receiver.
    ///
    /// Later sends to this actor then return an error.
    #[inline]
    pub(crate) fn relay<N: 'static>(&self, to: &Address<N>, msg: N) -> Next {
        match self.send(to, msg) {
            Ok(()) => Next::Continue,
            Err(SendError(msg)) => {
                self.dead_letter(msg);
                Next::Stop
            }
        }
    }
}
