//! An actor that counts.

use garrick_sched::Reply;

use crate::model::actor::Actor;
use crate::model::context::Context;

/// A message to a [`counter`].
#[derive(Debug)]
pub enum Count {
    /// Adds one.
    Up,
    /// Subtracts one.
    Down,
    /// Resets the counter to 0.
    Reset,
    /// Sends the count to this reply.
    Read(Reply<i64>),
    /// Sends the count to this reply, and then resets the counter to 0.
    Take(Reply<i64>),
}

/// Creates an actor that counts up and down, starting at 0.
///
/// The count saturates at the bounds of `i64`. To restrict a sender to some of the messages, for
/// example to [`Count::Up`], give this sender an address that [`contramap`] creates from the
/// counter's address.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors::{Count, counter}};
///
/// let local = Local::new()?;
/// let counter = local.spawn(counter());
/// counter.send(Count::Up)?;
/// counter.send(Count::Up)?;
/// counter.send(Count::Down)?;
/// let count = counter.ask(Count::Take);
/// local.run();
/// assert_eq!(count.wait(), Ok(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`contramap`]: garrick_sched::Address::contramap
pub fn counter() -> impl Actor<Msg = Count> + Send {
    Counter(0)
}

struct Counter(i64);

impl Actor for Counter {
    type Msg = Count;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Count, _: &mut Context<'_, Count>) {
        match msg {
            Count::Up => self.0 = self.0.saturating_add(1),
            Count::Down => self.0 = self.0.saturating_sub(1),
            Count::Reset => self.0 = 0,
            Count::Read(reply) => reply.send(self.0),
            Count::Take(reply) => {
                reply.send(self.0);
                self.0 = 0;
            }
        }
    }
}
