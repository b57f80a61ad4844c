//! Whom a router hands messages to.

use std::fmt;

use garrick_sched::{Address, SendError};

use super::load::Load;
use crate::roll::Roll;

/// The routees of a router, in the order in which they came.
///
/// Each has a number, which is greater than those of all that came before, and never used again. With `n` of them, whatever
/// concerns one of them is done in O(log n) on average, and in O(1) as long as nobody has gone.
pub struct Routees<M> {
    roll: Roll<Routee<M>>,
}

struct Routee<M> {
    address: Address<M>,
    /// Messages given to it, by us. A routee that has handled more was sent some by others, which are added
    /// here as soon as they are noticed.
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

    /// Takes one in, unless it is there already.
    pub(super) fn add(&mut self, address: Address<M>, load: Option<Load>) {
        let key = address.id();
        let mut routee = Routee {
            address,
            handed: 0,
            load,
        };
        // What it has done already was not handed to it here.
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

    /// The numbers of all, in their order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.roll.numbered().map(|(number, _)| number)
    }

    /// What [`Routees::in_flight`] says of each, in their order.
    pub(super) fn all_in_flight(&self) -> impl Iterator<Item = u64> {
        self.roll.iter().map(Routee::in_flight)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.roll.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roll.is_empty()
    }

    /// The number of the routee at `index`.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    #[track_caller]
    pub fn number(&self, index: usize) -> u64 {
        self.roll.number(index)
    }

    /// The index of the first routee whose number is greater than `number`, or of the first of all.
    #[must_use]
    pub fn after(&self, number: u64) -> usize {
        let index = self.roll.after(number);
        if index == self.len() { 0 } else { index }
    }

    /// Messages that the routee at `index` was handed and has not handled yet. If it is not
    /// [`Measured`](super::Measured), all that it was ever handed.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    #[track_caller]
    pub fn in_flight(&self, index: usize) -> u64 {
        self.roll.get(index).in_flight()
    }

    /// Hands `msg` to the routee at `index`, or takes it out if it has stopped.
    ///
    /// # Errors
    /// Gives the message back if it has stopped.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn send(&mut self, index: usize, msg: M) -> Result<(), M> {
        let routee = self.roll.get_mut(index);
        match routee.address.send(msg) {
            Ok(()) => {
                routee.handed = routee.handed.max(routee.handled()) + 1;
                Ok(())
            }
            Err(SendError(msg)) => {
                drop(self.roll.remove_at(index));
                Err(msg)
            }
        }
    }

    /// Hands `msg` to the routee at the index that `choose` says, and asks again if that one has stopped.
    ///
    /// # Errors
    /// Gives the message back if no routee is left.
    ///
    /// # Panics
    /// If there is no routee at that index.
    #[track_caller]
    pub fn send_to(
        &mut self,
        mut msg: M,
        mut choose: impl FnMut(&M, &Self) -> usize,
    ) -> Result<(), M> {
        // Every failure takes a routee out, so this ends.
        while !self.is_empty() {
            let index = choose(&msg, self);
            match self.send(index, msg) {
                Ok(()) => return Ok(()),
                Err(back) => msg = back,
            }
        }
        Err(msg)
    }

    /// Hands what `make` makes to every routee, and takes out those that have stopped. Returns how many got it.
    pub fn send_to_all(&mut self, mut make: impl FnMut() -> M) -> usize {
        let mut index = 0;
        while index < self.len() {
            if self.send(index, make()).is_ok() {
                index += 1;
            }
        }
        index
    }
}

impl<M> fmt::Debug for Routees<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.roll.iter().map(|routee| &routee.address))
            .finish()
    }
}
