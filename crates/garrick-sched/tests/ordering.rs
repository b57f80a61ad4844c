//! Tests that messages from one sender to one receiver are handled in the order of sending,
//! wherever the two tasks run, and however often they move.

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;

use common::does;
use garrick_sched::{Address, Flow, Here, Sponsor, Task, Turn};
use garrick_testkit::{ends, wait};

/// A check that the numbers from each sender increase by one.
#[derive(Default)]
struct Order {
    last: HashMap<u64, u64>,
}

impl Order {
    fn hear(&mut self, from: u64, number: u64) {
        let last = self.last.entry(from).or_default();
        assert_eq!(number, *last + 1, "from sender {from}");
        *last = number;
    }
}

#[test]
fn to_a_neighbour_and_to_oneself() {
    let here = Here::new_here().unwrap();
    let (told, tells) = channel();
    let neighbour = here.spawn(does(move |n: u64, _| {
        told.send(n).unwrap();
        Flow::Continue
    }));
    let sender = here.spawn(does(move |n: u64, turn: &Turn<'_, u64>| {
        turn.send(&neighbour, 2 * n).unwrap();
        if n < 500 {
            // To itself between two messages to the neighbour, through the same mailbox as the
            // messages that wait already.
            turn.send(&turn.address(), n + 1).unwrap();
        }
        neighbour.send(2 * n + 1).unwrap();
        Flow::Continue
    }));
    sender.send(0).unwrap();
    here.run();
    let heard: Vec<_> = tells.try_iter().collect();
    assert_eq!(heard, (0..1_002).collect::<Vec<_>>());
}

#[test]
fn to_many_receivers_elsewhere_in_one_turn() {
    ends(|| {
        let (one, two) = (Sponsor::pool(1).unwrap(), Sponsor::pool(2).unwrap());
        let (told, tells) = channel();
        let receivers: Vec<_> = (0..9)
            .map(|receiver| {
                let told = told.clone();
                let task = does(move |n: u64, _: &Turn<'_, u64>| {
                    told.send((receiver, n)).unwrap();
                    Flow::Continue
                });
                two.handle().spawn(task).unwrap()
            })
            .collect();
        // More receivers than a turn searches chains for, each of them again and again.
        let sender = one
            .handle()
            .spawn(does(move |turns: u64, turn: &Turn<'_, u64>| {
                for round in 0..5 {
                    for (index, receiver) in receivers.iter().enumerate() {
                        let number = turns * 10 + round * 2;
                        turn.send(receiver, number).unwrap();
                        turn.send(&receivers[(index * 5) % 9], u64::MAX).unwrap();
                        turn.send(receiver, number + 1).unwrap();
                    }
                }
                Flow::Continue
            }));
        let sender = sender.unwrap();
        (0..40).for_each(|n| sender.send(n).unwrap());
        drop((sender, told));
        one.shutdown();
        two.shutdown();
        let mut next = [0; 9];
        for (receiver, n) in tells.iter().filter(|(_, n)| *n != u64::MAX) {
            assert_eq!(n, next[receiver], "receiver {receiver}");
            next[receiver] += 1;
        }
        assert_eq!(next, [400; 9]);
    });
}

#[test]
fn an_outside_sender_and_two_neighbours() {
    ends(|| {
        let sponsor = Sponsor::pool(2).unwrap();
        let (told, tells) = channel();
        let mut order = Order::default();
        let receiver =
            sponsor
                .handle()
                .spawn(does(move |(from, number), _: &Turn<'_, (u64, u64)>| {
                    order.hear(from, number);
                    if number == 5_000 {
                        told.send(()).unwrap();
                    }
                    Flow::Continue
                }));
        let receiver = receiver.unwrap();
        for from in 0..2 {
            let to = receiver.clone();
            let sender = sponsor
                .handle()
                .spawn(does(move |number: u64, turn: &Turn<'_, u64>| {
                    turn.send(&to, (from, number)).unwrap();
                    if number < 5_000 {
                        turn.send(&turn.address(), number + 1).unwrap();
                    }
                    Flow::Continue
                }));
            sender.unwrap().send(1).unwrap();
        }
        (1..=5_000).for_each(|number| receiver.send((2, number)).unwrap());
        (0..3).for_each(|_| wait(&tells));
        sponsor.shutdown();
    });
}

type Envelope = (u64, u64);

/// A task that sends to all tasks, one after the other, so that they are always ready and move
/// between workers.
struct Mover {
    id: u64,
    all: Arc<[Address<Post>]>,
    order: Order,
    sent: u64,
    heard: Arc<AtomicU64>,
}

enum Post {
    All(Arc<[Address<Post>]>),
    Numbered(Envelope),
}

impl Mover {
    fn round(&mut self, turn: &Turn<'_, Post>) {
        self.sent += 1;
        for to in self.all.iter() {
            turn.send(to, Post::Numbered((self.id, self.sent))).unwrap();
        }
    }
}

impl Task for Mover {
    type Message = Post;

    fn receive(&mut self, post: Post, turn: &Turn<'_, Post>) -> Flow {
        match post {
            Post::All(all) => {
                self.all = all;
                self.round(turn);
            }
            Post::Numbered((from, number)) => {
                self.heard.fetch_add(1, SeqCst);
                self.order.hear(from, number);
                if from == self.id && number < ROUNDS {
                    self.round(turn);
                }
            }
        }
        Flow::Continue
    }
}

const ROUNDS: u64 = 40;
const MOVERS: u64 = 48;

#[test]
fn tasks_that_move_between_workers() {
    for workers in [2, 3] {
        ends(move || {
            let sponsor = Sponsor::pool(workers).unwrap();
            let handle = sponsor.handle();
            let heard = Arc::new(AtomicU64::new(0));
            let mover = |id| Mover {
                id,
                all: Arc::new([]),
                order: Order::default(),
                sent: 0,
                heard: heard.clone(),
            };
            let all: Arc<[_]> = (0..MOVERS)
                .map(|id| handle.spawn(mover(id)).unwrap())
                .collect();
            all.iter()
                .for_each(|task| task.send(Post::All(all.clone())).unwrap());
            let outside = {
                let all = all.clone();
                thread::spawn(move || {
                    for number in 1..=ROUNDS {
                        for to in all.iter() {
                            to.send(Post::Numbered((MOVERS, number))).unwrap();
                        }
                    }
                })
            };
            outside.join().unwrap();
            sponsor.shutdown();
            assert_eq!(handle.failures(), 0, "out of order");
            assert_eq!(heard.load(SeqCst), MOVERS * ROUNDS * (MOVERS + 1));
        });
    }
}
