//! Tests of the channel on one thread. Each test checks one rule.
use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use garrick_core::park::Parker;

use super::bell::{Call, Sleeper};
use super::*;

fn unbounded<T>(workers: usize, local_capacity: usize) -> Channel<T> {
    channel(workers, local_capacity, Capacity::Unbounded)
}

fn receive_all<T>(worker: &mut Worker<T>) -> Vec<T> {
    std::iter::from_fn(|| worker.try_recv().ok()).collect()
}

#[test]
fn own_values_come_newest_first() {
    let mut channel = unbounded(1, 8);
    channel.workers[0].send_many(0..5).unwrap();
    assert_eq!(receive_all(&mut channel.workers[0]), [4, 3, 2, 1, 0]);
}

#[test]
fn global_values_come_oldest_first() {
    let mut channel = unbounded(1, 8);
    channel.sender.send_many(0..20).unwrap();
    assert!(receive_all(&mut channel.workers[0]).into_iter().eq(0..20));
}

#[test]
fn own_values_come_before_global_ones_and_those_before_stolen_ones() {
    let mut channel = unbounded(2, 8);
    channel.workers[1].send("stolen").unwrap();
    channel.sender.send("global").unwrap();
    channel.workers[0].send("own").unwrap();
    assert_eq!(
        receive_all(&mut channel.workers[0]),
        ["own", "global", "stolen"]
    );
}

#[test]
fn half_is_stolen_oldest_first() {
    let mut channel = unbounded(2, 8);
    channel.workers[0].send_many(0..6).unwrap();
    assert_eq!(channel.workers[1].try_recv(), Ok(0));
    assert_eq!(channel.workers[1].local_len(), 2);
    assert_eq!(channel.workers[1].try_recv(), Ok(1));
    assert_eq!(channel.workers[0].try_recv(), Ok(5));
    assert_eq!(channel.workers[1].stats().stolen, 3);
}

#[test]
fn the_older_half_overflows() {
    let mut channel = unbounded(1, 4);
    channel.workers[0].send_many(0..5).unwrap();
    assert_eq!(channel.workers[0].local_len(), 3);
    assert_eq!(channel.workers[0].stats().overflowed, 2);
    assert_eq!(channel.receiver.try_recv(), Ok(0));
    assert_eq!(channel.receiver.try_recv(), Ok(1));
    assert_eq!(channel.workers[0].try_recv(), Ok(4));
}

#[test]
fn a_full_channel_gives_the_value_back() {
    let mut channel = channel(1, 4, Capacity::Bounded(3));
    let sent = (0..)
        .take_while(|value| channel.workers[0].try_send(*value).is_ok())
        .count();
    assert_eq!(sent, 7);
    assert_eq!(channel.workers[0].try_send(9), Err(TrySendError::Full(9)));
    assert_eq!(channel.sender.try_send(9), Err(TrySendError::Full(9)));
    assert_eq!(channel.receiver.try_recv(), Ok(0));
    assert_eq!(channel.sender.try_send(9), Ok(()));
    assert_eq!(channel.sender.len(), 7);
}

#[test]
fn a_lone_value_is_found_wherever_it_is() {
    let mut channel = unbounded(64, 4);
    for holder in 0..64 {
        channel.workers[holder].send(holder).unwrap();
        assert_eq!(channel.workers[63 - holder].try_recv(), Ok(holder));
    }
    assert_eq!(channel.workers[0].try_recv(), Err(TryRecvError::Empty));
}

/// Tests that a worker that always has a newer value in its own deque still receives older values.
#[test]
fn the_oldest_does_not_starve() {
    let mut channel = unbounded(1, 8);
    channel.sender.send(u64::MAX).unwrap();
    let worker = &mut channel.workers[0];
    worker.send(0).unwrap();
    let mut seen = Vec::new();
    for value in 1..300 {
        worker.send(value).unwrap();
        seen.push(worker.try_recv().unwrap());
    }
    assert!(
        seen.contains(&u64::MAX),
        "the global queue was never looked at"
    );
    assert!(
        seen.contains(&0),
        "the far end of the deque was never looked at"
    );
}

#[test]
fn a_dropped_worker_leaves_its_values() {
    let mut channel = unbounded(2, 8);
    channel.workers[0].send_many(0..3).unwrap();
    drop(channel.workers.remove(0));
    assert_eq!(receive_all(&mut channel.workers[0]), [0, 1, 2]);
}

#[test]
fn a_closed_channel_drains() {
    let mut channel = unbounded(2, 2);
    channel.workers[0].send_many(0..5).unwrap();
    assert!(channel.workers[1].close());
    assert!(!channel.sender.close());
    assert_eq!(channel.workers[0].send(9), Err(SendError(9)));
    assert_eq!(channel.sender.send(9), Err(SendError(9)));
    assert_eq!(channel.sender.send_many([8, 9]), Err(SendError(vec![8, 9])));
    assert_eq!(
        channel.workers[0].send_many([8, 9]),
        Err(SendError(vec![8, 9]))
    );
    assert_eq!(std::iter::from_fn(|| channel.workers[1].recv()).count(), 5);
    assert_eq!(channel.workers[0].try_recv(), Err(TryRecvError::Closed));
    assert_eq!(channel.receiver.recv(), None);
    let timeout = Duration::from_secs(1);
    assert_eq!(
        channel.workers[0].recv_timeout(timeout),
        Err(PopTimeoutError::Closed)
    );
    // Values that were returned were not sent.
    assert_eq!(channel.workers[0].stats().sent, 5);
}

#[test]
fn the_last_sender_closes() {
    let mut channel = unbounded::<u8>(1, 2);
    let second = channel.sender.clone();
    drop((channel.workers, channel.sender));
    assert_eq!(channel.receiver.try_recv(), Err(TryRecvError::Empty));
    drop(second);
    assert_eq!(channel.receiver.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn the_last_receiver_closes() {
    let mut channel = unbounded(1, 2);
    let worker = channel.workers.pop().unwrap();
    let second = worker.receiver();
    drop((worker, channel.receiver));
    assert_eq!(channel.sender.send(1), Ok(()));
    drop(second);
    assert_eq!(channel.sender.send(2), Err(SendError(2)));
}

#[test]
fn nothing_comes_in_no_time() {
    let mut channel = unbounded::<u8>(1, 2);
    let timeout = Duration::from_millis(1);
    assert_eq!(
        channel.workers[0].recv_timeout(timeout),
        Err(PopTimeoutError::Timeout)
    );
    assert_eq!(
        channel.receiver.recv_timeout(timeout),
        Err(PopTimeoutError::Timeout)
    );
    channel.sender.send(1).unwrap();
    assert_eq!(channel.receiver.recv_timeout(timeout), Ok(1));
}

#[test]
fn values_of_any_size_pass() {
    let mut channel = unbounded(2, 4);
    channel.workers[0]
        .send_many((0..10_u64).map(|number| [number; 100]))
        .unwrap();
    let sum: u64 = receive_all(&mut channel.workers[1])
        .iter()
        .map(|value| value[99])
        .sum();
    assert_eq!(sum, 45);
    let mut channel = unbounded(1, 4);
    channel.workers[0].send_many([(); 10]).unwrap();
    assert_eq!(receive_all(&mut channel.workers[0]).len(), 10);
}

/// A waker that counts how often it is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn one_value_wakes_one_future() {
    let channel = unbounded(0, 1);
    let wakes: [Arc<Wakes>; 2] = Default::default();
    let [first, second] = wakes.each_ref().map(|wakes| Waker::from(wakes.clone()));
    let counts = || wakes.each_ref().map(|wakes| wakes.0.load(SeqCst));
    let (mut one, mut two) = (channel.receiver.clone(), channel.receiver);
    let mut one = pin!(one.recv_async());
    let mut two = Box::pin(two.recv_async());
    assert!(
        one.as_mut()
            .poll(&mut Context::from_waker(&first))
            .is_pending()
    );
    assert!(
        two.as_mut()
            .poll(&mut Context::from_waker(&second))
            .is_pending()
    );
    channel.sender.send(1).unwrap();
    assert_eq!(counts(), [1, 0]);
    channel.sender.send(2).unwrap();
    assert_eq!(counts(), [1, 1]);
    assert_eq!(
        one.as_mut().poll(&mut Context::from_waker(&first)),
        Poll::Ready(Some(1))
    );
    assert_eq!(
        two.as_mut().poll(&mut Context::from_waker(&second)),
        Poll::Ready(Some(2))
    );
}

/// Tests that a second poll is cheap and fair: the future stays in the list of waiting receivers,
/// instead of leaving it and joining it again behind a heavy fence.
#[test]
fn a_future_that_is_polled_again_keeps_its_place() {
    let channel = unbounded(0, 1);
    let wakes: [Arc<Wakes>; 3] = Default::default();
    let wakers = wakes.each_ref().map(|wakes| Waker::from(wakes.clone()));
    let counts = || wakes.each_ref().map(|wakes| wakes.0.load(SeqCst));
    let (mut one, mut two) = (channel.receiver.clone(), channel.receiver);
    let (mut one, mut two) = (pin!(one.recv_async()), pin!(two.recv_async()));
    for _ in 0..3 {
        for (future, waker) in [(one.as_mut(), &wakers[0]), (two.as_mut(), &wakers[1])] {
            assert!(future.poll(&mut Context::from_waker(waker)).is_pending());
        }
    }
    let again = two.as_mut().poll(&mut Context::from_waker(&wakers[1]));
    assert!(again.is_pending());
    let again = one.as_mut().poll(&mut Context::from_waker(&wakers[0]));
    assert!(again.is_pending());
    channel.sender.send(1).unwrap();
    assert_eq!(counts(), [1, 0, 0], "the first one has waited longest");
    let moved = two.as_mut().poll(&mut Context::from_waker(&wakers[2]));
    assert_eq!(
        moved,
        Poll::Ready(Some(1)),
        "a poll may find what another was woken for"
    );
    let woken = one.as_mut().poll(&mut Context::from_waker(&wakers[0]));
    assert!(woken.is_pending());
    let moved = one.as_mut().poll(&mut Context::from_waker(&wakers[2]));
    assert!(moved.is_pending());
    channel.sender.send(2).unwrap();
    assert_eq!(counts(), [1, 0, 1], "the last waker counts");
}

#[test]
fn a_dropped_future_passes_its_call_on() {
    let channel = unbounded(0, 1);
    let wakes: Arc<Wakes> = Arc::default();
    let waker = Waker::from(wakes.clone());
    let (mut one, mut two) = (channel.receiver.clone(), channel.receiver);
    let mut first = Box::pin(one.recv_async());
    let mut second = pin!(two.recv_async());
    assert!(
        first
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    assert!(
        second
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    channel.sender.send(1).unwrap();
    assert_eq!(wakes.0.load(SeqCst), 0);
    drop(first);
    assert_eq!(wakes.0.load(SeqCst), 1);
    let polled = second.as_mut().poll(&mut Context::from_waker(&waker));
    assert_eq!(polled, Poll::Ready(Some(1)));
}

#[test]
fn a_future_hears_of_the_close() {
    let mut channel = unbounded::<u8>(1, 1);
    let wakes: Arc<Wakes> = Arc::default();
    let waker = Waker::from(wakes.clone());
    let mut future = pin!(channel.workers[0].recv_async());
    assert!(
        future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    channel.sender.close();
    assert_eq!(wakes.0.load(SeqCst), 1);
    assert_eq!(
        future.as_mut().poll(&mut Context::from_waker(&waker)),
        Poll::Ready(None)
    );
}

/// A waker that panics when it is woken.
struct Fuse;

impl Wake for Fuse {
    fn wake(self: Arc<Self>) {
        panic!("on purpose");
    }
}

#[test]
fn all_hear_of_the_close_although_a_waker_panics() {
    let mut channel = unbounded::<u8>(1, 1);
    let wakes: Arc<Wakes> = Arc::default();
    let (fuse, waker) = (Waker::from(Arc::new(Fuse)), Waker::from(wakes.clone()));
    let mut first = pin!(channel.workers[0].recv_async());
    let mut second = pin!(channel.receiver.recv_async());
    for (future, waker) in [(first.as_mut(), &fuse), (second.as_mut(), &waker)] {
        assert!(future.poll(&mut Context::from_waker(waker)).is_pending());
    }
    assert!(channel.sender.close(), "the panic reaches nobody");
    assert_eq!(wakes.0.load(SeqCst), 1, "it would wait for ever");
    let polled = second.as_mut().poll(&mut Context::from_waker(&waker));
    assert_eq!(polled, Poll::Ready(None));
}

/// Creates a channel in which two futures wait, and fills the global queue, which wakes the first
/// future. The next wake-up goes to the second future, whose waker panics. Then calls `test`.
fn with_a_fuse(workers: usize, capacity: usize, test: impl FnOnce(&mut Channel<usize>)) {
    let mut channel = channel(workers, 4, Capacity::Bounded(capacity));
    let (mut one, mut two) = (channel.receiver.clone(), channel.receiver.clone());
    let (mut first, mut second) = (pin!(one.recv_async()), pin!(two.recv_async()));
    let fuse = Waker::from(Arc::new(Fuse));
    for (future, waker) in [(first.as_mut(), Waker::noop()), (second.as_mut(), &fuse)] {
        assert!(future.poll(&mut Context::from_waker(waker)).is_pending());
    }
    channel.sender.send_many(0..capacity).unwrap();
    test(&mut channel);
}

/// Registers a sender that waits for free space in the global queue. Returns the parker of this
/// sender.
fn wait_for_room(channel: &Channel<usize>) -> Parker {
    let parker = Parker::new();
    let sleeper = Sleeper::Thread(parker.unparker());
    let _ = channel.sender.shared.room.enlist(sleeper, Call::None);
    parker
}

#[test]
fn a_sender_hears_of_room_although_a_waker_panics() {
    with_a_fuse(1, 4, |channel| {
        let mut sender = wait_for_room(channel);
        // The worker keeps all values but one, and wakes a receiver for them.
        let worker = &mut channel.workers[0];
        assert_eq!(worker.try_recv(), Ok(0), "the panic reaches nobody");
        assert!(worker.local_len() > 0, "it wakes the future");
        assert!(
            sender.park_timeout(Duration::ZERO),
            "it would wait for ever"
        );
    });
}

#[test]
fn the_next_sender_hears_of_room_after_one_has_panicked() {
    with_a_fuse(0, 1, |channel| {
        let sender = channel.sender.clone();
        let sending = thread::spawn(move || sender.send(1));
        while channel.sender.shared.room.waiting() == 0 {
            thread::yield_now();
        }
        assert_eq!(channel.receiver.try_recv(), Ok(0));
        let sent = sending.join().expect("the panic reaches nobody");
        assert_eq!(sent, Ok(()), "it wakes the future");
        let mut sender = wait_for_room(channel);
        assert_eq!(channel.receiver.try_recv(), Ok(1));
        assert!(
            sender.park_timeout(Duration::ZERO),
            "it would wait for ever"
        );
    });
}

/// Tests that each value wakes one of the waiting receivers, and that no more receivers are woken
/// than there are values.
#[test]
fn as_many_are_woken_as_there_are_values() {
    const WAITERS: usize = 8;
    for values in 0..=WAITERS + 2 {
        let channel = unbounded(1, 16);
        let wakes: Arc<Wakes> = Arc::default();
        let waker = Waker::from(wakes.clone());
        let mut receivers = [(); WAITERS].map(|()| channel.receiver.clone());
        let mut futures: Vec<_> = (receivers.iter_mut())
            .map(|receiver| Box::pin(receiver.recv_async()))
            .collect();
        for future in &mut futures {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        let mut workers = channel.workers;
        for value in 0..values {
            // By turns through the global queue and from a worker's deque.
            if value % 2 == 0 {
                channel.sender.send(value).unwrap();
            } else {
                workers[0].send(value).unwrap();
            }
        }
        assert_eq!(wakes.0.load(SeqCst), values.min(WAITERS));
    }
}

#[test]
fn a_sleeper_is_woken_by_the_close() {
    let mut channel = unbounded::<u8>(1, 1);
    let mut worker = channel.workers.pop().unwrap();
    let sleeper = thread::spawn(move || worker.recv());
    channel.sender.close();
    assert_eq!(sleeper.join().unwrap(), None);
}

#[test]
fn handles_may_move() {
    fn sent(_: &impl Send) {}
    fn shared(_: &impl Sync) {}
    let channel = unbounded::<std::cell::Cell<u8>>(1, 1);
    sent(&channel.workers);
    sent(&channel.receiver);
    shared(&channel.sender);
}

#[test]
#[should_panic(expected = "the local capacity must be at least 1")]
fn no_local_capacity_is_refused() {
    drop(unbounded::<u8>(1, 0));
}

#[test]
#[should_panic(expected = "the capacity of the global queue must be at least 1")]
fn no_global_capacity_is_refused() {
    drop(channel::<u8>(1, 1, Capacity::Bounded(0)));
}

#[test]
fn debug_shows_counts_and_no_values() {
    let channel = unbounded::<u8>(1, 1);
    let text = format!("{channel:?}");
    assert!(text.contains("Worker { id: 0, local_len: 0"), "{text}");
    assert!(text.contains("Sender { len: 0"), "{text}");
    assert!(text.contains("Receiver { len: 0"), "{text}");
}
