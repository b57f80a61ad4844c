//! Messages that have nowhere to go.
//!
//! An actor that passes messages on may find that their receiver has stopped. What it then holds would have been
//! a dead letter, had it come a moment earlier; so it is counted as one.

use garrick_sched::{Address, Flow, SendError, Task, Turn};

use crate::actor::Next;
use crate::context::Context;

/// Stops as soon as it begins, so that whatever was sent to it is a dead letter. This is how a turn counts one:
/// if it is undone, nothing is counted.
struct Grave;

impl Task for Grave {
    type Message = ();
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, ()>) -> Flow {
        Flow::Stop
    }

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Stop
    }

    fn name() -> &'static str {
        "garrick_actor::dead_letter"
    }
}

impl<M: 'static> Context<'_, M> {
    /// Drops `msg`, and counts it as a dead letter when the turn commits. For actors that pass messages on and
    /// cannot.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, Next};
    ///
    /// let local = Local::new()?;
    /// let refuses = local.spawn_behavior(|n: &u32, cx| {
    ///     cx.dead_letter(*n);
    ///     Next::Continue
    /// });
    /// refuses.send(1)?;
    /// local.run();
    /// assert_eq!(local.handle().dead_letters(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cold]
    pub fn dead_letter<N>(&self, msg: N) {
        drop(msg);
        let grave = self.turn().spawn(Grave);
        let sent = self.send(&grave, ());
        debug_assert!(sent.is_ok(), "it cannot have stopped before it began");
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
