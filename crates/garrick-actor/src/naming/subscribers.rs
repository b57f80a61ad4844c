//! Everybody who gets what is published.

use garrick_sched::Address;

use super::sweep::Sweep;
use crate::quiet;

/// Subscribers in the order in which they came.
pub(super) struct Subscribers<M> {
    list: Vec<Address<M>>,
    sweep: Sweep,
}

impl<M: 'static> Subscribers<M> {
    pub(super) fn new() -> Self {
        Self {
            list: Vec::new(),
            sweep: Sweep::default(),
        }
    }

    /// Takes one in. True if it was not there yet.
    pub(super) fn add(&mut self, address: Address<M>) -> bool {
        let is_new = !self.list.contains(&address);
        if is_new {
            if self.sweep.is_due(self.list.len()) {
                self.count();
            }
            self.list.push(address);
        }
        is_new
    }

    pub(super) fn remove(&mut self, address: &Address<M>) {
        self.list.retain(|other| other != address);
    }

    /// How many have not stopped.
    pub(super) fn count(&mut self) -> usize {
        self.list.retain(|address| !address.is_stopped());
        self.sweep.done(self.list.len());
        self.list.len()
    }

    /// Sends `message` to all of them, and takes out those that have stopped. If its clone panics, all the others stay.
    pub(super) fn publish(&mut self, message: M)
    where
        M: Clone,
    {
        let mut to_come = self.list.len();
        let mut message = Some(message);
        self.list.retain(|address| {
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
    use crate::actor::{Actor, Next};
    use crate::context::Context;
    use crate::local::Local;

    struct Nobody;

    impl Actor for Nobody {
        type Msg = ();

        fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
            Next::Continue
        }
    }

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
            assert!(subscribers.list.len() <= 64);
        }
        assert_eq!(subscribers.count(), 1);
    }
}
