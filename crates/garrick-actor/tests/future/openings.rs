//! Tests of async actors whose own addresses are created by other threads, while the mailbox
//! closes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::{hint, thread};

use garrick_actor::{Address, AsyncContext, Incoming, Local};
use garrick_testkit::{ByHand, ms};

use crate::common::{self, settle};

/// Number of rounds of each test, and of actors in each round.
const ROUNDS: usize = 60;
const ACTORS: usize = 50;

/// A place where two threads meet. They wait without sleeping, so that they leave it at the same
/// time.
#[derive(Clone, Default)]
struct Meeting(Arc<AtomicUsize>);

impl Meeting {
    fn wait(&self) {
        let all = self.0.fetch_add(1, SeqCst) / 2 * 2 + 2;
        for turn in 0.. {
            if self.0.load(SeqCst) >= all {
                return;
            }
            if turn % 10_000 == 0 {
                thread::yield_now();
            }
            hint::spin_loop();
        }
    }
}

/// An actor that reports what it receives, and the end of its mailbox. After the end, it waits for
/// some time, and then receives again.
struct Reporter {
    address: Address<u32>,
    context: AsyncContext<u32>,
    heard: Receiver<Option<u32>>,
}

impl Reporter {
    fn new(local: &Local) -> Self {
        let (told, heard) = mpsc::channel();
        let (lends, lent) = mpsc::channel();
        let address = local.spawn(move |mut mailbox: Incoming<u32>| async move {
            let context = mailbox.context().clone();
            lends.send(context.clone()).unwrap();
            loop {
                let received = mailbox.recv().await;
                // The test may have ended.
                let _ = told.send(received);
                if received.is_none() {
                    context.sleep(ms(1)).await;
                }
            }
        });
        local.run();
        Self {
            address,
            context: lent.recv().unwrap(),
            heard,
        }
    }
}

type Contexts = Sender<Vec<AsyncContext<u32>>>;
type Addresses = Receiver<Vec<Address<u32>>>;

/// Starts a thread that creates an address of each actor whose context it gets, at the same time as
/// the other thread of the meeting does something.
fn addresser(start: &Meeting) -> (Contexts, Addresses) {
    let (contexts, asked) = mpsc::channel::<Vec<AsyncContext<u32>>>();
    let (gives, given) = mpsc::channel();
    let start = start.clone();
    let address = move |context: AsyncContext<u32>| {
        start.wait();
        context.address()
    };
    thread::spawn(move || {
        for contexts in asked {
            let addresses = contexts.into_iter().map(&address).collect();
            gives.send(addresses).unwrap();
        }
    });
    (contexts, given)
}

/// Checks that the mailbox of an actor with one address is open.
fn check_open(
    clock: &ByHand,
    local: &Local,
    address: &Address<u32>,
    heard: &Receiver<Option<u32>>,
) {
    clock.advance(ms(2));
    settle(local);
    let _earlier = heard.try_iter().count();
    clock.advance(ms(2));
    address.send(7).unwrap();
    settle(local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [Some(7)]);
    address.stop();
    settle(local);
}

#[test]
fn a_mailbox_stays_open_if_two_threads_open_it_at_once() {
    let (clock, local) = common::local();
    let start = Meeting::default();
    let threads = [(); 2].map(|()| addresser(&start));
    for _ in 0..ROUNDS {
        let (mut contexts, mut heards) = (Vec::new(), Vec::new());
        for reporter in (0..ACTORS).map(|_| Reporter::new(&local)) {
            contexts.push(reporter.context);
            heards.push(reporter.heard);
        }
        for (asks, _) in &threads {
            asks.send(contexts.clone()).unwrap();
        }
        let [ones, twos] = threads.each_ref().map(|(_, given)| given.recv().unwrap());
        for (index, (one, two)) in ones.into_iter().zip(twos).enumerate() {
            assert_eq!(one, two);
            let (stays, goes) = if index % 2 == 0 {
                (one, two)
            } else {
                (two, one)
            };
            drop(goes);
            check_open(&clock, &local, &stays, &heards[index]);
        }
    }
}

#[test]
fn a_mailbox_that_opens_while_it_closes_is_open() {
    let (clock, local) = common::local();
    let start = Meeting::default();
    let (asks, given) = addresser(&start);
    for _ in 0..ROUNDS {
        let reporters: Vec<_> = (0..ACTORS).map(|_| Reporter::new(&local)).collect();
        let contexts = reporters.iter().map(|reporter| reporter.context.clone());
        asks.send(contexts.collect()).unwrap();
        let mut heards = Vec::new();
        for Reporter { address, heard, .. } in reporters {
            drop(address);
            heards.push(heard);
            start.wait();
            local.run();
        }
        for (address, heard) in given.recv().unwrap().into_iter().zip(heards) {
            check_open(&clock, &local, &address, &heard);
        }
    }
}
