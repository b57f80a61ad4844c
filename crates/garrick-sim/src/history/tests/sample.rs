//! Small random operations and results of each model.

use std::collections::BTreeSet;

use crate::history::model::Model;
use crate::history::models::bank::{self, Bank};
use crate::history::models::counter::{self, Counter};
use crate::history::models::key_value::{self, KeyValue};
use crate::history::models::queue::{self, Queue};
use crate::history::models::register::{self, Register};
use crate::history::models::set::{self, Set};

/// A model for which random operations and results can be created.
pub(super) trait Sample: Model {
    fn model() -> Self;

    /// Returns one of a few operations, which `number` determines.
    fn op(number: u64) -> Self::Op;

    /// Returns a result that the operation can have in some state.
    fn ret(op: &Self::Op, number: u64) -> Self::Ret;
}

/// Returns a small value, so that equal values occur often.
fn value(number: u64) -> u8 {
    u8::try_from(number % 3).expect("a small value")
}

impl Sample for Register<u8> {
    fn model() -> Self {
        Register::new(0)
    }

    fn op(number: u64) -> register::Op<u8> {
        let (expected, new) = (value(number / 3), value(number / 9));
        match number % 3 {
            0 => register::Op::Read,
            1 => register::Op::Write(new),
            _ => register::Op::CompareAndSwap { expected, new },
        }
    }

    fn ret(op: &register::Op<u8>, number: u64) -> register::Ret<u8> {
        match op {
            register::Op::Read => register::Ret::Value(value(number)),
            register::Op::Write(_) => register::Ret::Written,
            register::Op::CompareAndSwap { .. } => register::Ret::Swapped(number.is_multiple_of(2)),
        }
    }
}

impl Sample for Counter {
    fn model() -> Self {
        Counter
    }

    fn op(number: u64) -> counter::Op {
        match number % 2 {
            0 => counter::Op::Read,
            _ => counter::Op::Add(i64::from(value(number / 2)) - 1),
        }
    }

    fn ret(op: &counter::Op, number: u64) -> counter::Ret {
        match op {
            counter::Op::Read => counter::Ret::Value(i64::from(value(number)) - 1),
            counter::Op::Add(_) => counter::Ret::Added,
        }
    }
}

impl Sample for Set<u8> {
    fn model() -> Self {
        Set::new()
    }

    fn op(number: u64) -> set::Op<u8> {
        let element = value(number / 3);
        match number % 3 {
            0 => set::Op::Insert(element),
            1 => set::Op::Remove(element),
            _ => set::Op::Contains(element),
        }
    }

    fn ret(_: &set::Op<u8>, number: u64) -> bool {
        number.is_multiple_of(2)
    }
}

impl Sample for Queue<u8> {
    fn model() -> Self {
        Queue::new()
    }

    fn op(number: u64) -> queue::Op<u8> {
        match number % 5 {
            0 | 1 => queue::Op::Enqueue(value(number / 5)),
            _ => queue::Op::Dequeue,
        }
    }

    fn ret(op: &queue::Op<u8>, number: u64) -> queue::Ret<u8> {
        match op {
            queue::Op::Enqueue(_) => queue::Ret::Enqueued,
            queue::Op::Dequeue => queue::Ret::Dequeued(number.checked_sub(1).map(value)),
        }
    }
}

impl Sample for Bank {
    fn model() -> Self {
        Bank::new([2, 1, 0])
    }

    fn op(number: u64) -> bank::Op {
        let (from, to) = (value(number / 4), value(number / 12));
        match number % 4 {
            0 => bank::Op::Total,
            1 => bank::Op::Balance(from.into()),
            _ => bank::Op::Transfer {
                from: from.into(),
                to: to.into(),
                amount: number / 36 % 3,
            },
        }
    }

    fn ret(op: &bank::Op, number: u64) -> bank::Ret {
        match op {
            bank::Op::Transfer { .. } if number.is_multiple_of(2) => bank::Ret::Moved,
            bank::Op::Transfer { .. } => bank::Ret::Refused,
            bank::Op::Balance(_) | bank::Op::Total => bank::Ret::Amount(number % 4),
        }
    }
}

impl Sample for KeyValue<u8, u8> {
    fn model() -> Self {
        KeyValue::new()
    }

    fn op(number: u64) -> key_value::Op<u8, u8> {
        let (key, new) = (value(number / 5), value(number / 15));
        match number % 5 {
            0 | 1 => key_value::Op::Get(key),
            2 => key_value::Op::Put(key, new),
            3 => key_value::Op::Delete(key),
            _ => key_value::Op::CompareAndSwap {
                key,
                expected: (number / 45 % 4).checked_sub(1).map(value),
                new,
            },
        }
    }

    fn ret(op: &key_value::Op<u8, u8>, number: u64) -> key_value::Ret<u8> {
        match op {
            key_value::Op::Get(_) => key_value::Ret::Value(number.checked_sub(1).map(value)),
            key_value::Op::Put(..) | key_value::Op::Delete(_) => key_value::Ret::Done,
            key_value::Op::CompareAndSwap { .. } => {
                key_value::Ret::Swapped(number.is_multiple_of(2))
            }
        }
    }
}

/// A set from which an arbitrary element is taken: a model with several states after an operation.
pub(super) struct Bag;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum BagOp {
    Put(u8),
    /// Takes an arbitrary element out of the set, and does not return the element.
    Discard,
    Contains(u8),
}

impl Model for Bag {
    type State = BTreeSet<u8>;
    type Op = BagOp;
    type Ret = bool;
    type Key = ();

    fn init(&self) -> BTreeSet<u8> {
        BTreeSet::new()
    }

    fn step(
        &self,
        bag: &BTreeSet<u8>,
        op: &BagOp,
        ret: Option<&bool>,
    ) -> impl IntoIterator<Item = BTreeSet<u8>> {
        let without = |taken: &u8| bag.iter().filter(|e| *e != taken).copied().collect();
        let (states, answer): (Vec<BTreeSet<u8>>, _) = match op {
            BagOp::Put(element) => {
                let with = bag.iter().chain([element]).copied().collect();
                (vec![with], !bag.contains(element))
            }
            BagOp::Discard if bag.is_empty() => (vec![bag.clone()], false),
            BagOp::Discard => (bag.iter().map(without).collect(), true),
            BagOp::Contains(element) => (vec![bag.clone()], bag.contains(element)),
        };
        let is_allowed = ret.is_none_or(|ret| *ret == answer);
        states.into_iter().filter(move |_| is_allowed)
    }
}

impl Sample for Bag {
    fn model() -> Self {
        Bag
    }

    fn op(number: u64) -> BagOp {
        match number % 4 {
            0 | 1 => BagOp::Put(value(number / 4)),
            2 => BagOp::Discard,
            _ => BagOp::Contains(value(number / 4)),
        }
    }

    fn ret(_: &BagOp, number: u64) -> bool {
        number.is_multiple_of(2)
    }
}

/// A model whose operations are not split into parts.
pub(super) struct Whole<M>(pub(super) M);

impl<M: Model> Model for Whole<M> {
    type State = M::State;
    type Op = M::Op;
    type Ret = M::Ret;
    type Key = M::Key;

    fn init(&self) -> M::State {
        self.0.init()
    }

    fn step(
        &self,
        state: &M::State,
        op: &M::Op,
        ret: Option<&M::Ret>,
    ) -> impl IntoIterator<Item = M::State> {
        self.0.step(state, op, ret)
    }
}
