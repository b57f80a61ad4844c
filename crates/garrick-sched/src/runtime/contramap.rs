//! Addresses that convert their messages by a function.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::letters::LetterReason;
use crate::quiet;
use crate::runtime::address::{Address, SendError, is_refused};
use crate::runtime::bounded::{may_wait, overflow};
use crate::runtime::count_dead_letters;
use crate::runtime::current;
use crate::runtime::door::{Door, Gauged, door};
use crate::runtime::look::Look;
use crate::runtime::room::{Place, Room};
use crate::runtime::several::{Several, TrySendError, Waits};
use crate::runtime::watch::Notice;

/// Restores a message that was converted and then refused.
trait Back<N, M>: Send + Sync + 'static {
    /// True if messages can be restored.
    const EXISTS: bool;

    /// Restores a message, or returns the converted message if it cannot be restored.
    fn back(&self, mapped: M) -> Result<N, M>;
}

/// Used for conversions without an inverse.
struct NoWay;

impl<N: 'static, M: 'static> Back<N, M> for NoWay {
    const EXISTS: bool = false;

    fn back(&self, mapped: M) -> Result<N, M> {
        Err(mapped)
    }
}

/// The inverse of a conversion.
struct Inverse<G>(G);

impl<N, M, G> Back<N, M> for Inverse<G>
where
    N: 'static,
    M: 'static,
    G: Fn(M) -> N + Send + Sync + 'static,
{
    const EXISTS: bool = true;

    fn back(&self, mapped: M) -> Result<N, M> {
        Ok((self.0)(mapped))
    }
}

/// Door (a function behind an address) that converts each message and sends the result to another
/// address.
struct Mapped<N, M, F, B> {
    to: Address<M>,
    function: F,
    back: B,
    from: PhantomData<fn(N)>,
}

impl<N, M, F, B> Door for Mapped<N, M, F, B>
where
    N: Send + 'static,
    M: Send + 'static,
    F: Fn(N) -> M + Send + Sync + 'static,
    B: Back<N, M>,
{
    type Message = N;

    /// Converts the message and sends the result. If the mailbox is bounded and the message cannot
    /// be restored, takes a place in the mailbox before the conversion.
    #[inline]
    fn pass(&self, message: N, _: &Address<N>) -> Result<(), SendError<N>> {
        if B::EXISTS {
            return self.send_on(message, |mapped| self.to.send(mapped));
        }
        let Some(room) = self.to.any_room() else {
            return self.send_on(message, |mapped| self.to.send(mapped));
        };
        let place = match room.try_take() {
            Some(place) => place,
            None if may_wait(room, &self.to) => {
                room.wait_for_place(|| self.to.nudge_keeper());
                Place::of(room.clone())
            }
            None => return overflow(room, message),
        };
        self.send_in(message, place)
    }

    fn is_stopped(&self) -> bool {
        self.to.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.to.forward_watch(notice);
    }

    fn gauged(&self) -> Option<&dyn Gauged<N>> {
        // Not by `capacity`, which calls `gauged` once more: the time would double with each door.
        self.to.is_limited().then_some(self as &dyn Gauged<N>)
    }

    fn look(&self) -> Option<Look> {
        Some(self.to.look())
    }
}

impl<N, M, F, B> Mapped<N, M, F, B>
where
    M: 'static,
    F: Fn(N) -> M,
    B: Back<N, M>,
{
    /// Converts a message and sends the result.
    ///
    /// # Errors
    /// Returns the message if the task does not accept it. But if the message cannot be restored
    /// and the task has accepted messages until the conversion, the result becomes a dead letter.
    fn send_on(
        &self,
        message: N,
        send: impl FnOnce(M) -> Result<(), SendError<M>>,
    ) -> Result<(), SendError<N>> {
        if !B::EXISTS && self.refuses_all() {
            return Err(SendError(message));
        }
        match send((self.function)(message)) {
            Ok(()) => Ok(()),
            Err(SendError(mapped)) => self.restore(mapped).map_or(Ok(()), |message| {
                // It is as if there had been no conversion.
                Err(SendError(message))
            }),
        }
    }

    /// Returns true if the task accepts no message of this thread, because it has stopped or
    /// because its sponsor is shutting down.
    fn refuses_all(&self) -> bool {
        self.to.is_stopped() || is_refused(self.to.cell())
    }

    /// Restores a message that was refused. If this is not possible, the converted message becomes
    /// a dead letter. Outside of turns, the mailbox counts it as dropped instead.
    fn restore(&self, mapped: M) -> Option<N> {
        let mapped = match self.back.back(mapped) {
            Ok(message) => return Some(message),
            Err(mapped) => mapped,
        };
        if !current::in_turn() {
            let mut mapped = Some(mapped);
            self.to.count_refused(&mut mapped);
            quiet::drop(mapped);
            return None;
        }
        let reason = if self.to.is_stopped() {
            LetterReason::Stopped
        } else if is_refused(self.to.cell()) {
            LetterReason::ShutDown
        } else {
            LetterReason::Full
        };
        count_dead_letters(type_name::<M>, reason, 1);
        quiet::drop(mapped);
        None
    }
}

impl<N, M, F, B> Gauged<N> for Mapped<N, M, F, B>
where
    M: 'static,
    F: Fn(N) -> M,
    B: Back<N, M>,
{
    fn room(&self) -> Option<&Arc<Room>> {
        self.to.any_room()
    }

    fn nudge(&self) {
        self.to.nudge_keeper();
    }

    fn waits_for_itself(&self) -> bool {
        self.to.waits_for_itself()
    }

    fn send_in(&self, message: N, place: Place) -> Result<(), SendError<N>> {
        self.send_on(message, |mapped| self.to.send_in(place, mapped))
    }

    fn capacity(&self) -> Option<usize> {
        self.to.capacity()
    }

    fn waiting(&self) -> Option<usize> {
        self.to.waiting()
    }

    fn dropped(&self) -> u64 {
        self.to.dropped()
    }

    fn count_refused(&self, message: &mut Option<N>) {
        if !B::EXISTS {
            return self.to.count_refused(&mut None);
        }
        let mut mapped = message.take().map(&self.function);
        self.to.count_refused(&mut mapped);
        *message = mapped.and_then(|mapped| self.back.back(mapped).ok());
    }

    fn several(&self) -> Option<&dyn Several<N>> {
        self.to.several().map(|_| self as &dyn Several<N>)
    }
}

impl<N, M, F, B> Several<N> for Mapped<N, M, F, B>
where
    M: 'static,
    F: Fn(N) -> M,
    B: Back<N, M>,
{
    fn try_send(&self, message: N) -> Result<(), TrySendError<N>> {
        if !B::EXISTS {
            if self.refuses_all() {
                return Err(TrySendError::Stopped(message));
            }
            if self.full(&mut None).is_some() {
                return Err(TrySendError::Full(message));
            }
        }
        let (mapped, refusal): (M, fn(N) -> TrySendError<N>) =
            match self.to.try_send((self.function)(message)) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(mapped)) => (mapped, TrySendError::Full),
                Err(TrySendError::Stopped(mapped)) => (mapped, TrySendError::Stopped),
            };
        self.restore(mapped).map(refusal).map_or(Ok(()), Err)
    }

    fn full(&self, message: &mut Option<N>) -> Option<&(dyn Waits + Sync)> {
        let several = self.to.several()?;
        if !B::EXISTS {
            return several.full(&mut None);
        }
        let mut mapped = message.take().map(&self.function);
        let found = several.full(&mut mapped);
        *message = mapped.and_then(|mapped| self.back.back(mapped).ok());
        found
    }
}

impl<M: Send + 'static> Address<M> {
    /// Returns an address that converts each message by `function` and sends the result to this
    /// address.
    ///
    /// The returned address receives messages of type `N`. `function` runs on the thread of the
    /// sender. If `function` is the constructor of an enum variant, the returned address can send
    /// only this variant.
    ///
    /// The returned address cannot stop the task: its [`Address::stop`] does nothing.
    /// [`Address::watch`] and [`Address::is_stopped`] are forwarded to the original address.
    ///
    /// If the mailbox of the task is full, the returned address behaves like the original address:
    /// depending on the mailbox, it waits, returns the message, or drops the message. `function`
    /// runs only if there is a place for its result. If the task stops while `function` is running,
    /// the message becomes a dead letter. If this address leads to several mailboxes, such as that
    /// of a demux, the place is known only after the conversion. A message that is then refused
    /// becomes a dead letter, too. If such a message was sent outside of turns, it is no dead
    /// letter: the bounded mailbox counts it in [`Address::dropped`], and a mailbox without a bound
    /// does not count it.
    ///
    /// An address that was converted several times runs all functions for each message. Its other
    /// methods, such as [`Address::is_stopped`], call each other once for each conversion. So do
    /// not convert an address again and again, for example once for each message.
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::{Flow, Here, Task, Turn};
    ///
    /// struct Length;
    ///
    /// impl Task for Length {
    ///     type Message = usize;
    ///
    ///     fn receive(&mut self, length: usize, _: &Turn<'_, usize>) -> Flow {
    ///         assert_eq!(length, 5);
    ///         Flow::Continue
    ///     }
    /// }
    ///
    /// let here = Here::new_here()?;
    /// let word = here.spawn(Length).contramap(|word: &str| word.len());
    /// word.send("hello")?;
    /// here.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contramap<N, F>(&self, function: F) -> Address<N>
    where
        N: Send + 'static,
        F: Fn(N) -> M + Send + Sync + 'static,
    {
        self.clone().mapped(function, NoWay)
    }

    /// Returns an address that converts each message like [`Address::contramap`], for a conversion
    /// that has the inverse `back`. A message that is refused after the conversion is restored and
    /// returned to the sender.
    #[doc(hidden)]
    pub fn contramap_back<N, F, G>(self, function: F, back: G) -> Address<N>
    where
        N: Send + 'static,
        F: Fn(N) -> M + Send + Sync + 'static,
        G: Fn(M) -> N + Send + Sync + 'static,
    {
        self.mapped(function, Inverse(back))
    }

    fn mapped<N, F, B>(self, function: F, back: B) -> Address<N>
    where
        N: Send + 'static,
        F: Fn(N) -> M + Send + Sync + 'static,
        B: Back<N, M>,
    {
        door(Mapped {
            to: self,
            function,
            back,
            from: PhantomData,
        })
    }
}
