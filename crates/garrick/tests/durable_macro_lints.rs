//! Tests that the code that `#[garrick::durable]` generates passes every lint that a user can deny,
//! and needs nothing from the prelude.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused
)]
#![no_implicit_prelude]

/// A durable actor that counts.
#[derive(Debug, ::core::default::Default, ::garrick::journal::Stored)]
#[stored(tag = 1)]
pub struct Counter {
    /// Current count.
    n: u64,
}

/// An event that changes the count.
#[derive(Debug, ::garrick::journal::Stored)]
pub enum Added {
    /// Adds a number to the count.
    #[stored(tag = 1, version = 2, upcast(1 = added))]
    Number {
        /// The number to add.
        by: u64,
    },
    /// Adds one to the count.
    #[deprecated]
    #[stored(tag = 2)]
    One,
}

fn added(by: u32) -> Added {
    Added::Number {
        by: ::core::convert::From::from(by),
    }
}

#[::garrick::durable(save = 10)]
impl Counter {
    /// Adds to the count.
    #[must_use = "unused"]
    pub fn add(&self, by: u64, cx: &mut ::garrick::journal::Decide<'_, '_, Self>) -> u64 {
        cx.record(Added::Number { by });
        self.n + by
    }

    /// Old name of `add`.
    #[deprecated]
    pub fn plus(&self, cx: &mut ::garrick::journal::Decide<'_, '_, Self>) {
        #[expect(deprecated)]
        cx.record(Added::One);
    }

    /// Adds one when an effect or a reminder is due.
    pub fn remind(
        &self,
        due: ::garrick::journal::Due,
        cx: &mut ::garrick::journal::Decide<'_, '_, Self>,
    ) {
        if cx.complete(&due) {
            cx.record(Added::Number { by: 1 });
        }
    }

    /// Confirms a letter.
    pub fn deliver(&self, number: u64, cx: &mut ::garrick::journal::Decide<'_, '_, Self>) {
        cx.delivered(number);
    }

    /// Converts an effect or a reminder into a message.
    #[durable(due)]
    pub fn due(due: ::garrick::journal::Due) -> ::core::option::Option<CounterMsg> {
        ::core::option::Option::Some(CounterMsg::Remind(due))
    }

    /// Converts a letter into a message.
    #[deprecated]
    #[durable(letter)]
    pub fn letter(letter: ::garrick::journal::Letter) -> ::core::option::Option<CounterMsg> {
        ::core::option::Option::Some(CounterMsg::Deliver(letter.number))
    }

    /// Applies an event to the count.
    #[durable(apply)]
    pub fn apply(&mut self, event: &Added) {
        self.n += match event {
            Added::Number { by } => *by,
            #[expect(deprecated)]
            Added::One => 1,
        };
    }
}

#[::core::prelude::v1::test]
fn what_it_generates_passes_every_lint() {
    let mut counter = Counter { n: 1 };
    counter.apply(&Added::Number { by: 2 });
    ::std::assert_eq!(counter.n, 3);
    let name = <Counter as ::garrick::journal::DurableActor>::name();
    ::std::assert!(name.ends_with("Counter"));
}
