//! Clients of durable registers.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, NoReply};
use garrick_core::random::mix;
use garrick_sim::history::models::key_value::{KeyValue, Op, Ret};
use garrick_sim::history::{Called, Returned};

use crate::register::Access;

/// The model with which the history of the registers is compared.
pub(crate) type Model = KeyValue<u64, u64>;

/// Number of registers.
pub(crate) const REGISTERS: u64 = 2;

pub(crate) enum ToUser {
    Next,
    Got(Result<Ret<u64>, NoReply>),
}

/// A client that calls registers, one call at a time.
pub(crate) struct User {
    /// Number of the client. The client takes another number after a call without an answer, which
    /// may have taken effect.
    pub(crate) client: u64,
    pub(crate) registers: Vec<Address<Access>>,
    pub(crate) calls: u64,
    pub(crate) last: u64,
    pub(crate) pause: Duration,
    /// Last value that the client has seen.
    pub(crate) seen: Option<u64>,
}

impl User {
    fn call(&mut self, cx: &mut Context<'_, ToUser>) {
        self.calls += 1;
        let new = self.client << 16 | self.calls;
        let chance = mix(new);
        let key = chance % REGISTERS;
        let register = &self.registers[key as usize];
        let client = self.client;
        match chance >> 32 & 3 {
            0 => {
                let op = Op::<u64, u64>::Put(key, new);
                cx.note(Called { client, op });
                let put = move |reply| Access::Put { new, reply };
                cx.ask(register, put, |got| ToUser::Got(got.map(|()| Ret::Done)));
            }
            1 => {
                let expected = self.seen;
                let op = Op::CompareAndSwap { key, expected, new };
                cx.note(Called { client, op });
                let swap = move |reply| Access::Swap {
                    expected,
                    new,
                    reply,
                };
                cx.ask(register, swap, |got| ToUser::Got(got.map(Ret::Swapped)));
            }
            _ => {
                let op = Op::<u64, u64>::Get(key);
                cx.note(Called { client, op });
                cx.ask(register, Access::Get, |got| {
                    ToUser::Got(got.map(Ret::Value))
                });
            }
        }
    }
}

/// A fact: a call was answered.
#[derive(Debug)]
pub(crate) struct Good;

impl Actor for User {
    type Msg = ToUser;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToUser>) {
        let me = cx.address();
        let _ = cx.send(&me, ToUser::Next);
    }

    fn receive(&mut self, message: ToUser, cx: &mut Context<'_, ToUser>) {
        match message {
            ToUser::Next if self.calls < self.last => self.call(cx),
            ToUser::Next => {}
            ToUser::Got(got) => {
                match got {
                    Ok(ret) => {
                        if let Ret::Value(value) = &ret {
                            self.seen = *value;
                        }
                        cx.note(Good);
                        cx.note(Returned {
                            client: self.client,
                            ret,
                        });
                    }
                    Err(_) => self.client += 1 << 32,
                }
                let me = cx.address();
                let _ = cx.send_after(self.pause, &me, ToUser::Next);
            }
        }
    }
}
