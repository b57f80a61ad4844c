//! Messages of all sizes, and addresses of their receivers.

use std::mem;
use std::sync::atomic::Ordering::SeqCst;

use garrick_core::random::mix;
use garrick_sched::{Address, Ask, Ended, NoReply, Place, Reply, SendError, Watch};

use crate::asking::{Answer, Owing};
use crate::frame;
use crate::ledger::{self, Kind, NOTHINGS, Token, fate};
use crate::sponsors::Keep;
use crate::watching;
use crate::will::Will;

/// The contents (letter) of every message: 24 bytes, as much as fits into an entry of a run queue.
pub(crate) struct Letter {
    pub(crate) token: Token,
    /// The sender, and the number of this message among the messages of the sender. 0 if the order
    /// of this message is not checked.
    pub(crate) sender: u32,
    pub(crate) number: u64,
    pub(crate) cargo: Option<Box<Cargo>>,
}

const _: () = assert!(mem::size_of::<Letter>() == 24);

/// Optional contents (cargo) of a message.
#[derive(Default)]
pub(crate) struct Cargo {
    pub(crate) peers: Vec<Peer>,
    pub(crate) owing: Option<Owing>,
    pub(crate) answer: Option<Result<Answer, NoReply>>,
    /// A notice: the task that has ended, and the reason.
    pub(crate) notice: Option<(u32, Ended)>,
    pub(crate) place: Option<Held>,
    pub(crate) sponsor: Option<Keep>,
    /// True if the receiver must now answer the questions that it has kept.
    pub(crate) pay: bool,
    pub(crate) will: Will,
}

/// A place in a bounded mailbox, which a message holds.
pub(crate) struct Held {
    _place: Place,
    _token: Token,
}

impl Held {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            _place: place,
            _token: Token::new(Kind::Place),
        }
    }
}

impl Letter {
    pub(crate) fn new(sender: u32, number: u64, cargo: Cargo) -> Self {
        Self {
            token: Token::new(Kind::Message),
            sender,
            number,
            cargo: Some(Box::new(cargo)),
        }
    }

    /// Makes the contents of a message whose order is not checked.
    pub(crate) fn plain(cargo: Cargo) -> Self {
        Self::new(0, 0, cargo)
    }

    /// Makes the contents of a message without optional contents.
    pub(crate) fn bare() -> Self {
        Self {
            token: Token::new(Kind::Message),
            sender: 0,
            number: 0,
            cargo: None,
        }
    }

    /// Makes the contents of a message without a sender.
    pub(crate) fn unsaid(cargo: Cargo, fates: u32) -> Self {
        let letter = Self::plain(cargo);
        ledger::mark(letter.token.id(), fate::NO_LETTER | fates);
        letter
    }
}

/// Bytes that make a message larger. Checks at its end that the bytes have not changed.
pub(crate) struct Padding<const N: usize> {
    id: u32,
    bytes: [u64; N],
}

impl<const N: usize> Padding<N> {
    fn new(id: u32) -> Self {
        Self {
            id,
            bytes: [mix(u64::from(id)); N],
        }
    }
}

impl<const N: usize> Drop for Padding<N> {
    fn drop(&mut self) {
        let expected = mix(u64::from(self.id));
        if self.bytes.iter().any(|word| *word != expected) {
            ledger::wrong(format!("message {:#x} was written over", self.id));
        }
    }
}

/// A message without bytes.
pub(crate) struct Nothing;

impl Nothing {
    fn new() -> Self {
        NOTHINGS.made.fetch_add(1, SeqCst);
        Self
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        NOTHINGS.dropped.fetch_add(1, SeqCst);
    }
}

/// A message of four bytes.
pub(crate) struct Small(Token);

/// A message that is too large for an entry of a run queue.
pub(crate) struct Wide(Letter, #[allow(dead_code)] Padding<3>);

/// A message of more than one kibibyte.
pub(crate) struct Kilo(Letter, #[allow(dead_code)] Padding<128>);

/// A message that is larger than every envelope.
pub(crate) struct Huge(Letter, #[allow(dead_code)] Padding<600>);

/// A message with a larger alignment than every envelope.
#[repr(align(64))]
pub(crate) struct Aligned(Letter, #[allow(dead_code)] Padding<1>);

/// A type of messages (a shape).
pub(crate) trait Shape: Send + Sized + 'static {
    /// True if messages of this type have numbers.
    const COUNTED: bool = true;

    fn pack(letter: Letter) -> Self;

    /// Marks the message as handled, and returns its contents.
    fn open(self) -> Letter;

    /// Returns the number of the message, or 0 if it has none.
    fn id(&self) -> u32;

    fn to(address: Address<Self>) -> To;

    fn of(to: &To) -> Option<&Address<Self>>;

    /// Passes the message to `send`. Returns true if the message was sent.
    fn post(self, send: impl FnOnce(Self) -> Result<(), SendError<Self>>) -> bool {
        let id = self.id();
        ledger::mark(id, fate::SENT);
        frame::stage(id);
        match send(self) {
            Ok(()) => true,
            Err(SendError(back)) => {
                if back.id() != id {
                    ledger::wrong(format!("{:#x} came back for {id:#x}", back.id()));
                }
                ledger::mark(id, fate::GIVEN_BACK);
                drop(back);
                false
            }
        }
    }
}

impl Shape for Nothing {
    const COUNTED: bool = false;

    fn pack(letter: Letter) -> Self {
        drop(letter);
        Self::new()
    }

    fn open(self) -> Letter {
        NOTHINGS.handled.fetch_add(1, SeqCst);
        let letter = Letter::bare();
        ledger::mark(letter.token.id(), fate::HANDLED);
        letter
    }

    fn id(&self) -> u32 {
        0
    }

    fn to(address: Address<Self>) -> To {
        To::Nothing(address)
    }

    fn of(to: &To) -> Option<&Address<Self>> {
        let To::Nothing(address) = to else {
            return None;
        };
        Some(address)
    }

    fn post(self, send: impl FnOnce(Self) -> Result<(), SendError<Self>>) -> bool {
        let sent = send(self).is_ok();
        if sent {
            frame::stage_nothing();
        } else {
            NOTHINGS.given_back.fetch_add(1, SeqCst);
        }
        sent
    }
}

impl Shape for Small {
    fn pack(letter: Letter) -> Self {
        let Letter { token, cargo, .. } = letter;
        // It may panic, and then a return value that exists already would never be dropped.
        drop(cargo);
        Self(token)
    }

    fn open(self) -> Letter {
        ledger::mark(self.0.id(), fate::HANDLED);
        Letter {
            token: self.0,
            sender: 0,
            number: 0,
            cargo: None,
        }
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn to(address: Address<Self>) -> To {
        To::Small(address)
    }

    fn of(to: &To) -> Option<&Address<Self>> {
        let To::Small(address) = to else { return None };
        Some(address)
    }
}

impl Shape for Letter {
    fn pack(letter: Letter) -> Self {
        letter
    }

    fn open(self) -> Letter {
        ledger::mark(self.token.id(), fate::HANDLED);
        self
    }

    fn id(&self) -> u32 {
        self.token.id()
    }

    fn to(address: Address<Self>) -> To {
        To::Letter(address)
    }

    fn of(to: &To) -> Option<&Address<Self>> {
        let To::Letter(address) = to else { return None };
        Some(address)
    }
}

/// Implements a type of messages that consists of the contents and padding.
macro_rules! padded {
    ($($shape:ident)*) => {$(
        impl Shape for $shape {
            fn pack(letter: Letter) -> Self {
                let id = letter.token.id();
                Self(letter, Padding::new(id))
            }

            fn open(self) -> Letter {
                if !(&raw const self).is_aligned() {
                    ledger::wrong("a message is not aligned".to_owned());
                }
                self.0.open()
            }

            fn id(&self) -> u32 {
                self.0.id()
            }

            fn to(address: Address<Self>) -> To {
                To::$shape(address)
            }

            fn of(to: &To) -> Option<&Address<Self>> {
                let To::$shape(address) = to else { return None };
                Some(address)
            }
        }
    )*};
}

padded!(Wide Kilo Huge Aligned);

/// An address of a task or door, for one of the types of messages.
#[derive(Clone)]
pub(crate) enum To {
    Nothing(Address<Nothing>),
    Small(Address<Small>),
    Letter(Address<Letter>),
    Wide(Address<Wide>),
    Kilo(Address<Kilo>),
    Huge(Address<Huge>),
    Aligned(Address<Aligned>),
}

/// Matches an address for any type of messages, and evaluates an expression with this address.
macro_rules! each {
    ($to:expr, $address:ident => $do:expr) => {
        match $to {
            To::Nothing($address) => $do,
            To::Small($address) => $do,
            To::Letter($address) => $do,
            To::Wide($address) => $do,
            To::Kilo($address) => $do,
            To::Huge($address) => $do,
            To::Aligned($address) => $do,
        }
    };
}

/// A possible receiver of messages (a peer): a task or a door.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) to: To,
    /// The number of the task, or of the task behind the door.
    pub(crate) task: u32,
    pub(crate) is_door: bool,
    /// True if the door forwards watches to the task behind it.
    pub(crate) tells: bool,
}

impl Peer {
    pub(crate) fn task<M: Shape>(address: Address<M>, task: u32) -> Self {
        Self {
            to: M::to(address),
            task,
            is_door: false,
            tells: true,
        }
    }

    /// Sends a message with the given contents, of the type that the peer receives.
    pub(crate) fn send(&self, letter: Letter) -> bool {
        each!(&self.to, address => send(address, letter))
    }

    /// Asks the peer. Returns `None` if the message type of the peer has no room for a question.
    pub(crate) fn ask(&self, cargo: Cargo) -> Option<(u32, Ask<Answer>)> {
        let (question, make) = self.question(cargo)?;
        Some((question, each!(&self.to, address => ask(address, make))))
    }

    /// Calls the peer, and waits for the answer. Returns `None` if the message type of the peer has
    /// no room for a question.
    pub(crate) fn call(&self, cargo: Cargo) -> Option<(u32, Result<Answer, NoReply>)> {
        let (question, make) = self.question(cargo)?;
        Some((question, each!(&self.to, address => call(address, make))))
    }

    /// Makes a question, and a function that makes the contents of a message from the question.
    fn question(&self, mut cargo: Cargo) -> Option<(u32, impl FnOnce(Reply<Answer>) -> Letter)> {
        if matches!(self.to, To::Nothing(_) | To::Small(_)) {
            return None;
        }
        let letter = Letter::bare();
        let question = letter.token.id();
        let make = move |reply: Reply<Answer>| {
            cargo.owing = Some(Owing { reply, question });
            Letter {
                cargo: Some(Box::new(cargo)),
                ..letter
            }
        };
        Some((question, make))
    }

    pub(crate) fn watch(&self, will: Will, fails: bool) -> (u32, Watch) {
        each!(&self.to, address => watching::watch(address, self, will, fails))
    }

    pub(crate) fn stop(&self) {
        ledger::mark(self.task, fate::STOPS);
        each!(&self.to, address => address.stop());
    }

    pub(crate) fn is_stopped(&self) -> bool {
        each!(&self.to, address => address.is_stopped())
    }

    /// Calls all functions of the address that have no side effects.
    pub(crate) fn look(&self) {
        each!(&self.to, address => {
            let same = address.clone();
            if same != *address || same.id() != address.id() || address.task_name().is_empty() {
                ledger::wrong("an address is not itself".to_owned());
            }
            address.prefetch_if_idle(64, || ());
        });
    }
}

fn send<M: Shape>(to: &Address<M>, letter: Letter) -> bool {
    M::pack(letter).post(|message| to.send(message))
}

/// Asks a question. If the question cannot be sent, the runtime drops it, so the test does not know
/// if the question is counted as a dead letter.
fn ask<M: Shape>(to: &Address<M>, make: impl FnOnce(Reply<Answer>) -> Letter) -> Ask<Answer> {
    to.ask(|reply| asked(make(reply)))
}

/// Calls a task with a question, and waits for the answer. This thread may run the task itself.
fn call<M: Shape>(
    to: &Address<M>,
    make: impl FnOnce(Reply<Answer>) -> Letter,
) -> Result<Answer, NoReply> {
    to.call(|reply| asked(make(reply))).wait()
}

/// Returns the message that contains a question.
fn asked<M: Shape>(letter: Letter) -> M {
    let message = M::pack(letter);
    ledger::mark(message.id(), fate::SENT | fate::NO_LETTER);
    frame::stage(message.id());
    message
}
