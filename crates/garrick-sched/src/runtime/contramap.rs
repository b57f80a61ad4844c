//! Addresses that convert their messages by a function.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::letters::LetterReason;
use crate::quiet;
use crate::runtime::address::{Address, SendError, is_refused};
use crate::runtime::bounded::{may_wait, overflow};
use crate::runtime::count_dead_letters;
use crate::runtime::door::{Door, Gauged, door};
use crate::runtime::look::Look;
use crate::runtime::room::{Place, Room};
use crate::runtime::watch::Notice;

/// Door (a function behind an address) that converts each message and sends the result to another
/// address.
struct Mapped<N, M, F> {
    to: Address<M>,
    function: F,
    from: PhantomData<fn(N)>,
}

impl<N, M, F> Door for Mapped<N, M, F>
where
    N: Send + 'static,
    M: Send + 'static,
    F: Fn(N) -> M + Send + Sync + 'static,
{
    type Message = N;

    /// Converts the message and sends the result. If the mailbox is bounded, takes a place in it
    /// before the conversion, because a converted message cannot be returned to the sender.
    fn pass(&self, message: N, _: &Address<N>) -> Result<(), SendError<N>> {
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

impl<N, M, F> Mapped<N, M, F>
where
    M: 'static,
    F: Fn(N) -> M,
{
    /// Converts a message and sends the result. If the task stops during the conversion, the result
    /// becomes a dead letter, because the original message cannot be restored.
    ///
    /// # Errors
    /// Returns the message if the task has stopped, or if its sponsor is shutting down and refuses
    /// messages of this thread.
    fn send_on(
        &self,
        message: N,
        send: impl FnOnce(M) -> Result<(), SendError<M>>,
    ) -> Result<(), SendError<N>> {
        if self.to.is_stopped() || is_refused(self.to.cell()) {
            return Err(SendError(message));
        }
        if let Err(SendError(mapped)) = send((self.function)(message)) {
            let reason = if self.to.is_stopped() {
                LetterReason::Stopped
            } else if is_refused(self.to.cell()) {
                LetterReason::ShutDown
            } else {
                LetterReason::Full
            };
            count_dead_letters(type_name::<M>, reason, 1);
            quiet::drop(mapped);
        }
        Ok(())
    }
}

impl<N, M, F> Gauged<N> for Mapped<N, M, F>
where
    M: 'static,
    F: Fn(N) -> M,
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

    fn capacity(&self) -> usize {
        self.to.capacity().unwrap_or(usize::MAX)
    }

    fn waiting(&self) -> usize {
        self.to.waiting().unwrap_or(0)
    }

    fn dropped(&self) -> u64 {
        self.to.dropped()
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
    /// the message becomes a dead letter.
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
        door(Mapped {
            to: self.clone(),
            function,
            from: PhantomData,
        })
    }
}
