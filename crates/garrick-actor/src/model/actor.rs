//! The [`Actor`] trait, and its adapters to the scheduler's tasks.

use std::any::type_name;

use garrick_sched::{Flow, Task, Turn};

use crate::model::context::Context;
use crate::model::outcome::Outcome;

/// A type whose values can be spawned as actors. An actor has a mailbox and handles its messages
/// one after another. An actor never runs on two threads at the same time.
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
    /// The type of the actor's messages.
    ///
    /// Messages of at most 24 bytes with an alignment of at most 8 bytes are sent fastest. A
    /// message of more than about 4,000 bytes is boxed when it is sent. Messages of more than
    /// [`MESSAGE_BYTES_MAX`](crate::system::MESSAGE_BYTES_MAX) (16 KiB) cause a compile-time error.
    /// Put large data into a `Box`.
    type Msg: 'static;

    /// The type that the handlers return. If a handler returns `()`, the actor continues. A
    /// [`Next`](crate::Next) value chooses the next step. An `Err` fails the actor. [`Outcome`]
    /// lists all cases.
    type Outcome: Outcome;

    /// True if [`Actor::started`] is called. If this is false, the actor is not scheduled until its
    /// first message arrives.
    ///
    /// Set this constant to false for an actor that has no `started` method and is created in very
    /// large numbers.
    const STARTS: bool = true;

    /// Called once, before the first message, in a separate turn. This method is called even if the
    /// actor never receives a message.
    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Self::Outcome {
        let _ = cx;
        Outcome::go_on()
    }

    /// Handles one message.
    fn receive(&mut self, msg: Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Self::Outcome;

    /// True if turns of this actor usually call [`Context::blocking`].
    ///
    /// [`Builder::blocking_threads`](crate::system::Builder::blocking_threads) limits how many
    /// turns can block at the same time. While this limit is reached, an actor with `BLOCKS = true`
    /// handles no messages and does not occupy a worker. If an actor with `BLOCKS = false` then
    /// calls [`Context::blocking`], the call blocks its worker.
    const BLOCKS: bool = false;

    /// True if turns of this actor may call [`Context::commit_later`].
    #[doc(hidden)]
    const COMMITS_LATER: bool = false;

    /// True if the actor belongs to a library and not to the program. Telemetry does not show such
    /// actors among the actors of the program.
    #[doc(hidden)]
    const INTERNAL: bool = false;

    /// Called when the actor has been asked to stop, after all earlier messages. An actor that
    /// still keeps some of these messages can return false. Then it must stop itself later.
    #[doc(hidden)]
    fn stops(&mut self) -> bool {
        true
    }

    /// Returns true if `msg` counts as a dead letter when it cannot be handled.
    #[doc(hidden)]
    fn is_letter(msg: &Self::Msg) -> bool {
        let _ = msg;
        true
    }

    /// Names of the kinds of messages. By default, the messages have no kinds.
    ///
    /// If there are names, telemetry shows how many messages of each kind the actors of this type
    /// have handled, and how long that took. `#[garrick::actor]` implements this constant and
    /// [`Actor::message_kind`]: each method of the annotated block is a kind. The first 32 kinds
    /// are counted separately, and the other kinds together. The numbers are estimates if messages
    /// take less than about 4 µs each, because only some of them are measured.
    ///
    /// The messages of async actors are not counted by kind. If the mailbox of an actor orders
    /// messages by rank or drops the oldest message, its messages are not counted by kind either.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Context};
    ///
    /// struct Shop;
    ///
    /// enum Order {
    ///     Sell(u64),
    ///     Audit,
    /// }
    ///
    /// impl Actor for Shop {
    ///     type Msg = Order;
    ///     type Outcome = ();
    ///     const MESSAGES: &'static [&'static str] = &["Sell", "Audit"];
    ///
    ///     fn receive(&mut self, _: Order, _: &mut Context<'_, Order>) {}
    ///
    ///     fn message_kind(msg: &Order) -> usize {
    ///         match msg {
    ///             Order::Sell(_) => 0,
    ///             Order::Audit => 1,
    ///         }
    ///     }
    /// }
    /// # assert_eq!(Shop::message_kind(&Order::Audit), 1);
    /// # assert_eq!(Shop::message_kind(&Order::Sell(1)), 0);
    /// ```
    const MESSAGES: &'static [&'static str] = &[];

    /// Returns the kind of a message, as an index into [`Actor::MESSAGES`].
    ///
    /// Called for some of the messages, before they are handled. The function must be fast, because
    /// the worker waits for it. If it panics or returns an index without a name, the message is
    /// counted as `other`.
    fn message_kind(msg: &Self::Msg) -> usize {
        let _ = msg;
        0
    }

    /// Returns the name that reports use for actors of this type. By default, this is the name of
    /// the type.
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Returns the path of the actor, if it has a name.
    #[doc(hidden)]
    fn label(&self) -> Option<String> {
        None
    }
}

/// A wrapper that implements the scheduler's [`Task`] for an actor. The wrapper costs nothing at
/// run time.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Cell<A>(pub(crate) A);

impl<A: Actor> Task for Cell<A> {
    type Message = A::Msg;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;

    #[inline]
    fn start(&mut self, turn: &Turn<'_, A::Msg>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name(), !A::COMMITS_LATER, turn);
        self.0.started(&mut Context::new(turn)).into_next().into()
    }

    #[inline(always)]
    fn receive(&mut self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name(), !A::COMMITS_LATER, turn);
        let outcome = self.0.receive(message, &mut Context::new(turn));
        outcome.into_next().into()
    }

    fn stops(&mut self) -> bool {
        self.0.stops()
    }

    const INTERNAL: bool = A::INTERNAL;

    fn is_letter(message: &A::Msg) -> bool {
        A::is_letter(message)
    }

    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn message_kind(message: &A::Msg) -> usize {
        A::message_kind(message)
    }

    fn name() -> &'static str {
        A::name()
    }

    fn label(&self) -> Option<String> {
        self.0.label()
    }
}

/// An adapter for an actor that calls foreign code, such as the clone of an event or the conversion
/// of an answer. A turn that panics is undone and reported, and the actor continues. The fields of
/// the actor must be consistent whenever the actor calls foreign code.
pub(crate) struct Steady<A>(pub(crate) A);

impl<A: Actor> Task for Steady<A> {
    type Message = A::Msg;

    fn receive(&mut self, message: A::Msg, turn: &Turn<'_, A::Msg>) -> Flow {
        #[cfg(feature = "tracing")]
        let _span = crate::span::turn(A::name(), !A::COMMITS_LATER, turn);
        let outcome = self.0.receive(message, &mut Context::new(turn));
        outcome.into_next().into()
    }

    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;
    const RECOVERS: bool = true;

    fn recover(&mut self, _: &str, _: &Turn<'_, A::Msg>) -> Flow {
        Flow::Continue
    }

    const INTERNAL: bool = A::INTERNAL;

    fn is_letter(message: &A::Msg) -> bool {
        A::is_letter(message)
    }

    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn message_kind(message: &A::Msg) -> usize {
        A::message_kind(message)
    }

    fn name() -> &'static str {
        A::name()
    }

    fn label(&self) -> Option<String> {
        self.0.label()
    }
}
