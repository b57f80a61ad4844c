//! A client of the registers, which notes its calls.

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

/// A message to a client.
pub(crate) enum Heard {
    /// The node of the registers has started.
    Started(Keys),
    /// The call with this number has returned.
    Got(u32, Option<Ret<u64>>),
}

/// A client that makes one call at a time. A call without an answer is given up when the node has
/// started again, or when the answer is refused.
pub(crate) struct Client {
    number: u64,
    chance: u64,
    keys: Option<Keys>,
    /// Number of the last call.
    calls: u32,
    /// Number that the client has last seen, by register.
    seen: [Option<u64>; 2],
}

impl Client {
    pub(crate) fn new(number: u64, seed: u64) -> Self {
        Self {
            number,
            chance: mix(seed ^ number),
            keys: None,
            calls: 0,
            seen: [None; 2],
        }
    }

    /// Makes the next call.
    fn call(&mut self, cx: &mut Context<'_, Heard>) {
        let Some(keys) = &self.keys else { return };
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
                    Heard::Got(call, got.ok().map(Ret::Value))
                });
            }
            1 => {
                called(Op::Put(key, new));
                let put = move |reply| Command::Put(new, reply);
                cx.ask(&keys[at], put, move |put: Result<(), NoReply>| {
                    Heard::Got(call, put.ok().map(|()| Ret::Done))
                });
            }
            _ => {
                let expected = self.seen[at];
                called(Op::CompareAndSwap { key, expected, new });
                let swap = move |reply| Command::Swap(expected, new, reply);
                cx.ask(&keys[at], swap, move |swapped| {
                    Heard::Got(call, swapped.ok().map(Ret::Swapped))
                });
            }
        }
        self.seen[at] = Some(new);
    }
}

impl Actor for Client {
    type Msg = Heard;
    type Outcome = ();

    fn receive(&mut self, heard: Heard, cx: &mut Context<'_, Heard>) {
        match heard {
            Heard::Started(keys) => {
                self.keys = Some(keys);
                self.call(cx);
            }
            Heard::Got(call, ret) if call == self.calls => {
                if let Some(ret) = ret {
                    let client = self.number;
                    cx.note(Returned { client, ret });
                }
                self.call(cx);
            }
            // The answer to a call that was given up.
            Heard::Got(..) => {}
        }
    }
}
