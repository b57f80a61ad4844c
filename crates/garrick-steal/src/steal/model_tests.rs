//! Compares all operations of all handles, on one thread, with those of plain lists. The tests also
//! count the drops of values.
use std::{cell::Cell, collections::HashSet, rc::Rc, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::testing::Counted;

#[derive(Debug, Clone, Copy)]
enum Step {
    Send { worker: usize },
    SendMany { worker: usize, count: u32 },
    Receive { worker: usize },
    ReceiveInTime { worker: usize },
    SendOutside,
    SendManyOutside { count: u32 },
    ReceiveOutside,
    DropWorker,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let worker = 0..4_usize;
    prop_oneof![
        40 => worker.clone().prop_map(|worker| Step::Send { worker }),
        6 => (worker.clone(), 0..9_u32).prop_map(|(worker, count)| Step::SendMany { worker, count }),
        30 => worker.clone().prop_map(|worker| Step::Receive { worker }),
        2 => worker.prop_map(|worker| Step::ReceiveInTime { worker }),
        8 => Just(Step::SendOutside),
        3 => (0..9_u32).prop_map(|count| Step::SendManyOutside { count }),
        8 => Just(Step::ReceiveOutside),
        1 => Just(Step::DropWorker),
        1 => Just(Step::Close),
    ]
}

/// The channel under test, and the values that it must contain.
struct Pair {
    channel: Channel<Counted>,
    present: HashSet<u32>,
    local_capacity: usize,
    bound: Option<usize>,
    is_closed: bool,
    alive: Rc<Cell<usize>>,
    next: u32,
    sent: u64,
    received: u64,
}

impl Pair {
    fn new(workers: usize, local_capacity: usize, global: Capacity) -> Self {
        let bound = match global {
            Capacity::Bounded(count) => Some(count),
            Capacity::Unbounded => None,
        };
        Self {
            channel: channel(workers, local_capacity, global),
            present: HashSet::new(),
            local_capacity,
            bound,
            is_closed: false,
            alive: Rc::default(),
            next: 0,
            sent: 0,
            received: 0,
        }
    }

    fn check(mut self, steps: &[Step]) {
        for &step in steps {
            self.take(step);
            self.check_counts();
        }
        let alive = self.alive.clone();
        drop(self);
        assert_eq!(alive.get(), 0, "the last handle must drop what is left");
    }

    fn take(&mut self, step: Step) {
        let workers = self.channel.workers.len();
        match step {
            Step::Send { worker } if workers > 0 => self.send(worker % workers),
            Step::SendMany { worker, count } if workers > 0 => {
                self.send_many(worker % workers, count);
            }
            Step::Receive { worker } if workers > 0 => {
                let received = self.channel.workers[worker % workers].try_recv();
                self.came_in_turn(received);
            }
            Step::ReceiveInTime { worker } if workers > 0 => {
                let worker = &mut self.channel.workers[worker % workers];
                let received = worker.recv_timeout(Duration::ZERO);
                self.came_in_turn(received.map_err(|error| match error {
                    PopTimeoutError::Timeout => TryRecvError::Empty,
                    PopTimeoutError::Closed => TryRecvError::Closed,
                }));
            }
            Step::SendOutside => {
                let value = self.value();
                let sent = self.channel.sender.try_send(value);
                self.went(sent);
            }
            Step::SendManyOutside { count } => self.send_many_outside(count),
            Step::ReceiveOutside => {
                let received = self.channel.receiver.try_recv();
                self.came_in_turn(received);
            }
            Step::DropWorker if workers > 1 => drop(self.channel.workers.pop()),
            Step::Close => {
                assert_eq!(self.channel.receiver.close(), !self.is_closed);
                self.is_closed = true;
            }
            // No worker is left.
            _ => {}
        }
    }

    fn value(&mut self) -> Counted {
        self.next += 1;
        Counted::new(self.next, &self.alive)
    }

    fn send(&mut self, worker: usize) {
        let value = self.value();
        let newest = value.number;
        let sent = self.channel.workers[worker].try_send(value);
        let is_sent = sent.is_ok();
        self.went(sent);
        // A worker receives next the value that it sent last, unless an older value is due.
        let is_fair = self.channel.workers[worker].stats().received % 64 == 63;
        if is_sent && newest.is_multiple_of(5) && !is_fair {
            let received = self.channel.workers[worker].try_recv();
            assert_eq!(received.as_ref().unwrap().number, newest);
            self.came_in_turn(received);
        }
    }

    /// Checks the result of sending the value `next`.
    fn went(&mut self, sent: Result<(), TrySendError<Counted>>) {
        let next = self.next;
        match sent {
            Ok(()) => {
                assert!(!self.is_closed);
                self.present.insert(next);
                self.sent += 1;
            }
            Err(TrySendError::Closed(value)) => {
                assert_eq!((value.number, self.is_closed), (next, true));
            }
            Err(TrySendError::Full(value)) => {
                let bound = self.bound.expect("an unbounded channel is never full");
                assert!(
                    self.present.len() >= bound,
                    "there is room in the global queue"
                );
                assert_eq!(value.number, next);
            }
        }
    }

    fn send_many(&mut self, worker: usize, count: u32) {
        if self.is_short_of(count) {
            return;
        }
        let values: Vec<Counted> = (0..count).map(|_| self.value()).collect();
        let sent = self.channel.workers[worker].send_many(values);
        self.went_many(count, sent);
    }

    fn send_many_outside(&mut self, count: u32) {
        if self.is_short_of(count) {
            return;
        }
        let values: Vec<Counted> = (0..count).map(|_| self.value()).collect();
        let sent = self.channel.sender.send_many(values);
        self.went_many(count, sent);
    }

    /// Returns true if there is no room for `count` more values, so that sending them could wait
    /// forever.
    fn is_short_of(&self, count: u32) -> bool {
        self.bound
            .is_some_and(|bound| self.present.len() + count as usize > bound)
    }

    fn went_many(&mut self, count: u32, sent: Result<(), SendError<Vec<Counted>>>) {
        let numbers = self.next - count + 1..=self.next;
        match sent {
            Ok(()) => {
                assert!(!self.is_closed || count == 0);
                self.present.extend(numbers);
                self.sent += u64::from(count);
            }
            Err(SendError(values)) => {
                assert!(self.is_closed);
                assert!(
                    values.iter().map(|value| value.number).eq(numbers),
                    "all come back, in order"
                );
            }
        }
    }

    fn came_in_turn(&mut self, received: Result<Counted, TryRecvError>) {
        match received {
            Ok(value) => {
                assert!(
                    self.present.remove(&value.number),
                    "lost, doubled or invented"
                );
                self.received += 1;
            }
            Err(TryRecvError::Empty) => assert!(self.present.is_empty() && !self.is_closed),
            Err(TryRecvError::Closed) => assert!(self.present.is_empty() && self.is_closed),
        }
    }

    fn check_counts(&self) {
        assert_eq!(self.channel.receiver.len(), self.present.len());
        assert_eq!(
            self.alive.get(),
            self.present.len(),
            "every value is in the channel or dropped"
        );
        let stats = self.channel.sender.stats();
        let received: u64 = stats.iter().map(|stats| stats.received).sum();
        let sent: u64 = stats.iter().map(|stats| stats.sent).sum();
        assert!(
            received <= self.received && sent <= self.sent,
            "some went outside"
        );
        for worker in &self.channel.workers {
            assert!(worker.local_len() <= self.local_capacity);
        }
    }
}

proptest! {
    #[test]
    fn an_unbounded_channel_holds_what_was_sent(
        workers in 1..4_usize,
        local_capacity in 1..9_usize,
        steps in prop::collection::vec(step(), 0..300),
    ) {
        Pair::new(workers, local_capacity, Capacity::Unbounded).check(&steps);
    }

    #[test]
    fn a_bounded_channel_gives_back_what_is_too_much(
        workers in 1..4_usize,
        local_capacity in 1..9_usize,
        bound in 1..9_usize,
        steps in prop::collection::vec(step(), 0..300),
    ) {
        Pair::new(workers, local_capacity, Capacity::Bounded(bound)).check(&steps);
    }
}
