//! Tests of wakers that panic. The panic must reach nobody but the task of the waker.
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker},
    time::Duration,
};

use super::shared::Verdict;
use super::wait::Hunter;
use super::*;

/// A waker that counts how often it is woken, and panics then.
#[derive(Default)]
struct Fuse(AtomicUsize);

impl Wake for Fuse {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
        panic!("on purpose");
    }
}

/// A waker that panics when it is dropped.
struct Frail;

impl Wake for Frail {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Frail {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

fn unbounded(workers: usize) -> Channel<usize> {
    channel(workers, 4, Capacity::Unbounded)
}

fn poll<T>(recv: &mut Recv<'_, T>, waker: &Waker) -> Poll<Option<T>> {
    Pin::new(recv).poll(&mut Context::from_waker(waker))
}

/// Creates two receivers, and lets a future of each of them wait. The wakers of both panic. Then
/// calls `test` with the channel, and checks that both were woken once.
fn with_two_fuses(workers: usize, test: impl FnOnce(Channel<usize>)) {
    let channel = unbounded(workers);
    let fuses: [Arc<Fuse>; 2] = Default::default();
    let (mut one, mut two) = (channel.receiver.clone(), channel.receiver.clone());
    let (mut first, mut second) = (one.recv_async(), two.recv_async());
    for (recv, fuse) in [(&mut first, &fuses[0]), (&mut second, &fuses[1])] {
        assert!(poll(recv, &Waker::from(fuse.clone())).is_pending());
    }
    test(channel);
    let woken = fuses.each_ref().map(|fuse| fuse.0.load(SeqCst));
    assert_eq!(woken, [1, 1]);
}

/// Drops `value` while a panic unwinds.
fn drop_amid_a_panic<T>(value: T) {
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _value = value;
        panic!("on purpose");
    }));
    assert!(unwound.is_err());
}

#[test]
fn a_close_survives_all_wakers() {
    with_two_fuses(1, |channel| assert!(channel.sender.close()));
}

#[test]
fn the_last_sender_survives_all_wakers() {
    with_two_fuses(0, |channel| drop(channel.sender));
}

#[test]
fn the_last_sender_may_go_amid_a_panic() {
    with_two_fuses(0, |channel| drop_amid_a_panic(channel.sender));
}

#[test]
fn the_last_worker_may_go_amid_a_panic() {
    with_two_fuses(1, |mut channel| {
        let worker = channel.workers.remove(0);
        drop(channel.sender);
        drop_amid_a_panic(worker);
    });
}

#[test]
fn a_woken_future_passes_its_call_on_amid_a_panic() {
    let channel = unbounded(0);
    let fuse: Arc<Fuse> = Arc::default();
    let (mut one, mut two) = (channel.receiver.clone(), channel.receiver.clone());
    let (mut first, mut second) = (one.recv_async(), two.recv_async());
    assert!(poll(&mut first, Waker::noop()).is_pending());
    assert!(poll(&mut second, &Waker::from(fuse.clone())).is_pending());
    channel.sender.send(1).unwrap();
    drop_amid_a_panic(first);
    assert_eq!(fuse.0.load(SeqCst), 1, "it would wait for ever");
}

#[test]
fn a_send_whose_waker_panics_has_sent() {
    with_two_fuses(1, |mut channel| {
        assert_eq!(channel.sender.try_send(0), Ok(()));
        assert_eq!(channel.workers[0].try_send(1), Ok(()));
        assert_eq!(channel.sender.len(), 2);
    });
}

/// Receives with `recv` from the worker of a channel, after the worker has taken several values
/// from the global queue. For the values in its deque, it wakes a receiver whose waker panics.
fn value_in_hand(recv: impl FnOnce(&mut Worker<usize>) -> Option<usize>) {
    let mut channel = unbounded(1);
    let (mut one, mut two) = (channel.receiver.clone(), channel.receiver.clone());
    let (mut first, mut second) = (one.recv_async(), two.recv_async());
    let fuse: Arc<Fuse> = Arc::default();
    assert!(poll(&mut first, Waker::noop()).is_pending());
    assert!(poll(&mut second, &Waker::from(fuse.clone())).is_pending());
    channel.sender.send_many(0..3).unwrap();
    assert_eq!(fuse.0.load(SeqCst), 0);
    assert_eq!(recv(&mut channel.workers[0]), Some(0));
    assert_eq!(fuse.0.load(SeqCst), 1);
    assert_eq!(channel.sender.len(), 2);
}

#[test]
fn a_value_in_hand_survives_the_waker_of_another() {
    value_in_hand(|worker| worker.try_recv().ok());
    value_in_hand(Worker::recv);
    value_in_hand(|worker| worker.recv_timeout(Duration::ZERO).ok());
    value_in_hand(
        |worker| match poll(&mut worker.recv_async(), Waker::noop()) {
            Poll::Ready(value) => value,
            Poll::Pending => None,
        },
    );
}

#[test]
fn a_woken_thread_keeps_its_value_although_a_waker_panics() {
    let mut channel = unbounded(0);
    let mut receiver = channel.receiver.clone();
    let thread = std::thread::spawn(move || receiver.recv());
    while channel.sender.shared.bell.waiting() == 0 {
        std::thread::yield_now();
    }
    let fuse: Arc<Fuse> = Arc::default();
    let mut waiting = channel.receiver.recv_async();
    assert!(poll(&mut waiting, &Waker::from(fuse.clone())).is_pending());
    // Two values at a time: the thread is woken for both, and wakes the future for the second one.
    channel.sender.send_many([1, 2]).unwrap();
    assert_eq!(thread.join().expect("the panic reaches nobody"), Some(1));
    assert_eq!(fuse.0.load(SeqCst), 1);
}

#[test]
fn a_waker_that_panics_when_it_goes_reaches_nobody() {
    let mut channel = unbounded(0);
    let frail = |recv: &mut Recv<'_, usize>| {
        let waker = Waker::from(Arc::new(Frail));
        assert!(poll(recv, &waker).is_pending());
        // The last handle of the waker is now in the list.
        drop(waker);
    };
    let mut recv = channel.receiver.recv_async();
    frail(&mut recv);
    assert!(poll(&mut recv, Waker::noop()).is_pending(), "a poll");
    frail(&mut recv);
    drop(recv);
    let mut recv = channel.receiver.recv_async();
    frail(&mut recv);
    drop_amid_a_panic(recv);
    let mut recv = channel.receiver.recv_async();
    frail(&mut recv);
    assert_eq!(channel.sender.try_send(1), Ok(()), "a wake-up");
    assert_eq!(poll(&mut recv, Waker::noop()), Poll::Ready(Some(1)));
}

/// A receiver that never finds the value, as if a thief kept the deque of its owner busy.
struct Unlucky(Arc<Shared<usize>>);

impl Hunter<usize> for Unlucky {
    fn look(&mut self) -> Option<usize> {
        None
    }

    fn verdict(&mut self) -> Verdict {
        Verdict::Unclear
    }

    fn shared(&self) -> &Shared<usize> {
        &self.0
    }
}

/// Tests that a poll ends even if it finds no value, although there is one. The thread that moves
/// the value may need the core on which the executor runs.
#[test]
fn a_future_that_finds_no_value_gives_way_and_is_polled_again() {
    let channel = unbounded(0);
    let fuse: Arc<Fuse> = Arc::default();
    let mut unlucky = Unlucky(channel.sender.shared.clone());
    let mut recv = Recv::new(&mut unlucky);
    channel.sender.send(1).unwrap();
    for polls in 1..4 {
        assert!(poll(&mut recv, &Waker::from(fuse.clone())).is_pending());
        assert_eq!(fuse.0.load(SeqCst), polls);
    }
    assert_eq!(channel.sender.shared.bell.waiting(), 0);
}

/// A waker whose clone panics.
fn unclonable() -> Waker {
    fn nothing(_: *const ()) {}
    const TABLE: RawWakerVTable =
        RawWakerVTable::new(|_| panic!("on purpose"), nothing, nothing, nothing);
    // SAFETY: the functions use no data.
    unsafe { Waker::from_raw(RawWaker::new(ptr::null(), &TABLE)) }
}

#[test]
fn a_wake_up_is_passed_on_although_the_clone_of_a_waker_panics() {
    let channel = unbounded(0);
    let fuse: Arc<Fuse> = Arc::default();
    let mut unlucky = Unlucky(channel.sender.shared.clone());
    let mut first = Recv::new(&mut unlucky);
    let mut two = channel.receiver.clone();
    let mut second = pin!(two.recv_async());
    assert!(poll(&mut first, Waker::noop()).is_pending());
    assert!(poll(&mut second, &Waker::from(fuse.clone())).is_pending());
    channel.sender.send(1).unwrap();
    assert_eq!(fuse.0.load(SeqCst), 0);
    let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut first, &unclonable())));
    assert!(polled.is_err());
    assert_eq!(fuse.0.load(SeqCst), 1, "it would wait for ever");
    assert_eq!(poll(&mut second, Waker::noop()), Poll::Ready(Some(1)));
}
