//! A topic for dead letters.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;

use garrick_sched::{Address, SendError, SpawnError};

use super::subscribers::Subscribers;
use crate::model::actor::{Actor, Steady};
use crate::model::context::Context;
use crate::system::handle::Handle;

/// A topic that publishes reports of messages that could not be delivered.
///
/// Code that cannot deliver a message calls [`DeadLetters::post`]. A router does this if it has
/// been configured with
/// [`Router::post_dead_letters_to`](crate::route::Router::post_dead_letters_to). When an actor
/// stops, the messages in its mailbox are not posted individually. The system only counts them, and
/// [`DeadLetters::collect`] publishes the count.
///
/// # Examples
/// ```
/// use garrick_actor::naming::{DeadLetter, DeadLetters};
/// use garrick_actor::{Actor, Context, Local};
///
/// struct Clerk;
///
/// impl Actor for Clerk {
///     type Msg = DeadLetter;
///     type Outcome = ();
///
///     fn receive(&mut self, letter: DeadLetter, _: &mut Context<'_, DeadLetter>) {
///         assert_eq!(letter.to_string(), "1 dead letter (u32) for the till");
///     }
/// }
///
/// let local = Local::new()?;
/// let dead_letters = DeadLetters::spawn(&local.handle())?;
/// dead_letters.subscribe(&local.spawn(Clerk))?;
/// dead_letters.post(DeadLetter::of::<u32>("the till"))?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeadLetters {
    address: Address<Msg>,
}

/// A report of messages that were not handled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Type name of the messages, if it is known.
    pub message: Option<&'static str>,
    /// Name of the receiver. In a report of [`DeadLetters::collect`], the name of the system.
    pub receiver: String,
    /// Number of messages that were not handled.
    pub count: u64,
}

impl DeadLetter {
    /// Creates a report of one message of type `M` that could not be delivered to `receiver`.
    #[must_use]
    pub fn of<M>(receiver: impl Into<String>) -> Self {
        Self {
            message: Some(type_name::<M>()),
            receiver: receiver.into(),
            count: 1,
        }
    }
}

enum Msg {
    Post(DeadLetter),
    /// Name of a system, and its number of dead letters so far.
    Counted(String, u64),
    Subscribe(Address<DeadLetter>),
    Unsubscribe(Address<DeadLetter>),
}

impl DeadLetters {
    /// Creates a topic for dead letters on the system `on`.
    ///
    /// # Errors
    /// Fails if the system is shutting down.
    pub fn spawn(on: &Handle) -> Result<Self, SpawnError<()>> {
        let actor = DeadLettersActor {
            subscribers: Subscribers::new(),
            counted: BTreeMap::new(),
        };
        match on.spawn_task(Steady(actor)) {
            Ok(address) => Ok(Self { address }),
            Err(_) => Err(SpawnError(())),
        }
    }

    /// Sends the report `letter` about dead letters to all subscribers.
    ///
    /// # Errors
    /// Fails if the topic is known to have stopped.
    pub fn post(&self, letter: DeadLetter) -> Result<(), SendError<()>> {
        self.send(Msg::Post(letter))
    }

    /// Publishes how many dead letters the system `from` has counted since the last call for this
    /// system. Publishes nothing if this number is 0. Systems are distinguished by their names.
    ///
    /// # Errors
    /// Fails if the topic is known to have stopped.
    pub fn collect(&self, from: &Handle) -> Result<(), SendError<()>> {
        self.send(Msg::Counted(from.name().to_owned(), from.dead_letters()))
    }

    /// Subscribes `address` to all dead letters that are published after this call. Has no effect
    /// if `address` is already subscribed.
    ///
    /// # Errors
    /// Fails if the topic is known to have stopped.
    pub fn subscribe(&self, address: &Address<DeadLetter>) -> Result<(), SendError<()>> {
        self.send(Msg::Subscribe(address.clone()))
    }

    /// Unsubscribes `address`, which then receives no dead letters that are published after this
    /// call.
    ///
    /// # Errors
    /// Fails if the topic is known to have stopped.
    pub fn unsubscribe(&self, address: &Address<DeadLetter>) -> Result<(), SendError<()>> {
        self.send(Msg::Unsubscribe(address.clone()))
    }

    fn send(&self, msg: Msg) -> Result<(), SendError<()>> {
        self.address.send(msg).map_err(|_| SendError(()))
    }
}

struct DeadLettersActor {
    subscribers: Subscribers<DeadLetter>,
    /// Number of dead letters that each system had counted when [`DeadLetters::collect`] was last
    /// called.
    counted: BTreeMap<String, u64>,
}

impl DeadLettersActor {
    fn count(&mut self, receiver: String, total: u64) {
        let counted = self.counted.entry(receiver.clone()).or_default();
        // Counts may arrive in another order than they were taken. No dead letter must be counted
        // twice.
        let count = total.saturating_sub(*counted);
        *counted += count;
        if count > 0 {
            self.subscribers.publish(DeadLetter {
                message: None,
                receiver,
                count,
            });
        }
    }
}

impl Actor for DeadLettersActor {
    type Msg = Msg;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) {
        match msg {
            Msg::Post(letter) => self.subscribers.publish(letter),
            Msg::Counted(system, total) => self.count(system, total),
            Msg::Subscribe(address) => {
                self.subscribers.add(address);
            }
            Msg::Unsubscribe(address) => self.subscribers.remove(&address),
        }
    }
}

impl fmt::Display for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} dead letter{plural}", self.count)?;
        if let Some(message) = self.message {
            write!(f, " ({message})")?;
        }
        write!(f, " for {}", self.receiver)
    }
}

impl fmt::Debug for DeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetters").finish_non_exhaustive()
    }
}
