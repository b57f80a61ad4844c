//! Outlets: streams of messages from actors, which any future can read.
//!
//! ```text
//!   senders --- Address ---> Outward: a separate cell -----> queue ---> Outlet: a Stream
//!                 room: capacity    <------------------ place back when read -----------'
//! ```
//!
//! All messages to an outlet pass through a separate task. So sending to an outlet is an effect of
//! the sender's turn. The task receives the messages of a turn when the turn commits. It never
//! receives messages of a turn that is undone. An outlet has a capacity, like a bounded mailbox.
//! The place of a message becomes free when the reader has taken the message.

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
use garrick_sched::{
    Address, LetterReason, Place as Permit, Room, SpawnError, Spawns, Task, count_dead_letters,
};

use super::Ground;
use super::behind::{self, Arrived, Way};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::quiet::{self, Several};
use crate::system::handle::Handle;
use crate::system::pool::System;
pub(super) use front::Front;
use front::Held;

/// State that the task of an outlet and the reader share.
struct Inner<M> {
    /// Messages that have arrived, each with the permit for its place in the queue. The task of the
    /// outlet adds messages, and the reader takes them.
    queue: Several<VecDeque<(M, Permit)>>,
    /// Waker of the reader, if the reader is waiting for the next message. The reader stores the
    /// waker, and the task of the outlet takes the waker.
    reader: Option<Waker>,
    /// True once no more messages will arrive. Written by the task of the outlet.
    is_over: bool,
    /// True once the reader has been dropped. Written by the reader.
    is_closed: bool,
}

/// The state that the task of an outlet and the reader share, and the lock for it.
struct Channel<M>(Mutex<Inner<M>>);

impl<M> Channel<M> {
    fn lock(&self) -> MutexGuard<'_, Inner<M>> {
        // No code under the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes the reader.
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

/// The task's side of an outlet. Adds each message to the queue.
struct Outward<M>(Arc<Channel<M>>);

impl<M: Send + 'static> Way<M> for Outward<M> {
    type Arrival = Held<M>;

    /// Returns `None`: no actor starts.
    fn front(&self, _: Address<Held<M>>) -> Option<Address<M>> {
        None
    }

    fn arrive(&mut self, held: Held<M>, _: &mut Context<'_, Held<M>>) -> Arrived<M> {
        let mut held = Some((held.message, held.permit));
        self.0.tell(|inner| {
            if !inner.is_closed {
                inner.queue.extend(held.take());
            }
        });
        if held.is_some() {
            count_dead_letters(type_name::<M>, LetterReason::Stopped, 1);
            quiet::drop(held);
            return Arrived::Stop;
        }
        Arrived::Nothing
    }

    /// Does nothing: no actor handles the messages.
    fn handled(&mut self, _: bool, _: &Context<'_, Held<M>>) {}

    fn is_message(_: &Held<M>) -> bool {
        true
    }

    /// Does nothing: the reader takes the messages, also after the task has stopped.
    fn close(&mut self) {}

    fn is_empty(&self) -> bool {
        true
    }

    fn left(&mut self) -> usize {
        0
    }
}

impl<M> Drop for Outward<M> {
    fn drop(&mut self) {
        self.0.tell(|inner| inner.is_over = true);
    }
}

/// The actor in the task of an outlet. It receives no messages, because all messages go to the
/// reader.
struct Nobody<M>(PhantomData<fn(M)>);

impl<M: Send + 'static> Actor for Nobody<M> {
    type Msg = M;
    type Outcome = ();
    const STARTS: bool = false;
    const INTERNAL: bool = true;

    fn receive(&mut self, _: M, _: &mut Context<'_, M>) {}

    fn name() -> &'static str {
        type_name::<Outlet<M>>()
    }
}

/// A [`Stream`] of the messages that are sent to an [`Address`]. Created by [`System::stream`].
///
/// The stream ends when all clones of the address have been dropped and all messages have been
/// read. Dropping the outlet closes the address: unread messages become dead letters, and later
/// messages are returned to their senders.
pub struct Outlet<M: Send + 'static> {
    channel: Arc<Channel<M>>,
    /// The senders' side of the outlet. The outlet does not keep this side alive.
    front: Weak<Front<M>>,
}

impl<M: Send + 'static> Outlet<M> {
    /// Waits for the next message. Returns `None` at the end of the stream.
    ///
    /// # Cancel safety
    /// This method is cancel safe. A message is removed from the outlet only when the future
    /// completes.
    pub async fn recv(&mut self) -> Option<M> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Polls for the next message, like [`Outlet::recv`].
    pub fn poll_recv(&mut self, context: &mut task::Context<'_>) -> Poll<Option<M>> {
        // Wakers are cloned and dropped while no lock is held, because this is foreign code.
        let mut waker = None;
        loop {
            let mut inner = self.channel.lock();
            if let Some((message, permit)) = inner.queue.pop_front() {
                drop(inner);
                // A sender that is waiting for the place is woken while no lock is held.
                drop(permit);
                return Poll::Ready(Some(message));
            }
            if inner.is_over {
                drop(inner);
                return Poll::Ready(None);
            }
            let is_known =
                (inner.reader.as_ref()).is_some_and(|known| known.will_wake(context.waker()));
            if is_known {
                drop(inner);
                return Poll::Pending;
            }
            if waker.is_some() {
                let before = mem::replace(&mut inner.reader, waker);
                drop(inner);
                drop(before);
                return Poll::Pending;
            }
            drop(inner);
            waker = Some(context.waker().clone());
        }
    }

    /// Returns the next message if one is available, without waiting.
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
        let count = queue.len() as u64;
        count_dead_letters(type_name::<M>, LetterReason::Stopped, count);
        // A sender that is waiting for a place is woken by this drop, and finds that the outlet is
        // closed.
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
    ground: &impl Ground,
    capacity: NonZero<usize>,
) -> Result<(Address<M>, Outlet<M>), SpawnError<()>> {
    let channel = Arc::new(Channel(Mutex::new(Inner {
        queue: Several::default(),
        reader: None,
        is_over: false,
        is_closed: false,
    })));
    let front = Front::new(Room::with_waiting(capacity.get()));
    let outlet = Outlet {
        channel: channel.clone(),
        front: Arc::downgrade(&front),
    };
    match behind::spawn(ground, &front, Outward(channel), Nobody(PhantomData)) {
        Ok(address) => Ok((address, outlet)),
        Err(_) => Err(SpawnError(())),
    }
}

impl Ground for Handle {
    fn sponsor(&self) -> garrick_sched::Handle {
        Handle::sponsor(self)
    }
}

impl Spawns for Handle {
    fn spawn_task<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        Handle::spawn_task(self, task)
    }
}

impl<N: 'static> Ground for Context<'_, N> {
    fn sponsor(&self) -> garrick_sched::Handle {
        self.turn().sponsor()
    }
}

impl<N: 'static> Spawns for Context<'_, N> {
    fn spawn_task<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        Ok(self.turn().spawn(task))
    }
}

impl Handle {
    /// Creates an [`Address`] and a stream of the messages that are sent to it, like
    /// [`System::stream`].
    ///
    /// # Errors
    /// Fails if the system is shutting down.
    pub fn stream<M: Send + 'static>(
        &self,
        capacity: NonZero<usize>,
    ) -> Result<(Address<M>, Outlet<M>), SpawnError<()>> {
        open(self, capacity)
    }
}

impl System {
    /// Creates an [`Address`] and a [`Stream`] of the messages that are sent to this address. Use
    /// them to send messages from actors to other code: any future can read the stream.
    ///
    /// At most `capacity` messages wait in the stream. When the stream is full, senders wait or get
    /// their messages back, as with [`Mailbox::bounded`](crate::mailbox::Mailbox::bounded) and
    /// [`OnFull::Wait`](crate::mailbox::OnFull::Wait). In a simulation, and on the thread of a
    /// [`Local`](crate::Local) to which the stream belongs, a full stream never blocks the thread:
    /// outside of turns, too, a sender gets its message back. Messages that are sent during a turn
    /// enter the stream when the turn commits.
    ///
    /// # Errors
    /// Fails if the system is shutting down.
    ///
    /// # Examples
    /// ```
    /// use std::num::NonZero;
    /// use futures_util::StreamExt;
    /// use garrick_actor::{Next, System, behavior};
    ///
    /// let system = System::new()?;
    /// let (results, outlet) = system.stream::<u32>(NonZero::new(100).unwrap())?;
    /// let square = system.spawn(behavior(move |n: u32, cx| match cx.send(&results, n * n) {
    ///     Ok(()) => Next::Continue,
    ///     Err(_) => Next::Stop,
    /// }))?;
    /// (1..=10).for_each(|n| square.send(n).unwrap());
    /// // The last address is dropped with `square`, so the stream ends.
    /// drop(square);
    ///
    /// // This future runs on the calling thread; any other executor works too.
    /// let local = garrick_actor::Local::new()?;
    /// let sum = local.block_on(outlet.fold(0, |sum, n| async move { sum + n }));
    /// assert_eq!(sum, 385);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream<M: Send + 'static>(
        &self,
        capacity: NonZero<usize>,
    ) -> Result<(Address<M>, Outlet<M>), SpawnError<()>> {
        self.as_handle().stream(capacity)
    }
}

impl<N: 'static> Context<'_, N> {
    /// Creates an [`Address`] and a stream of the messages that are sent to it, like
    /// [`System::stream`]. If the turn is undone, the stream ends without a message.
    pub fn stream<M: Send + 'static>(&self, capacity: NonZero<usize>) -> (Address<M>, Outlet<M>) {
        open(self, capacity).unwrap_or_else(|_| unreachable!("a turn can always spawn an actor"))
    }
}
