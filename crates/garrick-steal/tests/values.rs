//! Tests unusual values: values of size zero, values with a large alignment, and values that are
//! bound to one thread.
#![cfg(not(garrick_loom))]
#![forbid(unsafe_code)]

use std::{
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use garrick_steal::{
    deque,
    queue::{Banker, Chunked, Locked, Queue, Receiver, Sender, banker, chunked, locked},
    steal::{self, Capacity},
};

const MANY: usize = 1000;

/// A value of the size of a page.
const ALIGNMENT: usize = 4096;

#[derive(Clone)]
#[repr(align(4096))]
struct Page(usize);

impl Page {
    fn check(&self, number: usize) {
        assert_eq!((&raw const *self).addr() % ALIGNMENT, 0);
        assert_eq!(self.0, number);
    }
}

fn pages() -> impl Iterator<Item = Page> {
    (0..MANY).map(Page)
}

#[test]
fn values_lie_where_their_alignment_wants_them() {
    let mut worker = deque::growing(1);
    pages().for_each(|page| worker.push(page).unwrap());
    for number in 0..MANY {
        worker.pop_oldest().unwrap().check(number);
    }
    fn check<Q: Queue>() {
        let (sender, mut receiver) = Q::channel();
        sender.push_many(pages()).unwrap();
        (0..MANY).for_each(|number| receiver.try_pop().unwrap().check(number));
    }
    check::<Banker>();
    check::<Chunked>();
    check::<Locked>();
}

/// A value of size zero that counts how many values of its type are alive.
struct Token;

static ALIVE: AtomicUsize = AtomicUsize::new(0);

impl Token {
    fn new() -> Self {
        ALIVE.fetch_add(1, Relaxed);
        Self
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

fn tokens() -> impl Iterator<Item = Token> {
    (0..MANY).map(|_| Token::new())
}

/// Tests all cases in one test, because they share a counter.
#[test]
fn values_of_no_size_are_dropped_once() {
    let mut worker = deque::growing(1);
    tokens().for_each(|token| worker.push(token).unwrap_or_else(|_| unreachable!()));
    let mut thief = deque::bounded(8);
    drop((worker.stealer().steal_half(&mut thief), worker.pop()));
    assert_eq!((thief.len(), ALIVE.load(Relaxed)), (8, MANY - 2));
    drop((worker, thief));
    assert_eq!(ALIVE.load(Relaxed), 0);

    fn check<Q: Queue>() {
        let (sender, mut receiver) = Q::channel();
        sender.push_many(tokens()).unwrap();
        drop((receiver.try_pop(), receiver.try_pop()));
        assert_eq!((receiver.len(), ALIVE.load(Relaxed)), (MANY - 2, MANY - 2));
        drop((sender, receiver));
        assert_eq!(ALIVE.load(Relaxed), 0);
    }
    check::<Banker>();
    check::<Chunked>();
    check::<Locked>();

    let mut channel = steal::channel(2, 4, Capacity::Unbounded);
    assert!(channel.workers[0].send_many(tokens()).is_ok());
    assert!(channel.workers[1].try_recv().is_ok());
    drop(channel);
    assert_eq!(ALIVE.load(Relaxed), 0);
}

/// Compiles only if the type does not implement the trait. If it does, two implementations fit, and
/// the compiler reports an ambiguity.
macro_rules! assert_without {
    ($(($type:ty, $trait:ident)),+ $(,)?) => {$(
        const _: fn() = || {
            trait Answer<A> {
                fn answer() {}
            }
            struct Yes;
            impl<T: ?Sized> Answer<()> for T {}
            impl<T: ?Sized + $trait> Answer<Yes> for T {}
            let _ = <$type as Answer<_>>::answer;
        };
    )+};
}

type Bound = Rc<()>;

// A container of a value that is bound to its thread is bound to the thread itself.
assert_without!(
    (deque::Worker<Bound>, Send),
    (deque::Stealer<Bound>, Send),
    (deque::Stealer<Bound>, Sync),
    (banker::Producer<Bound>, Send),
    (banker::Consumer<Bound>, Send),
    (chunked::Producer<Bound>, Send),
    (chunked::Producer<Bound>, Sync),
    (chunked::Consumer<Bound>, Send),
    (locked::Producer<Bound>, Send),
    (locked::Producer<Bound>, Sync),
    (locked::Consumer<Bound>, Send),
    (steal::Worker<Bound>, Send),
    (steal::Sender<Bound>, Send),
    (steal::Sender<Bound>, Sync),
    (steal::Receiver<Bound>, Send),
);

// A type that one thread at a time may use is not shared, whatever it carries.
assert_without!(
    (deque::Worker<u8>, Sync),
    (banker::Producer<u8>, Sync),
    (banker::Consumer<u8>, Sync),
    (chunked::Consumer<u8>, Sync),
    (steal::Worker<u8>, Sync),
    (steal::Recv<'static, u8>, Sync),
);
