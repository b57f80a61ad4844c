//! Everybody who gets what is published.

use garrick_sched::Address;

use super::sweep::Sweep;
use crate::quiet;
use crate::roll::Roll;

/// Subscribers in the order in which they came. With `n` of them, one is taken in or out in O(log n) on average.
pub(super) struct Subscribers<M> {
    roll: Roll<Address<M>>,
    sweep: Sweep,
}

impl<M: 'static> Subscribers<M> {
    pub(super) fn new() -> Self {
        Self {
            roll: Roll::new(),
            sweep: Sweep::default(),
        }
    }

    /// Takes one in. True if it was not there yet.
    pub(super) fn add(&mut self, address: Address<M>) -> bool {
        let key = address.id();
        let is_new = !self.roll.contains(key);
        if is_new && self.sweep.is_due(self.roll.len()) {
            self.count();
        }
        self.roll.add(key, address).is_ok()
    }

    pub(super) fn remove(&mut self, address: &Address<M>) {
        self.roll.remove(address.id());
    }

    /// Returns how many have not stopped. Looks at all of them.
    pub(super) fn count(&mut self) -> usize {
        self.roll.extract(|address| !address.is_stopped());
        self.sweep.done(self.roll.len());
        self.roll.len()
    }

    /// Returns whether all have stopped. Takes out those that stand before the first that has not.
    pub(super) fn is_empty(&mut self) -> bool {
        while self.roll.first().is_some_and(Address::is_stopped) {
            self.roll.remove_at(0);
        }
        self.roll.is_empty()
    }

    /// Sends `message` to all of them, and takes out those that have stopped. If its clone panics, all of them stay.
    pub(super) fn publish(&mut self, message: M)
    where
        M: Clone,
    {
        let mut to_come = self.roll.len();
        let mut message = Some(message);
        self.roll.extract(|address| {
            to_come -= 1;
            // The last one gets the original.
            let message = match to_come {
                0 => message.take(),
                _ => message.clone(),
            };
            match message.map(|message| address.send(message)) {
                Some(Ok(())) => true,
                refused => {
                    // One that nobody takes must not end the way of the others.
                    quiet::drop(refused);
                    false
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::nobody::Nobody;
    use crate::system::local::Local;

    #[test]
    fn those_who_have_stopped_are_not_kept_for_ever_though_nothing_is_published() {
        let local = Local::new().unwrap();
        let mut subscribers = Subscribers::new();
        let stays = local.spawn(Nobody);
        subscribers.add(stays);
        for _ in 0..1_000 {
            let goes = local.spawn(Nobody);
            subscribers.add(goes.clone());
            goes.stop();
            local.run();
            assert!(subscribers.roll.len() <= 64);
        }
        assert_eq!(subscribers.count(), 1);
    }
}
