//! A durable register.

use std::collections::BTreeMap;

use garrick_journal::{BoxError, Decide, DurableActor, EventKind, Stored};
use garrick_sim::history::models::key_value::{KeyValue, Op, Ret};

use crate::object::{Object, Request};

/// The model of registers with numbers.
pub(crate) type Registers = KeyValue<usize, u64>;

/// A register with a number, which is empty at first.
pub(crate) struct Register {
    panics: bool,
}

/// The register was set or emptied.
pub(crate) struct Set(Option<u64>);

impl Stored for Set {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.iter().flat_map(|number| number.to_le_bytes()));
        EventKind { tag: 1, version: 1 }
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        Ok(Self(Some(u64::from_le_bytes(bytes.try_into()?))))
    }
}

impl DurableActor for Register {
    type Msg = Request<Registers>;
    type State = Option<u64>;
    type Event = Set;
    type Outcome = ();

    fn decide(&self, number: &Option<u64>, request: Self::Msg, cx: &mut Decide<'_, '_, Self>) {
        let mut set = |new: Option<u64>| {
            cx.record(Set(new));
            let fails = self.panics && new.is_some_and(|new| new.is_multiple_of(4));
            assert!(!fails, "for this test");
        };
        let ret = match request.op {
            Op::Get(_) => Ret::Value(*number),
            Op::Put(_, new) => {
                set(Some(new));
                Ret::Done
            }
            Op::Delete(_) => {
                set(None);
                Ret::Done
            }
            Op::CompareAndSwap { expected, new, .. } => {
                let swaps = *number == expected;
                if swaps {
                    set(Some(new));
                }
                Ret::Swapped(swaps)
            }
        };
        request.reply.send(ret);
    }

    fn apply(number: &mut Option<u64>, Set(new): &Set) {
        *number = *new;
    }

    const SAVE_EVERY: u64 = 3;

    fn save(number: &Option<u64>, bytes: &mut Vec<u8>) -> Option<EventKind> {
        Some(Set(*number).encode(bytes))
    }

    fn load(kind: EventKind, bytes: &[u8]) -> Result<Option<u64>, BoxError> {
        let Set(number) = Set::decode(kind, bytes)?;
        Ok(number)
    }
}

impl Object for Registers {
    type Entity = Register;

    const NAME: &'static str = "register";

    const CLIENTS_AHEAD: u64 = 6;

    fn entity(panics: bool) -> Register {
        Register { panics }
    }

    fn operation(key: usize, chance: u64, new: u64, view: &BTreeMap<usize, u64>) -> Op<usize, u64> {
        match chance % 8 {
            0..3 => Op::Get(key),
            3..5 => Op::Put(key, new),
            5 => Op::Delete(key),
            _ => Op::CompareAndSwap {
                key,
                expected: view.get(&key).copied(),
                new,
            },
        }
    }

    fn look(key: usize) -> Op<usize, u64> {
        Op::Get(key)
    }

    fn see(registers: &mut BTreeMap<usize, u64>, key: usize, ret: &Ret<u64>) {
        match *ret {
            Ret::Value(Some(number)) => registers.insert(key, number),
            Ret::Value(None) => registers.remove(&key),
            Ret::Done | Ret::Swapped(_) => None,
        };
    }
}
