//! Many messages to one receiver in one go.
//!
//! Inside of a turn, what goes to one receiver is gathered as it is sent, and handed over at once when the turn commits;
//! a batch is that, with an exact account of what was accepted if the receiver has stopped.

use std::any::type_name;
use std::fmt;
use std::iter::{self, Chain};

use garrick_sched::{Address, SendError};

use crate::model::context::Context;

/// The receiver has stopped. What it accepted before it did is counted; everything else comes back, in order, by
/// iterating over this error.
///
/// # Examples
/// See [`SendBatch::send_batch`].
#[derive(Clone)]
pub struct BatchError<I: Iterator> {
    /// How many messages were accepted. Those that the receiver had not handled when it stopped are dead letters.
    pub accepted: usize,
    /// The first message that was not accepted.
    pub refused: I::Item,
    /// The messages behind it, which were not even taken out of the iterator.
    pub rest: I,
}

impl<I: Iterator> IntoIterator for BatchError<I> {
    type Item = I::Item;
    type IntoIter = Chain<iter::Once<I::Item>, I>;

    fn into_iter(self) -> Self::IntoIter {
        iter::once(self.refused).chain(self.rest)
    }
}

/// Sends one by one, and says how many.
fn send_each<N, I: Iterator<Item = N>>(
    mut msgs: I,
    mut send: impl FnMut(N) -> Result<(), SendError<N>>,
) -> Result<usize, BatchError<I>> {
    let mut accepted = 0;
    while let Some(msg) = msgs.next() {
        if let Err(SendError(refused)) = send(msg) {
            return Err(BatchError {
                accepted,
                refused,
                rest: msgs,
            });
        }
        accepted += 1;
    }
    Ok(accepted)
}

impl<M: 'static> Context<'_, M> {
    /// Sends all of `msgs` to `to`, in order, and says how many they were. Nothing of the batch, or all that was accepted
    /// of it, happens when the turn commits.
    ///
    /// # Errors
    /// [`BatchError`] gives back what was not accepted, if the receiver is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::Local;
    ///
    /// let local = Local::new()?;
    /// let sum = local.spawn_behavior(|n: u32, _| {
    ///     assert!(n < 100);
    /// });
    /// let hundred = local.spawn_behavior(move |(): (), cx| {
    ///     assert_eq!(cx.send_batch(&sum, 0..100).ok(), Some(100));
    /// });
    /// hundred.send(())?;
    /// local.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_batch<N, I>(
        &self,
        to: &Address<N>,
        msgs: I,
    ) -> Result<usize, BatchError<I::IntoIter>>
    where
        N: 'static,
        I: IntoIterator<Item = N>,
    {
        send_each(msgs.into_iter(), |msg| self.turn().send(to, msg))
    }
}

/// Lets many messages be sent to an address in one go, from anywhere.
pub trait SendBatch<M> {
    /// Sends all of `msgs`, in order, and says how many they were. Inside of a turn this is
    /// [`Context::send_batch`]; outside of one, each message is sent when it comes out of the iterator.
    ///
    /// # Errors
    /// [`BatchError`] gives back what was not accepted, if the receiver is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Next, SendBatch, System};
    ///
    /// let system = System::new()?;
    /// let twice = system.spawn_behavior(|n: u32, _| if n < 2 { Next::Continue } else { Next::Stop })?;
    /// assert_eq!(twice.send_batch(0..3).ok(), Some(3));
    /// while !twice.is_stopped() {
    ///     std::thread::yield_now();
    /// }
    /// let error = twice.send_batch(10..13).unwrap_err();
    /// assert_eq!(error.accepted, 0);
    /// assert_eq!(error.into_iter().collect::<Vec<_>>(), [10, 11, 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn send_batch<I>(&self, msgs: I) -> Result<usize, BatchError<I::IntoIter>>
    where
        I: IntoIterator<Item = M>;
}

impl<M: 'static> SendBatch<M> for Address<M> {
    fn send_batch<I>(&self, msgs: I) -> Result<usize, BatchError<I::IntoIter>>
    where
        I: IntoIterator<Item = M>,
    {
        send_each(msgs.into_iter(), |msg| self.send(msg))
    }
}

impl<I: Iterator> fmt::Debug for BatchError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchError")
            .field("accepted", &self.accepted)
            .finish_non_exhaustive()
    }
}

impl<I: Iterator> fmt::Display for BatchError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (accepted, name) = (self.accepted, type_name::<I::Item>());
        write!(
            f,
            "the receiver of these {name} stopped after it had accepted {accepted}"
        )
    }
}

impl<I: Iterator> std::error::Error for BatchError<I> {}
