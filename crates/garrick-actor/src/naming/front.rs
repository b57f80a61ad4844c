//! Addresses that wrap each message in another message type and pass it on.

use garrick_sched::{Address, Door, Notice, SendError, door};

/// The code behind an address that [`front`] creates. It wraps each message and forwards it. The
/// sender runs this code itself, so there is no additional hop, and messages stay in order.
struct Front<M, N> {
    to: Address<N>,
    wrap: fn(M) -> N,
    /// The inverse of `wrap`, for messages that could not be sent.
    unwrap: fn(N) -> M,
}

impl<M: Send + 'static, N: Send + 'static> Door for Front<M, N> {
    type Message = M;

    fn pass(&self, message: M, _: &Address<M>) -> Result<(), SendError<M>> {
        let sent = self.to.send((self.wrap)(message));
        sent.map_err(|SendError(back)| SendError((self.unwrap)(back)))
    }

    fn is_stopped(&self) -> bool {
        self.to.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.to.forward_watch(notice);
    }
}

/// Creates an address that calls `wrap` for each message and sends the result to `to`.
pub(crate) fn front<M: Send + 'static, N: Send + 'static>(
    to: &Address<N>,
    wrap: fn(M) -> N,
    unwrap: fn(N) -> M,
) -> Address<M> {
    let to = to.clone();
    door(Front { to, wrap, unwrap })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use garrick_sched::Ended;
    use garrick_testkit::notices_kept;

    use super::*;
    use crate::model::nobody::Nobody;
    use crate::system::local::Local;

    #[test]
    fn the_end_of_the_actor_is_the_end_of_its_front() {
        let local = Local::new().unwrap();
        let nobody = local.spawn(Nobody);
        let before = front(&nobody, |()| (), |()| ());
        let (told, heard) = channel();
        before.watch(move |ended| told.send(ended).unwrap());
        // A user of the front cannot stop the actor.
        before.stop();
        local.run();
        assert!(!before.is_stopped() && heard.try_recv().is_err());
        nobody.stop();
        local.run();
        assert!(before.is_stopped() && before.send(()).is_err());
        assert_eq!(heard.try_recv(), Ok(Ended::Stopped));
    }

    #[test]
    fn cancelled_watches_of_a_front_do_not_pile_up() {
        let local = Local::new().unwrap();
        let watched = front(&local.spawn(Nobody), |()| (), |()| ());
        let kept = notices_kept(&watched, 1_000, || local.run());
        assert!(kept <= 2 * 8, "{kept}");
    }
}
