//! The subscribers of a topic.

use std::any::type_name;

use garrick_sched::{Address, LetterReason, count_dead_letters};

use super::sweep::Sweep;
use crate::quiet;
use crate::roll::Roll;

/// Subscribers in the order in which they were added. With `n` subscribers, adding or removing one
/// takes O(log n) on average.
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

    /// Adds a subscriber. Returns false if the address is subscribed already.
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

    /// Returns the number of subscribers that have not stopped, and removes the others. Each call
    /// checks every subscriber.
    pub(super) fn count(&mut self) -> usize {
        self.roll.extract(|address| !address.is_stopped());
        self.sweep.done(self.roll.len());
        self.roll.len()
    }

    /// Returns true if all subscribers have stopped. Removes the stopped subscribers at the
    /// beginning of the list, up to the first subscriber that has not stopped.
    pub(super) fn is_empty(&mut self) -> bool {
        while self.roll.first().is_some_and(Address::is_stopped) {
            self.roll.remove_at(0);
        }
        self.roll.is_empty()
    }

    /// Sends `message` to all subscribers and removes those that have stopped. If cloning the
    /// message panics, no subscriber is removed.
    ///
    /// If a subscriber refuses the message but has not stopped, for example because its mailbox is
    /// full, the subscriber misses only this message, and a dead letter is counted.
    pub(super) fn publish(&mut self, message: M)
    where
        M: Clone,
    {
        let mut to_come = self.roll.len();
        let mut message = Some(message);
        self.roll.extract(|address| {
            to_come -= 1;
            // The last subscriber receives the original message.
            let message = match to_come {
                0 => message.take(),
                _ => message.clone(),
            };
            match message.map(|message| address.send(message)) {
                Some(Ok(())) => true,
                refused => {
                    // A panic in the destructor of a rejected message must not prevent the other
                    // subscribers from receiving the message.
                    quiet::drop(refused);
                    // A subscriber whose mailbox is full misses only this message, and stays
                    // subscribed. A door in front of the mailbox need not show that it is bounded.
                    let is_full = !address.is_stopped();
                    let count = u64::from(is_full);
                    count_dead_letters(type_name::<M>, LetterReason::Full, count);
                    is_full
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::nobody::Nobody;
    use crate::naming::front::front;
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

    /// Spawns an actor whose mailbox has one place, and publishes messages to the address that
    /// `address` returns for it. Checks that a full mailbox misses a message, and that the
    /// subscriber stays until the actor stops.
    fn check_misses_and_stays(address: impl Fn(&Address<()>) -> Address<()>) {
        let local = Local::new().unwrap();
        let mailbox = crate::mailbox::Mailbox::bounded(1, crate::mailbox::OnFull::Fail);
        let narrow = local.actor(Nobody).mailbox(mailbox.unwrap()).spawn();
        let mut subscribers = Subscribers::new();
        subscribers.add(address(&narrow));
        subscribers.publish(());
        subscribers.publish(());
        assert_eq!((subscribers.count(), narrow.waiting()), (1, Some(1)));
        local.run();
        subscribers.publish(());
        assert_eq!(narrow.waiting(), Some(1));
        narrow.stop();
        local.run();
        subscribers.publish(());
        assert_eq!(subscribers.count(), 0);
    }

    #[test]
    fn one_whose_mailbox_is_full_misses_a_message_and_stays() {
        check_misses_and_stays(Address::clone);
    }

    #[test]
    fn one_behind_a_door_whose_mailbox_is_full_misses_a_message_and_stays() {
        check_misses_and_stays(|narrow| {
            // The address does not show that there is a bound.
            let fronted = front(narrow, |()| (), |()| ());
            assert_eq!(fronted.capacity(), None);
            fronted
        });
    }
}
