//! Nodes that do not come back are forgotten. Nodes that come back later are known again.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Ended, Handle, Next, NoReply, Reply};
use garrick_cluster::{
    Carrier, Incoming, JoinError, LocalNet, Node, NodeName, NodeSample, Transport, Wire,
};
use garrick_sim::{Check, Sim};

/// Number of nodes that join and leave. The variable `GARRICK_CLUSTER_VISITORS` sets a greater
/// number. The next constants are the time between two such nodes, and the time for which each of
/// them stays.
const VISITORS: u64 = 2_000;
const PAUSE: Duration = Duration::from_millis(20);
const STAYS_FOR: Duration = Duration::from_millis(400);

/// Time after which a node without a frame is lost. The next constants are the time after which a
/// lost node is forgotten, and the number of links above which it is forgotten sooner.
const SILENCE: Duration = Duration::from_secs(5);
const FORGETS_AFTER: Duration = Duration::from_secs(60);
const LINKS_MAX: usize = 1_024;

fn number_of(name: &str, otherwise: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(otherwise, |set| set.parse().expect("it is a number"))
}

/// A message to the actor that all visitors know.
#[derive(Wire)]
#[wire(name = "test.ToHost", context = Carrier)]
enum ToHost {
    /// Request for the address of a child, which the visitor holds until the visitor leaves.
    Child(Reply<Address<ToHost>>),
    /// The address of an actor on the visitor's node, which the host watches.
    Greet(Address<ToHost>),
    /// A question that is never answered.
    Ask(Reply<u64>),
}

/// A fact: a visitor was watched. The types below are further facts.
#[derive(Debug)]
struct Watched;
#[derive(Debug)]
struct WasLost(Ended);
/// A fact: the counters of the host's node.
#[derive(Debug)]
struct Sampled(NodeSample);

enum ToActor {
    Host(ToHost),
    Ended(Ended),
    Sample,
}

/// The actor that all visitors know.
struct Host {
    node: Node,
    questions: Vec<Reply<u64>>,
    visitors: u64,
}

impl Actor for Host {
    type Msg = ToActor;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToActor>) {
        let all = PAUSE * self.visitors as u32;
        for at in [all / 4, all / 2, 3 * all / 4, all, all + 2 * FORGETS_AFTER] {
            let _ = cx.send_after(at, &cx.address(), ToActor::Sample);
        }
    }

    fn receive(&mut self, message: ToActor, cx: &mut Context<'_, ToActor>) {
        match message {
            ToActor::Host(ToHost::Child(reply)) => {
                let child: Address<ToActor> = cx.spawn(Host {
                    node: self.node.clone(),
                    questions: Vec::new(),
                    visitors: 0,
                });
                reply.send(child.contramap(ToActor::Host));
            }
            ToActor::Host(ToHost::Greet(visitor)) => {
                cx.note(Watched);
                cx.watch(&visitor, ToActor::Ended);
            }
            ToActor::Host(ToHost::Ask(reply)) => self.questions.push(reply),
            ToActor::Ended(ended) => cx.note(WasLost(ended)),
            ToActor::Sample => cx.note(Sampled(self.node.sample())),
        }
    }
}

/// A network that loses all frames of a node that has fallen silent.
#[derive(Clone)]
struct Cable {
    net: LocalNet,
    has_gone: Arc<AtomicBool>,
}

impl Transport for Cable {
    fn join(&self, of: &str, name: &NodeName, to: Address<Incoming>) -> Result<u64, JoinError> {
        self.net.join(of, name, to)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        self.net.leave(name, life);
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        self.has_gone.load(Relaxed) || self.net.send(to, frame)
    }
}

/// A visitor, which has its own node. Every second visitor falls silent, and the other visitors
/// leave.
struct Visitor {
    node: Node,
    cable: Cable,
    falls_silent: bool,
    children: Vec<Address<ToHost>>,
}

enum ToVisitor {
    Other,
    Child(Result<Address<ToHost>, NoReply>),
    Answer,
    Ended,
    Go,
}

impl Actor for Visitor {
    type Msg = ToVisitor;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToVisitor>) -> Next {
        let host = self.node.service::<ToHost>("host", "host").unwrap();
        cx.ask(&host, ToHost::Child, ToVisitor::Child);
        cx.ask(&host, ToHost::Ask, |_| ToVisitor::Answer);
        cx.watch(&host, |_| ToVisitor::Ended);
        let me = cx.address().contramap(|_: ToHost| ToVisitor::Other);
        let _ = cx.send(&host, ToHost::Greet(me));
        let _ = cx.send_after(STAYS_FOR, &cx.address(), ToVisitor::Go);
        Next::Continue
    }

    fn receive(&mut self, message: ToVisitor, _: &mut Context<'_, ToVisitor>) -> Next {
        match message {
            ToVisitor::Child(child) => self.children.extend(child.ok()),
            ToVisitor::Go => {
                self.cable.has_gone.store(self.falls_silent, Relaxed);
                self.node.leave();
                return Next::Stop;
            }
            ToVisitor::Other | ToVisitor::Answer | ToVisitor::Ended => {}
        }
        Next::Continue
    }
}

/// An actor that starts visitors, one after another.
struct Door {
    handle: Handle,
    net: LocalNet,
    came: u64,
    visitors: u64,
}

impl Actor for Door {
    type Msg = ();
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ()>) {
        let _ = cx.send(&cx.address(), ());
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        self.came += 1;
        let cable = Cable {
            net: self.net.clone(),
            has_gone: Arc::default(),
        };
        let name = format!("visitor-{}", self.came);
        let node = Node::join(&self.handle, cable.clone(), "test", &name).unwrap();
        drop(cx.spawn(Visitor {
            node,
            cable,
            falls_silent: self.came.is_multiple_of(2),
            children: Vec::new(),
        }));
        if self.came < self.visitors {
            let _ = cx.send_after(PAUSE, &cx.address(), ());
        }
    }
}

fn visits(sim: &mut Sim) {
    let visitors = number_of("GARRICK_CLUSTER_VISITORS", VISITORS);
    let (net, host) = (LocalNet::new(), sim.node("host"));
    let node = Node::join(host.handle(), net.clone(), "test", "host").unwrap();
    let it = Host {
        node: node.clone(),
        questions: Vec::new(),
        visitors,
    };
    node.offer("host", &host.spawn(it).unwrap().contramap(ToActor::Host));
    let street = sim.node("street");
    let door = Door {
        handle: street.handle().clone(),
        net,
        came: 0,
        visitors,
    };
    drop(street.spawn(door).unwrap());
    sim.latency(Duration::from_millis(1)..Duration::from_millis(20));
    sim.explained("links are few, and none is left", move |facts| {
        let recent = 2 * (SILENCE.as_millis() / PAUSE.as_millis()) as usize;
        let samples: Vec<_> = facts.seen::<Sampled>().map(|sampled| &sampled.0).collect();
        let last = samples.last().copied().ok_or("no sample")?;
        let left = (last.links, last.exported, last.imported, last.questions);
        let most = samples.iter().map(|sample| sample.links).max();
        if left == (0, 0, 0, 0) && most.is_some_and(|most| most <= LINKS_MAX + recent) {
            return Ok(());
        }
        Err(format!("at most {most:?}; {left:?} left"))
    });
    sim.explained("each watch of a visitor has told its loss", move |facts| {
        let mut ends: BTreeMap<String, u64> = BTreeMap::new();
        for WasLost(ended) in facts.seen::<WasLost>() {
            let kind = match ended {
                Ended::NodeLost(_) => "lost".to_owned(),
                other => format!("{other:?}"),
            };
            *ends.entry(kind).or_default() += 1;
        }
        let watched = facts.seen::<Watched>().count() as u64;
        if watched == visitors && ends.values().sum::<u64>() == watched {
            return Ok(());
        }
        Err(format!("{watched} watched: {ends:?}"))
    });
}

#[test]
fn nodes_that_come_and_go_leave_nothing() {
    let check = Check::new("visitors").seeds(1).steps(u32::MAX);
    match check.run(visits) {
        Ok(report) => println!("{report}"),
        // The steps would be too many to print.
        Err(failed) => panic!("{}", failed.to_string().lines().next().unwrap_or_default()),
    }
}
