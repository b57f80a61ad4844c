//! Threads that call registers, and the history of their calls.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use garrick_actor::{Address, NoReply, System};
use garrick_cluster::nats::{NatsNet, NatsPlacement};
use garrick_cluster::{Entities, Node};
use garrick_core::random::mix;
use garrick_sim::history::models::key_value::{KeyValue, Op, Ret};
use garrick_sim::history::{History, Verdict};

use crate::member::{CLUSTER, join};
use crate::register::{Access, REGISTER};

/// Number of calling threads. The next constant is the number of registers.
const CALLERS: u64 = 8;
const REGISTERS: u64 = 12;

/// Time between two calls of a thread.
const PAUSE: Duration = Duration::from_millis(10);

/// Time limit of a call. A message may wait for up to 10 s on its way.
const LIMIT: Duration = Duration::from_secs(30);

/// State that the threads share.
struct Shared {
    history: Mutex<History<Op<u64, u64>, Ret<u64>>>,
    answered: AtomicU64,
    failed: AtomicU64,
    /// For each register, the time of its last answer. Also the longest time between two answers of
    /// one register.
    answers: Mutex<(Vec<Instant>, Duration)>,
}

/// Threads that call registers. Their node runs no registers.
pub(crate) struct Callers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Senders of channels. The threads end when the senders are dropped.
    ends: Vec<Sender<()>>,
    entities: Entities,
    node: Node,
    net: NatsNet,
    _system: System,
}

impl Callers {
    pub(crate) fn start(server: &str) -> Self {
        let system = System::new().unwrap();
        let net = NatsNet::builder(server).start().unwrap();
        let node = join(&system, &net, "callers");
        let servers = NatsNet::builder(server);
        let placement = NatsPlacement::open(&system.handle(), servers, CLUSTER, "callers");
        let entities = Entities::start(&node, placement.unwrap()).unwrap();
        let shared = Arc::new(Shared {
            history: Mutex::new(History::new()),
            answered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            answers: Mutex::new((vec![Instant::now(); REGISTERS as usize], Duration::ZERO)),
        });
        let address = |key: u64| entities.get(REGISTER, &key.to_string()).unwrap();
        let registers: Vec<_> = (0..REGISTERS).map(address).collect();
        let caller = |number| {
            let (shared, registers) = (shared.clone(), registers.clone());
            let (sender, ends) = channel();
            let call = move || call_until_the_end(number, &shared, &registers, &ends);
            (thread::spawn(call), sender)
        };
        let (threads, ends) = (0..CALLERS).map(caller).unzip();
        Self {
            threads,
            ends,
            shared,
            entities,
            node,
            net,
            _system: system,
        }
    }

    /// Waits until `count` more calls were answered.
    pub(crate) fn get_answers(&self, count: u64) {
        let before = self.shared.answered.load(SeqCst);
        while self.shared.answered.load(SeqCst) < before + count {
            thread::yield_now();
        }
    }

    /// Waits until the callers' node knows that another node is a member, or is no longer a member.
    pub(crate) fn see_member(&self, number: usize, is_member: bool) {
        let name = format!("member-{number}");
        let sees = || {
            let members = self.entities.members().members;
            members.iter().any(|member| member.as_str() == name)
        };
        while sees() != is_member {
            thread::yield_now();
        }
    }

    /// Waits until the callers' node knows that another node owns shards.
    pub(crate) fn see_shards(&self, number: usize) {
        let name = format!("member-{number}");
        let sees = || {
            let members = self.entities.roster();
            let member = members.iter().find(|member| member.name.as_str() == name);
            member.is_some_and(|member| member.shards.iter().any(|(_, owned)| *owned > 0))
        };
        while !sees() {
            thread::yield_now();
        }
    }

    /// Ends the calls, and checks their history. The members must still be running.
    pub(crate) fn end(self) {
        drop(self.ends);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let count = |count: &AtomicU64| count.load(SeqCst);
        let (answered, failed) = (count(&self.shared.answered), count(&self.shared.failed));
        let silence = self.shared.answers.lock().unwrap().1;
        println!(
            "{answered} calls answered, {failed} not, longest silence of a register {silence:?}"
        );
        println!(
            "{:?}\n{:?}",
            self.entities.members(),
            self.entities.sample()
        );
        let history = self.shared.history.lock().unwrap();
        match history.check(&KeyValue::default()) {
            Verdict::Linearizable(_) => {}
            Verdict::NotLinearizable(why) => panic!("{why}"),
            Verdict::Unknown { explored } => panic!("too many calls: {explored}"),
        }
        assert!(
            answered > failed && answered > 200,
            "{answered} of {}",
            answered + failed
        );
        self.entities.leave();
        self.node.leave();
        self.net.close(Duration::from_secs(2));
    }
}

fn call_until_the_end(
    number: u64,
    shared: &Shared,
    registers: &[Address<Access>],
    ends: &Receiver<()>,
) {
    let mut seen = None;
    for call in 0.. {
        // Also the pause between two calls.
        if ends.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let new = number << 32 | call;
        let chance = mix(new);
        let key = chance % REGISTERS;
        let op = match chance >> 32 & 3 {
            0 => Op::Put(key, new),
            1 => Op::CompareAndSwap {
                key,
                expected: seen,
                new,
            },
            _ => Op::Get(key),
        };
        let recorded = shared.history.lock().unwrap().invoke(number, op.clone());
        match ask(&registers[key as usize], &op) {
            Ok(ret) => {
                if let Ret::Value(value) = &ret {
                    seen = *value;
                }
                shared.history.lock().unwrap().complete(recorded, ret);
                shared.answered.fetch_add(1, SeqCst);
                let mut answers = shared.answers.lock().unwrap();
                let (last, longest) = &mut *answers;
                *longest = last[key as usize].elapsed().max(*longest);
                last[key as usize] = Instant::now();
            }
            // It may have taken effect.
            Err(_) => {
                shared.failed.fetch_add(1, SeqCst);
            }
        }
    }
}

/// Calls a register, and waits for the answer.
fn ask(register: &Address<Access>, op: &Op<u64, u64>) -> Result<Ret<u64>, NoReply> {
    match *op {
        Op::Get(_) => register
            .ask(Access::Get)
            .wait_timeout(LIMIT)
            .map(Ret::Value),
        Op::Put(_, new) => {
            let put = |reply| Access::Put { new, reply };
            register.ask(put).wait_timeout(LIMIT).map(|()| Ret::Done)
        }
        Op::CompareAndSwap { expected, new, .. } => {
            let swap = |reply| Access::Swap {
                expected,
                new,
                reply,
            };
            register.ask(swap).wait_timeout(LIMIT).map(Ret::Swapped)
        }
        Op::Delete(_) => unreachable!("no caller deletes"),
    }
}
