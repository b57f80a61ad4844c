//! A stream as a source of messages.
//!
//! Each message holds a [`Ticket`], and the stream is polled for another item only while a ticket
//! is free. So messages waiting in the mailbox, and the actor's unfinished work on items, hold the
//! stream back.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;

use futures_core::Stream;
use garrick_sched::{Address, Place, Room};

use super::incoming::Incoming;
use super::piped::{self, Lead, PipeError, Wake};
use crate::model::context::Context;

/// Default limit of the items under way.
const UNDER_WAY_MAX: NonZero<usize> = NonZero::new(16).unwrap();

/// A message from a stream that is attached to an actor.
#[derive(Debug)]
pub enum Streamed<T> {
    /// An item. It counts as under way until its ticket is dropped.
    Item(T, Ticket),
    /// There are no more items. Comes once, as the last message.
    End,
    /// The stream has panicked. There are no more items.
    Failed(PipeError),
}

/// The permit of an item under way. Dropping it lets the stream go on. Keep the ticket while work
/// on the item continues, for example in a future of [`Context::pipe`].
pub struct Ticket {
    _place: Place,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

/// A stream that is attached to an actor. Dropping this handle changes nothing.
#[derive(Debug, Clone)]
pub struct Attachment {
    cell: Address<Wake>,
}

impl Attachment {
    /// Drops the stream. Messages in the mailbox still arrive, but no end does. Inside a turn,
    /// detaching is staged like a send.
    pub fn detach(&self) {
        self.cell.stop();
    }
}

/// A stream to be attached, and its way to the actor.
struct Job<S, M, F> {
    stream: S,
    room: Arc<Room>,
    lead: Arc<Lead<M, F>>,
}

async fn run<S, M, F>(job: Job<S, M, F>, own: Incoming<Infallible>)
where
    S: Stream,
    M: Send + 'static,
    F: FnMut(Streamed<S::Item>) -> Option<M>,
{
    let Job { stream, room, lead } = job;
    let Some(_entered) = lead.enter(&own).await else {
        return;
    };
    let mut stream = pin!(stream);
    loop {
        let place = room.take().await;
        let Some(item) = poll_fn(|task| stream.as_mut().poll_next(task)).await else {
            break;
        };
        if !lead.give(Streamed::Item(item, Ticket { _place: place })) {
            return;
        }
    }
    lead.give(Streamed::End);
}

impl<M: 'static> Context<'_, M> {
    /// Attaches a stream: this actor receives the messages that `into_message` creates from its
    /// items and from its end. At most 16 items are under way. No more items are taken from the
    /// stream before the actor has dropped the [`Ticket`] of one of them.
    ///
    /// The stream is polled like a future of [`Context::pipe`], but does not count for that limit.
    /// It is dropped when the actor ends. Until then it keeps the actor alive. A turn that is
    /// undone attaches nothing.
    ///
    /// # Examples
    /// ```
    /// use futures_util::stream;
    /// use garrick_actor::future::Streamed;
    /// use garrick_actor::{Actor, Context, Local, Next};
    ///
    /// struct Sum(u32);
    ///
    /// impl Actor for Sum {
    ///     type Msg = Streamed<u32>;
    ///     type Outcome = Next;
    ///
    ///     fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
    ///         cx.attach(stream::iter(1..=100), |streamed| streamed);
    ///         Next::Continue
    ///     }
    ///
    ///     fn receive(&mut self, msg: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
    ///         match msg {
    ///             Streamed::Item(n, _ticket) => self.0 += n,
    ///             Streamed::Failed(error) => return cx.fail(error),
    ///             Streamed::End => {
    ///                 assert_eq!(self.0, 5050);
    ///                 return Next::Stop;
    ///             }
    ///         }
    ///         Next::Continue
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let sum = local.spawn(Sum(0));
    /// local.run();
    /// assert!(sum.is_stopped());
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn attach<S, F>(&self, stream: S, into_message: F) -> Attachment
    where
        M: Send,
        S: Stream<Item: Send> + Send + 'static,
        F: FnMut(Streamed<S::Item>) -> M + Send + 'static,
    {
        self.attach_with(UNDER_WAY_MAX, stream, into_message)
    }

    /// Attaches a stream, like [`Context::attach`], with another limit of the items under way.
    pub fn attach_with<S, F>(
        &self,
        under_way_max: NonZero<usize>,
        stream: S,
        mut into_message: F,
    ) -> Attachment
    where
        M: Send,
        S: Stream<Item: Send> + Send + 'static,
        F: FnMut(Streamed<S::Item>) -> M + Send + 'static,
    {
        let convert = move |streamed| Some(into_message(streamed));
        let lead = Lead::new(self.address(), self.pipes(), convert);
        let told = lead.clone();
        let on_panic = move |error| {
            told.give(Streamed::Failed(error));
        };
        let job = Job {
            stream,
            room: Room::new(under_way_max.get()),
            lead,
        };
        Attachment {
            cell: piped::spawn(self.turn(), job, run, on_panic),
        }
    }
}
