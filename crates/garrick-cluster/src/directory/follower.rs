//! Subscribers to the actors of a service. A subscriber whose mailbox is full gets the changes
//! later.

use std::collections::BTreeMap;

use garrick_actor::naming::Listing;
use garrick_actor::{Address, SendError};
use garrick_sched::TaskId;
use hashbrown::HashMap;

use crate::watching::has_stopped;

/// A subscriber, with the listings for which its mailbox had no room.
pub(super) struct Follower<M: 'static> {
    to: Address<Listing<M>>,
    id: TaskId,
    /// Listings that were refused, by number, oldest first. Contains nothing about an actor that
    /// was added and removed since, so the subscriber has received each removed actor.
    missed: BTreeMap<u64, Listing<M>>,
    /// For each actor that a listing in `missed` adds: the number of this listing.
    added: HashMap<TaskId, u64>,
    /// Number of the next listing in `missed`.
    next: u64,
}

impl<M: 'static> Follower<M> {
    /// Begins to inform a subscriber. `all` contains the current actors, which the subscriber
    /// receives even if its mailbox is full. Returns `None` if the subscriber has ended.
    pub(super) fn begin(to: Address<Listing<M>>, all: Vec<Address<M>>) -> Option<Self> {
        let mut follower = Self {
            id: to.id(),
            to,
            missed: BTreeMap::new(),
            added: HashMap::new(),
            next: 0,
        };
        let first = Listing::Present(all);
        if let Err(SendError(refused)) = follower.to.send_promised(first) {
            follower.misses(refused);
        }
        (!follower.is_over()).then_some(follower)
    }

    pub(super) fn id(&self) -> TaskId {
        self.id
    }

    /// Returns true if the subscriber has ended.
    pub(super) fn is_over(&self) -> bool {
        has_stopped(&self.to)
    }

    /// Sends a change to the subscriber. If the subscriber has no room, it gets the change later.
    /// Returns false if the subscriber has ended.
    pub(super) fn tell(&mut self, change: Listing<M>) -> bool {
        if !self.catch_up() {
            self.misses(change);
            return !self.is_over();
        }
        match self.to.send(change) {
            Ok(()) => true,
            Err(SendError(refused)) => {
                self.misses(refused);
                !self.is_over()
            }
        }
    }

    /// Sends the missed listings for which there is room. Returns true if none is left.
    pub(super) fn catch_up(&mut self) -> bool {
        while let Some((number, listing)) = self.missed.pop_first() {
            let added = match &listing {
                Listing::Added(actor) => Some(actor.id()),
                Listing::Present(_) | Listing::Removed(_) => None,
            };
            if let Err(SendError(refused)) = self.to.send(listing) {
                self.missed.insert(number, refused);
                return false;
            }
            if let Some(added) = added {
                self.added.remove(&added);
            }
        }
        true
    }

    /// Stores a listing for which there is no room.
    fn misses(&mut self, listing: Listing<M>) {
        match &listing {
            Listing::Added(actor) => {
                self.added.insert(actor.id(), self.next);
            }
            Listing::Removed(actor) => {
                if let Some(number) = self.added.remove(&actor.id()) {
                    self.missed.remove(&number);
                    return;
                }
            }
            Listing::Present(_) => {}
        }
        self.missed.insert(self.next, listing);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use garrick_actor::mailbox::{Mailbox, OnFull};
    use garrick_actor::{Local, behavior};

    use super::*;

    #[test]
    fn what_is_kept_for_a_full_mailbox_has_a_bound() {
        let local = Local::new().unwrap();
        let (told, heard) = channel();
        let subscriber = behavior(move |listing: Listing<u32>, _| told.send(listing).unwrap());
        let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
        let subscriber = local.actor(subscriber).mailbox(mailbox).spawn();
        let actors: Vec<_> = (0..3)
            .map(|_| local.spawn(behavior(|_: u32, _| ())))
            .collect();
        let [stays, goes, comes] = [0, 1, 2].map(|index| actors[index].clone());
        let all = vec![stays.clone(), goes.clone()];
        let mut follower = Follower::begin(subscriber, all.clone()).unwrap();
        assert!(follower.tell(Listing::Removed(goes.clone())));
        for _ in 0..100 {
            assert!(follower.tell(Listing::Added(comes.clone())));
            assert!(follower.tell(Listing::Removed(comes.clone())));
            assert!(follower.missed.len() <= 2 && follower.added.is_empty());
        }
        // This actor was known, so its removal is told, too.
        assert!(follower.tell(Listing::Added(goes.clone())));
        assert!(follower.tell(Listing::Added(comes.clone())));
        let expected = [
            Listing::Present(all),
            Listing::Removed(goes.clone()),
            Listing::Added(goes),
            Listing::Added(comes),
        ];
        for listing in expected {
            follower.catch_up();
            local.run();
            assert_eq!(heard.try_recv(), Ok(listing));
        }
        assert!(follower.catch_up() && follower.added.is_empty());
        assert!(heard.try_recv().is_err());
    }
}
