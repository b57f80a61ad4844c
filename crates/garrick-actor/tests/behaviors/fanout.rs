//! Tests of `tee`, `broadcast`, `demux` and `subject`.

use std::sync::mpsc::{Sender, channel};

use garrick_actor::behaviors::{
    Gate, Subject, broadcast, demux, forward, gatekeeper, label, subject, tee,
};
use garrick_actor::{Next, SendError};
use garrick_testkit::{fail, silence_panics};

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
