//! A node that can reach the journals of its registers, but neither other nodes nor the placement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Handle, NoReply};
use garrick_cluster::placement::LocalPlacement;
use garrick_cluster::{Entities, KindOptions, LocalNet, Node};
use garrick_journal::{Journal, MemoryLog};
use garrick_sim::Sim;
use garrick_sim::history::models::key_value::{Op, Ret};
use garrick_sim::history::{Called, Returned};

use crate::register::{self, Access, REGISTER};
use crate::registers::Model;
use crate::silence::Cable;

const REGISTERS: u64 = 4;
const PAUSE: Duration = Duration::from_millis(150);

/// Times of four steps: the calls begin, the node is cut off, the node is connected again, and all
/// nodes leave.
const BEGINS_AFTER: Duration = Duration::from_secs(2);
const CUT_AFTER: Duration = Duration::from_secs(4);
const CUT_FOR: Duration = Duration::from_secs(12);
const LEAVES_AFTER: Duration = Duration::from_secs(25);

/// Calls one register, one call at a time.
struct Caller {
    client: u64,
    key: u64,
    register: Address<Access>,
    puts: bool,
    calls: u64,
}

enum ToCaller {
    Next,
    Got(Result<Ret<u64>, NoReply>),
}

impl Actor for Caller {
    type Msg = ToCaller;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToCaller>) {
        let _ = cx.send_after(BEGINS_AFTER, &cx.address(), ToCaller::Next);
    }

    fn receive(&mut self, message: ToCaller, cx: &mut Context<'_, ToCaller>) {
        let (client, key) = (self.client, self.key);
        match message {
            ToCaller::Next if self.calls == 100 => {}
            ToCaller::Next => {
                self.calls += 1;
                if self.puts {
                    let new = client << 16 | self.calls;
                    let op = Op::<u64, u64>::Put(key, new);
                    cx.note(Called { client, op });
                    let put = move |reply| Access::Put { new, reply };
                    cx.ask(&self.register, put, |got| {
                        ToCaller::Got(got.map(|()| Ret::Done))
                    });
                } else {
                    let op = Op::<u64, u64>::Get(key);
                    cx.note(Called { client, op });
                    cx.ask(&self.register, Access::Get, |got| {
                        ToCaller::Got(got.map(Ret::Value))
                    });
                }
            }
            ToCaller::Got(got) => {
                match got {
                    Ok(ret) => cx.note(Returned { client, ret }),
                    // It may take effect later.
                    Err(_) => self.client += 1 << 32,
                }
                let _ = cx.send_after(PAUSE, &cx.address(), ToCaller::Next);
            }
        }
    }
}

struct Member {
    handle: Handle,
    cable: Cable,
    log: MemoryLog,
    name: &'static str,
    is_fenced: bool,
    joined: Option<(Node, Entities)>,
}

enum ToMember {
    Cut(bool),
    Leave,
}

impl Actor for Member {
    type Msg = ToMember;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToMember>) {
        let node = Node::join(&self.handle, self.cable.clone(), "test", self.name).unwrap();
        let entities = Entities::start(&node, self.cable.clone()).unwrap();
        let journal = Journal::new(&self.handle, self.log.clone()).unwrap();
        let options = KindOptions::new().shards(8);
        register::host(&entities, journal, options, self.is_fenced);
        let is_lost = self.name == "lost";
        for key in 0..REGISTERS {
            drop(cx.spawn(Caller {
                client: key << 1 | u64::from(is_lost),
                key,
                register: entities.get(REGISTER, &key.to_string()).unwrap(),
                puts: is_lost,
                calls: 0,
            }));
        }
        self.joined = Some((node, entities));
        let me = cx.address();
        if is_lost {
            let _ = cx.send_after(CUT_AFTER, &me, ToMember::Cut(true));
            let _ = cx.send_after(CUT_AFTER + CUT_FOR, &me, ToMember::Cut(false));
        }
        let _ = cx.send_after(LEAVES_AFTER, &me, ToMember::Leave);
    }

    fn receive(&mut self, message: ToMember, _: &mut Context<'_, ToMember>) {
        match message {
            ToMember::Cut(is_cut) => self.cable.is_cut.store(is_cut, Relaxed),
            ToMember::Leave => {
                if let Some((node, entities)) = self.joined.take() {
                    entities.leave();
                    node.leave();
                }
            }
        }
    }
}

pub(crate) fn program(sim: &mut Sim, is_fenced: bool) {
    let (net, log) = (LocalNet::new(), MemoryLog::new());
    let store = sim.node("store");
    let placement = LocalPlacement::new(store.handle()).unwrap();
    for name in ["caller", "lost"] {
        let node = sim.node(name);
        let member = Member {
            handle: node.handle().clone(),
            cable: Cable {
                net: net.clone(),
                placement: placement.clone(),
                is_cut: Arc::<AtomicBool>::default(),
            },
            log: log.clone(),
            name,
            is_fenced,
            joined: None,
        };
        drop(node.spawn(member).unwrap());
    }
    sim.latency(Duration::from_millis(1)..Duration::from_millis(30));
    sim.allow_failures();
    sim.linearizable(Model::default());
}
