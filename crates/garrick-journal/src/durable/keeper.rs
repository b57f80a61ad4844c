//! Durable actors without events: the whole state is stored after each change.

use std::ops::{Deref, DerefMut};

use garrick_actor::Outcome;
use garrick_core::quiet::Contained;

use super::actor::{Decide, DurableActor};
use super::duties::Due;
use super::letters::Letter;
use super::stored::{BoxError, Stored};
use crate::event::EventKind;

/// Implemented by durable actors whose whole state is stored after each change.
///
/// Each keeper is a [`DurableActor`]. Use [`Journal::entity`](crate::Journal::entity) to spawn it.
/// A turn that changes the state commits when the new state is durable. Only the newest state is
/// kept. The state is also saved after 1,000 events of turns that only request effects, reminders
/// or letters. A keeper is simpler than an actor with events, but costs more if the state is large.
///
/// # Examples
/// ```
/// use garrick_actor::{Reply, System};
/// use garrick_journal::{BoxError, Decide, Durable, EventKind, Journal, Keeper, Stored};
///
/// #[derive(Clone, Default)]
/// struct Limit(u64);
///
/// impl Stored for Limit {
///     fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
///         bytes.extend(self.0.to_le_bytes());
///         EventKind { tag: 1, version: 1 }
///     }
///
///     fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
///         Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
///     }
/// }
///
/// struct Settings;
///
/// enum Command {
///     SetLimit(u64, Reply<()>),
///     Limit(Reply<u64>),
/// }
///
/// impl Keeper for Settings {
///     type Msg = Command;
///     type State = Limit;
///     type Outcome = ();
///
///     fn receive(
///         &self,
///         state: &mut Durable<'_, Limit>,
///         command: Command,
///         _: &mut Decide<'_, '_, Self>,
///     ) {
///         match command {
///             Command::SetLimit(limit, reply) => {
///                 state.0 = limit;
///                 reply.send(());
///             }
///             Command::Limit(reply) => reply.send(state.0),
///         }
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("garrick-keeper-{}", std::process::id()));
/// let system = System::new()?;
/// let (journal, _) = Journal::open(&system.handle(), &folder)?;
/// let settings = system.spawn(journal.entity("settings", Settings)?)?;
/// settings.ask(|reply| Command::SetLimit(7, reply)).wait()?;
/// // Here the limit is on the disk.
/// assert_eq!(settings.ask(Command::Limit).wait()?, 7);
/// # drop(journal);
/// # system.shutdown();
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
pub trait Keeper: Sized + Send + 'static {
    /// The type of the messages.
    type Msg: Send + 'static;

    /// The state, which begins with its default value.
    type State: Stored + Clone + Default + Send + 'static;

    /// The type that [`Keeper::receive`] returns, as for an
    /// [`Actor`](garrick_actor::Actor::Outcome).
    type Outcome: Outcome;

    /// Handles a message. If the turn is undone, the changes to the state are undone too.
    fn receive(
        &self,
        state: &mut Durable<'_, Self::State>,
        msg: Self::Msg,
        cx: &mut Decide<'_, '_, Self>,
    ) -> Self::Outcome;

    /// Converts an effect or a reminder into a message, like [`DurableActor::due`].
    fn due(due: Due) -> Option<Self::Msg> {
        let _ = due;
        None
    }

    /// Converts a letter to another durable actor into a message to this actor, like
    /// [`DurableActor::letter`].
    fn letter(letter: Letter) -> Option<Self::Msg> {
        let _ = letter;
        None
    }

    /// Names of the kinds of messages, as for an [`Actor`](garrick_actor::Actor::MESSAGES).
    const MESSAGES: &'static [&'static str] = &[];

    /// Returns the kind of a message, as for an [`Actor`](garrick_actor::Actor::message_kind).
    fn message_kind(msg: &Self::Msg) -> usize {
        let _ = msg;
        0
    }
}

/// The state of a [`Keeper`] during a turn. The state is stored at the end of the turn if the turn
/// has borrowed the state mutably, or has called [`Durable::set`].
#[derive(Debug)]
pub struct Durable<'a, S> {
    before: &'a S,
    /// The new state of the keeper. `None` if the turn has not changed the state.
    changed: Option<S>,
}

impl<S> Durable<'_, S> {
    /// Replaces the state. Unlike a mutable borrow, this method does not copy the old state first.
    pub fn set(&mut self, state: S) {
        self.changed = Some(state);
    }
}

impl<S> Deref for Durable<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.changed.as_ref().unwrap_or(self.before)
    }
}

impl<S: Clone> DerefMut for Durable<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        self.changed.get_or_insert_with(|| self.before.clone())
    }
}

/// The event of a [`Keeper`]: its new state.
#[derive(Debug)]
pub struct Whole<S>(S);

impl<S: Stored> Stored for Whole<S> {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        self.0.encode(bytes)
    }

    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        S::decode(kind, bytes).map(Self)
    }
}

impl<K: Keeper> DurableActor for K {
    type Msg = K::Msg;
    type State = K::State;
    type Event = Whole<K::State>;
    type Outcome = K::Outcome;

    fn decide(
        &self,
        state: &K::State,
        msg: K::Msg,
        cx: &mut Decide<'_, '_, Self>,
    ) -> Self::Outcome {
        let mut durable = Contained::new(Durable {
            before: state,
            changed: None,
        });
        let outcome = self.receive(&mut durable, msg, cx);
        if let Some(state) = durable.changed.take() {
            cx.record(Whole(state));
        }
        outcome
    }

    fn apply(state: &mut K::State, Whole(new): &Whole<K::State>) {
        *state = new.clone();
    }

    fn apply_own(state: &mut K::State, Whole(new): Whole<K::State>) {
        *state = new;
    }

    // Needed only for turns that change no state, but record effects, reminders or letters.
    fn save(state: &K::State, bytes: &mut Vec<u8>) -> Option<EventKind> {
        Some(state.encode(bytes))
    }

    fn load(kind: EventKind, bytes: &[u8]) -> Result<K::State, BoxError> {
        K::State::decode(kind, bytes)
    }

    fn due(due: Due) -> Option<K::Msg> {
        <K as Keeper>::due(due)
    }

    fn letter(letter: Letter) -> Option<K::Msg> {
        <K as Keeper>::letter(letter)
    }

    const IS_WHOLE: bool = true;

    const MESSAGES: &'static [&'static str] = <K as Keeper>::MESSAGES;

    fn message_kind(msg: &K::Msg) -> usize {
        <K as Keeper>::message_kind(msg)
    }
}
