//! Clients of the registers, which note their calls.

use std::ops::Range;

use garrick_actor::{Actor, Address, Context, NoReply};
use garrick_core::random::mix;
use garrick_sim::history::models::key_value::{Op, Ret};
use garrick_sim::history::{Called, Returned};

use crate::register::Command;

/// Number of calls of a client.
const CALLS: u32 = 6;

/// Addresses of the registers `a` and `b`.
pub(crate) type Keys = [Address<Command>; 2];

/// Names of the registers.
const NAMES: [&str; 2] = ["a", "b"];

/// A message to a crowd.
pub(crate) enum Heard {
    /// The node of the registers has started.
    Started(Keys),
    /// A call of a client has returned. The numbers are those of the client and of its call.
    Got(usize, u32, Option<Ret<u64>>),
}

/// An actor that plays some clients. Their calls to a register may be handled in one turn.
pub(crate) struct Crowd {
    clients: Vec<Client>,
    keys: Option<Keys>,
}

/// A client that makes one call at a time. A call without an answer is given up when the node has
/// started again, or when the answer is refused.
struct Client {
    number: u64,
    chance: u64,
    /// Number of the last call.
    calls: u32,
    /// Number that the client has last seen, by register.
    seen: [Option<u64>; 2],
}

impl Crowd {
    pub(crate) fn new(numbers: Range<u64>, seed: u64) -> Self {
        let client = |number| Client {
            number,
            chance: mix(seed ^ number),
            calls: 0,
            seen: [None; 2],
        };
        Self {
            clients: numbers.map(client).collect(),
            keys: None,
        }
    }

    /// Makes the next call of a client.
    fn call(&mut self, index: usize, cx: &mut Context<'_, Heard>) {
        if let Some(keys) = &self.keys {
            self.clients[index].call(index, keys, cx);
        }
    }
}

impl Client {
    fn call(&mut self, index: usize, keys: &Keys, cx: &mut Context<'_, Heard>) {
        if self.calls == CALLS {
            return;
        }
        self.calls += 1;
        self.chance = mix(self.chance);
        let at = (self.chance % 2) as usize;
        let (key, call) = (NAMES[at], self.calls);
        let new = 100 * self.number + u64::from(call);
        let called = |op: Op<&'static str, u64>| {
            cx.note(Called {
                client: self.number,
                op,
            });
        };
        match self.chance / 2 % 3 {
            0 => {
                called(Op::Get(key));
                cx.ask(&keys[at], Command::Get, move |got| {
                    Heard::Got(index, call, got.ok().map(Ret::Value))
                });
            }
            1 => {
                called(Op::Put(key, new));
                let put = move |reply| Command::Put(new, reply);
                cx.ask(&keys[at], put, move |put: Result<(), NoReply>| {
                    Heard::Got(index, call, put.ok().map(|()| Ret::Done))
                });
            }
            _ => {
                let expected = self.seen[at];
                called(Op::CompareAndSwap { key, expected, new });
                let swap = move |reply| Command::Swap(expected, new, reply);
                cx.ask(&keys[at], swap, move |swapped| {
                    Heard::Got(index, call, swapped.ok().map(Ret::Swapped))
                });
            }
        }
        self.seen[at] = Some(new);
    }
}

impl Actor for Crowd {
    type Msg = Heard;
    type Outcome = ();

    fn receive(&mut self, heard: Heard, cx: &mut Context<'_, Heard>) {
        match heard {
            Heard::Started(keys) => {
                self.keys = Some(keys);
                for index in 0..self.clients.len() {
                    self.call(index, cx);
                }
            }
            Heard::Got(index, call, ret) if call == self.clients[index].calls => {
                if let Some(ret) = ret {
                    let client = self.clients[index].number;
                    cx.note(Returned { client, ret });
                }
                self.call(index, cx);
            }
            // The answer to a call that was given up.
            Heard::Got(..) => {}
        }
    }
}
