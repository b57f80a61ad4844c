//! Streams whose items are sent to an actor as messages.
//!
//! Each message contains a [`Ticket`], and the number of tickets is limited. The stream is polled
//! for its next item only while a ticket is free. So the stream is not polled while too many items
//! wait in the mailbox or are still being processed.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;

use futures_core::Stream;
use garrick_sched::{Address, Place, Room};

use super::incoming::Incoming;
use super::piped::{self, Lead, PipeError, Wake, Work};
use crate::model::context::Context;
use crate::quiet::Contained;

/// Default limit on how many items of one stream can be in flight.
const UNDER_WAY_MAX: NonZero<usize> = NonZero::new(16).unwrap();

/// A message from a stream that is attached to an actor.
#[derive(Debug)]
pub enum Streamed<T> {
    /// An item of the stream. The item counts as in flight until its ticket is dropped.
    Item(T, Ticket),
    /// The stream has ended. This is the last message and is sent once.
    End,
    /// The stream has panicked. This is the last message.
    Failed(PipeError),
}

/// A permit for one item of an attached stream. The item counts as in flight until its ticket is
/// dropped.
///
/// The number of items in flight is limited, so dropping the ticket allows the stream to send its
/// next item. Keep the ticket until the item has been processed, for example in a future that is
/// passed to [`Context::pipe`].
pub struct Ticket {
    _place: Place,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

/// A handle to a stream that is attached to an actor. Dropping the handle does not detach the
/// stream.
#[derive(Debug, Clone)]
pub struct Attachment {
    cell: Address<Wake>,
}

impl Attachment {
    /// Detaches and drops the stream. Messages that are already in the mailbox still arrive, but
    /// [`Streamed::End`] does not. If this method is called during a turn, it takes effect when the
    /// turn commits.
    pub fn detach(&self) {
        self.cell.stop();
    }
}

/// A stream that will be attached to an actor, and its connection to this actor.
struct Job<S, M, F> {
    stream: Contained<S>,
    room: Arc<Room>,
    lead: Arc<Lead<M, F>>,
}

impl<S, M, F> Work for Job<S, M, F>
where
    S: Send + 'static,
    M: 'static,
    F: 'static,
    Arc<Lead<M, F>>: Send,
{
    type Of = S;
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
        let Some(item) = poll_fn(|task| stream.as_mut().as_pin_mut().poll_next(task)).await else {
            break;
        };
        if !lead.give(Streamed::Item(item, Ticket { _place: place })) {
            return;
        }
    }
    lead.give(Streamed::End);
}

impl<M: 'static> Context<'_, M> {
    /// Attaches a stream to this actor.
    ///
    /// The actor receives the items and the end of the stream as messages, which `into_message`
    /// creates. At most 16 items are in flight. When this limit is reached, the next item is taken
    /// from the stream after the actor has dropped the [`Ticket`] of an earlier item.
    ///
    /// The stream is polled like a future in [`Context::pipe`], but does not count towards the
    /// limit on piped futures. The stream keeps the actor alive until the stream ends. If the actor
    /// stops earlier, or if the turn is undone, the stream is dropped.
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

    /// Attaches a stream, like [`Context::attach`], with at most `under_way_max` items in flight.
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
            stream: Contained::new(stream),
            room: Room::new(under_way_max.get()),
            lead,
        };
        Attachment {
            cell: piped::spawn(self.turn(), job, run, on_panic),
        }
    }
}
