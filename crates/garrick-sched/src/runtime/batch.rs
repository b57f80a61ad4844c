//! Sending of many messages to one receiver.
//!
//! In a turn, messages to one receiver are collected and delivered together when the turn commits.
//! A batch works in the same way. In addition, it returns the number of accepted messages if the
//! receiver has stopped.

use std::any::type_name;
use std::fmt;
use std::iter::{self, Chain};

use crate::runtime::address::{Address, SendError};
use crate::runtime::turn::Turn;

/// Error of a batch whose receiver has stopped. Contains the number of messages that were accepted
/// before. As an iterator, it yields all other messages, in order.
///
/// # Examples
/// The example of [`Address::send_batch`] shows its use.
#[derive(Clone)]
pub struct BatchError<I: Iterator> {
    /// Number of messages that were accepted. If the receiver has not handled them before it
    /// stopped, they are dead letters.
    pub accepted: usize,
    /// First message that was not accepted.
    pub refused: I::Item,
    /// Iterator of the messages after `refused`.
    pub rest: I,
}

impl<I: Iterator> IntoIterator for BatchError<I> {
    type Item = I::Item;
    type IntoIter = Chain<iter::Once<I::Item>, I>;

    fn into_iter(self) -> Self::IntoIter {
        iter::once(self.refused).chain(self.rest)
    }
}

/// Sends the messages one after another, and returns their number.
fn send_each<N, I: Iterator<Item = N>>(
    mut messages: I,
    mut send: impl FnMut(N) -> Result<(), SendError<N>>,
) -> Result<usize, BatchError<I>> {
    let mut accepted = 0;
    while let Some(message) = messages.next() {
        if let Err(SendError(refused)) = send(message) {
            return Err(BatchError {
                accepted,
                refused,
                rest: messages,
            });
        }
        accepted += 1;
    }
    Ok(accepted)
}

impl<M: 'static> Turn<'_, M> {
    /// Sends all of `messages` to `to`, in order, and returns their number. The messages are
    /// delivered when the turn commits, and not at all if it is undone.
    ///
    /// # Errors
    /// Returns [`BatchError`] with the messages that were not accepted if the receiver is known to
    /// have stopped.
    pub fn send_batch<N, I>(
        &self,
        to: &Address<N>,
        messages: I,
    ) -> Result<usize, BatchError<I::IntoIter>>
    where
        N: 'static,
        I: IntoIterator<Item = N>,
    {
        send_each(messages.into_iter(), |message| self.send(to, message))
    }
}

impl<M: 'static> Address<M> {
    /// Sends all of `messages`, in order, and returns their number. In a turn, the messages are
    /// delivered when the turn commits. Outside of a turn, each message is sent when it is taken
    /// out of the iterator.
    ///
    /// # Errors
    /// Returns [`BatchError`] with the messages that were not accepted if the receiver is known to
    /// have stopped.
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::{Flow, Here, Task, Turn};
    ///
    /// /// Stops at the second message.
    /// struct Twice(u32);
    ///
    /// impl Task for Twice {
    ///     type Message = u32;
    ///
    ///     fn receive(&mut self, _: u32, _: &Turn<'_, u32>) -> Flow {
    ///         self.0 += 1;
    ///         if self.0 < 2 { Flow::Continue } else { Flow::Stop }
    ///     }
    /// }
    ///
    /// let here = Here::new_here()?;
    /// let twice = here.spawn(Twice(0));
    /// assert_eq!(twice.send_batch(0..3).ok(), Some(3));
    /// here.run();
    /// let error = twice.send_batch(10..13).unwrap_err();
    /// assert_eq!(error.accepted, 0);
    /// assert_eq!(error.into_iter().collect::<Vec<_>>(), [10, 11, 12]);
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    pub fn send_batch<I>(&self, messages: I) -> Result<usize, BatchError<I::IntoIter>>
    where
        I: IntoIterator<Item = M>,
    {
        send_each(messages.into_iter(), |message| self.send(message))
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
