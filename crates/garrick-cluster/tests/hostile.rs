//! Frames of enemies: changed, cut, repeated and invented ones. A node drops them or ends the
//! session, and goes on.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::{Actor, Address, Context, Local, Reply, System};
use garrick_cluster::{Carrier, Incoming, JoinError, LocalNet, Node, NodeName, Transport, Wire};
use garrick_testkit::ByHand;
use proptest::prelude::*;

/// Size of a head without the name of the sender, and the position of its checksum.
const HEAD_BYTES: usize = 88;
const SUM_AT: usize = 84;

#[derive(Wire)]
#[wire(name = "test.Msg", context = Carrier)]
enum Msg {
    Add(u64),
    Get(Reply<u64>),
    Keep(Address<Msg>),
}

/// A counter that keeps addresses.
#[derive(Default)]
struct Counter {
    sum: u64,
    kept: Vec<Address<Msg>>,
}

impl Actor for Counter {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
        match msg {
            Msg::Add(number) => self.sum = self.sum.wrapping_add(number),
            Msg::Get(reply) => reply.send(self.sum),
            Msg::Keep(address) => {
                // Some of these lead nowhere.
                let _ = cx.send(&address, Msg::Add(1));
                self.kept.push(address);
                self.kept.truncate(10);
            }
        }
    }
}

/// A frame, and the node to which it was sent.
type Seen = (NodeName, Vec<u8>);

/// A network that keeps copies of all frames.
#[derive(Clone, Default)]
struct Spy {
    net: LocalNet,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Transport for Spy {
    fn join(&self, name: &NodeName, incoming: Address<Incoming>) -> Result<u64, JoinError> {
        self.net.join(name, incoming)
    }

    fn leave(&self, name: &NodeName, life: u64) {
        self.net.leave(name, life);
    }

    fn send(&self, to: &NodeName, frame: Incoming) -> bool {
        let seen = (to.clone(), frame.content().to_vec());
        self.seen.lock().unwrap().push(seen);
        self.net.send(to, frame)
    }
}

/// Two nodes on one thread, with counters.
struct Pair {
    clock: Arc<ByHand>,
    local: Local,
    spy: Spy,
    server: Node,
    client: Node,
    counter: Address<Msg>,
    far: Address<Msg>,
}

impl Pair {
    fn new() -> Self {
        let (clock, spy) = (ByHand::new(), Spy::default());
        let local = System::builder().world(clock.clone()).local().unwrap();
        let handle = local.handle();
        let server = Node::join(&handle, spy.clone(), "test", "server").unwrap();
        let counter = local.spawn(Counter::default());
        server.offer("counter", &counter);
        let client = Node::join(&handle, spy.clone(), "test", "client").unwrap();
        let far = client.service("server", "counter").unwrap();
        Self {
            clock,
            local,
            spy,
            server,
            client,
            counter,
            far,
        }
    }

    /// Lets the nodes exchange messages of all kinds, and returns the frames to the server.
    fn talk(&self) -> Vec<Vec<u8>> {
        self.far.send(Msg::Add(1)).unwrap();
        self.far.send(Msg::Keep(self.far.clone())).unwrap();
        self.far.watch(|_| ());
        let ask = self.far.ask(Msg::Get);
        self.run();
        drop(ask);
        let seen = self.spy.seen.lock().unwrap();
        let to_server = seen.iter().filter(|(to, _)| to.as_str() == "server");
        to_server.map(|(_, frame)| frame.clone()).collect()
    }

    fn run(&self) {
        self.local.run();
    }

    /// Sends a frame to the server, as if it came over the network.
    fn inject(&self, frame: Vec<u8>) {
        let server = NodeName::new("server").unwrap();
        self.spy.net.send(&server, Incoming::new(frame));
        self.run();
    }

    /// Checks that the nodes work.
    fn check(&self) {
        assert!(!self.counter.is_stopped());
        let before = (self.server.sample(), self.client.sample());
        // A session that was damaged ends within some seconds.
        for _ in 0..20 {
            let _ = self.far.send(Msg::Add(0));
            self.run();
            self.clock.advance(Duration::from_millis(500));
            self.run();
        }
        let delivered = self.server.sample().delivered;
        let after = (self.server.sample(), self.client.sample());
        assert!(delivered > before.0.delivered, "{before:?} {after:?}");
        assert_eq!(self.local.handle().failures(), 0);
    }
}

/// Sets the right checksum, as an enemy with the key of the cluster does.
fn sign(frame: &mut [u8]) {
    if frame.len() < HEAD_BYTES {
        return;
    }
    frame[SUM_AT..HEAD_BYTES].fill(0);
    let sum = crc32c::crc32c(frame);
    frame[SUM_AT..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn changed_and_cut_frames_are_dropped() {
    let pair = Pair::new();
    let frames = pair.talk();
    let delivered = pair.server.sample().delivered;
    let mut count = 0;
    for frame in &frames {
        for at in 0..frame.len() {
            let mut changed = frame.clone();
            changed[at] ^= 0x55;
            pair.inject(changed);
            pair.inject(frame[..at].to_vec());
            count += 2;
        }
        // A frame that comes again. Those without entries do no harm.
        pair.inject(frame.clone());
        count += u64::from(frame[80..84] != [0; 4]);
    }
    let sample = pair.server.sample();
    assert_eq!(sample.delivered, delivered);
    assert!(sample.frames_dropped >= count, "{sample:?}");
    pair.check();
}

#[test]
fn changed_frames_with_right_checksums_do_no_harm() {
    for frame in 0..Pair::new().talk().len() {
        let length = Pair::new().talk()[frame].len();
        for at in 0..length {
            // Numbers of lives and sessions: who says that a node has started again, and has the
            // right name and checksum, is believed.
            if (16..24).contains(&at) || (32..40).contains(&at) {
                continue;
            }
            let pair = Pair::new();
            let mut changed = pair.talk()[frame].clone();
            changed[at] = changed[at].wrapping_add(1);
            // As the next frame.
            changed[40..48].copy_from_slice(&100_u64.to_le_bytes());
            sign(&mut changed);
            pair.inject(changed);
            pair.check();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn invented_entries_do_no_harm(
        entries: Vec<u8>,
        count in 0..40_u32,
        numbers: [u64; 7],
        small: bool,
    ) {
        let pair = Pair::new();
        let mut frame = pair.talk()[0][..HEAD_BYTES + "client".len()].to_vec();
        for (at, number) in numbers.into_iter().enumerate() {
            let number = if small { number % 4 } else { number };
            let at = 24 + 8 * at;
            frame[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        frame[80..84].copy_from_slice(&count.to_le_bytes());
        frame.extend(entries);
        sign(&mut frame);
        pair.inject(frame);
        prop_assert_eq!(pair.local.handle().failures(), 0);
        prop_assert!(!pair.counter.is_stopped());
    }

    #[test]
    fn entries_of_known_kinds_do_no_harm(
        parts in prop::collection::vec((1..6_u8, prop::collection::vec(0..20_u8, 0..12)), 1..20),
    ) {
        let pair = Pair::new();
        let mut frame = pair.talk()[0][..HEAD_BYTES + "client".len()].to_vec();
        let count = parts.len() as u32;
        for (kind, rest) in parts {
            frame.push(kind);
            frame.extend(rest);
        }
        frame[40..48].copy_from_slice(&100_u64.to_le_bytes());
        frame[80..84].copy_from_slice(&count.to_le_bytes());
        sign(&mut frame);
        pair.inject(frame);
        pair.check();
    }
}
