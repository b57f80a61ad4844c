//! Messages that cannot be delivered.
//!
//! An actor that forwards messages may find that their receiver has stopped. The message that it
//! holds would have been a dead letter had it come a moment earlier. So it is counted as one.

use garrick_sched::{Address, SendError, count_dead_letters};

use crate::model::context::Context;
use crate::model::next::Next;

impl<M: 'static> Context<'_, M> {
    /// Drops `msg` and counts it as a dead letter, however the turn ends. For actors that forward
    /// messages and find the receiver stopped.
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
        count_dead_letters(1);
        drop(msg);
    }

    /// Sends `msg` to `to`. If the receiver has stopped, counts `msg` as a dead letter and stops
    /// this actor, which is of no use any more. Its senders then find it stopped.
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
