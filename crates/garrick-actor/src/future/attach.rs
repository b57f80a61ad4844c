//! A stream as a source of messages.
//!
//! A message holds a [`Ticket`], and the stream is asked for another item when there is one to be had: so what waits in the
//! mailbox, and what the actor has still to do with an item, hold the stream back.

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

/// Items under way unless told.
const UNDER_WAY_MAX: NonZero<usize> = NonZero::new(16).unwrap();

/// What comes from a stream that is attached to an actor.
#[derive(Debug)]
pub enum Streamed<T> {
    /// An item. Until its ticket is dropped, it counts as one under way.
    Item(T, Ticket),
    /// There are no more. This comes once, last.
    End,
    /// The stream has panicked. There are no more.
    Failed(PipeError),
}

/// One of the items that may be under way. Dropping it lets the stream go on; whoever is not done with an item, because a
/// future of [`Context::pipe`] works on it, say, keeps the ticket until then.
pub struct Ticket {
    _place: Place,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

/// A stream that is attached to an actor. Dropping this changes nothing.
#[derive(Debug, Clone)]
pub struct Attachment {
    cell: Address<Wake>,
}

impl Attachment {
    /// Drops the stream. What is in the mailbox already still comes, but no end. In a turn this is staged, as sending is.
    pub fn detach(&self) {
        self.cell.stop();
    }
}

/// A stream that is to be attached, and where to.
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
    /// Lets a stream send this actor what `into_message` makes of its items and of its end. At most 16 items are under way: no
    /// more is taken out of the stream before the actor has dropped the [`Ticket`] of one of them.
    ///
    /// The stream is polled as a future of [`Context::pipe`] is, and dropped when the actor ends; it does not count for that
    /// limit. Until then it keeps the actor alive. In a turn that is undone, nothing is attached.
    ///
    /// # Examples
    /// ```
    /// use futures_util::stream;
    /// use garrick_actor::{Actor, Context, Local, Next, Streamed};
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

    /// The same with another number of items that may be under way.
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
