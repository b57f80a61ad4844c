//! Random tests that compare two rings with two `VecDeque`s. Some steps map the values of one ring
//! into the other ring.
//!
//! Each item records its drop in a ledger. After each step, the test checks every item created so
//! far. Each item must be in a ring, or have been dropped once, or have been leaked on purpose.
use std::{
    cell::RefCell,
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
};

use proptest::{collection::vec, prelude::*};

use super::*;

/// The way in which a test ends a [`Poke`].
#[derive(Debug, Clone, Copy)]
enum End {
    Commit,
    Drop,
    Forget,
}

/// One step of a test run. `panic_at` is the index, counted from 0, of the call in which the
/// closure panics.
#[derive(Debug, Clone)]
enum Step {
    Push,
    PushIter {
        len: usize,
    },
    Produce {
        max: usize,
        panic_at: usize,
    },
    PushMapped {
        len: usize,
        panic_at: usize,
    },
    Poke {
        max: usize,
        singles: usize,
        end: End,
    },
    Map {
        max: usize,
        panic_at: usize,
    },
    MapOwned {
        max: usize,
        panic_at: usize,
    },
    Pop,
    PopEach {
        max: usize,
        panic_at: usize,
    },
    Consume {
        max: usize,
        panics: bool,
    },
    Advance {
        percent: usize,
    },
    Spread {
        input: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let end = prop_oneof![Just(End::Commit), Just(End::Drop), Just(End::Forget)];
    prop_oneof![
        Just(Step::Push),
        (0..6usize).prop_map(|len| Step::PushIter { len }),
        (0..6usize, 0..9usize).prop_map(|(max, panic_at)| Step::Produce { max, panic_at }),
        (0..6usize, 0..9usize).prop_map(|(len, panic_at)| Step::PushMapped { len, panic_at }),
        (0..6usize, 0..4usize, end).prop_map(|(max, singles, end)| Step::Poke {
            max,
            singles,
            end
        }),
        (0..9usize, 0..9usize).prop_map(|(max, panic_at)| Step::Map { max, panic_at }),
        (0..9usize, 0..9usize).prop_map(|(max, panic_at)| Step::MapOwned { max, panic_at }),
        Just(Step::Pop),
        (0..6usize, 0..9usize).prop_map(|(max, panic_at)| Step::PopEach { max, panic_at }),
        (0..6usize, any::<bool>()).prop_map(|(max, panics)| Step::Consume { max, panics }),
        (0..=100usize).prop_map(|percent| Step::Advance { percent }),
        any::<bool>().prop_map(|input| Step::Spread { input }),
    ]
}

/// Number of drops of each item, indexed by the number of the item.
#[derive(Clone, Default)]
struct Ledger(Rc<RefCell<Vec<u32>>>);

/// A numbered value that counts its drops in the ledger of the test.
struct Item {
    number: usize,
    ledger: Ledger,
}

impl Ledger {
    fn item(&self) -> Item {
        let mut drops = self.0.borrow_mut();
        drops.push(0);
        Item {
            number: drops.len() - 1,
            ledger: self.clone(),
        }
    }

    fn next_number(&self) -> usize {
        self.0.borrow().len()
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.ledger.0.borrow_mut()[self.number] += 1;
    }
}

/// Two rings and their expected contents.
struct Trial {
    ledger: Ledger,
    input: (Producer<Item>, Consumer<Item>),
    output: (Producer<Item>, Consumer<Item>),
    in_input: VecDeque<usize>,
    in_output: VecDeque<usize>,
    leaked: Vec<usize>,
}

/// Panics if `planned` is true, without calling the panic hook.
fn panic_if(planned: bool) {
    if planned {
        resume_unwind(Box::new("planned"));
    }
}

/// Runs `work`, and returns its result. If `work` panics, catches the panic and returns `None`.
fn survive<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

impl Trial {
    fn new(capacities: (usize, usize), slots: (usize, usize), until_wrap: usize) -> Self {
        let start = 0usize.wrapping_sub(until_wrap);
        Self {
            ledger: Ledger::default(),
            input: roomy_halves(capacities.0, slots.0, start).unwrap(),
            output: roomy_halves(capacities.1, slots.1, start).unwrap(),
            in_input: VecDeque::new(),
            in_output: VecDeque::new(),
            leaked: Vec::new(),
        }
    }

    fn free(&self) -> usize {
        self.input.0.capacity() - self.in_input.len()
    }

    /// Records that `count` items, beginning with number `first`, went into the input ring.
    fn entered(&mut self, first: usize, count: usize) {
        self.in_input.extend(first..first + count);
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Push
            | Step::PushIter { .. }
            | Step::Produce { .. }
            | Step::PushMapped { .. }
            | Step::Poke { .. } => self.write(step),
            Step::Map { max, panic_at } => self.map(max, panic_at, false),
            Step::MapOwned { max, panic_at } => self.map(max, panic_at, true),
            Step::Pop => {
                let got = self.output.1.try_pop().map(|item| item.number);
                assert_eq!(got, self.in_output.pop_front());
            }
            Step::PopEach { max, panic_at } => self.pop_each(max, panic_at),
            Step::Consume { max, panics } => self.consume(max, panics),
            Step::Advance { percent } => {
                let mut peek = self.output.1.peek();
                let count = peek.len() * percent / 100;
                peek.advance(count);
                assert_eq!(peek.len(), self.in_output.len() - count);
                self.in_output.drain(..count);
            }
            Step::Spread { input: true } => self.input.0.spread(),
            Step::Spread { input: false } => self.output.0.spread(),
        }
    }

    fn write(&mut self, step: &Step) {
        let (first, free, ledger) = (self.ledger.next_number(), self.free(), self.ledger.clone());
        let producer = &mut self.input.0;
        match *step {
            Step::Push => {
                let pushed = producer.try_push(ledger.item()).is_ok();
                assert_eq!(pushed, free > 0);
                self.entered(first, usize::from(pushed));
            }
            Step::PushIter { len } => {
                let count = producer.push_iter((0..len).map(|_| ledger.item()));
                assert_eq!(count, len.min(free));
                self.entered(first, count);
            }
            Step::Produce { max, panic_at } => {
                let made = survive(|| {
                    producer.produce_batch(max, |index| {
                        panic_if(index == panic_at);
                        ledger.item()
                    })
                });
                let count = max.min(free);
                assert_eq!(made.is_some(), panic_at >= count);
                self.entered(first, count.min(panic_at));
            }
            Step::PushMapped { len, panic_at } => {
                let values: Vec<usize> = (0..len).collect();
                let made = survive(|| {
                    producer.push_mapped(&values, |index| {
                        panic_if(*index == panic_at);
                        let item = ledger.item();
                        assert_eq!(item.number, first + index, "each value once, in order");
                        item
                    })
                });
                let count = len.min(free);
                assert_eq!(made, (panic_at >= count).then_some(count));
                self.entered(first, count.min(panic_at));
            }
            Step::Poke { max, singles, end } => self.poke(max, singles, end),
            _ => unreachable!("{step:?} does not write"),
        }
    }

    fn poke(&mut self, max: usize, singles: usize, end: End) {
        let (first, free, ledger) = (self.ledger.next_number(), self.free(), self.ledger.clone());
        let mut poke = self.input.0.poke(max);
        assert_eq!(poke.remaining(), max.min(free));
        for _ in 0..singles.min(poke.remaining()) {
            poke.push(ledger.item()).unwrap();
        }
        poke.extend([ledger.item(), ledger.item()]);
        if poke.remaining() == 0 {
            assert!(poke.push(ledger.item()).is_err());
        }
        if singles % 2 == 1 {
            poke.fill_with(|| ledger.item());
            assert_eq!((poke.written(), poke.remaining()), (max.min(free), 0));
        }
        let written = poke.written();
        match end {
            End::Commit => {
                assert_eq!(poke.commit(), written);
                self.entered(first, written);
            }
            End::Drop => drop(poke),
            End::Forget => {
                mem::forget(poke);
                self.leaked.extend(first..first + written);
            }
        }
    }

    fn map(&mut self, max: usize, panic_at: usize, owned: bool) {
        let first = self.ledger.next_number();
        let free = self.output.0.capacity() - self.in_output.len();
        let count = self.in_input.len().min(free).min(max);
        let ledger = self.ledger.clone();
        let (input, output, mut calls) = (&mut self.input.1, &mut self.output.0, 0);
        let mut make = |_: &Item| {
            panic_if(calls == panic_at);
            calls += 1;
            ledger.item()
        };
        let done = survive(|| match owned {
            true => map_batch_owned(input, output, max, |item| make(&item)),
            false => map_batch(input, output, max, &mut make),
        });
        assert_eq!(done, (panic_at >= count).then_some(count));
        let made = count.min(panic_at);
        let lost = usize::from(owned && done.is_none());
        self.in_input.drain(..made + lost);
        self.in_output.extend(first..first + made);
    }

    fn pop_each(&mut self, max: usize, panic_at: usize) {
        let mut got = Vec::new();
        let popped = survive(|| {
            self.output.1.pop_each(max, |item| {
                panic_if(got.len() == panic_at);
                got.push(item.number);
            })
        });
        let count = self.in_output.len().min(max);
        assert_eq!(popped, (panic_at >= count).then_some(count));
        let gone = count.min(panic_at.saturating_add(1));
        let expected: Vec<_> = self.in_output.drain(..gone).collect();
        assert_eq!(got, expected[..count.min(panic_at)]);
    }

    fn consume(&mut self, max: usize, panics: bool) {
        let mut got = Vec::new();
        let consumed = survive(|| {
            self.output.1.consume_batch(max, |items| {
                panic_if(panics && !got.is_empty());
                got.extend(items.iter().map(|item| item.number));
            })
        });
        let count = self.in_output.len().min(max);
        assert!(consumed == Some(count) || panics && got.len() < count);
        assert!(self.in_output.drain(..got.len()).eq(got));
    }

    /// Asserts that the rings hold the expected items, and that every item is accounted for.
    fn check(&mut self) {
        let rings = [
            (&mut self.input, &self.in_input),
            (&mut self.output, &self.in_output),
        ];
        for ((producer, consumer), expected) in rings {
            let peek = consumer.peek();
            assert!(
                peek.iter()
                    .map(|item| item.number)
                    .eq(expected.iter().copied())
            );
            assert_eq!(
                peek.get(1).map(|item| item.number),
                expected.get(1).copied()
            );
            assert_eq!(producer.free(), producer.capacity() - expected.len());
            assert!(!producer.is_closed() && !consumer.is_closed());
        }
        for (number, drops) in self.ledger.0.borrow().iter().enumerate() {
            let held = self.in_input.contains(&number)
                || self.in_output.contains(&number)
                || self.leaked.contains(&number);
            assert_eq!(*drops, u32::from(!held), "drops of item {number}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(debug_assertions) { 500 } else { 3_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn behaves_like_two_deques(
        capacities in (1..9usize, 1..9usize),
        slots in (1..33usize, 1..33usize),
        until_wrap in 0..20usize,
        steps in vec(step(), 0..60),
    ) {
        let mut trial = Trial::new(capacities, slots, until_wrap);
        for step in &steps {
            trial.take(step);
            trial.check();
        }
        let (ledger, leaked) = (trial.ledger.clone(), mem::take(&mut trial.leaked));
        drop(trial);
        for (number, drops) in ledger.0.borrow().iter().enumerate() {
            prop_assert_eq!(*drops, u32::from(!leaked.contains(&number)));
        }
    }

    #[test]
    fn slices_behave_like_a_deque(
        capacity in 1..9usize,
        slots in 1..33usize,
        until_wrap in 0..20usize,
        spread_at in 0..60usize,
        steps in vec((any::<bool>(), 0..12usize), 0..60),
    ) {
        let start = 0usize.wrapping_sub(until_wrap);
        let (mut producer, mut consumer) = roomy_halves(capacity, slots, start).unwrap();
        let (mut model, mut next) = (VecDeque::<u32>::new(), 0u32);
        for (step, (write, len)) in steps.into_iter().enumerate() {
            if step == spread_at {
                producer.spread();
            }
            if write {
                let values: Vec<u32> = (next..).take(len).collect();
                let count = producer.push_slice(&values);
                prop_assert_eq!(count, len.min(producer.capacity() - model.len()));
                model.extend(&values[..count]);
                next += count as u32;
            } else {
                let mut values = vec![u32::MAX; len];
                let count = consumer.pop_slice(&mut values);
                prop_assert_eq!(count, len.min(model.len()));
                prop_assert!(model.drain(..count).eq(values[..count].iter().copied()));
                prop_assert!(values[count..].iter().all(|value| *value == u32::MAX));
            }
        }
    }
}
