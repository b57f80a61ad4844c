//! Durable entities with reminders. All processes that run them are killed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use garrick_actor::{Reply, System};
use garrick_cluster::nats::{NatsNet, NatsPlacement};
use garrick_cluster::{Carrier, Entities, Kind, KindOptions, Wire};
use garrick_journal::{BoxError, Decide, Due, DurableActor, EventKind, Journal, Stored};
use garrick_testkit::{HANGS_AFTER, Place, alone};

use crate::member::{self, CLUSTER, Member, join};
use crate::server::Server;

const ALARM: Kind<Order> = Kind::new("alarm");
const ALARMS: usize = 40;

/// Name of the test function, which also runs in the processes of the members.
const TEST: &str = "alarms::reminders_become_due_without_a_message_after_all_processes_were_killed";

/// Environment variable with the folder in which each alarm that has rung creates a file.
const FOLDER: &str = "GARRICK_CLUSTER_ALARMS";

/// Time from the setting of an alarm until it rings. All processes are killed before.
const AFTER: Duration = Duration::from_secs(10);

/// Time between two looks at the alarms.
const PAUSE: Duration = Duration::from_millis(50);

/// Time before an alarm without messages stops, if it has nothing to do.
const IDLE: Duration = Duration::from_secs(1);

/// Time limit for the answer of an alarm.
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Wire)]
#[wire(name = "test.AlarmOrder", context = Carrier)]
enum Order {
    Set(Reply<()>),
    Ring,
    /// Requests the number of times that the alarm has rung.
    Count(Reply<u32>),
}

/// An event: the alarm has rung.
struct Rang;

impl Stored for Rang {
    fn encode(&self, _: &mut Vec<u8>) -> EventKind {
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> {
        Ok(Self)
    }
}

struct Alarm {
    /// File that the alarm creates when it rings.
    file: PathBuf,
}

impl DurableActor for Alarm {
    type Msg = Order;
    type State = u32;
    type Event = Rang;
    type Outcome = ();

    fn decide(&self, rings: &u32, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Set(reply) => {
                cx.remind_after("ring", AFTER);
                reply.send(());
            }
            Order::Ring => {
                if cx.done("ring") {
                    cx.record(Rang);
                    fs::write(&self.file, "").unwrap();
                }
            }
            Order::Count(reply) => reply.send(*rings),
        }
    }

    fn apply(rings: &mut u32, _: &Rang) {
        *rings += 1;
    }

    fn due(_: Due) -> Option<Order> {
        Some(Order::Ring)
    }
}

fn host(entities: &Entities, journal: Journal) {
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
    let of_entities = journal.clone();
    let make = move |key: &str| {
        let file = folder.join(key);
        let entity = of_entities.entity(format!("alarm/{key}"), Alarm { file });
        entity.unwrap()
    };
    let options = KindOptions::new().shards(8).idle(Some(IDLE));
    entities
        .host_durable(ALARM, options, journal, make)
        .unwrap();
}

/// Calls each alarm from a node that runs none, and returns the answers.
fn ask_all<R: Wire<Carrier> + Send + 'static>(
    server: &str,
    order: fn(Reply<R>) -> Order,
) -> Vec<R> {
    let system = System::new().unwrap();
    let net = NatsNet::builder(server).start().unwrap();
    let node = join(&system, &net, "setter");
    let servers = NatsNet::builder(server);
    let placement = NatsPlacement::open(&system.handle(), servers, CLUSTER, "setter");
    let entities = Entities::start(&node, placement.unwrap()).unwrap();
    let ask = |number: usize| {
        let alarm = entities.get(ALARM, &number.to_string()).unwrap();
        alarm.ask(order)
    };
    let asked: Vec<_> = (0..ALARMS).map(ask).collect();
    let answer = |ask: garrick_actor::Ask<R>| ask.wait_timeout(LIMIT).unwrap();
    let answers = asked.into_iter().map(answer).collect();
    entities.leave();
    node.leave();
    net.close(Duration::from_secs(2));
    answers
}

fn count_files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn reminders_become_due_without_a_message_after_all_processes_were_killed() {
    if member::runs_here() {
        return member::run(host);
    }
    let _alone = alone();
    let Some(server) = Server::start("") else {
        return;
    };
    let place = Place::new("cluster-alarms");
    let start = |number| {
        let variables = [(FOLDER, place.path())];
        Member::start_with(TEST, number, &server.address(), variables)
    };
    let mut members: Vec<Member> = (0..3).map(start).collect();
    members.iter_mut().for_each(Member::is_ready);
    let began = Instant::now();
    ask_all(&server.address(), Order::Set);
    members.iter_mut().for_each(Member::kill);
    println!("all are killed after {:?}", began.elapsed());
    assert_eq!(count_files(place.path()), 0, "the processes died too late");
    // The shards of the third node must move.
    members = (0..2).map(start).collect();
    members.iter_mut().for_each(Member::is_ready);
    let began = Instant::now();
    while count_files(place.path()) < ALARMS {
        assert!(
            began.elapsed() < HANGS_AFTER,
            "{}",
            count_files(place.path())
        );
        thread::park_timeout(PAUSE);
    }
    println!("all rang after {:?}", began.elapsed());
    let rings = ask_all(&server.address(), Order::Count);
    assert_eq!(rings, vec![1; ALARMS]);
    members.iter_mut().for_each(Member::end);
}
