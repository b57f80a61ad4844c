//! Topics of a cluster on nodes with real threads.
#![forbid(unsafe_code)]

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use common::Cluster;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context, NoReply, Reply, SendError, System};
use garrick_cluster::{Carrier, Entities, Node, ServiceError, Topic, TopicError, Wire};
use garrick_testkit::{ON_PURPOSE, silence_panics, wait};
use garrick_wire::{Decoder, Encoder, Shape, WireError};

#[derive(Wire, Clone, Debug, PartialEq, Eq)]
#[wire(name = "test.News")]
struct News {
    publisher: u64,
    number: u64,
}

/// An actor that passes the messages of a topic on to the test.
struct Reader<M>(Sender<M>);

impl<M: Send + 'static> Actor for Reader<M> {
    type Msg = M;
    type Outcome = ();

    fn receive(&mut self, news: M, _: &mut Context<'_, M>) {
        let _ = self.0.send(news);
    }
}

/// A node that has its own system.
struct Place {
    system: System,
    node: Node,
    entities: Entities,
    topic: Topic<News>,
}

impl Cluster {
    fn place(&self, name: &str) -> Place {
        let (system, node, entities) = self.join(name);
        let topic = entities.topic("news").unwrap();
        Place {
            system,
            node,
            entities,
            topic,
        }
    }
}

impl Place {
    /// Subscribes a reader to the topic.
    fn read(&self) -> (Address<News>, Receiver<News>) {
        let (told, heard) = channel();
        let reader = self.system.spawn(Reader(told)).unwrap();
        self.topic.subscribe(&reader).wait().unwrap();
        (reader, heard)
    }

    /// Waits until this node knows `nodes` other nodes with subscribers.
    fn knows(&self, nodes: usize) {
        while self.topic.sample().nodes != nodes {
            thread::yield_now();
        }
    }

    fn publish(&self, publisher: u64, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.topic.publish(News { publisher, number }).unwrap();
        }
    }
}

/// Receives `count` messages from the channel.
fn take(heard: &Receiver<News>, count: usize) -> Vec<News> {
    (0..count).map(|_| wait(heard)).collect()
}

fn numbers(news: &[News], of: u64) -> Vec<u64> {
    let news = news.iter().filter(|news| news.publisher == of);
    news.map(|news| news.number).collect()
}

#[test]
fn each_message_comes_once_and_in_order_to_all_subscribers_of_all_nodes() {
    let cluster = Cluster::new();
    let [one, two, three] = ["one", "two", "three"].map(|name| cluster.place(name));
    let mut readers = vec![one.read(), two.read()];
    readers.extend((0..3).map(|_| three.read()));
    one.knows(2);
    two.knows(2);
    let before = three.node.sample().delivered;
    one.publish(1, 0..500);
    two.publish(2, 0..500);
    for (_, heard) in &readers {
        let news = take(heard, 1_000);
        for publisher in [1, 2] {
            assert_eq!(numbers(&news, publisher), (0..500).collect::<Vec<_>>());
        }
        assert!(heard.try_recv().is_err());
    }
    // Once to each node, and not to each subscriber.
    assert_eq!(three.node.sample().delivered, before + 1_000);
    let sample = three.topic.sample();
    assert_eq!(
        (
            sample.subscribers,
            sample.nodes,
            sample.received,
            sample.published
        ),
        (3, 2, 1_000, 0)
    );
    for place in [&one, &two, &three] {
        let sample = place.topic.sample();
        assert_eq!(
            (sample.lost, sample.refused, sample.missed, sample.failed),
            (0, 0, 0, 0)
        );
    }
}

#[test]
fn nothing_is_sent_to_a_node_without_subscribers() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let (reader, heard) = two.read();
    let (second, _) = two.read();
    one.knows(1);
    one.publish(1, 0..1);
    take(&heard, 1);
    // The first one unsubscribes, and the second one stops.
    two.topic.unsubscribe(&reader).wait().unwrap();
    second.stop();
    one.knows(0);
    assert_eq!(two.topic.sample().subscribers, 0);
    one.publish(1, 1..10);
    while one.topic.sample().published < 10 {
        thread::yield_now();
    }
    // It comes back.
    two.topic.subscribe(&reader).wait().unwrap();
    one.knows(1);
    one.publish(1, 10..12);
    assert_eq!(numbers(&take(&heard, 2), 1), [10, 11]);
    assert_eq!(two.topic.sample().received, 3);
    assert_eq!(two.topic.sample().lost, 0);
    // One who is subscribed twice gets a message once.
    two.topic.subscribe(&reader).wait().unwrap();
    two.publish(2, 0..2);
    assert_eq!(numbers(&take(&heard, 2), 2), [0, 1]);
    assert!(heard.try_recv().is_err());
}

#[test]
fn a_subscriber_with_a_full_mailbox_misses_messages() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let (told, heard) = channel();
    let (release, released) = channel::<()>();
    let mailbox = Mailbox::bounded(4, OnFull::Fail).unwrap();
    let mut released = Some(released);
    let slow = garrick_actor::behavior(move |news: News, _| {
        let _ = told.send(news);
        if let Some(released) = released.take() {
            let _ = released.recv();
        }
    });
    // Of another system: where workers do not lend their actors, a turn that waits holds up the
    // other actors of its worker, such as those of the node.
    let outside = System::new().unwrap();
    let slow = outside.actor(slow).mailbox(mailbox).spawn().unwrap();
    two.topic.subscribe(&slow).wait().unwrap();
    one.knows(1);
    one.publish(1, 0..1);
    take(&heard, 1);
    one.publish(1, 1..10);
    while two.topic.sample().missed < 5 {
        thread::yield_now();
    }
    release.send(()).unwrap();
    assert_eq!(numbers(&take(&heard, 4), 1), [1, 2, 3, 4]);
    one.publish(1, 10..11);
    assert_eq!(numbers(&take(&heard, 1), 1), [10]);
    assert_eq!(two.topic.sample().missed, 5);
}

/// A message whose `clone` waits until the test opens a gate, or panics.
struct Gated(Arc<Mutex<()>>, bool);

impl Clone for Gated {
    fn clone(&self) -> Self {
        assert!(!self.1, "{ON_PURPOSE}");
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Self(self.0.clone(), self.1)
    }
}

impl Wire<Carrier> for Gated {
    const NAME: &'static str = "test.Gated";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Carrier>) -> Result<(), WireError> {
        out.varint(1)
    }

    fn decode(input: &mut Decoder<'_, Carrier>) -> Result<Self, WireError> {
        input.varint()?;
        Ok(Self(Arc::default(), false))
    }
}

#[test]
fn the_messages_that_wait_on_a_node_have_a_bound() {
    silence_panics();
    let cluster = Cluster::new();
    let one = cluster.place("one");
    let topic: Topic<Gated> = one.entities.topic("gated").unwrap();
    let (told, heard) = channel();
    for _ in 0..2 {
        let reader = one.system.spawn(Reader(told.clone())).unwrap();
        topic.subscribe(&reader).wait().unwrap();
    }
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock().unwrap();
    let message = |panics| Gated(gate.clone(), panics);
    let mut sent = 0;
    while topic.publish(message(false)).is_ok() {
        sent += 1;
        assert!(sent <= 16_384 + 1_024, "nothing is refused");
    }
    assert!(sent >= 16_384, "{sent}");
    drop(held);
    for _ in 0..2 * sent {
        wait(&heard);
    }
    // One whose copying panics is sent to nobody, and the others go on.
    topic.publish(message(true)).unwrap();
    topic.publish(message(false)).unwrap();
    wait(&heard);
    assert_eq!(topic.sample().failed, 1);
}

/// A message whose destructor panics if the field is true.
#[derive(Clone)]
struct Fragile(bool);

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.0 || thread::panicking(), "{ON_PURPOSE}");
    }
}

impl Wire<Carrier> for Fragile {
    const NAME: &'static str = "test.Fragile";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Carrier>) -> Result<(), WireError> {
        out.varint(1)
    }

    fn decode(input: &mut Decoder<'_, Carrier>) -> Result<Self, WireError> {
        input.varint()?;
        Ok(Self(false))
    }
}

#[test]
fn messages_whose_destructors_panic_do_not_end_a_topic() {
    silence_panics();
    let cluster = Cluster::new();
    let one = cluster.place("one");
    let topic: Topic<Fragile> = one.entities.topic("fragile").unwrap();
    // Nobody gets it.
    topic.publish(Fragile(true)).unwrap();
    while topic.sample().published < 1 {
        thread::yield_now();
    }
    let (told, heard) = channel();
    let (release, released) = channel::<()>();
    let mut released = Some(released);
    let slow = garrick_actor::behavior(move |news: Fragile, _| {
        let _ = told.send(news);
        if let Some(released) = released.take() {
            let _ = released.recv();
        }
    });
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let slow = one.system.actor(slow).mailbox(mailbox).spawn().unwrap();
    topic.subscribe(&slow).wait().unwrap();
    let missed = |count| {
        while topic.sample().missed < count {
            thread::yield_now();
        }
    };
    // It handles one message, and another one waits: its mailbox is full.
    topic.publish(Fragile(false)).unwrap();
    wait(&heard);
    for _ in 0..2 {
        topic.publish(Fragile(false)).unwrap();
    }
    missed(1);
    topic.publish(Fragile(true)).unwrap();
    missed(2);
    // The topic goes on.
    release.send(()).unwrap();
    wait(&heard);
    topic.unsubscribe(&slow).wait().unwrap();
    let (told, heard) = channel();
    let reader = one.system.spawn(Reader(told)).unwrap();
    topic.subscribe(&reader).wait().unwrap();
    topic.publish(Fragile(false)).unwrap();
    wait(&heard);
}

/// A message to a reader that is not on the node of the topic.
#[derive(Wire)]
#[wire(name = "test.Book", context = Carrier)]
struct Book(Reply<Address<News>>);

struct Library(Address<News>);

impl Actor for Library {
    type Msg = Book;
    type Outcome = ();

    fn receive(&mut self, Book(reply): Book, _: &mut Context<'_, Book>) {
        reply.send(self.0.clone());
    }
}

#[test]
fn an_actor_of_another_node_can_subscribe_and_is_removed_with_its_node() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let (told, heard) = channel();
    let reader = two.system.spawn(Reader(told)).unwrap();
    two.node
        .offer("library", &two.system.spawn(Library(reader)).unwrap());
    let library: Address<Book> = one.node.service("two", "library").unwrap();
    let far = library.ask(Book).wait().unwrap();
    one.topic.subscribe(&far).wait().unwrap();
    one.publish(1, 0..3);
    assert_eq!(numbers(&take(&heard, 3), 1), [0, 1, 2]);
    two.node.leave();
    while one.topic.sample().subscribers > 0 {
        thread::yield_now();
    }
}

#[test]
fn wrong_names_and_too_many_topics_are_refused() {
    let cluster = Cluster::new();
    let one = cluster.place("one");
    for name in ["", "a.b", "ä", "a b", &"x".repeat(65)] {
        let refused = one.entities.topic::<News>(name).unwrap_err();
        assert_eq!(refused, TopicError::Name { name: name.into() });
        assert!(refused.to_string().contains("1 to 64 letters"), "{refused}");
    }
    for number in 1..1_024 {
        one.entities
            .topic::<News>(&format!("topic-{number}"))
            .unwrap();
    }
    let refused = one.entities.topic::<News>("one-more").unwrap_err();
    assert_eq!(refused, TopicError::Topics);
    assert!(refused.to_string().contains("1024"), "{refused}");
    // Those that are there can be used.
    let again: Topic<News> = one.entities.topic("news").unwrap();
    let (_reader, heard) = one.read();
    again
        .publish(News {
            publisher: 1,
            number: 7,
        })
        .unwrap();
    assert_eq!(numbers(&take(&heard, 1), 1), [7]);
}

#[test]
fn a_node_that_has_left_publishes_nothing() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let (_reader, _heard) = one.read();
    two.knows(1);
    one.entities.leave();
    two.knows(0);
    let news = News {
        publisher: 1,
        number: 1,
    };
    while one.topic.publish(news.clone()).is_ok() {
        thread::yield_now();
    }
    assert_eq!(one.topic.publish(news.clone()), Err(SendError(news)));
    let (reader, _heard) = (two.read().0, ());
    let refused = one.topic.subscribe(&reader).wait();
    assert_eq!(refused, Err(ServiceError::NoAnswer(NoReply::Dropped)));
}
