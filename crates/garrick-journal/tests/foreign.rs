//! Code of durable actors that panics, although the destructors of their states and events panic,
//! too. A second panic during unwinding would abort the process.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use garrick_actor::Reply;
use garrick_journal::{
    BoxError, Decide, Due, Durable, DurableActor, Event, EventKind, Group, Journal, Keeper, Log,
    MemoryLog, Stored,
};
use garrick_sim::testing::Kit;
use garrick_testkit::{fail, silence_panics};

/// A number whose destructor panics if another panic unwinds. Counts these panics.
#[derive(Clone, Default)]
struct Fragile(u64);

static PANICS: AtomicUsize = AtomicUsize::new(0);

impl Drop for Fragile {
    fn drop(&mut self) {
        if thread::panicking() {
            PANICS.fetch_add(1, Relaxed);
            fail();
        }
    }
}

/// The number of an event that cannot be applied.
const WRONG: u64 = 666;

impl Stored for Fragile {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.to_le_bytes());
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(u64::from_le_bytes(bytes.try_into()?)))
    }
}

enum Order {
    /// Adds these numbers. Then panics, if the flag is true.
    Add(Vec<u64>, bool, Reply<u64>),
    /// Requests an effect. The conversion into a message panics.
    Once(Reply<u64>),
}

struct Sum;

impl DurableActor for Sum {
    type Msg = Order;
    type State = Fragile;
    type Event = Fragile;
    type Outcome = ();

    fn decide(&self, sum: &Fragile, order: Order, cx: &mut Decide<'_, '_, Self>) {
        match order {
            Order::Add(numbers, fails, reply) => {
                reply.send(sum.0 + numbers.iter().sum::<u64>());
                (numbers.into_iter()).for_each(|number| cx.record(Fragile(number)));
                if fails {
                    fail();
                }
            }
            Order::Once(reply) => {
                cx.once("unknown");
                reply.send(sum.0);
            }
        }
    }

    fn apply(sum: &mut Fragile, number: &Fragile) {
        if number.0 == WRONG {
            fail();
        }
        sum.0 += number.0;
    }

    fn due(_: Due) -> Option<Order> {
        fail()
    }
}

/// A keeper that sets its state and then panics, if the number is [`WRONG`].
struct Number;

impl Keeper for Number {
    type Msg = (u64, Reply<u64>);
    type State = Fragile;
    type Outcome = ();

    fn receive(
        &self,
        state: &mut Durable<'_, Fragile>,
        (number, reply): Self::Msg,
        _: &mut Decide<'_, '_, Self>,
    ) {
        reply.send(state.0);
        state.set(Fragile(number));
        if number == WRONG {
            fail();
        }
    }
}

/// Returns the number of panics of destructors while `f` runs.
fn panics_in(f: impl FnOnce()) -> usize {
    let before = PANICS.load(Relaxed);
    f();
    PANICS.load(Relaxed) - before
}

// One test, because the panics are counted together.
#[test]
fn a_panic_of_a_destructor_after_another_panic_does_not_abort_the_process() {
    silence_panics();
    let mut kit = Kit::new();
    let log = MemoryLog::new();
    let journal = Journal::new(kit.handle(), log.clone()).unwrap();
    let start = |kit: &mut Kit| kit.spawn(journal.entity("sum", Sum).unwrap()).unwrap();
    let fails = |kit: &mut Kit, order: fn(Reply<u64>) -> Order| {
        let sum = start(kit);
        let added = sum.ask(|reply| Order::Add(vec![1], false, reply));
        assert!(kit.answer(added).is_ok());
        panics_in(|| {
            assert!(kit.answer(sum.ask(order)).is_err());
            assert!(sum.is_stopped());
        })
    };
    // The state, and both events.
    let decides = |reply| Order::Add(vec![2, 3], true, reply);
    assert_eq!(fails(&mut kit, decides), 3);
    // The state, the event that cannot be applied, and the two after it.
    let applies = |reply| Order::Add(vec![2, WRONG, 3, 4], false, reply);
    assert_eq!(fails(&mut kit, applies), 4);
    assert_eq!(fails(&mut kit, Order::Once), 1);
    // Each of the three entities has added one.
    let sum = start(&mut kit);
    let added = sum.ask(|reply| Order::Add(Vec::new(), false, reply));
    assert_eq!(kit.answer(added), Ok(3));

    // The state is read outside of the panic, and the event is not.
    let id = log.start("wrong", true).unwrap().unwrap().journal;
    let mut group = Group::new();
    let payload = WRONG.to_le_bytes();
    let event = Event {
        number: 1,
        payload: &payload,
        ..Event::default()
    };
    group.add(id, event).unwrap();
    assert!(log.append(&group).unwrap().is_empty());
    let panics = panics_in(|| {
        let wrong = kit.spawn(journal.entity("wrong", Sum).unwrap()).unwrap();
        kit.run();
        assert!(wrong.is_stopped());
    });
    assert_eq!(panics, 1);

    let keeper = kit.spawn(journal.entity("number", Number).unwrap());
    let keeper = keeper.unwrap();
    assert_eq!(kit.answer(keeper.ask(|reply| (7, reply))), Ok(0));
    let panics = panics_in(|| {
        assert!(kit.answer(keeper.ask(|reply| (WRONG, reply))).is_err());
    });
    // The old state and the new one.
    assert_eq!(panics, 2);
    let keeper = kit.spawn(journal.entity("number", Number).unwrap());
    assert_eq!(kit.answer(keeper.unwrap().ask(|reply| (8, reply))), Ok(7));
}
