//! Loom models of small channels. Loom runs each model in all interleavings with a limited number
//! of preemptions, and with all stale reads that the memory model allows.
//!
//! Each value is a [`Track`], so that loom reports leaks. A lost wake-up makes a thread wait
//! forever, which loom reports as a deadlock.
use std::{
    future::Future,
    iter,
    pin::pin,
    sync::Arc as StdArc,
    task::{Context, Poll, Wake, Waker},
};

use garrick_core::park::{Parker, Unparker};
use loom::{
    alloc::Track,
    model::Builder,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use super::bell::{Bell, Call, Sleeper};
use super::shared::Verdict;
use super::*;
use crate::testing::assert_each_once;

/// Runs `f` in all schedules with at most `preemptions_max` preemptions in total, or fewer if the
/// environment variable `LOOM_MAX_PREEMPTIONS` is lower. With one more preemption, a model of three
/// threads takes minutes.
fn model(preemptions_max: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions_max);
    builder.preemption_bound = Some(bound.min(preemptions_max));
    builder.check(f);
}

/// Runs both closures at the same time: `first` on this thread, or `second` if `is_swapped`.
///
/// Loom runs this thread until it must wait, and then tries other orders of conflicting accesses.
/// Loom remembers only the last access to each word. If the spawned thread reads a word and then
/// writes to the word, loom forgets an earlier read by this thread. So loom never tries the orders
/// in which the read by this thread comes after the write. If one thread of a model reads a counter
/// and another thread increments it, the model must be run in both ways.
fn beside<A: 'static, B: 'static>(
    is_swapped: bool,
    first: impl FnOnce() -> A + 'static,
    second: impl FnOnce() -> B + 'static,
) -> (A, B) {
    if is_swapped {
        let first = thread::spawn(first);
        let second = second();
        (first.join().unwrap(), second)
    } else {
        let second = thread::spawn(second);
        (first(), second.join().unwrap())
    }
}

type Value = Track<u32>;

fn open(workers: usize, local_capacity: usize, global: Capacity) -> Channel<Value> {
    channel_with_fence(workers, local_capacity, global, Asymmetric::symmetric())
}

/// Creates a channel and returns only its workers.
fn workers<const N: usize>(local_capacity: usize) -> [Worker<Value>; N] {
    let channel = open(N, local_capacity, Capacity::Unbounded);
    channel.workers.try_into().expect("there are N")
}

fn send(worker: &mut Worker<Value>, value: u32) {
    assert!(worker.try_send(Track::new(value)).is_ok(), "there is room");
}

fn receive(worker: &mut Worker<Value>) -> Option<u32> {
    worker.try_recv().ok().map(Track::into_inner)
}

fn receive_all(worker: &mut Worker<Value>) -> Vec<u32> {
    iter::from_fn(|| receive(worker)).collect()
}

/// Receives until the channel is closed and empty.
fn drain(worker: &mut Worker<Value>) -> Vec<u32> {
    iter::from_fn(|| worker.recv())
        .map(Track::into_inner)
        .collect()
}

/// Tests an owner and a thief that try to take the only value. One of them gets the value, and the
/// other one may report that the channel is empty.
#[test]
fn the_last_value_goes_to_one() {
    model(3, || {
        let [mut owner, mut thief] = workers(2);
        let other = thread::spawn(move || receive(&mut thief));
        send(&mut owner, 0);
        let received = receive(&mut owner);
        let stolen = other.join().unwrap();
        assert_each_once([received.into_iter().chain(stolen).collect()], 1);
    });
}

/// Tests a deque with room for one value. The deque overflows when a second value arrives. At the
/// same time, a thief takes from the deque or from the global queue.
#[test]
fn overflow_beside_a_thief() {
    model(2, || {
        let [mut owner, mut thief] = workers(1);
        send(&mut owner, 0);
        let other = thread::spawn(move || receive(&mut thief));
        send(&mut owner, 1);
        let stolen = other.join().unwrap();
        assert_ne!(stolen, None, "there was one at all times");
        assert_each_once([receive_all(&mut owner), Vec::from_iter(stolen)], 2);
    });
}

/// Tests a send to a full channel while a thief receives. No value is lost: if the bounded global
/// queue has no room, the value is returned to the sender.
#[test]
fn a_full_channel_gives_back() {
    model(2, || {
        let channel = open(2, 1, Capacity::Bounded(1));
        let [mut owner, mut thief] = <[_; 2]>::try_from(channel.workers).expect("two");
        send(&mut owner, 0);
        send(&mut owner, 1);
        let other = thread::spawn(move || receive(&mut thief));
        let sent = 2 + u32::from(owner.try_send(Track::new(2)).is_ok());
        let stolen = other.join().unwrap();
        assert_each_once([receive_all(&mut owner), Vec::from_iter(stolen)], sent);
    });
}

/// Tests a send while another thread closes and drains the channel. The value is either received or
/// returned to the sender.
#[test]
fn close_beside_a_send() {
    model(3, || {
        let [mut sender, closer] = workers(2);
        let mut drainer = closer;
        let other = thread::spawn(move || {
            drainer.close();
            drain(&mut drainer)
        });
        let sent = sender.try_send(Track::new(0)).is_ok();
        let drained = other.join().unwrap();
        assert_eq!(sent, drained == [0], "sent is received");
    });
}

/// Tests a send while one thread closes the channel and another thread drains it. A value that was
/// sent is received. The draining thread notices the close only by its reads. The draining thread
/// is not a worker, because a worker passes a fence whenever it checks its own deque.
#[test]
fn close_by_a_third() {
    model(2, || {
        let mut channel = open(1, 1, Capacity::Unbounded);
        let (closer, mut drainer) = (channel.sender, channel.receiver);
        let mut sender = channel.workers.pop().unwrap();
        let closing = thread::spawn(move || closer.close());
        let draining = thread::spawn(move || drainer.recv().map(Track::into_inner));
        let sent = sender.try_send(Track::new(0)).is_ok();
        let drained = draining.join().unwrap();
        assert_eq!(sent, drained == Some(0), "sent is received");
        assert!(closing.join().unwrap());
    });
}

/// Tests two handles that can send and are dropped at the same time, one of them after a send. The
/// later drop closes the channel, and the sent value is received.
#[test]
fn leaving_beside_a_send() {
    model(2, || {
        let channel = open(1, 1, Capacity::Unbounded);
        let (mut drainer, first) = (channel.receiver, channel.sender);
        let mut last = channel.workers;
        let leaving = thread::spawn(move || drop(first));
        let sending = thread::spawn(move || send(&mut last[0], 0));
        assert_eq!(drainer.recv().map(Track::into_inner), Some(0));
        assert_eq!(drainer.recv().map(Track::into_inner), None);
        leaving.join().unwrap();
        sending.join().unwrap();
    });
}

/// Tests a send by a handle that is not a worker, while another thread closes and drains the
/// channel. The value is either received or returned to the sender.
#[test]
fn close_beside_an_outside_send() {
    model(3, || {
        let mut channel = open(1, 1, Capacity::Unbounded);
        let mut drainer = channel.workers.pop().unwrap();
        let other = thread::spawn(move || {
            drainer.close();
            drain(&mut drainer)
        });
        let sent = channel.sender.try_send(Track::new(0)).is_ok();
        let drained = other.join().unwrap();
        assert_eq!(sent, drained == [0], "sent is received");
    });
}

#[test]
fn who_parks_is_woken_by_a_worker() {
    model(3, || {
        let [mut sender, mut receiver] = workers(1);
        let other = thread::spawn(move || receiver.recv().map(Track::into_inner));
        send(&mut sender, 0);
        assert_eq!(other.join().unwrap(), Some(0));
    });
}

#[test]
fn who_parks_is_woken_by_an_outside_sender() {
    model(3, || {
        let mut channel = open(1, 1, Capacity::Unbounded);
        let mut receiver = channel.workers.pop().unwrap();
        let other = thread::spawn(move || receiver.recv().map(Track::into_inner));
        assert!(channel.sender.try_send(Track::new(0)).is_ok());
        assert_eq!(other.join().unwrap(), Some(0));
    });
}

/// Tests that dropping the last handle that can send wakes a waiting receiver.
#[test]
fn who_parks_hears_of_the_close() {
    model(3, || {
        let channel = open(0, 1, Capacity::Unbounded);
        let (sender, mut receiver) = (channel.sender, channel.receiver);
        let other = thread::spawn(move || receiver.recv().is_none());
        drop(sender);
        assert!(other.join().unwrap());
    });
}

/// Tests two sleeping threads and two values. While a woken thread is searching, no other thread is
/// woken, so the woken thread must wake the next one.
#[test]
fn a_searcher_wakes_the_next() {
    model(1, || {
        let [mut sender, mut one, mut two] = workers(2);
        let sleepers = [
            thread::spawn(move || one.recv().map(Track::into_inner)),
            thread::spawn(move || two.recv().map(Track::into_inner)),
        ];
        send(&mut sender, 0);
        send(&mut sender, 1);
        let received = sleepers.map(|sleeper| sleeper.join().unwrap().into_iter().collect());
        assert_each_once(received, 2);
    });
}

/// Tests a receiver that was woken for a value which another thread then took. Before the receiver
/// sleeps again, two values arrive. While the receiver was searching, no other thread was woken, so
/// the receiver must wake the next thread.
#[test]
fn a_searcher_that_does_not_sleep_again_wakes_the_next() {
    model(2, || {
        let channel = open(2, 4, Capacity::Unbounded);
        let [mut sender, mut searcher] = <[_; 2]>::try_from(channel.workers).expect("two");
        let shared = channel.sender.shared.clone();
        let other = thread::spawn(move || searcher.recv().map(Track::into_inner));
        while shared.bell.waiting() == 0 {
            thread::yield_now();
        }
        let mut second = Parker::new();
        let _ = (shared.bell).enlist(Sleeper::Thread(second.unparker()), Call::None);
        send(&mut sender, 0);
        let taken_back = receive(&mut sender);
        send(&mut sender, 1);
        send(&mut sender, 2);
        // Waits for ever if both values count as the searcher's.
        second.park();
        // The second one finds nothing that it likes.
        shared.bell.answer(Call::Thread, || shared.has_work());
        let received = other.join().unwrap().into_iter().chain(taken_back);
        assert_each_once([receive_all(&mut sender), received.collect()], 3);
    });
}

/// Tests the bell (the list of waiting threads) without a channel: two sleeping threads and two
/// values. Either the sender sees that no thread is searching any more, or the thread that was
/// searching sees the sent value.
#[test]
fn a_searcher_that_stops_misses_nothing() {
    model(3, || {
        let bell = Arc::new(Bell::new());
        let work = Arc::new(AtomicBool::new(false));
        let parkers = [Parker::new(), Parker::new()];
        for parker in &parkers {
            let _ = bell.enlist(Sleeper::Thread(parker.unparker()), Call::None);
        }
        bell.ring();
        let searcher = thread::spawn({
            let (bell, work) = (bell.clone(), work.clone());
            // Relaxed, like the reads by which senders and searchers know of work.
            move || bell.answer(Call::Thread, || work.load(Relaxed))
        });
        work.store(true, Relaxed);
        bell.ring();
        searcher.join().unwrap();
        // Waits for ever if both relied on the other.
        let [_, mut second] = parkers;
        second.park();
    });
}

/// Tests a thief that takes two values and keeps one of them in its deque. The thief must wake a
/// sleeping thread for the kept value.
#[test]
fn what_a_thief_keeps_is_announced() {
    model(2, || {
        let [mut sender, mut thief, mut sleeper] = workers(4);
        (0..3).for_each(|value| send(&mut sender, value));
        // The sender is gone for good.
        drop(sender);
        let other = thread::spawn(move || {
            let first = sleeper.recv().map(Track::into_inner);
            first
                .into_iter()
                .chain(sleeper.recv().map(Track::into_inner))
                .collect()
        });
        let stolen = thief.recv().map(Track::into_inner).into_iter().collect();
        assert_each_once([other.join().unwrap(), stolen], 3);
    });
}

/// Tests a sender that waits for room: a thread that makes room wakes the sender.
#[test]
fn who_waits_for_room_is_woken() {
    model(2, || {
        let mut channel = open(0, 1, Capacity::Bounded(1));
        assert!(channel.sender.try_send(Track::new(0)).is_ok());
        let sender = channel.sender;
        let other = thread::spawn(move || sender.send(Track::new(1)).is_ok());
        let received = iter::from_fn(|| channel.receiver.recv()).map(Track::into_inner);
        assert_eq!(received.collect::<Vec<_>>(), [0, 1]);
        assert!(other.join().unwrap());
    });
}

/// Tests a worker that waits for room while another thread receives one value and no more. The
/// other thread may find the global queue empty before it fills, and then make room in the worker's
/// deque. This room is of no use to another sender, which has waited for longer and gives up.
fn who_waits_for_room_is_woken_by(is_worker: bool, preemptions_max: usize) {
    model(preemptions_max, move || {
        let channel = open(2, 1, Capacity::Bounded(1));
        let [mut owner, mut worker] = <[_; 2]>::try_from(channel.workers).expect("two");
        let (shared, mut outside) = (channel.sender.shared.clone(), channel.receiver);
        let sleeper = Sleeper::Thread(Parker::new().unparker());
        let ticket = shared.room.enlist(sleeper, Call::None);
        send(&mut owner, 0);
        let other = thread::spawn(move || {
            let taken = if is_worker {
                worker.try_recv()
            } else {
                outside.try_recv()
            };
            let call = shared.room.withdraw(ticket, Call::Thread, Call::None);
            shared.room.answer(call, || shared.global.has_room());
            taken.map(Track::into_inner)
        });
        for value in 1..3 {
            assert!(owner.send(Track::new(value)).is_ok(), "it is open");
        }
        let taken = other.join().unwrap().expect("there was one at all times");
        assert_each_once([receive_all(&mut owner), vec![taken]], 3);
    });
}

#[test]
fn who_waits_for_room_is_woken_by_a_thief() {
    who_waits_for_room_is_woken_by(true, 2);
}

#[test]
fn who_waits_for_room_is_woken_by_an_outside_thief() {
    who_waits_for_room_is_woken_by(false, 1);
}

/// Tests a thread that puts a new value into one queue before it takes the old value out of another
/// one. The channel is never empty, so no thread may report that the channel is empty.
#[test]
fn empty_means_all_at_one_moment() {
    for is_swapped in [false, true] {
        model(3, move || {
            let [mut juggler, mut other, mut looker] = workers(4);
            send(&mut other, 0);
            let juggle = move || {
                send(&mut juggler, 1);
                // Taken from the other worker's deque, where it was before.
                let taken = receive(&mut other);
                assert_ne!(taken, None, "there are two values, and one looker");
                (juggler, other)
            };
            let look = move || looker.try_recv().map(Track::into_inner);
            let (_jugglers, looked) = beside(is_swapped, juggle, look);
            assert_ne!(looked, Err(TryRecvError::Empty), "it was never empty");
        });
    }
}

/// Tests a channel that is never empty: a value is sent to the global queue before the value in a
/// deque is taken.
#[test]
fn empty_is_not_said_while_a_value_comes_from_outside() {
    for is_swapped in [false, true] {
        model(3, move || {
            let mut channel = open(1, 4, Capacity::Unbounded);
            let (mut worker, mut looker) = (channel.workers.pop().unwrap(), channel.receiver);
            let sender = channel.sender;
            send(&mut worker, 0);
            let juggle = move || {
                assert!(sender.try_send(Track::new(1)).is_ok());
                let taken = receive(&mut worker);
                assert_ne!(taken, None, "there are two values, and one looker");
                (sender, worker)
            };
            let look = move || looker.try_recv().map(Track::into_inner);
            let (_jugglers, looked) = beside(is_swapped, juggle, look);
            assert_ne!(looked, Err(TryRecvError::Empty), "it was never empty");
        });
    }
}

/// Tests a channel that is never empty, while a worker takes all values from the global queue in
/// one batch. The thread that checks the channel is not a worker, and takes no lock if it sees no
/// value. So this thread must notice the move by the counters of the queue.
#[test]
fn empty_is_not_said_while_values_move() {
    for is_swapped in [false, true] {
        model(3, move || {
            let mut channel = open(1, 4, Capacity::Unbounded);
            let (mut mover, mut looker) = (channel.workers.pop().unwrap(), channel.receiver);
            for value in 0..2 {
                assert!(channel.sender.try_send(Track::new(value)).is_ok());
            }
            let take = move || {
                let received = receive(&mut mover);
                assert_ne!(received, None, "there are two values, and two take one");
                mover
            };
            let look = move || looker.try_recv().map(Track::into_inner);
            let (_mover, looked) = beside(is_swapped, take, look);
            assert_ne!(looked, Err(TryRecvError::Empty), "it was never empty");
        });
    }
}

/// Tests that a receiver does not miss the values that a thief is moving. The thief takes two of
/// three values, and keeps one of them in its deque. During the move, the kept value is in none of
/// the queues.
#[test]
fn empty_is_not_said_during_a_theft() {
    for is_swapped in [false, true] {
        model(3, move || {
            let [mut owner, mut thief] = workers(4);
            (0..3).for_each(|value| send(&mut owner, value));
            let steal = move || (receive(&mut thief), thief);
            let look = move || ([receive(&mut owner), receive(&mut owner)], owner);
            let ((stolen, _thief), (looked, _owner)) = beside(is_swapped, steal, look);
            let received = [stolen, looked[0], looked[1]].map(Vec::from_iter);
            assert_each_once(received, 3);
        });
    }
}

/// Tests a channel that is never empty, if a thief gets the only value of an owner: before the
/// theft, the thief's thread sends a value to another deque. The owner loses the value to the
/// thief, but publishes a lowered tail for a moment, so that its deque looks drained.
#[test]
fn empty_is_not_said_while_an_owner_loses_to_a_thief() {
    for is_swapped in [false, true] {
        model(3, move || {
            let channel = open(2, 2, Capacity::Unbounded);
            let [mut owner, mut juggler] = <[_; 2]>::try_from(channel.workers).expect("two");
            let (shared, mut thief) = (channel.sender.shared.clone(), channel.receiver);
            send(&mut owner, 0);
            let lose = thread::spawn(move || (owner.hand.pop().map(Track::into_inner), owner));
            let juggle = move || {
                send(&mut juggler, 1);
                (thief.try_recv().map(Track::into_inner), juggler, thief)
            };
            let look = move || shared.verdict(&mut Vec::new());
            let ((stolen, ..), looked) = beside(is_swapped, juggle, look);
            let (popped, _owner) = lose.join().unwrap();
            if stolen == Ok(0) {
                assert_eq!(popped, None);
                assert_eq!(looked, Verdict::Unclear, "it was never empty");
            }
        });
    }
}

/// A waker that unparks the polling thread.
struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: StdArc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    block_on_with(1, future)
}

/// Runs `future`, and polls it up to `polls` times before each sleep.
fn block_on_with<F: Future>(polls: usize, future: F) -> F::Output {
    let mut parker = Parker::new();
    let waker = Waker::from(StdArc::new(Unpark(parker.unparker())));
    let mut future = pin!(future);
    loop {
        for _ in 0..polls {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
        }
        parker.park();
    }
}

#[test]
fn a_future_is_woken() {
    model(3, || {
        let [mut sender, mut receiver] = workers(1);
        let other = thread::spawn(move || block_on(receiver.recv_async()).map(Track::into_inner));
        send(&mut sender, 0);
        assert_eq!(other.join().unwrap(), Some(0));
    });
}

/// Tests a future that stays in the list of waiting receivers while it is polled again, without
/// another heavy fence.
#[test]
fn a_future_that_is_polled_again_is_woken() {
    model(2, || {
        let [mut sender, mut receiver] = workers(1);
        let other =
            thread::spawn(move || block_on_with(2, receiver.recv_async()).map(Track::into_inner));
        send(&mut sender, 0);
        assert_eq!(other.join().unwrap(), Some(0));
    });
}

/// Tests a future that is dropped after it was woken. The drop wakes the next waiting thread.
#[test]
fn a_future_that_gives_up_wakes_the_next() {
    model(2, || {
        let [mut sender, mut quitter, mut sleeper] = workers(1);
        let mut future = Box::pin(quitter.recv_async());
        let polled = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "there is nothing");
        let other = thread::spawn(move || sleeper.recv().map(Track::into_inner));
        send(&mut sender, 0);
        drop(future);
        assert_eq!(other.join().unwrap(), Some(0));
    });
}
