//! The receptionist and topics of nodes that meet on NATS, and addresses of entities.

use std::sync::mpsc::channel;

use garrick_actor::naming::Key;
use garrick_actor::{Actor, Address, Context, Reply};
use garrick_cluster::nats::{NatsNet, NatsPlacement};
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, Receptionist, Topic, Wire};
use garrick_testkit::wait;

use crate::place::{Counter, Msg, Place, noted, until, users};
use crate::server::Server;

const COUNTERS: Key<Msg> = Key::new("counters");
const ENTITY: Kind<Msg> = Kind::new("counter");

#[derive(Wire, Clone, Debug, PartialEq, Eq)]
#[wire(name = "test.nats.News")]
struct News(u64);

/// An actor that passes the messages of a topic on to the test.
struct Reader(std::sync::mpsc::Sender<News>);

impl Actor for Reader {
    type Msg = News;
    type Outcome = ();

    fn receive(&mut self, news: News, _: &mut Context<'_, News>) {
        let _ = self.0.send(news);
    }
}

/// A message to an actor that stores addresses.
#[derive(Wire)]
#[wire(name = "test.nats.Book", context = Carrier)]
enum ToBook {
    Put(Vec<Address<Msg>>),
    Get(Reply<Vec<Address<Msg>>>),
}

#[derive(Default)]
struct Book(Vec<Address<Msg>>);

impl Actor for Book {
    type Msg = ToBook;
    type Outcome = ();

    fn receive(&mut self, message: ToBook, _: &mut Context<'_, ToBook>) {
        match message {
            ToBook::Put(addresses) => self.0 = addresses,
            ToBook::Get(reply) => reply.send(self.0.clone()),
        }
    }
}

/// A node with a receptionist.
struct Member {
    place: Place,
    entities: Entities,
    receptionist: Receptionist,
}

impl Member {
    fn new(server: &Server, name: &str) -> Self {
        let servers = || NatsNet::builder(server.address()).user(name, "secret");
        let place = Place::new(servers(), "test", name);
        let placement = NatsPlacement::open(&place.system.handle(), servers(), "test", name);
        let entities = Entities::start(&place.node, placement.unwrap()).unwrap();
        let receptionist = entities.receptionist().unwrap();
        Self {
            place,
            entities,
            receptionist,
        }
    }

    fn serve(&self) {
        let served = self.receptionist.serve(&COUNTERS, &self.place.counter);
        served.wait().unwrap();
    }

    /// Waits until this node knows `count` counters.
    fn found(&self, count: usize) -> Vec<Address<Msg>> {
        let mut found = Vec::new();
        until("all counters are found", || {
            found = self.receptionist.find(&COUNTERS).wait().unwrap();
            found.len() == count
        });
        found
    }
}

#[test]
fn nodes_on_nats_find_each_other_and_share_topics_and_entities() {
    let names = ["one", "two"];
    let Some(mut server) = Server::start(&users(&names, |_, _| true)) else {
        return;
    };
    let [one, two] = names.map(|name| Member::new(&server, name));
    one.serve();
    two.serve();
    // The own one comes first.
    let far = one.found(2).pop().unwrap();
    far.send(Msg::Note(7)).unwrap();
    until("it is noted", || noted(&two.place.counter) == [7]);
    two.found(2);

    let topic = |member: &Member| -> Topic<News> { member.entities.topic("news").unwrap() };
    let (told, heard) = channel();
    let reader = two.place.system.spawn(Reader(told)).unwrap();
    topic(&two).subscribe(&reader).wait().unwrap();
    until("the other node is known", || {
        topic(&one).sample().nodes == 1
    });
    for number in 0..100 {
        topic(&one).publish(News(number)).unwrap();
    }
    for number in 0..100 {
        assert_eq!(wait(&heard), News(number));
    }

    let make = |_: &str| Counter::default();
    one.entities
        .host(ENTITY, KindOptions::new().shards(4), make)
        .unwrap();
    let book = two.place.system.spawn(Book::default()).unwrap();
    two.place.node.offer("book", &book);
    let entity = one.entities.get(ENTITY, "a").unwrap();
    let to: Address<ToBook> = one.place.node.service("two", "book").unwrap();
    to.send(ToBook::Put(vec![entity, far])).unwrap();
    let mut known = Vec::new();
    until("the addresses have come", || {
        known = book.ask(ToBook::Get).wait().unwrap();
        known.len() == 2
    });
    let expected = [
        two.entities.get(ENTITY, "a").unwrap(),
        two.place.counter.clone(),
    ];
    assert_eq!(known, expected);
    known[0].send(Msg::Note(9)).unwrap();
    until("the entity has noted it", || {
        one.entities
            .get(ENTITY, "a")
            .unwrap()
            .ask(Msg::Count)
            .wait()
            == Ok(1)
    });

    // While the server is away, the nodes know what they have known.
    server.kill();
    assert_eq!(one.found(2).len(), 2);
    server.start_again();
    let another = two.place.system.spawn(Counter::default()).unwrap();
    two.receptionist.serve(&COUNTERS, &another).wait().unwrap();
    one.found(3);
    two.entities.leave();
    one.found(1);
    until("the topic is left, too", || topic(&one).sample().nodes == 0);
}
