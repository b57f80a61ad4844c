//! Topics: what is published goes to every subscriber.

use std::fmt;

use garrick_sched::{Address, Ask, Reply, SendError, SpawnError};

use super::front::front;
use super::subscribers::Subscribers;
use crate::model::actor::{Actor, Steady};
use crate::model::context::Context;
use crate::system::handle::Handle;

/// Sends what is published to every subscriber: each message once, and those of one publisher in order.
///
/// Subscribing, publishing and unsubscribing are messages to the topic: what one sender does, it does in
/// that order. Nobody is cut off for being slow. A subscriber that has stopped is taken out. A topic keeps its
/// subscribers alive. A message whose clone panics goes to nobody; that is reported, and the topic goes on.
///
/// An actor that receives something else than `M` subscribes through [`contramap`](crate::Contramap), as below.
///
/// # Examples
/// ```
/// use garrick_actor::naming::Topic;
/// use garrick_actor::{Actor, Context, Contramap, Local, Reply};
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
/// topic.subscribe(&local.spawn(reader.contramap(Msg::News)))?;
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

/// What a topic receives.
pub enum TopicMsg<M> {
    /// Sends this to every subscriber.
    Publish(M),
    /// Takes a subscriber in, unless it is one already.
    Subscribe(Address<M>),
    /// Takes a subscriber out.
    Unsubscribe(Address<M>),
    /// Tells how many subscribers there are.
    Count(Reply<usize>),
}

impl<M: Clone + Send + 'static> Topic<M> {
    /// Makes a topic.
    ///
    /// # Errors
    /// If the system is ending.
    pub fn spawn(on: &Handle) -> Result<Self, SpawnError<()>> {
        let subscribers = Subscribers::new();
        match on.spawn_task(Steady(TopicActor { subscribers })) {
            Ok(address) => Ok(Self { address }),
            Err(_) => Err(SpawnError(())),
        }
    }

    /// Sends `message` to every subscriber.
    ///
    /// # Errors
    /// Gives the message back if the topic is known to have stopped.
    pub fn publish(&self, message: M) -> Result<(), SendError<M>> {
        let sent = self.address.send(TopicMsg::Publish(message));
        sent.map_err(|SendError(back)| SendError(back.into_message()))
    }

    /// Lets `address` get what is published from now on; it need not be told twice.
    ///
    /// # Errors
    /// If the topic is known to have stopped.
    pub fn subscribe(&self, address: &Address<M>) -> Result<(), SendError<()>> {
        self.send(TopicMsg::Subscribe(address.clone()))
    }

    /// What is published from now on does not go to `address`.
    ///
    /// # Errors
    /// If the topic is known to have stopped.
    pub fn unsubscribe(&self, address: &Address<M>) -> Result<(), SendError<()>> {
        self.send(TopicMsg::Unsubscribe(address.clone()))
    }

    /// How many subscribers there are.
    pub fn subscribers(&self) -> Ask<usize> {
        self.address.ask(TopicMsg::Count)
    }

    /// An address that publishes what it is sent, for those who must not know that there is a topic.
    #[must_use]
    pub fn publisher(&self) -> Address<M> {
        front(&self.address, TopicMsg::Publish, TopicMsg::into_message)
    }

    /// The topic as an actor among others.
    #[must_use]
    pub fn address(&self) -> &Address<TopicMsg<M>> {
        &self.address
    }

    fn send(&self, msg: TopicMsg<M>) -> Result<(), SendError<()>> {
        self.address.send(msg).map_err(|_| SendError(()))
    }
}

impl<M> TopicMsg<M> {
    /// What is published, of what came back.
    fn into_message(self) -> M {
        match self {
            Self::Publish(message) => message,
            _ => unreachable!("what comes back is what was sent"),
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
