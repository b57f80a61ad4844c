//! Messages that cannot be delivered.
//!
//! A message that is in the mailbox of an actor when the actor stops is a dead letter. An actor
//! that forwards a message may also find that the receiver has already stopped. This module counts
//! such a message as a dead letter too.

use std::any::type_name;

use garrick_sched::{Address, LetterReason, SendError, count_dead_letters};

use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet;

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

    /// Sends `msg` to `to`. If the receiver refuses `msg` but has not stopped, for example because
    /// its mailbox is full, the receiver misses only this message: `msg` is dropped and counted as
    /// a dead letter.
    ///
    /// # Errors
    /// Returns the message if the receiver has stopped.
    #[inline]
    pub(crate) fn send_or_skip<N: 'static>(
        &self,
        to: &Address<N>,
        msg: N,
    ) -> Result<(), SendError<N>> {
        let sent = self.send(to, msg);
        sent.or_else(|SendError(msg)| self.skip(to, msg))
    }

    /// Drops `msg`, which `to` has refused, and counts it as a dead letter. A panic in the
    /// destructor of `msg` is caught, so that it does not affect other receivers.
    ///
    /// # Errors
    /// Returns the message if `to` has stopped.
    #[cold]
    pub(crate) fn skip<N: 'static>(&self, to: &Address<N>, msg: N) -> Result<(), SendError<N>> {
        if to.is_stopped() {
            return Err(SendError(msg));
        }
        count_dead_letters(type_name::<N>, LetterReason::Full, 1);
        quiet::drop(msg);
        Ok(())
    }

    /// Sends `msg` to `to`. If the receiver has stopped, counts `msg` as a dead letter and stops
    /// this actor, which has no purpose without its receiver. If the mailbox of the receiver is
    /// full, `msg` becomes a dead letter, and this actor continues.
    ///
    /// If this actor stops, later sends to it return an error.
    #[inline]
    pub(crate) fn relay<N: 'static>(&self, to: &Address<N>, msg: N) -> Next {
        match self.send_or_skip(to, msg) {
            Ok(()) => Next::Continue,
            Err(SendError(msg)) => {
                self.dead_letter(msg);
                Next::Stop
            }
        }
    }
}
