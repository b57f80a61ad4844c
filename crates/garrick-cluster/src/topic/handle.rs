//! The handle with which a program publishes messages and subscribes to them.

use std::fmt;
use std::sync::Arc;

use garrick_actor::ask::Request;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Address, Internal, SendError};
use garrick_wire::Wire;

use super::agent::Agent;
use super::clerk::Clerk;
use super::message::{ToAgent, ToClerk, ToTopic};
use super::shared::{Shared, TopicSample};
use crate::directory::{Directory, ServiceError, ServiceKey, ToDirectory};
use crate::entities::{Entities, NotKept};
use crate::line::{Carrier, Travels};
use crate::name::NodeName;
use crate::node::Node;

/// Maximum number of waiting messages of a topic on a node.
const WAITING_MAX: usize = 16_384;

/// Maximum number of topics that a node uses.
const TOPICS_MAX: usize = 1_024;

/// A topic, which sends each published message once to each of its subscribers, on all nodes.
/// Clones are handles to the same topic.
///
/// A message is sent once to each node with subscribers. The receiving node copies the message for
/// each of its subscribers. A subscriber gets the messages of one publisher in the order of their
/// publication. Messages can be lost with the connection or with a node. [`Topic::sample`] returns
/// the number of lost messages.
///
/// A topic keeps the subscribers of its own node alive until they unsubscribe. Stopped subscribers
/// are removed.
///
/// # Examples
/// ```
/// use garrick_actor::{Actor, Context, System};
/// use garrick_cluster::placement::LocalPlacement;
/// use garrick_cluster::{Entities, LocalNet, Node, Topic, Wire};
///
/// #[derive(Wire, Clone)]
/// #[wire(name = "weather.News")]
/// struct News(String);
///
/// struct Reader;
///
/// impl Actor for Reader {
///     type Msg = News;
///     type Outcome = ();
///
///     fn receive(&mut self, News(news): News, _: &mut Context<'_, News>) {
///         println!("{news}");
///     }
/// }
///
/// let system = System::new()?;
/// let placement = LocalPlacement::new(&system.handle())?;
/// let node = Node::join(&system.handle(), LocalNet::new(), "example", "node-1")?;
/// let entities = Entities::start(&node, placement)?;
///
/// let weather: Topic<News> = entities.topic("weather")?;
/// weather.subscribe(&system.spawn(Reader)?).wait()?;
/// weather.publish(News("rain".into()))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Topic<M: 'static> {
    agent: Address<ToAgent<M>>,
    clerk: Address<ToClerk<M>>,
    shared: Arc<Shared<M>>,
}

/// Reason why a topic cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopicError {
    /// The name is not allowed.
    Name {
        /// The name that is not allowed.
        name: String,
    },
    /// This node already uses 1,024 topics.
    Topics,
    /// The system of this node is shutting down.
    Closed,
}

impl Entities {
    /// Returns the topic with a name and a type of messages. The same name and type lead to the
    /// same topic on all nodes.
    ///
    /// # Errors
    /// Returns [`TopicError::Name`] if the name is not allowed (1 to 64 ASCII letters, digits, `-`
    /// and `_`). Returns [`TopicError::Topics`] if this node already uses 1,024 topics, and
    /// [`TopicError::Closed`] if the system of this node is shutting down.
    pub fn topic<M: Travels + Clone>(&self, name: &str) -> Result<Topic<M>, TopicError> {
        if !NodeName::is_allowed(name) {
            return Err(TopicError::Name { name: name.into() });
        }
        let directory = Directory::of(self).map_err(|_| TopicError::Closed)?;
        // A topic that was used first in a turn that was undone has ended before the node left.
        let placer = self.placer();
        let runs = |topic: &Topic<M>| !topic.clerk.is_stopped() || placer.is_stopped();
        let start = || Topic::start(self.node(), name, directory);
        let kept = self.kept(name, TOPICS_MAX + 1, runs, start);
        kept.map_err(|why| match why {
            NotKept::Many => TopicError::Topics,
            NotKept::Closed => TopicError::Closed,
        })
    }
}

impl<M: Travels + Clone> Topic<M> {
    /// Starts the actors of a topic. Returns `None` if the system is shutting down.
    fn start(node: &Node, name: &str, directory: Address<ToDirectory>) -> Option<Self> {
        let shared = Arc::<Shared<M>>::default();
        let agent = Agent::new(node.clone(), shared.clone());
        let mailbox = Mailbox::bounded(WAITING_MAX, OnFull::Fail).ok()?;
        let agent = node.handle().actor(Internal(agent)).mailbox(mailbox);
        let agent = agent.spawn().ok()?;
        let key = ServiceKey {
            name: Arc::from(name),
            of: <ToTopic<M> as Wire<Carrier>>::ID,
        };
        let clerk = Clerk::new(key, directory, agent.clone(), shared.clone());
        let clerk = node.handle().spawn(Internal(clerk)).ok()?;
        Some(Self {
            agent,
            clerk,
            shared,
        })
    }

    /// Publishes a message: sends it to all subscribers of this node, and once to each other node
    /// with subscribers. If another node gets its first subscriber, this node learns of that
    /// subscriber with a short delay.
    ///
    /// # Errors
    /// Returns the message if 16,384 messages of the topic wait on this node, or if this node has
    /// left.
    pub fn publish(&self, message: M) -> Result<(), SendError<M>> {
        let sent = self.agent.send(ToAgent::Publish(message));
        sent.map_err(|SendError(refused)| match refused {
            ToAgent::Publish(message) => SendError(message),
            ToAgent::From(_) => unreachable!("a refused message comes back as it was"),
        })
    }

    /// Subscribes an actor of this node. From the time when the answer arrives, the actor gets all
    /// messages that are published on this node. A little later, it also gets the messages that are
    /// published on other nodes. Has no effect if the actor is already subscribed, or has stopped.
    /// An actor with a full bounded mailbox misses messages.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if this node uses too many keys of the receptionist, or if this
    /// node has left.
    pub fn subscribe(&self, subscriber: &Address<M>) -> Request<(), ServiceError> {
        let subscriber = subscriber.clone();
        Request::new(
            self.clerk
                .ask(|reply| ToClerk::Subscribe(subscriber, reply)),
        )
    }

    /// Unsubscribes an actor.
    ///
    /// # Errors
    /// Returns a [`ServiceError`] if this node has left.
    pub fn unsubscribe(&self, subscriber: &Address<M>) -> Request<(), ServiceError> {
        let subscriber = subscriber.clone();
        Request::new(
            self.clerk
                .ask(|reply| ToClerk::Unsubscribe(subscriber, reply)),
        )
    }

    /// Returns the counters of the topic on this node.
    #[must_use]
    pub fn sample(&self) -> TopicSample {
        self.shared.sample()
    }
}

impl<M> Clone for Topic<M> {
    fn clone(&self) -> Self {
        Self {
            agent: self.agent.clone(),
            clerk: self.clerk.clone(),
            shared: self.shared.clone(),
        }
    }
}

impl<M> fmt::Debug for Topic<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topic").finish_non_exhaustive()
    }
}

impl fmt::Display for TopicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name } => write!(
                f,
                "{name:?} is not a valid name for a topic: it must have 1 to 64 letters, digits, `-` or `_` \
                 of ASCII"
            ),
            Self::Topics => write!(
                f,
                "this node uses {TOPICS_MAX} topics already, which is the maximum"
            ),
            Self::Closed => f.write_str("the system of this node is shutting down"),
        }
    }
}

impl std::error::Error for TopicError {}
