//! The sending end of a mailbox, for those who care how full it is.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use garrick_sched::{Address, SendError};

use super::{bounded, latest};

/// Why a message was not accepted. It comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<M> {
    /// There is no room just now.
    Full(M),
    /// The actor is gone.
    Stopped(M),
}

impl<M> fmt::Debug for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Stopped(_) => "Stopped(..)",
        })
    }
}

impl<M> fmt::Display for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = type_name::<M>();
        match self {
            Self::Full(_) => write!(f, "there is no room for this {message}"),
            Self::Stopped(_) => write!(f, "the receiver of this {message} has stopped"),
        }
    }
}

impl<M> std::error::Error for TrySendError<M> {}

/// The sending end of a mailbox. Its [`address`](Inlet::address) is what others send to; it counts for the bound
/// like any other. Cloning is cheap.
pub struct Inlet<M> {
    address: Address<M>,
    front: Front<M>,
}

/// What stands in front of the actor.
enum Front<M> {
    Open,
    Bounded(Arc<bounded::Front<M>>),
    Latest(Arc<latest::Front<M>>),
}

impl<M: Send + 'static> Inlet<M> {
    pub(super) fn open(address: Address<M>) -> Self {
        Self {
            address,
            front: Front::Open,
        }
    }

    pub(super) fn bounded(address: Address<M>, front: Arc<bounded::Front<M>>) -> Self {
        Self {
            address,
            front: Front::Bounded(front),
        }
    }

    pub(super) fn latest(address: Address<M>, front: Arc<latest::Front<M>>) -> Self {
        Self {
            address,
            front: Front::Latest(front),
        }
    }

    /// What stands in front of the actor, if its mailbox is bounded and somebody can wait for a place.
    pub(super) fn bounded_front(&self) -> Option<&Arc<bounded::Front<M>>> {
        match &self.front {
            Front::Bounded(front) => Some(front),
            Front::Open | Front::Latest(_) => None,
        }
    }

    /// The actor's address.
    pub fn address(&self) -> &Address<M> {
        &self.address
    }

    /// Sends `msg` once there is room, whether the mailbox fails, waits or drops the newest otherwise; where it drops the
    /// oldest there always is. Cancel safe: if the future is dropped before it is ready, nothing was sent, and
    /// the message is dropped with it.
    ///
    /// # Errors
    /// Gives the message back if the actor has stopped.
    pub async fn send(&self, msg: M) -> Result<(), SendError<M>> {
        let Front::Bounded(front) = &self.front else {
            return self.address.send(msg);
        };
        let permit = front.room().take().await;
        front.send(msg, permit, self.address.clone())
    }

    /// Sends `msg` as [`Inlet::send`] does, blocking this thread until there is room.
    ///
    /// # Errors
    /// Gives the message back if the actor has stopped.
    ///
    /// # Panics
    /// If called by an actor: its worker would stand still, and who is to make room might be behind it.
    #[track_caller]
    pub fn send_blocking(&self, msg: M) -> Result<(), SendError<M>> {
        assert!(
            !garrick_sched::in_turn(),
            "an actor must not wait for room: use `try_send`"
        );
        let Front::Bounded(front) = &self.front else {
            return self.address.send(msg);
        };
        let permit = front.room().take_blocking();
        front.send(msg, permit, self.address.clone())
    }

    /// Sends `msg` if there is room just now, whether the mailbox fails, waits or drops the newest otherwise; where it
    /// drops the oldest there always is.
    ///
    /// # Errors
    /// Gives the message back, and says why.
    pub fn try_send(&self, msg: M) -> Result<(), TrySendError<M>> {
        let stopped = |SendError(msg)| TrySendError::Stopped(msg);
        let Front::Bounded(front) = &self.front else {
            return self.address.send(msg).map_err(stopped);
        };
        match front.room().try_take() {
            Some(permit) => front
                .send(msg, permit, self.address.clone())
                .map_err(stopped),
            None if front.is_stopped() => Err(TrySendError::Stopped(msg)),
            None => Err(TrySendError::Full(msg)),
        }
    }

    /// How many messages may wait; none if there is no bound.
    pub fn capacity(&self) -> Option<usize> {
        match &self.front {
            Front::Open => None,
            Front::Bounded(front) => Some(front.room().capacity()),
            Front::Latest(front) => Some(front.capacity()),
        }
    }

    /// How many messages wait, where there is a bound.
    pub fn waiting(&self) -> Option<usize> {
        match &self.front {
            Front::Open => None,
            Front::Bounded(front) => Some(front.room().taken()),
            Front::Latest(front) => Some(front.waiting()),
        }
    }

    /// Messages that were dropped for want of room.
    pub fn dropped(&self) -> u64 {
        match &self.front {
            Front::Open => 0,
            Front::Bounded(front) => front.room().dropped(),
            Front::Latest(front) => front.dropped(),
        }
    }

    /// Whether the actor has stopped. False may be out of date at once, true never is.
    pub fn is_stopped(&self) -> bool {
        match &self.front {
            Front::Open => self.address.is_stopped(),
            Front::Bounded(front) => front.is_stopped(),
            Front::Latest(front) => front.is_stopped(),
        }
    }
}

impl<M> Clone for Inlet<M> {
    fn clone(&self) -> Self {
        Self {
            address: self.address.clone(),
            front: match &self.front {
                Front::Open => Front::Open,
                Front::Bounded(front) => Front::Bounded(front.clone()),
                Front::Latest(front) => Front::Latest(front.clone()),
            },
        }
    }
}

impl<M> fmt::Debug for Inlet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inlet")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
