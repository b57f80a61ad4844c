//! Sending of many messages to one receiver.
//!
//! During a turn, all messages to one receiver are collected and delivered together when the turn
//! commits, even if they are sent one by one. A batch has one more effect: if the receiver has
//! stopped, the sender gets the number of accepted messages.

use std::any::type_name;
use std::fmt;
use std::iter::{self, Chain};

use crate::runtime::address::{Address, SendError};
use crate::runtime::turn::Turn;

/// The error returned when a receiver has not accepted all messages of a batch, for example because
/// it has stopped.
///
/// Contains the number of accepted messages. Iterating over the error yields the messages that were
/// not accepted, in order.
///
/// # Examples
/// The example of [`Address::send_batch`] uses this error.
#[derive(Clone)]
pub struct BatchError<I: Iterator> {
    /// Number of messages that were accepted. If the receiver stops before it has handled all of
    /// them, the unhandled messages become dead letters.
    pub accepted: usize,
    /// First message that was not accepted.
    pub refused: I::Item,
    /// Iterator over the messages after `refused`, the first message that was not accepted.
    pub rest: I,
}

impl<I: Iterator> IntoIterator for BatchError<I> {
    type Item = I::Item;
    type IntoIter = Chain<iter::Once<I::Item>, I>;

    fn into_iter(self) -> Self::IntoIter {
        iter::once(self.refused).chain(self.rest)
    }
}

/// Sends the messages one after another, and returns the number of messages.
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
    /// Sends all of `messages` to `to`, in order, and returns the number of messages. The messages
    /// are delivered when the turn commits, and not at all if it is undone.
    ///
    /// # Errors
    /// Returns a [`BatchError`] if the receiver does not accept a message. [`SendError`] lists the
    /// possible reasons. The error contains this message and all later ones.
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
    /// Sends all of `messages`, in order, and returns the number of messages.
    ///
    /// During a turn, the messages are delivered when the turn commits. Outside of a turn, each
    /// message is sent as soon as the iterator returns it.
    ///
    /// # Errors
    /// Returns a [`BatchError`] if the receiver does not accept a message. [`SendError`] lists the
    /// possible reasons. The error contains this message and all later ones.
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
            "the receiver accepted only {accepted} of these messages ({name})"
        )
    }
}

impl<I: Iterator> std::error::Error for BatchError<I> {}
