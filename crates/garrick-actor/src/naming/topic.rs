//! Topics, which send each published message to all subscribers.

use std::fmt;

use garrick_sched::{Address, Ask, Reply, SendError, SpawnError};

use super::front::front;
use super::subscribers::Subscribers;
use crate::model::actor::{Actor, Steady};
use crate::model::context::Context;
use crate::system::handle::Handle;

/// A topic, which sends each published message once to each of its subscribers. The messages of one
/// publisher arrive in order.
///
/// Each call that subscribes, publishes or unsubscribes sends a message to the topic's actor. So
/// the operations of one sender take effect in order. A topic keeps its subscribers alive. When a
/// subscriber has stopped, the topic removes it. A slow subscriber is not removed. A subscriber
/// with a bounded mailbox can miss messages while the mailbox is full. If the `Clone`
/// implementation of a message panics, no subscriber receives the message. The panic is reported,
/// and the topic continues.
///
/// An actor with a message type other than `M` can subscribe through
/// [`contramap`](Address::contramap), as in the example.
///
/// # Examples
/// ```
/// use garrick_actor::naming::Topic;
/// use garrick_actor::{Actor, Context, Local, Reply};
///
/// #[derive(Default)]
/// struct Reader(Vec<String>);
///
/// enum Msg {
///     News(String),
///     Read(Reply<Vec<String>>),
/// }
///
/// impl Actor for Reader {
///     type Msg = Msg;
///     type Outcome = ();
///
///     fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) {
///         match msg {
///             Msg::News(news) => self.0.push(news),
///             Msg::Read(reply) => reply.send(self.0.clone()),
///         }
///     }
/// }
///
/// let local = Local::new()?;
/// let reader = local.spawn(Reader::default());
/// let topic = Topic::spawn(&local.handle())?;
/// topic.subscribe(&reader.contramap(Msg::News))?;
/// topic.publish("rain".to_owned())?;
/// topic.publish("sun".to_owned())?;
/// local.run();
/// let read = reader.ask(Msg::Read);
/// local.run();
/// assert_eq!(read.wait()?, ["rain", "sun"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Topic<M> {
    address: Address<TopicMsg<M>>,
}

/// A message to a topic.
pub enum TopicMsg<M> {
    /// Sends this message to all subscribers.
    Publish(M),
    /// Adds a subscriber. Has no effect if the address is subscribed already.
    Subscribe(Address<M>),
    /// Removes a subscriber.
    Unsubscribe(Address<M>),
    /// Requests the number of subscribers that have not stopped.
    Count(Reply<usize>),
}

impl<M: Clone + Send + 'static> Topic<M> {
    /// Creates a topic on the system `on`.
    ///
    /// # Errors
    /// Fails if the system is shutting down.
    pub fn spawn(on: &Handle) -> Result<Self, SpawnError<()>> {
        let subscribers = Subscribers::new();
        match on.spawn_task(Steady(TopicActor { subscribers })) {
            Ok(address) => Ok(Self { address }),
            Err(_) => Err(SpawnError(())),
        }
    }

    /// Sends `message` to all subscribers.
    ///
    /// # Errors
    /// Returns the message if the topic is known to have stopped.
    pub fn publish(&self, message: M) -> Result<(), SendError<M>> {
        let sent = self.address.send(TopicMsg::Publish(message));
        sent.map_err(|SendError(back)| SendError(back.into_message()))
    }

    /// Subscribes `address` to all messages that are published after this call. Has no effect if
    /// `address` is already subscribed.
    ///
    /// # Errors
    /// Fails if the topic is known to have stopped.
    pub fn subscribe(&self, address: &Address<M>) -> Result<(), SendError<()>> {
        self.send(TopicMsg::Subscribe(address.clone()))
    }

    /// Unsubscribes `address` from messages that are published after this call.
    ///
    /// # Errors
    /// Fails if the topic is known to have stopped.
    pub fn unsubscribe(&self, address: &Address<M>) -> Result<(), SendError<()>> {
        self.send(TopicMsg::Unsubscribe(address.clone()))
    }

    /// Asks for the number of subscribers that have not stopped.
    pub fn subscribers(&self) -> Ask<usize> {
        self.address.ask(TopicMsg::Count)
    }

    /// Returns an address that publishes each message sent to it. Use this address for senders that
    /// should not depend on the type [`Topic`].
    #[must_use]
    pub fn publisher(&self) -> Address<M> {
        front(&self.address, TopicMsg::Publish, TopicMsg::into_message)
    }

    /// Returns the address of the topic's actor, which accepts every [`TopicMsg`].
    #[must_use]
    pub fn address(&self) -> &Address<TopicMsg<M>> {
        &self.address
    }

    fn send(&self, msg: TopicMsg<M>) -> Result<(), SendError<()>> {
        self.address.send(msg).map_err(|_| SendError(()))
    }
}

impl<M> TopicMsg<M> {
    /// Returns the message of a `Publish` that could not be sent.
    fn into_message(self) -> M {
        match self {
            Self::Publish(message) => message,
            _ => unreachable!("the returned message is the message that was sent"),
        }
    }
}

struct TopicActor<M> {
    subscribers: Subscribers<M>,
}

impl<M: Clone + 'static> Actor for TopicActor<M> {
    type Msg = TopicMsg<M>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: TopicMsg<M>, _: &mut Context<'_, TopicMsg<M>>) {
        match msg {
            TopicMsg::Publish(message) => self.subscribers.publish(message),
            TopicMsg::Subscribe(address) => {
                self.subscribers.add(address);
            }
            TopicMsg::Unsubscribe(address) => self.subscribers.remove(&address),
            TopicMsg::Count(reply) => reply.send(self.subscribers.count()),
        }
    }
}

impl<M> Clone for Topic<M> {
    fn clone(&self) -> Self {
        let address = self.address.clone();
        Self { address }
    }
}

impl<M> fmt::Debug for Topic<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Topic").field(&self.address).finish()
    }
}

impl<M> fmt::Debug for TopicMsg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Publish(_) => "Publish(..)",
            Self::Subscribe(_) => "Subscribe(..)",
            Self::Unsubscribe(_) => "Unsubscribe(..)",
            Self::Count(_) => "Count(..)",
        })
    }
}
