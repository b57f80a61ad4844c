//! The trait of durable actors, and the context of their decisions.

use std::any::type_name;
use std::fmt;
use std::ops::{Deref, DerefMut};

use garrick_actor::{Context, Outcome};

use super::stored::{BoxError, Stored};
use crate::frame::EventKind;

/// Implemented by actors whose state survives the end of the process.
///
/// The state is the result of events. The actor *decides* about a message: it records events, and
/// requests effects such as answers. The events are then *applied* to the state. After a restart of
/// the actor or of the process, the events are read and applied again, and no decision is repeated.
///
/// A turn commits when its events are durable. So no other actor, asker or socket sees an effect of
/// a turn that can be lost. Until then, the actor handles no other message, and its worker runs
/// other actors. If the events cannot be written, the turn is undone and the actor fails.
///
/// A turn that records no event commits at once. It sees only durable state.
///
/// # Examples
/// ```
/// use garrick_actor::{Reply, System};
/// use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Journal, Stored};
///
/// struct Account;
///
/// enum Command {
///     PayIn(u64, Reply<u64>),
///     Balance(Reply<u64>),
/// }
///
/// struct PaidIn(u64);
///
/// impl Stored for PaidIn {
///     fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
///         bytes.extend(self.0.to_le_bytes());
///         EventKind { tag: 1, version: 1 }
///     }
///
///     fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
///         match kind.tag {
///             1 => Ok(Self(u64::from_le_bytes(bytes.try_into()?))),
///             _ => Err("an unknown event".into()),
///         }
///     }
/// }
///
/// impl DurableActor for Account {
///     type Msg = Command;
///     type State = u64;
///     type Event = PaidIn;
///     type Outcome = ();
///
///     fn decide(&self, balance: &u64, command: Command, cx: &mut Decide<'_, '_, Self>) {
///         match command {
///             Command::PayIn(cents, reply) => {
///                 cx.record(PaidIn(cents));
///                 reply.send(balance + cents);
///             }
///             Command::Balance(reply) => reply.send(*balance),
///         }
///     }
///
///     fn apply(balance: &mut u64, PaidIn(cents): &PaidIn) {
///         *balance += cents;
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("garrick-doc-{}", std::process::id()));
/// for balance in [10, 20] {
///     let system = System::new()?;
///     let (journal, _) = Journal::open(&system.handle(), &folder)?;
///     let account = system.spawn(journal.entity("account/42", Account)?)?;
///     let paid = account.ask(|reply| Command::PayIn(10, reply)).wait()?;
///     // Here the payment is on the disk.
///     assert_eq!(paid, balance);
///     assert_eq!(account.ask(Command::Balance).wait()?, balance);
///     drop(journal);
///     system.shutdown();
/// }
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
pub trait DurableActor: Sized + Send + 'static {
    /// The type of the messages.
    type Msg: 'static;

    /// The state, which begins with its default value.
    type State: Default + Send + 'static;

    /// The type of the events.
    type Event: Stored + Send + 'static;

    /// The type that [`DurableActor::decide`] returns, as for an
    /// [`Actor`](garrick_actor::Actor::Outcome).
    type Outcome: Outcome;

    /// Decides about a message. Called once for each message, and never again for its events. This
    /// is the place for effects, for the time and for random numbers.
    fn decide(
        &self,
        state: &Self::State,
        msg: Self::Msg,
        cx: &mut Decide<'_, '_, Self>,
    ) -> Self::Outcome;

    /// Applies an event to the state. Called after a decision, and for each event that is read from
    /// the log. The result must depend on nothing but the arguments.
    ///
    /// If this function panics after a decision, nothing is recorded. If it panics for an event
    /// from the log, the actor does not start.
    fn apply(state: &mut Self::State, event: &Self::Event);

    /// Number of events after which the state is saved, so that a start reads fewer events. The
    /// default is 1,000. Used only if [`DurableActor::save`] is implemented.
    const SAVE_EVERY: u64 = 1_000;

    /// Appends the encoding of the state to `bytes`, and returns its kind. Returns `None` if the
    /// state is not saved, which is the default.
    fn save(state: &Self::State, bytes: &mut Vec<u8>) -> Option<EventKind> {
        let _ = (state, bytes);
        None
    }

    /// Decodes a state that was saved by [`DurableActor::save`], in any version.
    ///
    /// # Errors
    /// Returns an error if the kind is unknown, or if the bytes are not an encoding of that kind.
    /// The state is then computed from the events, if all of them are still in the log.
    fn load(kind: EventKind, bytes: &[u8]) -> Result<Self::State, BoxError> {
        let _ = (kind, bytes);
        Err("this actor saves no state".into())
    }

    /// Returns the name of the type in reports, as for an [`Actor`](garrick_actor::Actor::name).
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Names of the kinds of messages, as for an [`Actor`](garrick_actor::Actor::MESSAGES).
    const MESSAGES: &'static [&'static str] = &[];

    /// Returns the kind of a message, as for an [`Actor`](garrick_actor::Actor::message_kind).
    fn message_kind(msg: &Self::Msg) -> usize {
        let _ = msg;
        0
    }
}

/// The context in which a durable actor decides about a message. It dereferences to the
/// [`Context`] of the turn.
///
/// Everything that the turn requests, such as messages, answers and new actors, takes place when
/// its events are durable.
pub struct Decide<'a, 'b, A: DurableActor> {
    cx: &'a mut Context<'b, A::Msg>,
    events: &'a mut Vec<A::Event>,
}

impl<'a, 'b, A: DurableActor> Decide<'a, 'b, A> {
    pub(super) fn new(cx: &'a mut Context<'b, A::Msg>, events: &'a mut Vec<A::Event>) -> Self {
        Self { cx, events }
    }

    /// Records an event. It is applied to the state after the decision. If the turn is undone, the
    /// event is discarded.
    pub fn record(&mut self, event: A::Event) {
        self.events.push(event);
    }
}

impl<'b, A: DurableActor> Deref for Decide<'_, 'b, A> {
    type Target = Context<'b, A::Msg>;

    fn deref(&self) -> &Self::Target {
        self.cx
    }
}

impl<A: DurableActor> DerefMut for Decide<'_, '_, A> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.cx
    }
}

impl<A: DurableActor> fmt::Debug for Decide<'_, '_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decide")
            .field("events", &self.events.len())
            .finish_non_exhaustive()
    }
}
