//! Tests of `tee`, `broadcast`, `demux` and `subject`.

use std::sync::mpsc::{Sender, channel};

use garrick_actor::behaviors::{Subject, broadcast, demux, subject, tee};
use garrick_actor::{Next, SendError};

use crate::stand::{Stand, does, heard};

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
