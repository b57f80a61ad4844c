//! Tests of `tee`, `broadcast`, `demux` and `subject`.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Waker};
use std::thread;

use futures_util::SinkExt;
use garrick_actor::behaviors::{
    Gate, Subject, broadcast, demux, forward, gatekeeper, label, subject, tee,
};
use garrick_actor::mailbox::{AddressSink, Mailbox, OnFull, TrySendError};
use garrick_actor::{Address, Ended, Local, Next, SendError, System, behavior};
use garrick_testkit::{HANGS_AFTER, ends, fail, silence_panics};

use crate::stand::{Narrow, Stand, does, heard};

#[test]
fn a_tee_goes_on_with_the_one_that_is_left() {
    let stand = Stand::new();
    let ((one, to_one), (other, to_other)) = (stand.listener(), stand.listener());
    let tee = tee(one.clone(), other.clone());
    tee.send(1).unwrap();
    stand.run();
    stand.stop(&one);
    tee.send(2).unwrap();
    stand.run();
    assert_eq!(heard(&to_one), [1]);
    assert_eq!(heard(&to_other), [1, 2]);

    stand.stop(&other);
    assert_eq!(tee.send(3), Err(SendError(3)));
}

#[test]
fn a_broadcast_to_nobody_is_a_sink() {
    let broadcast = broadcast(Vec::new());
    broadcast.send(1).unwrap();
}

#[test]
fn a_demux_goes_by_key_and_gives_back_what_has_no_way() {
    let stand = Stand::new();
    let ((a, to_a), (b, to_b)) = (stand.listener(), stand.listener());
    let routes = [("a", a), ("b", b), ("gone", stand.stopped())];
    let demux = demux(routes);
    for message in [("a", 1), ("b", 2), ("a", 3)] {
        demux.send(message).unwrap();
    }
    for message in [("nowhere", 4), ("gone", 5)] {
        assert_eq!(demux.send(message), Err(SendError(message)));
    }
    stand.run();
    assert_eq!((heard(&to_a), heard(&to_b)), (vec![1, 3], vec![2]));
}

#[test]
fn subscribers_come_and_go() {
    let stand = Stand::new();
    let subject = stand.spawn(subject());
    let ((one, to_one), (other, to_other)) = (stand.listener(), stand.listener());
    let notify = subject.contramap(Subject::Notify);
    notify.send(0).unwrap();
    stand.run();
    for new in [&one, &other, &one] {
        subject.send(Subject::Subscribe(new.clone())).unwrap();
    }
    stand.run();
    notify.send(1).unwrap();
    stand.run();
    subject.send(Subject::Unsubscribe(one)).unwrap();
    stand.run();
    notify.send(2).unwrap();
    stand.run();
    stand.stop(&other);
    notify.send(3).unwrap();
    stand.run();
    assert_eq!((heard(&to_one), heard(&to_other)), (vec![1], vec![1, 2]));
    assert_eq!(stand.dead_letters(), 0);
}

/// A value that sends its number when it is dropped.
struct Numbered(u32, Sender<u32>);

impl Drop for Numbered {
    fn drop(&mut self) {
        self.1.send(self.0).unwrap();
    }
}

#[test]
fn a_demux_lets_go_of_its_targets_in_the_order_in_which_they_came() {
    let stand = Stand::new();
    let (told, ended) = channel();
    let routes = (0..100).map(|n| {
        let numbered = Numbered(n, told.clone());
        let target = does(move |_: u32| {
            let _here = &numbered;
            Next::Continue
        });
        (n.wrapping_mul(0x9e37_79b9), stand.spawn(target))
    });
    drop(demux(routes));
    stand.run();
    // Those that nobody can reach any more end newest first.
    let mut ended = heard(&ended);
    ended.reverse();
    assert_eq!(ended, (0..100).collect::<Vec<_>>());
}

#[test]
fn of_two_routes_with_one_key_the_last_counts() {
    let stand = Stand::new();
    let ((a, to_a), (b, to_b)) = (stand.listener(), stand.listener());
    demux([("key", a), ("key", b)]).send(("key", 1)).unwrap();
    stand.run();
    assert_eq!((heard(&to_a), heard(&to_b)), (vec![], vec![1]));
}

#[test]
fn a_subscriber_whose_mailbox_is_full_misses_a_message_and_stays() {
    let stand = Stand::new();
    let subject = stand.spawn(subject());
    let (narrow, behind) = (Narrow::new(), Narrow::new());
    let (other, to_other) = stand.listener();
    // A door knows too whether the actor behind it has stopped.
    for new in [&narrow.address, &forward(behind.address.clone()), &other] {
        subject.send(Subject::Subscribe(new.clone())).unwrap();
    }
    let notify = |n| {
        subject.send(Subject::Notify(n)).unwrap();
        stand.run();
    };
    notify(1);
    notify(2);
    assert_eq!((narrow.heard(), behind.heard()), (vec![1], vec![1]));
    assert_eq!(stand.dead_letters(), 2);
    notify(3);
    assert_eq!((narrow.heard(), behind.heard()), (vec![3], vec![3]));
    assert_eq!(heard(&to_other), [1, 2, 3]);

    // A subscriber that has stopped is let go, and what it misses is no dead letter.
    narrow.stop();
    behind.stop();
    notify(4);
    assert_eq!(heard(&to_other), [4]);
    assert_eq!(stand.dead_letters(), 2);
}

/// A message whose clones panic when they are dropped.
#[derive(Default)]
struct Thorny {
    is_clone: bool,
}

impl Clone for Thorny {
    fn clone(&self) -> Self {
        Self { is_clone: true }
    }
}

impl Drop for Thorny {
    fn drop(&mut self) {
        if self.is_clone {
            fail();
        }
    }
}

#[test]
fn a_message_that_a_full_subscriber_refuses_does_not_end_the_way_of_the_others() {
    silence_panics();
    let stand = Stand::new();
    let subject = stand.spawn(subject());
    let narrow = Narrow::new();
    let (told, to_other) = channel();
    let other = stand.spawn(does(move |thorny: Thorny| {
        std::mem::forget(thorny);
        told.send(()).unwrap();
        Next::Continue
    }));
    for new in [narrow.address.clone(), other] {
        subject.send(Subject::Subscribe(new)).unwrap();
    }
    for _ in 0..3 {
        subject.send(Subject::Notify(Thorny::default())).unwrap();
    }
    stand.run();
    assert_eq!(heard(&to_other).len(), 3);
    narrow.heard().into_iter().for_each(std::mem::forget);
}

#[test]
fn a_door_has_stopped_once_all_behind_it_have() {
    let stand = Stand::new();
    let ((one, _), (other, _)) = (stand.listener::<u32>(), stand.listener::<u32>());
    let both = tee(one.clone(), other.clone());
    let by_key = demux([(1, one.clone()), (2, other.clone())]);
    let (only, labelled) = (
        forward(one.clone()),
        label(stand.stopped::<(&str, u32)>(), "one"),
    );
    stand.stop(&one);
    assert!(only.is_stopped() && labelled.is_stopped());
    assert!(!both.is_stopped() && !by_key.is_stopped());
    stand.stop(&other);
    assert!(both.is_stopped() && by_key.is_stopped());
    assert!(!broadcast::<u32>(Vec::new()).is_stopped());
}

#[test]
fn an_actor_that_forwards_stays_though_its_receiver_was_full() {
    let stand = Stand::new();
    let narrow = Narrow::new();
    let gate = stand.spawn(gatekeeper(narrow.address.clone()));
    let pass = |n| {
        gate.send(Gate::Pass(n)).unwrap();
        stand.run();
    };
    pass(1);
    pass(2);
    assert_eq!(narrow.heard(), [1]);
    assert_eq!(stand.dead_letters(), 1);
    pass(3);
    assert_eq!(narrow.heard(), [3]);
    narrow.stop();
    pass(4);
    assert!(gate.is_stopped());
}

/// A listener whose mailbox has one place, for which senders wait. It reports its messages, each
/// time after the test has allowed it.
struct Waiter {
    address: Address<u32>,
    allow: Sender<()>,
    told: Receiver<u32>,
}

impl Waiter {
    fn new(system: &System) -> Self {
        let ((allow, allowed), (tell, told)) = (channel(), channel());
        let listener = behavior(move |n: u32, _| {
            // The test has ended if there is no answer.
            let _ = allowed.recv();
            let _ = tell.send(n);
        });
        let mailbox = Mailbox::bounded(1, OnFull::Wait).unwrap();
        let address = system.actor(listener).mailbox(mailbox).spawn().unwrap();
        Self {
            address,
            allow,
            told,
        }
    }

    /// Makes the listener busy with the message 0, and fills its mailbox with the message 1.
    fn fill(&self) {
        self.address.send(0).unwrap();
        self.address.send(1).unwrap();
    }

    /// Lets the listener handle `count` messages, and returns them.
    fn let_go(&self, count: usize) -> Vec<u32> {
        (0..count).for_each(|_| self.allow.send(()).unwrap());
        (0..count).map(|_| self.next()).collect()
    }

    /// Returns the next message that the listener has handled.
    fn next(&self) -> u32 {
        self.told.recv_timeout(HANGS_AFTER).unwrap()
    }
}

fn system() -> System {
    System::builder().workers(2).start().unwrap()
}

#[test]
fn a_try_send_through_a_demux_does_not_wait_but_tells_that_the_target_is_full() {
    ends(|| {
        let system = system();
        let (full, free) = (Waiter::new(&system), Waiter::new(&system));
        full.fill();
        let demux = demux([
            ("full", full.address.clone()),
            ("free", free.address.clone()),
        ]);
        let labelled = label(demux.clone(), "full");
        let mapped = demux.contramap(|n: u32| ("free", n));
        assert_eq!((demux.capacity(), labelled.waiting()), (None, None));
        assert_eq!(
            demux.try_send(("full", 2)),
            Err(TrySendError::Full(("full", 2)))
        );
        assert_eq!(
            demux.try_send(("none", 2)),
            Err(TrySendError::Stopped(("none", 2)))
        );
        assert_eq!(labelled.try_send(3), Err(TrySendError::Full(3)));
        mapped.try_send(4).unwrap();
        assert_eq!(free.let_go(1), [4]);
        assert_eq!(full.let_go(2), [0, 1]);
        labelled.try_send(5).unwrap();
        assert_eq!(full.let_go(1), [5]);
    });
}

#[test]
fn a_try_send_to_several_targets_reaches_all_of_them_or_none() {
    let stand = Stand::new();
    let narrow = Narrow::new();
    let (other, to_other) = stand.listener();
    let tee = tee(narrow.address.clone(), other.clone());
    // All ways to the same targets.
    let doors = [
        tee.clone(),
        forward(tee.clone()),
        tee.contramap(|n: u32| n),
        broadcast(vec![tee.clone()]),
    ];
    for (n, door) in doors.iter().enumerate() {
        let n = n as u32;
        door.try_send(n).unwrap();
        assert_eq!(door.try_send(9), Err(TrySendError::Full(9)));
        stand.run();
        assert_eq!((narrow.heard(), heard(&to_other)), (vec![n], vec![n]));
    }
    stand.stop(&other);
    tee.try_send(4).unwrap();
    assert_eq!(tee.try_send(5), Err(TrySendError::Full(5)));
    assert_eq!(narrow.heard(), [4]);
    narrow.stop();
    assert_eq!(tee.try_send(6), Err(TrySendError::Stopped(6)));
}

#[test]
fn two_targets_with_one_mailbox_that_is_too_small_for_both_do_not_block_each_other() {
    let narrow = Narrow::new();
    let twice = tee(
        narrow.address.clone(),
        narrow.address.contramap(|n: u32| n + 10),
    );
    twice.try_send(1).unwrap();
    assert_eq!(narrow.address.dropped(), 1);
    assert_eq!(twice.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(narrow.heard(), [1]);
}

#[test]
fn senders_through_a_door_to_several_targets_wait_for_the_one_that_is_full() {
    ends(|| {
        let system = system();
        let (one, other) = (Waiter::new(&system), Waiter::new(&system));
        let both = tee(one.address.clone(), other.address.clone());
        let by_key = label(demux([(1, one.address.clone())]), 1);
        for door in [both.contramap(|n: u32| n), both] {
            one.fill();
            other.fill();
            thread::scope(|scope| {
                let blocks = scope.spawn(|| door.send_blocking(2));
                let mut awaits = pin!(door.send_async(3));
                let mut task = Context::from_waker(Waker::noop());
                assert!(awaits.as_mut().poll(&mut task).is_pending());
                assert_eq!(one.let_go(2), [0, 1]);
                assert!(awaits.as_mut().poll(&mut task).is_pending());
                assert_eq!(other.let_go(2), [0, 1]);
                let local = Local::new().unwrap();
                // Each of the two messages reaches both.
                for waiter in [&one, &other] {
                    (0..2).for_each(|_| waiter.allow.send(()).unwrap());
                }
                local.block_on(awaits).unwrap();
                blocks.join().unwrap().unwrap();
                for waiter in [&one, &other] {
                    let mut heard = [waiter.next(), waiter.next()];
                    heard.sort_unstable();
                    assert_eq!(heard, [2, 3]);
                }
            });
        }
        one.fill();
        thread::scope(|scope| {
            let blocks = scope.spawn(|| by_key.send_blocking(2));
            assert_eq!(one.let_go(3), [0, 1, 2]);
            blocks.join().unwrap().unwrap();
        });
    });
}

#[test]
fn a_sink_for_several_targets_is_not_ready_while_its_item_waits() {
    ends(|| {
        let system = system();
        let (one, other) = (Waiter::new(&system), Waiter::new(&system));
        one.fill();
        let mut sink = AddressSink::new(&tee(one.address.clone(), other.address.clone()));
        let mut task = Context::from_waker(Waker::noop());
        assert!(sink.poll_ready_unpin(&mut task).is_ready());
        sink.start_send_unpin(2).unwrap();
        assert!(sink.poll_ready_unpin(&mut task).is_pending());
        assert!(sink.poll_flush_unpin(&mut task).is_pending());
        assert_eq!(one.let_go(2), [0, 1]);
        Local::new().unwrap().block_on(sink.close()).unwrap();
        assert_eq!((one.let_go(1), other.let_go(1)), (vec![2], vec![2]));
    });
}

#[test]
fn a_thread_does_not_wait_for_itself_through_a_door_to_several_targets() {
    let stand = Stand::new();
    let mailbox = || Mailbox::bounded(1, OnFull::Wait).unwrap();
    let (told, to_one) = channel();
    let one = stand
        .local
        .actor(behavior(move |n: u32, _| told.send(n).unwrap()));
    let one = one.mailbox(mailbox()).spawn();
    let (other, to_other) = stand.listener();
    let both = tee(one, other);
    both.send_blocking(1).unwrap();
    assert_eq!(both.send_blocking(2), Err(SendError(2)));
    stand.run();
    assert_eq!((heard(&to_one), heard(&to_other)), (vec![1], vec![1]));
}

#[test]
fn a_copy_that_a_full_mailbox_refuses_is_counted() {
    let stand = Stand::new();
    let narrow = Narrow::new();
    let (other, to_other) = stand.listener();
    let tee = tee(narrow.address.clone(), other);
    (0..2).for_each(|n| tee.send(n).unwrap());
    assert_eq!((narrow.address.dropped(), stand.dead_letters()), (1, 0));
    let relay = stand.spawn(does(move |n| {
        tee.send(n).unwrap();
        Next::Continue
    }));
    relay.send(2).unwrap();
    stand.run();
    assert_eq!((narrow.address.dropped(), stand.dead_letters()), (1, 1));
    assert_eq!((narrow.heard(), heard(&to_other)), (vec![0], vec![0, 1, 2]));
}

#[test]
fn a_converted_message_that_is_refused_outside_of_turns_is_counted() {
    let narrow = Narrow::new();
    let by_key = demux([("a", narrow.address.clone())]).contramap(|n: u32| ("a", n));
    // The place in the mailbox is known only after the conversion.
    (0..3).for_each(|n| by_key.send(n).unwrap());
    assert_eq!(narrow.address.dropped(), 2);
    let to_all = tee(by_key.clone(), by_key.clone()).contramap(|n: u32| n);
    to_all.send(3).unwrap();
    assert_eq!((narrow.address.dropped(), narrow.heard()), (4, vec![0]));
}

#[test]
fn a_copy_that_a_full_mailbox_behind_doors_refuses_is_counted() {
    let [by_key, labelled, inner, outer] = [(); 4].map(|()| Narrow::<u32>::new());
    let stand = Stand::new();
    let (other, to_other) = stand.listener();
    let all = broadcast(vec![
        other,
        label(demux([(1, by_key.address.clone())]), 1),
        forward(label(demux([(2, labelled.address.clone())]), 2)),
        tee(inner.address.clone(), outer.address.clone()),
    ]);
    (0..3).for_each(|n| all.send(n).unwrap());
    for narrow in [by_key, labelled, inner, outer] {
        assert_eq!((narrow.address.dropped(), narrow.heard()), (2, vec![0]));
    }
    stand.run();
    assert_eq!(heard(&to_other), [0, 1, 2]);
}

#[test]
fn a_watch_of_a_door_to_several_targets_is_told_when_the_last_has_ended() {
    let stand = Stand::new();
    let ((one, _), (other, _)) = (stand.listener::<u32>(), stand.listener::<u32>());
    let both = tee(one.clone(), other.clone());
    let by_key = demux([(1, one.clone()), (2, other.clone())]);
    let (told, endings) = channel();
    for watched in [forward(both.clone()), label(by_key, 1)] {
        let told = told.clone();
        watched.watch(move |ended| told.send(ended).unwrap());
    }
    let cancelled = told.clone();
    both.watch(move |ended| cancelled.send(ended).unwrap())
        .cancel();
    stand.stop(&one);
    assert_eq!(heard(&endings), []);
    stand.stop(&other);
    assert_eq!(heard(&endings), [Ended::Stopped, Ended::Stopped]);
    both.watch(move |ended| told.send(ended).unwrap());
    assert_eq!(heard(&endings), [Ended::Before]);
    let (told, endings) = channel();
    let nowhere = demux(Vec::<(u32, Address<u32>)>::new());
    nowhere.watch(move |ended| told.send(ended).unwrap());
    assert_eq!(heard(&endings), [Ended::Before]);
}
