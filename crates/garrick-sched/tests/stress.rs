//! Tests of random programs on one or two sponsors. Tasks spawn, send, pass addresses on, drop
//! addresses, undo turns, panic and stop, and plain threads send as well. Each message is accounted
//! for once and in order. At the end, every cell, envelope, task and message is freed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use garrick_sched::{Address, Flow, Sponsor, Task, Turn, audit};
use garrick_testkit::{alone, fail, silence_panics};

/// Counters of the events in a whole run.
#[derive(Default)]
struct Tally {
    /// Number of steps that tasks may still take.
    fuel: AtomicI64,
    next_id: AtomicU64,
    tasks_alive: AtomicI64,
    messages_alive: AtomicI64,
    /// Number of messages that were made.
    made: AtomicU64,
    handled: AtomicU64,
    /// Number of messages that were dropped and not handled.
    dropped: AtomicU64,
    /// Number of dropped messages that were sent in turns that were undone on purpose, or that were
    /// given back to the sender.
    undone: AtomicU64,
    given_back: AtomicU64,
    disorder: AtomicU64,
}

impl Tally {
    /// Checks that all messages are accounted for. The sponsors have counted `dead` dead letters.
    fn check(&self, dead: u64, context: &str) {
        let of = |count: &AtomicU64| count.load(SeqCst);
        assert_eq!(of(&self.disorder), 0, "out of order: {context}");
        assert_eq!(
            self.messages_alive.load(SeqCst),
            0,
            "messages leaked: {context}"
        );
        assert_eq!(self.tasks_alive.load(SeqCst), 0, "tasks leaked: {context}");
        assert_eq!(
            of(&self.made),
            of(&self.handled) + of(&self.dropped),
            "made: {context}"
        );
        assert_eq!(
            of(&self.dropped),
            of(&self.undone) + of(&self.given_back) + dead,
            "messages lost on the way: {context}"
        );
    }
}

struct Counted {
    tally: Arc<Tally>,
    handled: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let end = if self.handled {
            &self.tally.handled
        } else {
            &self.tally.dropped
        };
        end.fetch_add(1, SeqCst);
        self.tally.messages_alive.fetch_sub(1, SeqCst);
    }
}

/// A message with padding. The size of the padding determines if the message is in an envelope or
/// in an entry of a run queue.
struct Message<P: Default + Send + 'static> {
    body: Box<Body<P>>,
    _padding: P,
}

struct Body<P: Default + Send + 'static> {
    from: u64,
    number: u64,
    passed_on: Option<Address<Message<P>>>,
    counted: Counted,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// A sender, which numbers its messages to each receiver.
struct Sender<P: Default + Send + 'static> {
    id: u64,
    random: Random,
    numbers: HashMap<Address<Message<P>>, u64>,
    tally: Arc<Tally>,
}

impl<P: Default + Send + 'static> Sender<P> {
    fn new(tally: &Arc<Tally>, seed: u64) -> Self {
        let id = tally.next_id.fetch_add(1, SeqCst);
        let random = Random((seed ^ (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1);
        Self {
            id,
            random,
            numbers: HashMap::new(),
            tally: tally.clone(),
        }
    }

    fn message(
        &mut self,
        to: &Address<Message<P>>,
        passed_on: Option<Address<Message<P>>>,
    ) -> Message<P> {
        let number = self.numbers.entry(to.clone()).or_default();
        *number += 1;
        self.tally.made.fetch_add(1, SeqCst);
        self.tally.messages_alive.fetch_add(1, SeqCst);
        let counted = Counted {
            tally: self.tally.clone(),
            handled: false,
        };
        Message {
            body: Box::new(Body {
                from: self.id,
                number: *number,
                passed_on,
                counted,
            }),
            _padding: P::default(),
        }
    }

    /// Returns a random address that the sender knows, if there is one.
    fn pick(&mut self) -> Option<Address<Message<P>>> {
        let count = self.numbers.len() as u64;
        if count == 0 {
            return None;
        }
        let index = self.random.below(count) as usize;
        self.numbers.keys().nth(index).cloned()
    }
}

struct Node<P: Default + Send + 'static> {
    sender: Sender<P>,
    seed: u64,
    /// The last number that was received from each sender.
    seen: HashMap<u64, u64>,
    /// Number of messages that the current turn has staged.
    staged: u64,
}

impl<P: Default + Send + 'static> Node<P> {
    fn new(tally: &Arc<Tally>, seed: u64) -> Self {
        tally.tasks_alive.fetch_add(1, SeqCst);
        Self {
            sender: Sender::new(tally, seed),
            seed,
            seen: HashMap::new(),
            staged: 0,
        }
    }

    fn send(
        &mut self,
        to: &Address<Message<P>>,
        passed_on: Option<Address<Message<P>>>,
        turn: &Turn<'_, Message<P>>,
    ) {
        let message = self.sender.message(to, passed_on);
        match turn.send(to, message) {
            Ok(()) => self.staged += 1,
            Err(_) => {
                self.sender.tally.given_back.fetch_add(1, SeqCst);
            }
        }
    }

    fn step(&mut self, turn: &Turn<'_, Message<P>>) -> Flow {
        match self.sender.random.below(32) {
            0..=7 => {
                let child = turn.spawn(Node::new(&self.sender.tally, self.seed));
                let me = turn.address();
                self.send(&child, Some(me), turn);
            }
            8..=19 => {
                for _ in 0..=self.sender.random.below(6) {
                    if let Some(to) = self.sender.pick() {
                        let passed_on = self.sender.pick();
                        self.send(&to, passed_on, turn);
                    }
                }
            }
            20..=22 => {
                let me = turn.address();
                self.send(&me, None, turn);
            }
            23..=26 => {
                if let Some(forgotten) = self.sender.pick() {
                    self.sender.numbers.remove(&forgotten);
                    // Its numbers would start again if it came back; a new name keeps the order
                    // testable.
                    self.sender.id = self.sender.tally.next_id.fetch_add(1, SeqCst);
                    self.sender
                        .numbers
                        .values_mut()
                        .for_each(|number| *number = 0);
                }
            }
            27 => {
                if let Some(other) = self.sender.pick() {
                    other.stop();
                }
            }
            28 => {
                self.sender.tally.undone.fetch_add(self.staged, SeqCst);
                return Flow::Undo;
            }
            29 => {
                self.sender.tally.undone.fetch_add(self.staged, SeqCst);
                fail();
            }
            30 => return Flow::Stop,
            _ => {}
        }
        Flow::Continue
    }
}

impl<P: Default + Send + 'static> Task for Node<P> {
    type Message = Message<P>;

    fn receive(&mut self, mut message: Message<P>, turn: &Turn<'_, Message<P>>) -> Flow {
        let body = &mut message.body;
        body.counted.handled = true;
        let seen = self.seen.entry(body.from).or_default();
        if body.number <= *seen {
            self.sender.tally.disorder.fetch_add(1, SeqCst);
        }
        *seen = body.number;
        if let Some(address) = body.passed_on.take() {
            self.sender.numbers.entry(address).or_insert(0);
        }
        self.staged = 0;
        for _ in 0..3 {
            if self.sender.tally.fuel.fetch_sub(1, SeqCst) <= 0 {
                return Flow::Continue;
            }
            let flow = self.step(turn);
            if flow != Flow::Continue {
                return flow;
            }
        }
        Flow::Continue
    }
}

impl<P: Default + Send + 'static> Drop for Node<P> {
    fn drop(&mut self) {
        self.sender.tally.tasks_alive.fetch_sub(1, SeqCst);
    }
}

/// Runs a plain thread that sends to the given tasks.
fn outsider<P: Default + Send + 'static>(
    tally: &Arc<Tally>,
    seed: u64,
    to: &[Address<Message<P>>],
    count: u64,
) {
    let mut sender = Sender::new(tally, seed);
    for _ in 0..count {
        let to = &to[sender.random.below(to.len() as u64) as usize];
        let message = sender.message(to, Some(to.clone()));
        if to.send(message).is_err() {
            tally.given_back.fetch_add(1, SeqCst);
        }
    }
}

/// Runs one random program.
fn run<P: Default + Send + 'static>(
    seed: u64,
    workers: usize,
    sponsors: usize,
    fuel: i64,
    in_order: bool,
) {
    let _alone = alone();
    silence_panics();
    let before = audit();
    let tally = Arc::new(Tally::default());
    tally.fuel.store(fuel, SeqCst);
    let all: Vec<Sponsor> = (0..sponsors)
        .map(|_| Sponsor::pool(workers).unwrap())
        .collect();
    let handles: Vec<_> = all.iter().map(Sponsor::handle).collect();
    let roots: Vec<_> = (0..8)
        .map(|i| {
            handles[i % sponsors]
                .spawn(Node::<P>::new(&tally, seed))
                .unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        let outsiders: Vec<_> = (1..=2)
            .map(|thread| {
                let (tally, roots) = (&tally, &roots);
                scope.spawn(move || outsider(tally, seed.wrapping_add(thread), roots, 200))
            })
            .collect();
        // Their threads must have ended, with their spare blocks given back, before the audit.
        let join = || {
            outsiders
                .into_iter()
                .for_each(|outsider| outsider.join().unwrap());
        };
        if !in_order {
            // Ends while the outsiders still send.
            all.into_iter().for_each(Sponsor::shutdown_now);
            return join();
        }
        // A message from one sponsor to another is a stranger's message there: the work is over
        // when the fuel is, and then each sponsor ends in order.
        while sponsors > 1 && tally.fuel.load(SeqCst) > 0 && tally.messages_alive.load(SeqCst) > 0 {
            std::thread::yield_now();
        }
        all.into_iter().for_each(Sponsor::shutdown);
        join();
    });
    drop(roots);
    let dead = handles.iter().map(|handle| handle.dead_letters()).sum();
    let context = format!("seed {seed}, {sponsors} x {workers} workers, in order: {in_order}");
    tally.check(dead, &context);
    assert_eq!(audit(), before, "blocks leaked: {context}");
}

fn rounds() -> u64 {
    if cfg!(debug_assertions) { 20 } else { 150 }
}

#[test]
fn stress_one_worker() {
    (1..=rounds()).for_each(|seed| run::<()>(seed, 1, 1, 3_000, true));
}

#[test]
fn stress_two_workers() {
    (1..=rounds()).for_each(|seed| run::<()>(seed, 2, 1, 3_000, true));
}

#[test]
fn stress_four_workers() {
    (1..=rounds()).for_each(|seed| run::<()>(seed, 4, 1, 3_000, true));
}

#[test]
fn stress_two_sponsors() {
    (1..=rounds()).for_each(|seed| run::<()>(seed, 2, 2, 3_000, true));
}

#[test]
fn stress_large_messages() {
    (1..=rounds()).for_each(|seed| run::<[u64; 8]>(seed, 2, 1, 3_000, true));
}

#[test]
fn stress_ending_in_the_middle() {
    (1..=rounds()).for_each(|seed| run::<()>(seed, 1 + (seed as usize % 3), 2, 3_000, false));
}

#[test]
fn stress_boxed_messages() {
    (1..=rounds() / 4).for_each(|seed| run::<Big>(seed, 2, 1, 1_000, true));
}

/// Padding that makes a message larger than every envelope.
struct Big(#[allow(dead_code)] [u64; 700]);

impl Default for Big {
    fn default() -> Self {
        Self([0; 700])
    }
}
