//! Addresses that are sent in messages as names: addresses of entities and of services.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::thread;

use garrick_actor::{Actor, Address, Context, NoReply, Reply, System};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, LocalNet, Node, Wire};

/// A message to a counter, which is an entity.
#[derive(Wire)]
#[wire(name = "test.Count", context = Carrier)]
enum Count {
    Add(u64),
    Get(Reply<u64>),
}

const COUNTER: Kind<Count> = Kind::new("counter");

struct Counter(u64);

impl Actor for Counter {
    type Msg = Count;
    type Outcome = ();

    fn receive(&mut self, count: Count, _: &mut Context<'_, Count>) {
        match count {
            Count::Add(number) => self.0 += number,
            Count::Get(reply) => reply.send(self.0),
        }
    }
}

/// A message to an actor that stores addresses (a book).
#[derive(Wire)]
#[wire(name = "test.Book", context = Carrier)]
enum ToBook {
    Put(Vec<Address<Count>>, Reply<u64>),
    Get(Reply<Vec<Address<Count>>>),
    /// Request to add a number to all counters in the book.
    Add(u64),
}

#[derive(Default)]
struct Book(Vec<Address<Count>>);

impl Actor for Book {
    type Msg = ToBook;
    type Outcome = ();

    fn receive(&mut self, message: ToBook, cx: &mut Context<'_, ToBook>) {
        match message {
            ToBook::Put(addresses, reply) => {
                self.0 = addresses;
                reply.send(self.0.len() as u64);
            }
            ToBook::Get(reply) => reply.send(self.0.clone()),
            ToBook::Add(number) => {
                for address in &self.0 {
                    let _ = cx.send(address, Count::Add(number));
                }
            }
        }
    }
}

/// Networks and a placement of a cluster. The system that runs them is dropped last.
struct Cluster {
    net: LocalNet,
    placement: LocalPlacement,
    _store: System,
}

/// A node that has its own system, and offers a book of addresses as the service `book`.
struct Place {
    system: System,
    node: Node,
    entities: Option<Entities>,
}

impl Cluster {
    fn new() -> Self {
        let store = System::new().unwrap();
        Self {
            net: LocalNet::new(),
            placement: LocalPlacement::new(&store.handle()).unwrap(),
            _store: store,
        }
    }

    /// Starts a node that uses no entities.
    fn plain(&self, name: &str) -> Place {
        let system = System::new().unwrap();
        let node = Node::join(&system.handle(), self.net.clone(), "test", name).unwrap();
        node.offer("book", &system.spawn(Book::default()).unwrap());
        Place {
            system,
            node,
            entities: None,
        }
    }

    fn place(&self, name: &str) -> Place {
        let place = self.plain(name);
        let entities = Entities::start(&place.node, self.placement.clone()).unwrap();
        Place {
            entities: Some(entities),
            ..place
        }
    }
}

impl Place {
    fn entities(&self) -> &Entities {
        self.entities.as_ref().unwrap()
    }

    fn host(&self) {
        let options = KindOptions::new().shards(8);
        let hosted = self.entities().host(COUNTER, options, |_| Counter(0));
        hosted.unwrap();
    }

    fn counter(&self, key: &str) -> Address<Count> {
        self.entities().get(COUNTER, key).unwrap()
    }

    fn book(&self, node: &str) -> Address<ToBook> {
        self.node.service(node, "book").unwrap()
    }

    fn put(&self, node: &str, addresses: Vec<Address<Count>>) -> Result<u64, NoReply> {
        let put = |reply| ToBook::Put(addresses, reply);
        self.book(node).ask(put).wait()
    }

    fn refusal(&self) -> String {
        self.node.sample().refusal.unwrap().to_string()
    }
}

#[test]
fn an_entity_is_the_same_on_each_node_and_needs_no_node_in_between() {
    let cluster = Cluster::new();
    let [host, one, two] = ["host", "one", "two"].map(|name| cluster.place(name));
    host.host();
    assert_eq!(
        one.put("two", vec![one.counter("a"), one.counter("b")]),
        Ok(2)
    );
    // They are read on the node that has got them, and on a third one.
    for place in [&two, &host, &one] {
        let found = place.book("two").ask(ToBook::Get).wait().unwrap();
        assert_eq!(found, [place.counter("a"), place.counter("b")]);
        assert_ne!(found[0], found[1]);
        let all: HashSet<_> = found.iter().map(Address::id).collect();
        assert!(all.contains(&place.counter("a").id()));
    }
    // Nothing is held.
    for place in [&one, &two, &host] {
        let sample = place.node.sample();
        assert_eq!((sample.exported, sample.imported), (0, 0), "{sample:?}");
    }
    // The node that has sent them is not needed any more.
    one.node.leave();
    one.system.shutdown();
    two.book("two").send(ToBook::Add(7)).unwrap();
    let get = |key: &str| two.counter(key).ask(Count::Get).wait().unwrap();
    while get("a") + get("b") < 14 {
        thread::yield_now();
    }
    assert_eq!((get("a"), get("b")), (7, 7));
}

#[test]
fn a_node_that_uses_no_entities_refuses_their_addresses() {
    let cluster = Cluster::new();
    let (one, plain) = (cluster.place("one"), cluster.plain("plain"));
    let refused = one.put("plain", vec![one.counter("a")]);
    assert_eq!(refused, Err(NoReply::Refused));
    let why = plain.refusal();
    assert!(why.contains("the address of the entity counter/a"), "{why}");
    assert!(why.contains("call `Entities::start` first"), "{why}");
    // The others are not affected.
    assert_eq!(one.put("plain", Vec::new()), Ok(0));
    // After it has started entities, the address is accepted, though it has not used the kind.
    let entities = Entities::start(&plain.node, cluster.placement.clone()).unwrap();
    assert_eq!(one.put("plain", vec![one.counter("a")]), Ok(1));
    assert_eq!(&*entities.sample()[0].kind, "counter");
}

#[derive(Wire)]
#[wire(name = "test.Another")]
struct Another;

#[test]
fn an_address_of_a_kind_with_other_messages_is_refused() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let other = Kind::<Another>::new("counter");
    two.entities().get(other, "a").unwrap();
    let refused = one.put("two", vec![one.counter("a")]);
    assert_eq!(refused, Err(NoReply::Refused));
    let why = two.refusal();
    assert!(
        why.contains("used with another type of messages on this node"),
        "{why}"
    );
}

#[test]
fn an_entity_of_another_cluster_is_exported() {
    let (cluster, elsewhere) = (Cluster::new(), Cluster::new());
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let node = Node::join(&one.system.handle(), elsewhere.net.clone(), "other", "one").unwrap();
    let entities = Entities::start(&node, elsewhere.placement.clone()).unwrap();
    entities
        .host(COUNTER, KindOptions::new().shards(1), |_| Counter(40))
        .unwrap();
    let foreign = entities.get(COUNTER, "a").unwrap();
    assert_eq!(one.put("two", vec![foreign.clone()]), Ok(1));
    assert_eq!(one.node.sample().exported, 1);
    let book = two.book("two").ask(ToBook::Get).wait().unwrap();
    assert_ne!(book[0], two.counter("a"));
    assert_eq!(book[0].ask(Count::Get).wait(), Ok(40));
}

#[test]
fn an_address_in_front_of_an_entity_is_exported() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    one.host();
    let twice = one.counter("a").contramap(|count| match count {
        Count::Add(number) => Count::Add(2 * number),
        other => other,
    });
    assert_eq!(one.put("two", vec![twice]), Ok(1));
    assert_eq!(one.node.sample().exported, 1);
    let book = two.book("two").ask(ToBook::Get).wait().unwrap();
    book[0].send(Count::Add(4)).unwrap();
    assert_eq!(book[0].ask(Count::Get).wait(), Ok(8));
}

#[test]
fn a_service_travels_as_its_name() {
    let cluster = Cluster::new();
    let [one, two, three] = ["one", "two", "three"].map(|name| cluster.plain(name));
    let counter = three.system.spawn(Counter(0)).unwrap();
    three.node.offer("counter", &counter);
    let service = |place: &Place| {
        let service: Address<Count> = place.node.service("three", "counter").unwrap();
        service
    };
    assert_eq!(one.put("two", vec![service(&one)]), Ok(1));
    for place in [&one, &two, &three] {
        let found = place.book("two").ask(ToBook::Get).wait().unwrap();
        assert_eq!(found, [service(place)]);
    }
    // The node that has sent it is not needed any more, and it follows the service.
    one.node.leave();
    let again = three.system.spawn(Counter(100)).unwrap();
    three.node.offer("counter", &again);
    let found = two.book("two").ask(ToBook::Get).wait().unwrap();
    found[0].send(Count::Add(1)).unwrap();
    assert_eq!(found[0].ask(Count::Get).wait(), Ok(101));
    for place in [&two, &three] {
        assert_eq!(place.node.sample().exported, 0);
    }
}

#[test]
fn names_count_as_part_of_a_message() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.place("one"), cluster.place("two"));
    let key = "k".repeat(255);
    // Each has 262 bytes, besides its index: 4,000 of them have about a mebibyte.
    let many = |count: usize| vec![one.counter(&key); count];
    assert_eq!(one.put("two", many(3_900)), Ok(3_900));
    assert_eq!(one.put("two", many(4_100)), Err(NoReply::Refused));
    let why = one.refusal();
    assert!(why.contains("the names of its entities"), "{why}");
    assert!(why.contains("at most 1048576 bytes are allowed"), "{why}");
    let found = two.book("two").ask(ToBook::Get).wait().unwrap();
    assert_eq!(found, vec![two.counter(&key); 3_900]);
}
