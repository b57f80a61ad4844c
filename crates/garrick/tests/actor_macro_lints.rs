//! Tests that the code that `#[garrick::actor]` generates passes every lint that a user can deny,
//! and needs nothing from the prelude.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused
)]
#![no_implicit_prelude]

/// An actor that counts.
#[derive(Debug)]
pub struct Counter {
    /// Current count.
    n: u64,
}

/// An actor whose messages are not documented.
#[derive(Debug)]
pub struct Quiet<T>(T);

#[::garrick::actor]
impl Counter {
    /// Adds `by` to the count, and returns the new count.
    #[must_use = "unused"]
    pub fn add(&mut self, by: u64) -> u64 {
        self.n += by;
        self.n
    }

    /// Old name of `add`.
    #[deprecated]
    pub fn plus(&mut self, by: u64) {
        self.n += by;
    }

    /// Ignores its argument.
    #[expect(unused_variables)]
    pub fn keep(&mut self, what: u64) {}
}

#[::garrick::actor(pub)]
impl<T: ::core::marker::Send + 'static> Quiet<T> {
    fn set(&mut self, to: T) {
        self.0 = to;
    }

    fn set_twice(&mut self, _to: T) {}
}

#[::core::prelude::v1::test]
fn what_it_generates_passes_every_lint() {
    let local = ::garrick::Local::new().unwrap();
    let counter = CounterHandle::new(local.spawn(Counter { n: 0 }));
    let sum = counter.add(2);
    let quiet = QuietHandle::new(local.spawn(Quiet(0)));
    quiet.set(1_u8).unwrap();
    local.run();
    ::std::assert_eq!(sum.wait(), ::core::result::Result::Ok(2));
}
