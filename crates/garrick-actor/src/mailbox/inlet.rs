//! The sending end of a mailbox, for senders that need to know how full it is.

use std::fmt;
use std::sync::Arc;

use garrick_sched::{Address, Place, Room, SendError, TrySendError};

use super::{latest, outlet};

/// The sending end of a mailbox. Other actors send to its [`address`](Inlet::address), and their
/// messages count for the bound too. Cloning is cheap.
pub struct Inlet<M> {
    address: Address<M>,
    front: Front<M>,
}

/// The front of the actor.
enum Front<M> {
    Open,
    /// The room is part of the cell, so nothing else is needed.
    Bounded(Arc<Room>),
    Latest(Arc<latest::Front<M>>),
    Outward(Arc<outlet::Front<M>>),
}

impl<M: Send + 'static> Inlet<M> {
    pub(super) fn open(address: Address<M>) -> Self {
        Self {
            address,
            front: Front::Open,
        }
    }

    /// Creates the inlet of an actor whose mailbox may be bounded.
    pub(super) fn bounded(address: Address<M>) -> Self {
        let front = address.room().map_or(Front::Open, Front::Bounded);
        Self { address, front }
    }

    pub(super) fn outward(address: Address<M>, front: Arc<outlet::Front<M>>) -> Self {
        Self {
            address,
            front: Front::Outward(front),
        }
    }

    pub(super) fn latest(address: Address<M>, front: Arc<latest::Front<M>>) -> Self {
        Self {
            address,
            front: Front::Latest(front),
        }
    }

    /// Waits for a place. Returns `None` at once for a mailbox that always has one.
    pub(super) async fn place(&self) -> Option<Place> {
        match &self.front {
            Front::Open | Front::Latest(_) => None,
            Front::Bounded(_) => self.address.place().await,
            Front::Outward(front) => Some(front.room().take().await),
        }
    }

    /// Returns the room, where senders wait for places.
    pub(super) fn room(&self) -> Option<&Arc<Room>> {
        match &self.front {
            Front::Open | Front::Latest(_) => None,
            Front::Bounded(room) => Some(room),
            Front::Outward(front) => Some(front.room()),
        }
    }

    /// Sends a message with the place that [`Inlet::place`] has waited for.
    pub(super) fn send_in(&self, place: Option<Place>, msg: M) -> Result<(), SendError<M>> {
        match (&self.front, place) {
            (Front::Outward(front), Some(place)) => front.send(msg, place),
            (_, Some(place)) => self.address.send_in(place, msg),
            (_, None) => self.address.send(msg),
        }
    }

    /// Returns the actor's address.
    pub fn address(&self) -> &Address<M> {
        &self.address
    }

    /// Sends `msg` once there is room, for every [`OnFull`](crate::OnFull) policy. A mailbox that
    /// drops the oldest message always has room. Cancel safe: if the future is dropped before it is
    /// ready, nothing was sent, and the message is dropped with it.
    ///
    /// # Errors
    /// Returns the message if the actor has stopped.
    pub async fn send(&self, msg: M) -> Result<(), SendError<M>> {
        let Some(msg) = self.send_now(msg)? else {
            return Ok(());
        };
        let place = self.place().await;
        self.send_in(place, msg)
    }

    /// Sends a message if there is room now. Returns it in `Ok` if there is none.
    ///
    /// # Errors
    /// Returns the message if the actor has stopped.
    fn send_now(&self, msg: M) -> Result<Option<M>, SendError<M>> {
        match self.try_send(msg) {
            Ok(()) => Ok(None),
            Err(TrySendError::Full(msg)) => Ok(Some(msg)),
            Err(TrySendError::Stopped(msg)) => Err(SendError(msg)),
        }
    }

    /// Sends `msg`, like [`Inlet::send`], and blocks this thread until there is room.
    ///
    /// # Errors
    /// Returns the message if the actor has stopped.
    ///
    /// # Panics
    /// Panics if called by an actor: its worker would stand still, and the actor that has to make
    /// room might be behind it.
    #[track_caller]
    pub fn send_blocking(&self, msg: M) -> Result<(), SendError<M>> {
        assert!(
            !garrick_sched::in_turn(),
            "an actor must not wait for room: use `try_send`"
        );
        let Some(msg) = self.send_now(msg)? else {
            return Ok(());
        };
        let place = match &self.front {
            Front::Open | Front::Latest(_) => None,
            Front::Bounded(_) => self.address.place_blocking(),
            Front::Outward(front) => Some(front.room().take_blocking()),
        };
        self.send_in(place, msg)
    }

    /// Sends `msg` if there is room now, for every [`OnFull`](crate::OnFull) policy. A mailbox that
    /// drops the oldest message always has room.
    ///
    /// # Errors
    /// Returns the message with the reason.
    pub fn try_send(&self, msg: M) -> Result<(), TrySendError<M>> {
        let Front::Outward(front) = &self.front else {
            return self.address.try_send(msg);
        };
        match front.room().try_take() {
            Some(place) => front
                .send(msg, place)
                .map_err(|SendError(msg)| TrySendError::Stopped(msg)),
            None if front.is_stopped() => Err(TrySendError::Stopped(msg)),
            None => Err(TrySendError::Full(msg)),
        }
    }

    /// Returns the maximum number of waiting messages, or `None` if there is no bound.
    pub fn capacity(&self) -> Option<usize> {
        match &self.front {
            Front::Latest(front) => Some(front.capacity()),
            _ => self.room().map(|room| room.capacity()),
        }
    }

    /// Returns the number of waiting messages, if there is a bound.
    pub fn waiting(&self) -> Option<usize> {
        match &self.front {
            Front::Latest(front) => Some(front.waiting()),
            _ => self.room().map(|room| room.taken()),
        }
    }

    /// Returns the number of messages that were dropped for lack of room.
    pub fn dropped(&self) -> u64 {
        match &self.front {
            Front::Latest(front) => front.dropped(),
            _ => self.room().map_or(0, |room| room.dropped()),
        }
    }

    /// Returns true if the actor has stopped. False may be out of date at once, true never is.
    pub fn is_stopped(&self) -> bool {
        match &self.front {
            Front::Open | Front::Bounded(_) => self.address.is_stopped(),
            Front::Latest(front) => front.is_stopped(),
            Front::Outward(front) => front.is_stopped(),
        }
    }
}

impl<M> Clone for Inlet<M> {
    fn clone(&self) -> Self {
        Self {
            address: self.address.clone(),
            front: match &self.front {
                Front::Open => Front::Open,
                Front::Bounded(room) => Front::Bounded(room.clone()),
                Front::Latest(front) => Front::Latest(front.clone()),
                Front::Outward(front) => Front::Outward(front.clone()),
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
