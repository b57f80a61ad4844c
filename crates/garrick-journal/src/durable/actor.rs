//! The trait of durable actors, and the context of their decisions.

use std::any::type_name;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, SystemTime};

use garrick_actor::{Context, Outcome};
use garrick_core::quiet::Contained;

use super::duties::{Change, Due, Duties, KEY_BYTES_MAX, nanos_of};
use super::letters::{Letter, Taken};
use super::stored::{BoxError, Stored};
use crate::event::EventKind;

/// Implemented by actors whose state survives the end of the process.
///
/// The state is the result of events. When the actor handles a message, it *decides*: it records
/// events, and requests effects such as answers. The events are then *applied* to the state. After
/// a restart of the actor or of the process, the events are read and applied again, and no decision
/// is repeated.
///
/// A turn commits when its events are durable, that is, when they are safely on the disk. So no
/// other actor, asker or socket ever sees an effect of a turn that could still be lost. Until its
/// events are durable, the actor handles no other message, and its worker runs other actors. If the
/// events cannot be written, the turn is undone and the actor fails.
///
/// A turn that records no event commits at once, because the state that the turn reads is always
/// durable.
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
    type Msg: Send + 'static;

    /// The state, which begins with its default value.
    type State: Default + Send + 'static;

    /// The type of the events.
    type Event: Stored + Send + 'static;

    /// The type that [`DurableActor::decide`] returns, as for an
    /// [`Actor`](garrick_actor::Actor::Outcome).
    type Outcome: Outcome;

    /// Handles a message: records events and requests effects. Called exactly once for each
    /// message, and not when events are read from the log. Only this method may cause effects, or
    /// use the time or random numbers.
    fn decide(
        &self,
        state: &Self::State,
        msg: Self::Msg,
        cx: &mut Decide<'_, '_, Self>,
    ) -> Self::Outcome;

    /// Applies an event to the state. Called after a decision, and for each event that is read from
    /// the log. The result must depend only on the arguments.
    ///
    /// If this function panics after a decision, nothing is recorded. If it panics for an event
    /// from the log, the actor does not start.
    fn apply(state: &mut Self::State, event: &Self::Event);

    /// Number of events after which the state is saved, so that the actor reads fewer events when
    /// it starts. The default is 1,000. Used only if [`DurableActor::save`] is implemented.
    const SAVE_EVERY: u64 = 1_000;

    /// Appends the encoding of the state to `bytes`, and returns its kind. Returns `None` if the
    /// state is not saved, which is the default. If this function panics, the state is not saved,
    /// and a notice is added.
    fn save(state: &Self::State, bytes: &mut Vec<u8>) -> Option<EventKind> {
        let _ = (state, bytes);
        None
    }

    /// Decodes a state that was saved by [`DurableActor::save`], in any version.
    ///
    /// # Errors
    /// Returns an error if the kind is unknown, or if the bytes are not an encoding of that kind.
    /// The older saved state is then used, with the events after it. If that state cannot be
    /// decoded either, the state is computed from the events, if all of them are still in the log,
    /// or if the oldest one contains the whole state.
    fn load(kind: EventKind, bytes: &[u8]) -> Result<Self::State, BoxError> {
        let _ = (kind, bytes);
        Err("this actor saves no state".into())
    }

    /// Converts a due effect or reminder into a message, which the actor then receives.
    /// [`Decide::once`] requests effects, and [`Decide::remind`] sets reminders. If this method
    /// returns `None`, which is the default, the actor fails. The attribute `#[garrick::durable]`
    /// generates this method from the function marked `#[durable(due)]`.
    fn due(due: Due) -> Option<Self::Msg> {
        let _ = due;
        None
    }

    /// Converts a letter (to another durable actor) into a message to this actor itself. When this
    /// actor handles the message, it sends the content to the receiver of the letter.
    /// [`Decide::post`] records letters. If this method returns `None`, which is the default, the
    /// actor fails. The attribute `#[garrick::durable]` generates this method from the function
    /// marked `#[durable(letter)]`.
    fn letter(letter: Letter) -> Option<Self::Msg> {
        let _ = letter;
        None
    }

    /// True if each event contains the whole state, so that older events are not needed.
    #[doc(hidden)]
    const IS_WHOLE: bool = false;

    /// Applies an event that a decision has just recorded.
    #[doc(hidden)]
    fn apply_own(state: &mut Self::State, event: Self::Event) {
        Self::apply(state, &Contained::new(event));
    }

    /// Returns the name of the actor's type for reports, as for an
    /// [`Actor`](garrick_actor::Actor::name).
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

/// The context of a durable actor while it handles a message. Dereferences to the [`Context`] of
/// the turn.
///
/// Everything that the turn requests, such as messages, answers and new actors, takes place when
/// the events of the turn are durable.
pub struct Decide<'a, 'b, A: DurableActor> {
    cx: &'a mut Context<'b, A::Msg>,
    recorded: &'a mut Vec<Recorded<A::Event>>,
    duties: &'a Duties,
    /// Name of the journal.
    name: &'a str,
}

/// An event or a request that a turn has recorded.
pub(super) enum Recorded<E> {
    Event(E),
    Change(Change),
}

impl<'a, 'b, A: DurableActor> Decide<'a, 'b, A> {
    pub(super) fn new(
        cx: &'a mut Context<'b, A::Msg>,
        recorded: &'a mut Vec<Recorded<A::Event>>,
        duties: &'a Duties,
        name: &'a str,
    ) -> Self {
        Self {
            cx,
            recorded,
            duties,
            name,
        }
    }

    /// Records an event. The event is applied to the state after the decision. If the turn is
    /// undone, the event is discarded.
    pub fn record(&mut self, event: A::Event) {
        self.recorded.push(Recorded::Event(event));
    }

    /// Requests an effect outside of the process, such as an e-mail or a call to a service. Does
    /// nothing and returns false if there already is an unfinished effect or reminder with this
    /// key.
    ///
    /// When the turn is durable, the actor receives the message that [`DurableActor::due`] returns
    /// for the key. The actor receives the message again after each start, until a turn that calls
    /// [`Decide::complete`] or [`Decide::done`] is durable. So the effect takes place at least
    /// once. The service can recognize repetitions by [`Due::number`].
    ///
    /// # Panics
    /// Panics if the key has more than 255 bytes.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Address, Reply};
    /// use garrick_journal::{Decide, Due, DurableActor};
    /// # use garrick_journal::{BoxError, EventKind, Stored};
    /// # struct Paid;
    /// # impl Stored for Paid {
    /// #     fn encode(&self, _: &mut Vec<u8>) -> EventKind { EventKind::default() }
    /// #     fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> { Ok(Self) }
    /// # }
    ///
    /// struct Order {
    ///     mailer: Address<(u64, Address<Command>)>,
    /// }
    ///
    /// enum Command {
    ///     Pay,
    ///     SendReceipt(Due),
    ///     /// Sent by the mailer when the receipt was accepted by the mail server.
    ///     ReceiptSent,
    /// }
    ///
    /// impl DurableActor for Order {
    ///     type Msg = Command;
    ///     type State = bool;
    ///     type Event = Paid;
    ///     type Outcome = ();
    ///
    ///     fn decide(&self, is_paid: &bool, command: Command, cx: &mut Decide<'_, '_, Self>) {
    ///         match command {
    ///             Command::Pay if !is_paid => {
    ///                 cx.record(Paid);
    ///                 cx.once("receipt");
    ///             }
    ///             Command::Pay => {}
    ///             Command::SendReceipt(due) => {
    ///                 let _ = cx.send(&self.mailer, (due.number, cx.address()));
    ///             }
    ///             Command::ReceiptSent => {
    ///                 cx.done("receipt");
    ///             }
    ///         }
    ///     }
    ///
    ///     fn apply(is_paid: &mut bool, _: &Paid) {
    ///         *is_paid = true;
    ///     }
    ///
    ///     fn due(due: Due) -> Option<Command> {
    ///         (due.key == "receipt").then_some(Command::SendReceipt(due))
    ///     }
    /// }
    /// ```
    #[track_caller]
    pub fn once(&mut self, key: impl Into<String>) -> bool {
        let key = key.into();
        check_key(&key);
        let is_new = !self.is_pending(&key);
        if is_new {
            self.recorded.push(Recorded::Change(Change::Once(key)));
        }
        is_new
    }

    /// Sets a reminder. At the time `at`, the actor receives the message that [`DurableActor::due`]
    /// returns for the key. If the actor is not running at that time, it receives the message after
    /// its next start. Overdue reminders arrive in the order of their times.
    ///
    /// The actor receives the message again after each start, until a turn that calls
    /// [`Decide::complete`] is durable. Call `complete` in the turn that handles the message: then
    /// the effects of that turn take place exactly once. The reminder replaces an effect or a
    /// reminder with the same key.
    ///
    /// Times are measured by the clock of [`Context::date`]. If this clock is changed, reminders
    /// are early or late.
    ///
    /// # Panics
    /// Panics if the key has more than 255 bytes.
    #[track_caller]
    pub fn remind(&mut self, key: impl Into<String>, at: SystemTime) {
        let key = key.into();
        check_key(&key);
        let change = Change::Remind(key, nanos_of(at));
        self.recorded.push(Recorded::Change(change));
    }

    /// Sets a reminder like [`Decide::remind`], for the time `delay` from now.
    ///
    /// # Panics
    /// Panics if the key has more than 255 bytes, or if the time cannot be represented.
    #[track_caller]
    pub fn remind_after(&mut self, key: impl Into<String>, delay: Duration) {
        self.remind(key, self.cx.date() + delay);
    }

    /// Records that the effect or reminder of a message is done. Does nothing and returns false if
    /// the effect or reminder is already done, or if an effect or reminder with the same key was
    /// requested after the message was sent. In this case, the actor should ignore the message.
    pub fn complete(&mut self, due: &Due) -> bool {
        let is_changed = |recorded: &Recorded<A::Event>| match recorded {
            Recorded::Change(change) => change.key() == Some(&due.key),
            Recorded::Event(_) => false,
        };
        let is_current = self.duties.has(due) && !self.recorded.iter().any(is_changed);
        is_current && self.done(&due.key)
    }

    /// Cancels an effect or a reminder, or records that it is done. Does nothing and returns false
    /// if no effect or reminder has this key. A message that was already sent for the key still
    /// arrives. For such a message, [`Decide::complete`] returns false.
    pub fn done(&mut self, key: &str) -> bool {
        let is_pending = self.is_pending(key);
        if is_pending {
            let change = Change::Done(key.to_owned());
            self.recorded.push(Recorded::Change(change));
        }
        is_pending
    }

    /// Records a letter to another durable actor. The letter is sent when the turn is durable, and
    /// takes effect at the receiver exactly once, even if messages are lost or actors are
    /// restarted.
    ///
    /// When the turn is durable, this actor receives the message that [`DurableActor::letter`]
    /// returns, and sends the content to the receiver, together with [`Letter::from`] and
    /// [`Letter::number`]. This actor receives the message again after each start, until a turn
    /// that calls [`Decide::delivered`] is durable. If no answer comes, call
    /// [`Decide::deliver_again`]. Letters to the same receiver are sent one at a time, in the order
    /// in which they were recorded. The receiver handles the content with [`Decide::once_from`].
    ///
    /// # Panics
    /// Panics if the name of the receiver has more than 255 bytes.
    ///
    /// # Examples
    /// An account pays to others, which may be on other nodes:
    /// ```
    /// use std::time::Duration;
    ///
    /// use garrick_actor::{Address, NoReply, Reply};
    /// use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Letter, Stored};
    ///
    /// struct Account {
    ///     find: fn(&str) -> Address<Order>,
    /// }
    ///
    /// enum Order {
    ///     Pay { to: String, cents: u64, reply: Reply<()> },
    ///     /// A letter is to be sent.
    ///     Deliver(Letter),
    ///     /// The answer to the letter with this number.
    ///     Delivered(u64, Result<(), NoReply>),
    ///     /// The content of a letter.
    ///     Receive { from: String, number: u64, cents: u64, reply: Reply<()> },
    /// }
    ///
    /// /// The balance has changed.
    /// struct Changed(i64);
    /// # impl Stored for Changed {
    /// #     fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
    /// #         bytes.extend(self.0.to_le_bytes());
    /// #         EventKind { tag: 1, version: 1 }
    /// #     }
    /// #     fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
    /// #         Ok(Self(i64::from_le_bytes(bytes.try_into()?)))
    /// #     }
    /// # }
    ///
    /// impl DurableActor for Account {
    ///     type Msg = Order;
    ///     type State = i64;
    ///     type Event = Changed;
    ///     type Outcome = ();
    ///
    ///     fn decide(&self, _: &i64, order: Order, cx: &mut Decide<'_, '_, Self>) {
    ///         match order {
    ///             Order::Pay { to, cents, reply } => {
    ///                 cx.record(Changed(-(cents as i64)));
    ///                 cx.post(to, cents.to_le_bytes());
    ///                 reply.send(());
    ///             }
    ///             Order::Deliver(letter) => {
    ///                 let cents = u64::from_le_bytes(letter.body[..].try_into().unwrap());
    ///                 let (from, number) = (letter.from.clone(), letter.number);
    ///                 let receive = move |reply| Order::Receive { from, number, cents, reply };
    ///                 let to = (self.find)(&letter.to);
    ///                 cx.ask(&to, receive, move |got| Order::Delivered(number, got));
    ///             }
    ///             Order::Delivered(number, Ok(())) => {
    ///                 cx.delivered(number);
    ///             }
    ///             Order::Delivered(number, Err(_)) => {
    ///                 cx.deliver_again(number, Duration::from_secs(1));
    ///             }
    ///             Order::Receive { from, number, cents, reply } => {
    ///                 let receive = |cx: &mut Decide<'_, '_, Self>| cx.record(Changed(cents as i64));
    ///                 if let Some(done) = cx.once_from(&from, number, receive) {
    ///                     reply.send(done);
    ///                 }
    ///             }
    ///         }
    ///     }
    ///
    ///     fn apply(balance: &mut i64, Changed(cents): &Changed) {
    ///         *balance += cents;
    ///     }
    ///
    ///     fn letter(letter: Letter) -> Option<Order> {
    ///         Some(Order::Deliver(letter))
    ///     }
    /// }
    /// ```
    #[track_caller]
    pub fn post(&mut self, to: impl Into<String>, body: impl Into<Vec<u8>>) {
        let (to, body) = (to.into(), body.into());
        check_key(&to);
        let change = Change::Post(to, body);
        self.recorded.push(Recorded::Change(change));
    }

    /// Records that the receiver of the [`Letter`] with this number has confirmed it. The next
    /// letter to this receiver is then sent. Does nothing and returns false if the letter was
    /// already confirmed.
    pub fn delivered(&mut self, number: u64) -> bool {
        let is_it = |recorded: &Recorded<A::Event>| match recorded {
            Recorded::Change(Change::Delivered(_, known)) => *known == number,
            _ => false,
        };
        let letter = self.duties.letters().under_way(self.name, number);
        let letter = letter.filter(|_| !self.recorded.iter().any(is_it));
        let is_new = letter.is_some();
        let delivered = letter.map(|letter| Change::Delivered(letter.to, number));
        self.recorded.extend(delivered.map(Recorded::Change));
        is_new
    }

    /// Delivers the message for the [`Letter`] with this number to this actor again, after the time
    /// `after`. Call this if the receiver has not answered. Does nothing and returns false if the
    /// letter was already confirmed, or waits behind an earlier letter to the same receiver.
    pub fn deliver_again(&mut self, number: u64, after: Duration) -> bool {
        let letter = self.duties.letters().under_way(self.name, number);
        let Some(msg) = letter.and_then(A::letter) else {
            return false;
        };
        let me = self.cx.address();
        self.cx.send_after(after, &me, msg).is_ok()
    }

    /// Handles the content of a letter from another durable actor exactly once. `from` and `number`
    /// are fields of the [`Letter`]. If the letter is new, calls `decide`, and records the answer
    /// of `decide` together with the events of the turn. If the letter was handled before, returns
    /// the recorded answer.
    ///
    /// Returns `None` if a later letter of the same sender was already handled. In this case, the
    /// sender already knows the answer.
    ///
    /// The last answer to each sender is a part of the saved state.
    ///
    /// # Panics
    /// Panics if the name of the sender has more than 255 bytes, or if the recorded answer cannot
    /// be decoded.
    #[track_caller]
    pub fn once_from<R: Stored>(
        &mut self,
        from: &str,
        number: u64,
        decide: impl FnOnce(&mut Self) -> R,
    ) -> Option<R> {
        check_key(from);
        let of_sender = |recorded: &Recorded<A::Event>| match recorded {
            Recorded::Change(Change::Took(sender, taken)) if sender == from => Some(taken.clone()),
            _ => None,
        };
        let now = self.recorded.iter().rev().find_map(of_sender);
        let last = now.or_else(|| self.duties.letters().last(from).cloned());
        if let Some(last) = last.filter(|last| last.number >= number) {
            let answer = || match R::decode(last.kind, &last.answer) {
                Ok(answer) => answer,
                Err(why) => panic!("the answer to the letter {number} of {from}: {why}"),
            };
            return (last.number == number).then(answer);
        }
        let answer = decide(self);
        let mut bytes = Vec::new();
        let kind = answer.encode(&mut bytes);
        let taken = Taken {
            number,
            kind,
            answer: bytes,
        };
        let change = Change::Took(from.to_owned(), taken);
        self.recorded.push(Recorded::Change(change));
        Some(answer)
    }

    /// Returns true if there is an unfinished effect or reminder with this key.
    #[must_use]
    pub fn is_pending(&self, key: &str) -> bool {
        let of_key = |recorded: &Recorded<A::Event>| match recorded {
            Recorded::Change(change) if change.key() == Some(key) => {
                Some(!matches!(change, Change::Done(_)))
            }
            _ => None,
        };
        let changed = self.recorded.iter().rev().find_map(of_key);
        changed.unwrap_or_else(|| self.duties.contains(key))
    }
}

#[track_caller]
fn check_key(key: &str) {
    let bytes = key.len();
    assert!(
        bytes <= KEY_BYTES_MAX,
        "a key may have at most {KEY_BYTES_MAX} bytes, not {bytes}"
    );
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
            .field("recorded", &self.recorded.len())
            .finish_non_exhaustive()
    }
}
