//! Sending many messages to one receiver at once.
//!
//! Inside a turn, messages to one receiver are gathered as they are sent, and delivered together
//! when the turn commits. A batch does the same, and reports exactly how many messages were
//! accepted if the receiver has stopped.

use std::any::type_name;
use std::fmt;
use std::iter::{self, Chain};

use garrick_sched::{Address, SendError};

use crate::model::context::Context;

/// The receiver of a batch has stopped. This error counts the messages that were accepted before.
/// All other messages come back, in order, by iterating over it.
///
/// # Examples
/// See [`SendBatch::send_batch`].
#[derive(Clone)]
pub struct BatchError<I: Iterator> {
    /// Number of messages that were accepted. Those that the receiver had not handled when it
    /// stopped are dead letters.
    pub accepted: usize,
    /// The first message that was not accepted.
    pub refused: I::Item,
    /// The messages after `refused`. They were not taken out of the iterator.
    pub rest: I,
}

impl<I: Iterator> IntoIterator for BatchError<I> {
    type Item = I::Item;
    type IntoIter = Chain<iter::Once<I::Item>, I>;

    fn into_iter(self) -> Self::IntoIter {
        iter::once(self.refused).chain(self.rest)
    }
}

/// Sends the messages one by one, and returns their number.
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
    /// Sends all of `msgs` to `to`, in order, and returns their number. The accepted messages are
    /// delivered when the turn commits, and not at all if it is undone.
    ///
    /// # Errors
    /// Returns [`BatchError`] with the messages that were not accepted if the receiver is known to
    /// have stopped.
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

/// Sends many messages to an address at once, from anywhere.
pub trait SendBatch<M> {
    /// Sends all of `msgs`, in order, and returns their number. Inside a turn this is
    /// [`Context::send_batch`]. Outside a turn, each message is sent when it comes out of the
    /// iterator.
    ///
    /// # Errors
    /// Returns [`BatchError`] with the messages that were not accepted if the receiver is known to
    /// have stopped.
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
