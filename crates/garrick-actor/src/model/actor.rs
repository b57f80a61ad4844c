//! What an actor is, and how the scheduler sees it.

use std::any::type_name;

use garrick_sched::{Address, Flow, Task, Turn};

use crate::model::context::Context;
use crate::model::outcome::Outcome;

/// State with a mailbox: it handles one message at a time, on one thread at a time.
///
/// # Examples
/// ```
/// use garrick_actor::{Actor, Context, Reply, System};
///
/// struct Counter(u64);
///
/// enum Count {
///     Add(u64),
///     Get(Reply<u64>),
/// }
///
/// impl Actor for Counter {
///     type Msg = Count;
///     type Outcome = ();
///
///     fn receive(&mut self, msg: Count, _: &mut Context<'_, Count>) {
///         match msg {
///             Count::Add(n) => self.0 += n,
///             Count::Get(reply) => reply.send(self.0),
///         }
///     }
/// }
///
/// let system = System::new()?;
/// let counter = system.spawn(Counter(0))?;
/// counter.send(Count::Add(2))?;
/// counter.send(Count::Add(3))?;
/// assert_eq!(counter.ask(Count::Get).wait(), Ok(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Actor: Sized + 'static {
    /// The type of its messages. At most 24 bytes, aligned to 8, travel fastest; one of more than some 4,000 bytes is boxed on its
    /// way; and more than [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX), 16 KiB, do not compile: put what is so large into a `Box`.
    type Msg: 'static;

    /// The type that the handlers return: `()` to go on, [`Next`](crate::Next) to say what comes next, or a `Result` of either, whose
    /// error fails the actor. See [`Outcome`].
    type Outcome: Outcome;

    /// True if [`Actor::started`] is called. Set this to false for an actor that has no `started` and is made by the million: it is
    /// not scheduled then before its first message.
    const STARTS: bool = true;

    /// Called once, before the first message, even if none ever comes. Has a turn of its own.
    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Self::Outcome {
        let _ = cx;
        Outcome::go_on()
    }

    /// Handles one message.
    fn receive(&mut self, msg: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Self::Outcome;

    /// Says that turns use [`Context::blocking`] as a rule. If so, the actor waits, without a worker, while as many block as
    /// [`Builder::blocking_threads`](crate::Builder::blocking_threads) says; else a turn that blocks keeps its worker then.
    const BLOCKS: bool = false;

    /// The name under which it is reported.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// An actor as a task; it costs nothing.
pub(crate) struct Cell<A>(pub(crate) A);

impl<A: Actor> Task for Cell<A> {
    type Message = A::Msg;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;

    #[inline]
    fn start(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name());
        self.0.started(&mut Context::new(turn)).into_next().into()
    }

    #[inline(always)]
    fn receive(&mut self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name());
        let outcome = self.0.receive(message, &mut Context::new(turn));
        outcome.into_next().into()
    }

    fn name() -> &'static str {
        A::name()
    }
}

/// An actor that serves many, and calls what they have brought along: a clone of an event, the conversion of an answer. A turn
/// that panics is undone and reported, and the actor goes on. What it does to its own fields must be whole at each such call.
pub(crate) struct Steady<A>(pub(crate) A);

impl<A: Actor> Task for Steady<A> {
    type Message = A::Msg;

    fn receive(&mut self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name());
        let outcome = self.0.receive(message, &mut Context::new(turn));
        outcome.into_next().into()
    }

    const BLOCKS: bool = A::BLOCKS;
    const RECOVERS: bool = true;

    fn recover(&mut self, _: &str, _: &Turn<'_, A::Msg>) -> Flow {
        Flow::Continue
    }

    fn name() -> &'static str {
        A::name()
    }
}

impl<M: 'static> Context<'_, M> {
    /// Makes an actor on this worker. If the turn is undone, nothing can have reached it, and it is dropped
    /// with its address.
    ///
    /// # Examples
    /// See [`Context::spawn_behavior`].
    #[inline]
    pub fn spawn<A>(&self, actor: A) -> Address<A::Msg>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        self.turn().spawn(Cell(actor))
    }
}
