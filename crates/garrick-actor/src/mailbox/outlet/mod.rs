//! What actors send, as a stream that any future reads.
//!
//! ```text
//!   senders --- Inlet, or its address ---> Outward: a cell of its own ---> queue ---> Outlet: a Stream
//!                 room for so many  <------------------ place back when read -----------'
//! ```
//!
//! The cell in between is what makes a send part of the sender's turn: it receives what a turn has sent once that has ended
//! well, and nothing of any other. Places are counted as for any bounded mailbox, and are free again when the reader has
//! taken the message.

mod front;

use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{self, Poll, Waker};

use futures_core::Stream;
use garrick_sched::{Place as Permit, Room, SpawnError, count_dead_letters};

use super::Place;
use super::behind::{self, Arrived, Way};
use super::inlet::Inlet;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::{self, Several};
use crate::system::handle::Handle;
use crate::system::pool::System;
pub(super) use front::Front;
use front::Held;

/// What lies between the cell and the reader.
struct Inner<M> {
    /// Messages that have come, with their places. The cell adds, the reader takes.
    queue: Several<VecDeque<(M, Permit)>>,
    /// Whom to wake when there is one more. The reader writes, the cell takes.
    reader: Option<Waker>,
    /// Whether nothing more will come. The cell writes.
    is_over: bool,
    /// Whether nobody reads any more. The reader writes.
    is_closed: bool,
}

/// See [`Inner`].
struct Channel<M>(Mutex<Inner<M>>);

impl<M> Channel<M> {
    fn lock(&self) -> MutexGuard<'_, Inner<M>> {
        // Nothing is done under the lock that can fail half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the reader waits for, and wakes it.
    fn tell(&self, change: impl FnOnce(&mut Inner<M>)) {
        let mut inner = self.lock();
        change(&mut inner);
        let reader = inner.reader.take();
        drop(inner);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

/// The writing end: what the cell does with a message.
struct Outward<M>(Arc<Channel<M>>);

impl<M: Send + 'static> Way<M> for Outward<M> {
    type Arrival = Held<M>;

    fn arrive(&mut self, held: Held<M>, _: &mut Context<'_, Held<M>>) -> Arrived<M> {
        let mut held = Some((held.message, held.permit));
        self.0.tell(|inner| {
            if !inner.is_closed {
                inner.queue.extend(held.take());
            }
        });
        if held.is_some() {
            count_dead_letters(1);
            quiet::drop(held);
            return Arrived::Done(Next::Stop);
        }
        Arrived::Done(Next::Continue)
    }
}

impl<M> Drop for Outward<M> {
    fn drop(&mut self) {
        self.0.tell(|inner| inner.is_over = true);
    }
}

/// The actor behind the mailbox, which receives nothing: all goes outward.
struct Nobody<M>(PhantomData<fn(M)>);

impl<M: Send + 'static> Actor for Nobody<M> {
    type Msg = M;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, _: M, _: &mut Context<'_, M>) {}

    fn name() -> &'static str {
        type_name::<Outlet<M>>()
    }
}

/// What is sent to an [`Inlet`], as a [`Stream`]: made by [`System::stream`]. It ends when no address of the inlet is left and
/// everything was read. Dropping it stops the inlet: messages that nobody has read become dead letters, and who sends more
/// gets it back.
pub struct Outlet<M: Send + 'static> {
    channel: Arc<Channel<M>>,
    /// The senders' side, while there is one.
    front: Weak<Front<M>>,
}

impl<M: Send + 'static> Outlet<M> {
    /// Waits for the next message. None once there will be no more.
    ///
    /// # Cancel safety
    /// A message is given to who polls, or to nobody: one that is dropped loses nothing.
    pub async fn recv(&mut self) -> Option<M> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// The same for who polls by hand.
    pub fn poll_recv(&mut self, context: &mut task::Context<'_>) -> Poll<Option<M>> {
        let mut inner = self.channel.lock();
        if let Some((message, permit)) = inner.queue.pop_front() {
            drop(inner);
            // Whoever waits for the place is woken when nothing is locked.
            drop(permit);
            return Poll::Ready(Some(message));
        }
        if inner.is_over {
            return Poll::Ready(None);
        }
        let before = match &inner.reader {
            Some(known) if known.will_wake(context.waker()) => None,
            _ => inner.reader.replace(context.waker().clone()),
        };
        drop(inner);
        // Whoever it belongs to, it is dropped when nothing is locked.
        drop(before);
        Poll::Pending
    }

    /// A message that is there already.
    pub fn try_recv(&mut self) -> Option<M> {
        let held = self.channel.lock().queue.pop_front();
        held.map(|(message, _permit)| message)
    }
}

impl<M: Send + 'static> Stream for Outlet<M> {
    type Item = M;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Option<M>> {
        self.poll_recv(context)
    }
}

impl<M: Send + 'static> Drop for Outlet<M> {
    fn drop(&mut self) {
        let mut inner = self.channel.lock();
        inner.is_closed = true;
        let (queue, reader) = (mem::take(&mut inner.queue), inner.reader.take());
        drop(inner);
        if let Some(front) = self.front.upgrade() {
            front.stop();
        }
        count_dead_letters(queue.len() as u64);
        // Who waits for a place is woken by that, and finds nobody.
        drop((queue, reader));
    }
}

impl<M: Send + 'static> fmt::Debug for Outlet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet")
            .field("len", &self.channel.lock().queue.len())
            .finish_non_exhaustive()
    }
}

fn open<M: Send + 'static>(
    place: &impl Place,
    capacity: NonZero<usize>,
) -> Result<(Inlet<M>, Outlet<M>), SpawnError<()>> {
    let channel = Arc::new(Channel(Mutex::new(Inner {
        queue: Several::default(),
        reader: None,
        is_over: false,
        is_closed: false,
    })));
    let front = Front::new(Room::new(capacity.get()));
    let outlet = Outlet {
        channel: channel.clone(),
        front: Arc::downgrade(&front),
    };
    let address = behind::spawn(place, &front, Outward(channel), Nobody(PhantomData))
        .map_err(|_| SpawnError(()))?;
    Ok((Inlet::outward(address, front), outlet))
}

impl Handle {
    /// A way out of the actors; see [`System::stream`].
    ///
    /// # Errors
    /// If the system is ending.
    pub fn stream<M: Send + 'static>(
        &self,
        capacity: NonZero<usize>,
    ) -> Result<(Inlet<M>, Outlet<M>), SpawnError<()>> {
        open(self, capacity)
    }
}

impl System {
    /// A way out of the actors: what they send to the [`Inlet`], or to its address, any future reads as a [`Stream`]. At most
    /// `capacity` messages lie between: who sends more waits or gets the message back, as with
    /// [`Mailbox::bounded`](crate::Mailbox::bounded) and [`OnFull::Wait`](crate::OnFull::Wait). What a turn sends comes out when that has ended
    /// well.
    ///
    /// # Errors
    /// If the system is ending, which only an actor of it can see.
    ///
    /// # Examples
    /// ```
    /// use std::num::NonZero;
    /// use futures_util::StreamExt;
    /// use garrick_actor::{Next, System};
    ///
    /// let system = System::new()?;
    /// let (inlet, outlet) = system.stream::<u32>(NonZero::new(100).unwrap())?;
    /// let results = inlet.address().clone();
    /// let square = system.spawn_behavior(move |n: u32, cx| match cx.send(&results, n * n) {
    ///     Ok(()) => Next::Continue,
    ///     Err(_) => Next::Stop,
    /// })?;
    /// (1..=10).for_each(|n| square.send(n).unwrap());
    /// // Nobody else will send: the stream ends.
    /// drop((inlet, square));
    ///
    /// // This future runs on the calling thread; any executor will do.
    /// let local = garrick_actor::Local::new()?;
    /// let sum = local.block_on(outlet.fold(0, |sum, n| async move { sum + n }));
    /// assert_eq!(sum, 385);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream<M: Send + 'static>(
        &self,
        capacity: NonZero<usize>,
    ) -> Result<(Inlet<M>, Outlet<M>), SpawnError<()>> {
        self.handle().stream(capacity)
    }
}

impl<N: 'static> Context<'_, N> {
    /// A way out of the actors; see [`System::stream`]. If the turn is undone, nothing can have been sent into it.
    pub fn stream<M: Send + 'static>(&self, capacity: NonZero<usize>) -> (Inlet<M>, Outlet<M>) {
        open(self, capacity).unwrap_or_else(|_| unreachable!("a turn can always make an actor"))
    }
}
