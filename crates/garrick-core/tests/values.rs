//! Tests of unusual values: values without size, values with a large alignment, values that are
//! dropped during an operation, and values that cannot be sent to other threads.
#![cfg(not(garrick_loom))]
#![forbid(unsafe_code)]

use std::{
    cell::Cell,
    mem,
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use garrick_core::{ring, wheel::Wheel};

const MANY: usize = 1000;

/// The alignment of [`Page`] in bytes, which is also the size of a memory page.
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
    let (mut producer, mut consumer) = ring::channel(MANY);
    assert_eq!(producer.push_iter(pages()), MANY);
    for (number, page) in consumer.peek().iter().enumerate() {
        page.check(number);
    }
}

/// A value without size that counts how many values of its type are alive.
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

/// A single test, because all cases use the same global count of living values.
#[test]
fn values_of_no_size_are_dropped_once() {
    let (mut producer, mut consumer) = ring::try_roomy_channel(1 << 62, 1 << 63).unwrap();
    producer.push_iter(tokens());
    producer.spread();
    producer.push_iter(tokens());
    assert_eq!(consumer.pop_each(MANY, drop), MANY);
    consumer.peek().advance(MANY / 2);
    assert_eq!(ALIVE.load(Relaxed), MANY / 2);
    drop((producer, consumer));
    assert_eq!(ALIVE.load(Relaxed), 0);

    let mut wheel = Wheel::new(0);
    let key = wheel.insert(u64::MAX, Token::new());
    wheel.insert(0, Token::new());
    assert_eq!(wheel.advance(u64::MAX, drop), 1);
    assert!(wheel.cancel(key).is_some() && wheel.cancel(key).is_none());
    assert_eq!(ALIVE.load(Relaxed), 0);
}

/// A guard that is forgotten leaks the values it has written, and the ring continues as if the
/// guard had not existed.
#[test]
fn a_forgotten_guard_spoils_nothing() {
    let value = Rc::new(());
    let (mut producer, mut consumer) = ring::channel(2);
    for round in 1..=5 {
        let mut poke = producer.poke(2);
        poke.fill_with(|| value.clone());
        mem::forget(poke);
        producer.try_push(value.clone()).unwrap();
        assert_eq!(consumer.peek().len(), 1);
        assert_eq!(consumer.pop_each(9, drop), 1);
        assert_eq!(Rc::strong_count(&value), 1 + 2 * round);
    }
}

/// Compiles only if the type does not implement the trait. Otherwise, two implementations fit, and
/// the call is ambiguous.
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
    (ring::Producer<Bound>, Send),
    (ring::Consumer<Bound>, Send),
    (ring::Peek<'static, Bound>, Send),
    (ring::Poke<'static, Bound>, Send),
    (Wheel<Bound>, Send),
);

// A type that one thread at a time may use is not shared, whatever it carries; a reader in place
// shares values.
assert_without!(
    (ring::Producer<u8>, Sync),
    (ring::Consumer<u8>, Sync),
    (ring::Peek<'static, u8>, Sync),
    (ring::Poke<'static, u8>, Sync),
    (ring::Iter<'static, Cell<u8>>, Send),
);
