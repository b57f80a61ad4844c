//! The routees of a router.

use std::any::type_name;
use std::fmt;

use garrick_sched::{Address, LetterReason, SendError, count_dead_letters};

use super::load::Load;
use crate::quiet;
use crate::roll::Roll;

/// The actors to which a router forwards messages, in the order in which they were added.
///
/// Each routee has a number that never changes. The number is greater than the numbers of all
/// routees that were added before this routee, and is never reused. With `n` routees, an operation
/// on one of them takes O(log n) on average. As long as no routee has been removed, access to a
/// routee by its index takes O(1).
pub struct Routees<M> {
    roll: Roll<Routee<M>>,
}

struct Routee<M> {
    address: Address<M>,
    /// Number of messages that the router has sent to this routee.
    ///
    /// If the routee also handles messages from other senders, the number of handled messages can
    /// become greater than this number. The next send then first raises this number to the number
    /// of handled messages.
    handed: u64,
    load: Option<Load>,
}

impl<M> Routee<M> {
    fn handled(&self) -> u64 {
        self.load.as_ref().map_or(0, Load::handled)
    }

    fn in_flight(&self) -> u64 {
        self.handed.saturating_sub(self.handled())
    }
}

impl<M: 'static> Routees<M> {
    pub(super) fn new() -> Self {
        Self { roll: Roll::new() }
    }

    /// Adds a routee. Has no effect if the routee has been added already.
    pub(super) fn add(&mut self, address: Address<M>, load: Option<Load>) {
        let key = address.id();
        let mut routee = Routee {
            address,
            handed: 0,
            load,
        };
        // Messages that the routee has already handled were not sent by this router.
        routee.handed = routee.handled();
        drop(self.roll.add(key, routee));
    }

    pub(super) fn remove(&mut self, address: &Address<M>) {
        drop(self.roll.remove(address.id()));
    }

    pub(super) fn remove_stopped(&mut self) {
        drop(self.roll.extract(|routee| !routee.address.is_stopped()));
    }

    pub(super) fn addresses(&self) -> Vec<Address<M>> {
        let routees = self.roll.iter();
        routees.map(|routee| routee.address.clone()).collect()
    }

    /// Returns the number that identifies each routee, in the order of the routees.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.roll.numbered().map(|(number, _)| number)
    }

    /// Returns the number of messages in flight to each routee, in the order of
    /// [`Routees::numbers`].
    pub(super) fn all_in_flight(&self) -> impl Iterator<Item = u64> {
        self.roll.iter().map(Routee::in_flight)
    }

    /// Returns the number of routees.
    #[must_use]
    pub fn len(&self) -> usize {
        self.roll.len()
    }

    /// Returns true if there are no routees.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roll.is_empty()
    }

    /// Returns the number that identifies the routee at `index`. The number stays the same when the
    /// index of the routee changes.
    ///
    /// # Panics
    /// Panics if there is no routee at `index`.
    #[must_use]
    #[track_caller]
    pub fn number(&self, index: usize) -> u64 {
        self.roll.number(index)
    }

    /// Returns the index of the first routee whose number is greater than `number`, or 0 if no
    /// routee has a greater number.
    #[must_use]
    pub fn after(&self, number: u64) -> usize {
        let index = self.roll.after(number);
        if index == self.len() { 0 } else { index }
    }

    /// Returns the number of messages that the router has sent to the routee at `index` and that
    /// the routee has not handled yet.
    ///
    /// For a routee that is not [`Measured`](super::Measured), returns the number of all messages
    /// that the router has sent to it.
    ///
    /// # Panics
    /// Panics if there is no routee at `index`.
    #[must_use]
    #[track_caller]
    pub fn in_flight(&self, index: usize) -> u64 {
        self.roll.get(index).in_flight()
    }

    /// Returns the address of the routee at `index`.
    ///
    /// # Panics
    /// Panics if there is no routee at `index`.
    #[must_use]
    #[track_caller]
    pub fn address(&self, index: usize) -> &Address<M> {
        &self.roll.get(index).address
    }

    /// Sends `msg` to the routee at `index`. Removes the routee if it has stopped.
    ///
    /// # Errors
    /// Returns the message if the routee has stopped, or if the routee refuses the message, for
    /// example because its mailbox is full.
    ///
    /// # Panics
    /// Panics if there is no routee at `index`.
    #[track_caller]
    pub fn send(&mut self, index: usize, msg: M) -> Result<(), M> {
        let routee = self.roll.get_mut(index);
        match routee.address.send(msg) {
            Ok(()) => {
                routee.handed = routee.handed.max(routee.handled()) + 1;
                Ok(())
            }
            Err(SendError(msg)) => {
                if routee.address.is_stopped() {
                    drop(self.roll.remove_at(index));
                }
                Err(msg)
            }
        }
    }

    /// Calls `choose` to get an index, and sends `msg` to the routee at this index. If this routee
    /// has stopped, removes it and calls `choose` again. If the routee refuses the message, tries
    /// each of the other routees once, in their order, beginning with the next one.
    ///
    /// # Errors
    /// Returns the message if no routee is left, or if all routees have refused the message.
    ///
    /// # Panics
    /// Panics if there is no routee at the chosen index.
    #[track_caller]
    pub fn send_to(&mut self, msg: M, mut choose: impl FnMut(&M, &Self) -> usize) -> Result<(), M> {
        let (mut refusals, mut last) = (0, None);
        self.try_each(msg, |msg, routees, was_refused| {
            refusals += usize::from(was_refused);
            if refusals >= routees.len() {
                return None;
            }
            let index = match last {
                Some(last) if refusals > 0 => routees.after(last),
                _ => choose(msg, routees),
            };
            last = Some(routees.number(index));
            Some(index)
        })
    }

    /// Calls `choose` to get an index, and sends `msg` to the routee at this index. If this routee
    /// has stopped, removes it and calls `choose` again. Tries no other routee if the routee
    /// refuses the message.
    ///
    /// # Errors
    /// Returns the message if no routee is left, or if the routee has refused the message.
    ///
    /// # Panics
    /// Panics if there is no routee at the chosen index.
    #[track_caller]
    pub fn send_only_to(
        &mut self,
        msg: M,
        mut choose: impl FnMut(&M, &Self) -> usize,
    ) -> Result<(), M> {
        self.try_each(msg, |msg, routees, was_refused| {
            let tries = !was_refused && !routees.is_empty();
            tries.then(|| choose(msg, routees))
        })
    }

    /// Sends `msg` to the routee at the index that `next` returns, until a routee accepts the
    /// message, or until `next` returns `None`. The last argument of `next` is true if the previous
    /// routee has refused the message, and false if it has stopped or if there was none.
    #[track_caller]
    fn try_each(
        &mut self,
        mut msg: M,
        mut next: impl FnMut(&M, &Self, bool) -> Option<usize>,
    ) -> Result<(), M> {
        let mut was_refused = false;
        // Each failure removes a routee or is a refusal, so this loop ends.
        while let Some(index) = next(&msg, self, was_refused) {
            let before = self.len();
            match self.send(index, msg) {
                Ok(()) => return Ok(()),
                Err(back) => msg = back,
            }
            was_refused = self.len() == before;
        }
        Err(msg)
    }

    /// Sends a message to every routee. Calls `make` for each routee to create its message. Removes
    /// the routees that have stopped. Returns the number of routees that have accepted their
    /// messages. Routees that refuse the message, for example because their mailboxes are full, do
    /// not receive it. If other routees have accepted it, each refused message is a dead letter.
    pub fn send_to_all(&mut self, mut make: impl FnMut() -> M) -> usize {
        let (mut index, mut accepted, mut refused) = (0, 0, 0);
        while index < self.len() {
            let before = self.len();
            match self.send(index, make()) {
                Ok(()) => accepted += 1,
                Err(msg) => {
                    // A panic of its destructor must not end the way to the other routees.
                    quiet::drop(msg);
                    refused += u64::from(self.len() == before);
                }
            }
            index += usize::from(self.len() == before);
        }
        if accepted > 0 {
            count_dead_letters(type_name::<M>, LetterReason::Full, refused);
        }
        accepted
    }
}

impl<M> fmt::Debug for Routees<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.roll.iter().map(|routee| &routee.address))
            .finish()
    }
}
