//! Watches of actors on this node, which the other node has requested.

use std::sync::{Arc, OnceLock, Weak};

use garrick_actor::{Address, Ended, Watch};
use hashbrown::HashMap;

use crate::message::LinkMsg;
use crate::session::LinkCell;

/// Minimum number of watches before a cleanup, which removes watches whose notices were dropped.
const SWEEP_MIN: usize = 64;

/// A token inside a notice (the callback of a watch). A weak reference to the token shows whether
/// the notice still exists.
pub(super) type Token = Arc<()>;

/// The part of a notice that tells the link of the end of the watched actor. If the notice is
/// dropped without a call, because it came to a door that keeps no notices, tells the link this. So
/// the other node need not keep the watch.
pub(super) struct Teller {
    /// Weak, because the watched door may keep the notice for longer than the link.
    link: Weak<OnceLock<Address<LinkMsg>>>,
    session: u64,
    watch: u64,
    is_told: bool,
    token: Token,
}

impl Teller {
    /// Creates the teller of the watch `watch`. Also returns a weak reference to its token, for
    /// [`Watched::add`].
    pub(super) fn new(link: &LinkCell, session: u64, watch: u64) -> (Self, Weak<()>) {
        let token = Token::default();
        let known = Arc::downgrade(&token);
        let teller = Self {
            link: Arc::downgrade(link),
            session,
            watch,
            is_told: false,
            token,
        };
        (teller, known)
    }

    /// Tells the link of the end of the watched actor.
    pub(super) fn tell(mut self, ended: Ended) {
        self.is_told = true;
        self.send(Some(ended));
    }

    fn send(&self, ended: Option<Ended>) {
        let Some(link) = self.link.upgrade() else {
            return;
        };
        if let Some(link) = link.get() {
            let (session, watch) = (self.session, self.watch);
            let _ = link.send(LinkMsg::Ended {
                session,
                watch,
                ended,
            });
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        // Nobody knows a watch that was cancelled, or whose session is over.
        if !self.is_told && Arc::weak_count(&self.token) > 0 {
            self.send(None);
        }
    }
}

/// Watches of actors on this node, by the numbers that the other node has given to the watches.
#[derive(Default)]
pub(super) struct Watched {
    all: HashMap<u64, (Watch, Weak<()>)>,
    /// Number of watches before the next cleanup, which removes watches whose notices were dropped.
    /// The value is twice the number of watches after the latest cleanup, so that adding a watch
    /// takes constant time on average.
    sweep_at: usize,
}

impl Watched {
    /// Adds a watch whose notice contains `token`. If the watched actor drops the notice without
    /// calling the notice, the watch is removed later.
    pub(super) fn add(&mut self, number: u64, watch: Watch, token: Weak<()>) {
        if self.all.len() >= self.sweep_at.max(SWEEP_MIN) {
            self.all.retain(|_, (_, token)| token.strong_count() > 0);
            self.sweep_at = 2 * self.all.len();
        }
        self.all.insert(number, (watch, token));
    }

    /// Removes a watch whose actor has ended.
    pub(super) fn remove(&mut self, number: u64) {
        self.all.remove(&number);
    }

    /// Cancels a watch, because the other node has cancelled it.
    pub(super) fn cancel(&mut self, number: u64) {
        if let Some((watch, _)) = self.all.remove(&number) {
            watch.cancel();
        }
    }

    /// Cancels all watches. Without this call, the watched actors would keep the notices in memory.
    pub(super) fn cancel_all(&mut self) {
        for (_, (watch, _)) in self.all.drain() {
            watch.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use garrick_actor::door::{Door, Notice, door};
    use garrick_actor::{Address, Ended, SendError};

    use super::{SWEEP_MIN, Token, Watched};

    /// A door (an address that leads to a function) that reports its end at once for the second
    /// watch, the fourth watch, and so on. Drops the notices of the other watches.
    struct Forgetful(AtomicU64);

    impl Door for Forgetful {
        type Message = ();

        fn pass(&self, (): (), _: &Address<()>) -> Result<(), SendError<()>> {
            Ok(())
        }

        fn watch(&self, notice: Notice) {
            if self.0.fetch_add(1, Relaxed) % 2 == 1 {
                notice.tell(Ended::Stopped);
            }
        }
    }

    #[test]
    fn watches_whose_notices_are_gone_do_not_pile_up() {
        let forgetful = door(Forgetful(AtomicU64::new(0)));
        let (mut watched, told) = (Watched::default(), Arc::new(AtomicU64::new(0)));
        for number in 0..1_000 {
            let (token, told) = (Token::default(), told.clone());
            let weak = Arc::downgrade(&token);
            let watch = forgetful.watch(move |_| {
                drop(token);
                told.fetch_add(1, Relaxed);
            });
            watched.add(number, watch, weak);
            assert!(watched.all.len() <= SWEEP_MIN);
        }
        assert_eq!(told.load(Relaxed), 500);
        watched.remove(999);
        watched.cancel_all();
        assert!(watched.all.is_empty());
    }
}
