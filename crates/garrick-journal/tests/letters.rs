//! Letters between durable actors: their order, their repetition and their answers.
#![forbid(unsafe_code)]

use std::sync::mpsc::{Receiver, Sender, channel};

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Address, Ended, NoReply, Reply, System};
use garrick_journal::{
    BoxError, Decide, DurableActor, EventKind, Journal, Letter, MemoryLog, Stored,
};
use garrick_testkit::{ends, silence_panics, wait};

/// A durable actor that counts the letters it receives, and passes the letters it must send to a
/// channel.
struct Office {
    to_send: Option<Sender<Letter>>,
}

enum Order {
    /// Records letters to a receiver, with these contents.
    Post(&'static str, Vec<&'static str>, Reply<()>),
    Deliver(Letter),
    /// The letter with this number is confirmed.
    Delivered(u64, Reply<bool>),
    /// A letter from this sender, with this number, has arrived.
    Receive(&'static str, u64, Reply<u64>),
    /// Sends itself a message, which takes a place in the mailbox, and then handles an order.
    Crowded(Box<Order>),
    /// The message that takes a place.
    Nothing,
}

/// A number of letters, used as an event and as an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Count(u64);

impl Stored for Count {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 7, version: 3 }
    }

    fn decode(kind: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        assert_eq!((kind.tag, kind.version), (7, 3));
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

impl DurableActor for Office {
    type Msg = Order;
    type State = u64;
    type Event = Count;
    type Outcome = ();

    fn decide(&self, count: &u64, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Post(to, contents, reply) => {
                contents.into_iter().for_each(|text| cx.post(to, text));
                reply.send(());
            }
            Order::Deliver(letter) => {
                if let Some(to_send) = &self.to_send {
                    to_send.send(letter).unwrap();
                }
            }
            Order::Delivered(number, reply) => reply.send(cx.delivered(number)),
            Order::Receive(from, number, reply) => {
                let receive = |cx: &mut Decide<'_, '_, Self>| {
                    cx.record(Count(1));
                    Count(count + 1)
                };
                if let Some(Count(answer)) = cx.once_from(from, number, receive) {
                    reply.send(answer);
                }
            }
            Order::Crowded(order) => {
                cx.send(&cx.address(), Order::Nothing).unwrap();
                self.decide(count, *order, cx);
            }
            Order::Nothing => {}
        }
    }

    fn apply(count: &mut u64, _: &Count) {
        *count += 1;
    }

    fn letter(letter: Letter) -> Option<Order> {
        (letter.to != "nobody").then_some(Order::Deliver(letter))
    }

    const SAVE_EVERY: u64 = 2;

    fn save(count: &u64, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(count.to_le_bytes());
        Some(EventKind::default())
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<u64, BoxError> {
        Ok(u64::from_le_bytes(bytes.try_into()?))
    }
}

/// Starts the office on a system of its own.
fn start(log: &MemoryLog) -> (System, Address<Order>, Receiver<Letter>) {
    start_with(log, Mailbox::unbounded())
}

fn start_with(
    log: &MemoryLog,
    mailbox: Mailbox<Order>,
) -> (System, Address<Order>, Receiver<Letter>) {
    let system = System::new().unwrap();
    let journal = Journal::new(&system.handle(), log.clone()).unwrap();
    let (to_send, letters) = channel();
    let office = Office {
        to_send: Some(to_send),
    };
    let office = journal.entity("office", office).unwrap();
    let office = system.actor(office).mailbox(mailbox).spawn().unwrap();
    (system, office, letters)
}

fn post(office: &Address<Order>, to: &'static str, contents: &[&'static str]) {
    let contents = contents.to_vec();
    let posted = office.ask(|reply| Order::Post(to, contents, reply));
    posted.wait().unwrap();
}

/// Asks until the mailbox has room for the question, and returns the answer. While a mailbox with
/// [`OnFull::Fail`] or [`OnFull::DropNewest`] is full, it drops the question.
fn ask_when_there_is_room<T: Send + 'static>(
    office: &Address<Order>,
    order: impl Fn(Reply<T>) -> Order,
) -> T {
    loop {
        match office.ask(&order).wait() {
            Ok(answer) => return answer,
            Err(NoReply::Dropped) => std::thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    }
}

fn delivered(office: &Address<Order>, number: u64) -> bool {
    let delivered = office.ask(|reply| Order::Delivered(number, reply));
    delivered.wait().unwrap()
}

fn receive(office: &Address<Order>, from: &'static str, number: u64) -> Result<u64, NoReply> {
    office
        .ask(|reply| Order::Receive(from, number, reply))
        .wait()
}

#[test]
fn one_letter_to_a_receiver_is_under_way_and_comes_again_after_each_start() {
    let log = MemoryLog::new();
    let (system, office, letters) = start(&log);
    post(&office, "bob", &["one", "two"]);
    post(&office, "carol", &["three"]);
    let sent = [wait(&letters), wait(&letters)];
    let content = |letter: &Letter| String::from_utf8(letter.body.clone()).unwrap();
    assert_eq!(sent.each_ref().map(content), ["one", "three"]);
    assert_eq!((&*sent[0].from, &*sent[0].to), ("office", "bob"));
    assert!(sent[0].number < sent[1].number);
    // The second letter to bob is not under way yet.
    assert!(!delivered(&office, sent[0].number + 1));
    drop(office);
    system.shutdown();

    let (system, office, letters) = start(&log);
    assert_eq!([wait(&letters), wait(&letters)], sent);
    assert!(delivered(&office, sent[0].number));
    assert!(!delivered(&office, sent[0].number));
    let second = wait(&letters);
    assert_eq!(content(&second), "two");
    assert!(delivered(&office, second.number) && delivered(&office, sent[1].number));
    drop(office);
    system.shutdown();

    let (_system, office, letters) = start(&log);
    assert!(!delivered(&office, second.number));
    assert!(letters.try_recv().is_err(), "all are confirmed");
}

#[test]
fn a_full_mailbox_accepts_the_message_about_a_letter() {
    ends(|| {
        for on_full in [OnFull::Wait, OnFull::Fail, OnFull::DropNewest] {
            let log = MemoryLog::new();
            let mailbox = || Mailbox::bounded(1, on_full).unwrap();
            let crowded = |order| Order::Crowded(Box::new(order));
            let (system, office, letters) = start_with(&log, mailbox());
            for to in ["bob", "carol"] {
                ask_when_there_is_room(&office, |reply| {
                    crowded(Order::Post(to, vec!["one", "two"], reply))
                });
            }
            let first = [wait(&letters), wait(&letters)];
            assert_eq!(first.each_ref().map(|letter| &*letter.to), ["bob", "carol"]);
            // The next letter follows when the first one is confirmed.
            assert!(ask_when_there_is_room(&office, |reply| crowded(
                Order::Delivered(first[0].number, reply)
            )));
            let second = wait(&letters);
            assert_eq!((&*second.to, &second.body[..]), ("bob", &b"two"[..]));
            drop(office);
            system.shutdown();

            // The messages about two letters come after a start.
            let (system, office, letters) = start_with(&log, mailbox());
            assert_eq!([wait(&letters), wait(&letters)], [second, first[1].clone()]);
            drop(office);
            system.shutdown();
        }
    });
}

#[test]
fn a_letter_takes_effect_once_and_has_one_answer() {
    let log = MemoryLog::new();
    let (system, office, _letters) = start(&log);
    assert_eq!(receive(&office, "bob", 5), Ok(1));
    assert_eq!(receive(&office, "bob", 5), Ok(1));
    assert_eq!(receive(&office, "carol", 5), Ok(2));
    assert_eq!(receive(&office, "bob", 9), Ok(3));
    assert_eq!(receive(&office, "bob", 5), Err(NoReply::Dropped));
    drop(office);
    system.shutdown();
    let (_system, office, _letters) = start(&log);
    assert_eq!(receive(&office, "bob", 9), Ok(3));
    assert_eq!(receive(&office, "carol", 5), Ok(2));
    assert_eq!(receive(&office, "carol", 6), Ok(4));
}

#[test]
fn an_actor_without_a_message_for_a_letter_fails() {
    silence_panics();
    let (_system, office, _letters) = start(&MemoryLog::new());
    let (ended, ends) = channel();
    let _watch = office.watch(move |how| ended.send(how).unwrap());
    let posted = office.ask(|reply| Order::Post("nobody", vec!["one"], reply));
    assert_eq!(posted.wait(), Err(NoReply::Dropped), "it is not recorded");
    let Ended::Failed(failure) = wait(&ends) else {
        panic!("it fails");
    };
    assert!(failure.to_string().contains("nobody"), "{failure}");
}
