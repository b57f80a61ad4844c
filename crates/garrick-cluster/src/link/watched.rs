//! Watches of actors on this node, which the other node has requested.

use std::sync::{Arc, Weak};

use garrick_actor::Watch;
use hashbrown::HashMap;

/// Minimum number of watches before a cleanup, which removes watches whose notices were dropped.
const SWEEP_MIN: usize = 64;

/// A token inside a notice (the callback of a watch). A weak reference to the token shows whether
/// the notice still exists.
pub(super) type Token = Arc<()>;

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
