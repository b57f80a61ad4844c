//! Messages that have nowhere to go.
//!
//! An actor that passes messages on may find that their receiver has stopped. What it then holds would have been
//! a dead letter, had it come a moment earlier; so it is counted as one.

use garrick_sched::{Address, SendError, count_dead_letters};

use crate::model::context::Context;
use crate::model::next::Next;

impl<M: 'static> Context<'_, M> {
    /// Drops `msg`, and counts it as a dead letter, however the turn ends. For actors that pass messages on and
    /// cannot.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::Local;
    ///
    /// let local = Local::new()?;
    /// let refuses = local.spawn_behavior(|n: u32, cx| {
    ///     cx.dead_letter(n);
    /// });
    /// refuses.send(1)?;
    /// local.run();
    /// assert_eq!(local.handle().dead_letters(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cold]
    pub fn dead_letter<N>(&self, msg: N) {
        count_dead_letters(1);
        drop(msg);
    }

    /// Sends `msg` to `to`. If that has stopped, this actor is of no use any more: `msg` is a dead letter, and
    /// the actor stops as well, which tells whoever sends to it.
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
