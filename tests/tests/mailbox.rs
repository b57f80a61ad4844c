//! Tests of mailboxes: bounds and overflow, ranks, and that no accepted message is lost.

use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::task::{Context as TaskContext, Poll, Waker};
use std::thread;

use garrick::mailbox::{CapacityError, Mailbox, OnFull, TrySendError, Workload};
use garrick::supervise::Ended;
use garrick::{Actor, Address, Context, Local, Next, SendError, System, behavior};
use garrick_testkit::{ends_alone, wait};

/// Returns an actor that passes on its messages.
fn teller(told: Sender<u32>) -> impl Actor<Msg = u32> + Send {
    behavior(move |n: u32, _| {
        told.send(n).unwrap();
        Next::Continue
    })
}

/// Creates an actor on this thread behind a mailbox, and the receiver of its output.
fn stand(capacity: usize, on_full: OnFull) -> (Local, Address<u32>, Receiver<u32>) {
    let local = Local::new().unwrap();
    let (told, heard) = channel();
    let mailbox = Mailbox::bounded(capacity, on_full).unwrap();
    let inlet = local
        .handle()
        .actor(teller(told))
        .mailbox(mailbox)
        .spawn()
        .unwrap();
    (local, inlet, heard)
}

fn all(heard: &Receiver<u32>) -> Vec<u32> {
    heard.try_iter().collect()
}

#[test]
fn a_full_mailbox_that_fails_gives_the_message_back() {
    let (local, inlet, heard) = stand(2, OnFull::Fail);
    assert_eq!((inlet.capacity(), inlet.waiting()), (Some(2), Some(0)));
    assert_eq!(inlet.send(1), Ok(()));
    assert_eq!(inlet.try_send(2), Ok(()));
    assert_eq!(inlet.send(3), Err(SendError(3)));
    assert_eq!(inlet.try_send(4), Err(TrySendError::Full(4)));
    assert_eq!(inlet.waiting(), Some(2));
    local.run();
    assert_eq!(inlet.try_send(5), Ok(()));
    local.run();
    assert_eq!((all(&heard), inlet.dropped()), (vec![1, 2, 5], 0));
}

#[test]
fn the_newest_or_the_oldest_is_dropped_and_counted() {
    let expectations = [
        (OnFull::DropNewest, [0, 1, 2]),
        (OnFull::DropOldest, [7, 8, 9]),
    ];
    for (on_full, left) in expectations {
        let (local, inlet, heard) = stand(3, on_full);
        for n in 0..10 {
            assert_eq!(inlet.send(n), Ok(()));
        }
        assert_eq!(inlet.waiting(), Some(3));
        local.run();
        assert_eq!((all(&heard), inlet.dropped()), (left.to_vec(), 7));
        assert_eq!(inlet.waiting(), Some(0));
    }
}

#[test]
fn actors_meet_the_same_bounds_and_never_wait() {
    for (on_full, expected) in [
        (OnFull::Fail, vec![0, 1, 2]),
        (OnFull::Wait, vec![0, 1, 2]),
        (OnFull::DropNewest, vec![0, 1, 2]),
        (OnFull::DropOldest, vec![2, 3, 4]),
    ] {
        let (local, inlet, heard) = stand(3, on_full);
        let to = inlet.clone();
        let (told, refused) = channel();
        let sender = local.spawn(behavior(move |next: Next, cx| {
            for n in 0..5 {
                if let Err(SendError(n)) = cx.send(&to, n) {
                    told.send(n).unwrap();
                }
            }
            next
        }));
        // A turn that is undone gives its places back.
        sender.send(Next::Undo).unwrap();
        local.run();
        let _ = all(&refused);
        assert_eq!(
            (all(&heard), inlet.waiting()),
            (vec![], Some(0)),
            "{on_full:?}"
        );
        let dropped_before = inlet.dropped();
        sender.send(Next::Continue).unwrap();
        local.run();
        let (refused, dropped) = (all(&refused), inlet.dropped() - dropped_before);
        assert_eq!(all(&heard), expected, "{on_full:?}");
        assert_eq!(refused.len() as u64 + dropped, 2, "{on_full:?}");
    }
}

#[test]
fn a_future_waits_for_room_and_may_be_dropped() {
    let (local, inlet, heard) = stand(1, OnFull::Fail);
    let mut cx = TaskContext::from_waker(Waker::noop());
    let mut first = pin!(inlet.send_async(1));
    assert_eq!(first.as_mut().poll(&mut cx), Poll::Ready(Ok(())));
    let mut patient = pin!(inlet.send_async(2));
    assert_eq!(patient.as_mut().poll(&mut cx), Poll::Pending);
    {
        let mut given_up = pin!(inlet.send_async(3));
        assert_eq!(given_up.as_mut().poll(&mut cx), Poll::Pending);
    }
    assert_eq!(patient.as_mut().poll(&mut cx), Poll::Pending);
    local.run();
    assert_eq!(patient.as_mut().poll(&mut cx), Poll::Ready(Ok(())));
    local.run();
    assert_eq!(all(&heard), [1, 2]);
}

#[test]
fn a_thread_does_not_wait_for_an_actor_that_only_it_runs() {
    ends_alone(|| {
        let (local, inlet, heard) = stand(2, OnFull::Wait);
        inlet.send(1).unwrap();
        inlet.send(2).unwrap();
        assert_eq!(inlet.send(3), Err(SendError(3)));
        assert_eq!(inlet.send_blocking(4), Err(SendError(4)));
        let mapped = inlet.clone().contramap(|n: u32| n + 1);
        assert_eq!(mapped.send(5), Err(SendError(5)));
        local.run();
        assert_eq!(all(&heard), [1, 2]);
        mapped.send(6).unwrap();
        local.run();
        assert_eq!(all(&heard), [7]);
    });
}

#[test]
fn threads_wait_for_room_and_nothing_is_lost() {
    const EACH: u32 = 20_000;
    const SENDERS: u32 = 8;
    let system = System::builder().workers(2).start().unwrap();
    let (told, heard) = channel();
    let mut expected = [0; SENDERS as usize];
    let actor = behavior(move |n: u32, _| {
        told.send(n).unwrap();
        Next::Continue
    });
    let mailbox = Mailbox::bounded(16, OnFull::Wait).unwrap();
    let inlet = system.actor(actor).mailbox(mailbox).spawn().unwrap();
    let start = Arc::new(Barrier::new(SENDERS as usize));
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (inlet, start) = (inlet.clone(), start.clone());
            thread::spawn(move || {
                start.wait();
                for n in 0..EACH {
                    let message = sender * EACH + n;
                    match n % 3 {
                        0 => inlet.send(message).unwrap(),
                        _ => inlet.send_blocking(message).unwrap(),
                    }
                    assert!(inlet.waiting() <= Some(16));
                }
            })
        })
        .collect();
    for _ in 0..SENDERS * EACH {
        let message = wait(&heard);
        let (sender, n) = (message / EACH, message % EACH);
        assert_eq!(expected[sender as usize], n, "in order for each sender");
        expected[sender as usize] += 1;
    }
    senders
        .into_iter()
        .for_each(|sender| sender.join().unwrap());
    system.shutdown();
    assert!(heard.try_recv().is_err());
    assert_eq!(inlet.dropped(), 0);
}

#[test]
fn what_is_dropped_and_what_is_handled_make_up_what_was_sent() {
    const EACH: u32 = 50_000;
    for on_full in [OnFull::DropNewest, OnFull::DropOldest] {
        let system = System::builder().workers(2).start().unwrap();
        let (told, heard) = channel();
        let mailbox = Mailbox::bounded(64, on_full).unwrap();
        let inlet = system.actor(teller(told)).mailbox(mailbox).spawn().unwrap();
        let senders: Vec<_> = (0..4)
            .map(|_| {
                let inlet = inlet.clone();
                thread::spawn(move || (0..EACH).for_each(|n| inlet.send(n).unwrap()))
            })
            .collect();
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        let dropped = inlet.clone();
        drop(inlet);
        system.shutdown();
        let handled = heard.try_iter().count() as u64;
        assert_eq!(
            handled + dropped.dropped(),
            4 * u64::from(EACH),
            "{on_full:?}"
        );
    }
}

#[test]
fn what_waits_is_counted_as_dead_whichever_way_the_actor_ends() {
    for end in [|| Next::Stop, || Next::Fail, || panic!("on purpose")] {
        for kind in 0..3 {
            let local = System::builder().on_failure(|_| ()).local().unwrap();
            let mailbox = match kind {
                0 => Mailbox::bounded(10, OnFull::Fail).unwrap(),
                1 => Mailbox::bounded(10, OnFull::DropOldest).unwrap(),
                _ => Mailbox::priority(|n: &u32| i64::from(*n)),
            };
            let actor = behavior(move |_: u32, _| end());
            let inlet = local
                .handle()
                .actor(actor)
                .mailbox(mailbox)
                .spawn()
                .unwrap();
            (0..5).for_each(|n| inlet.send(n).unwrap());
            local.run();
            assert!(inlet.is_stopped());
            assert_eq!(local.handle().dead_letters(), 4, "kind {kind}");
        }
    }
}

#[test]
fn those_who_wait_hear_that_the_actor_has_stopped() {
    let local = Local::new().unwrap();
    let mailbox = Mailbox::bounded(1, OnFull::Wait).unwrap();
    let stops = behavior(|_: u32, _| Next::Stop);
    let inlet = local
        .handle()
        .actor(stops)
        .mailbox(mailbox)
        .spawn()
        .unwrap();
    inlet.send_blocking(1).unwrap();
    let mut cx = TaskContext::from_waker(Waker::noop());
    let mut waits = pin!(inlet.send_async(2));
    assert_eq!(waits.as_mut().poll(&mut cx), Poll::Pending);
    local.run();
    assert!(inlet.is_stopped());
    assert_eq!(waits.as_mut().poll(&mut cx), Poll::Ready(Err(SendError(2))));
    assert_eq!(inlet.send_blocking(3), Err(SendError(3)));
    assert_eq!(inlet.try_send(4), Err(TrySendError::Stopped(4)));
}

/// Sends each number that it receives, less one, to itself, through the address of its mailbox.
struct Countdown(Sender<u32>);

impl Actor for Countdown {
    type Msg = u32;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, u32>) {
        cx.send(&cx.address(), 3).unwrap();
    }

    fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
        self.0.send(n).unwrap();
        if n > 0 {
            cx.send(&cx.address(), n - 1).unwrap();
        }
    }
}

#[test]
fn an_actor_knows_itself_by_its_mailbox() {
    for mailbox in [
        Mailbox::unbounded(),
        Mailbox::bounded(1, OnFull::Fail).unwrap(),
        Mailbox::priority(|n: &u32| i64::from(*n)),
        Mailbox::for_workload(Workload::IoBound),
        Mailbox::for_workload(Workload::CpuBound),
    ] {
        let local = Local::new().unwrap();
        let (told, heard) = channel();
        let parent = local.spawn(behavior({
            let mailbox = std::sync::Mutex::new(Some(mailbox));
            move |told: Sender<u32>, cx| {
                let mailbox = mailbox.lock().unwrap().take().unwrap();
                // Dropped: only the messages that it sends to itself keep it alive.
                drop(cx.actor(Countdown(told)).mailbox(mailbox).spawn());
                Next::Continue
            }
        }));
        parent.send(told).unwrap();
        local.run();
        assert_eq!(all(&heard), [3, 2, 1, 0]);
        // The actor ended after the last message: it had the only sender.
        assert!(heard.recv().is_err());
    }
}

#[test]
fn the_highest_rank_comes_first_and_equals_in_order() {
    let local = Local::new().unwrap();
    let (told, heard) = channel();
    let rank = |n: &u32| i64::from(*n / 100);
    let inlet = local
        .handle()
        .actor(teller(told))
        .mailbox(Mailbox::priority(rank))
        .spawn()
        .unwrap();
    for n in [101, 1, 205, 102, 2, 200] {
        inlet.send(n).unwrap();
    }
    local.run();
    assert_eq!(all(&heard), [205, 200, 101, 102, 1, 2]);
    assert_eq!((inlet.capacity(), inlet.waiting()), (None, None));
}

#[test]
fn an_undone_turn_takes_its_message_and_no_other_out_of_the_ranks() {
    let local = Local::new().unwrap();
    let (told, heard) = channel();
    let fussy = behavior(move |n: u32, _| {
        told.send(n).unwrap();
        if n == 3 { Next::Undo } else { Next::Continue }
    });
    let rank = |n: &u32| i64::from(*n);
    let inlet = local
        .handle()
        .actor(fussy)
        .mailbox(Mailbox::priority(rank))
        .spawn()
        .unwrap();
    (1..=5).for_each(|n| inlet.send(n).unwrap());
    local.run();
    assert_eq!(all(&heard), [5, 4, 3, 2, 1]);
}

#[test]
fn an_urgent_message_overtakes_all_that_wait() {
    let local = Local::new().unwrap();
    let (told, heard) = channel();
    let mut urgent = Some(1_000);
    let actor = behavior(move |n: u32, cx| {
        told.send(n).unwrap();
        // This message arrives while 99 others wait.
        if let Some(urgent) = urgent.take() {
            cx.send(&cx.address(), urgent).unwrap();
        }
        // The effects of each second turn are discarded.
        if n.is_multiple_of(2) {
            Next::Undo
        } else {
            Next::Continue
        }
    });
    let rank = |n: &u32| i64::from(*n);
    let mailbox = Mailbox::priority(rank);
    let inlet = local.actor(actor).mailbox(mailbox).spawn();
    (0..100).for_each(|n| inlet.send(n).unwrap());
    local.run();
    let handled = all(&heard);
    assert_eq!(handled[..3], [99, 1_000, 98]);
    assert!(handled[2..].iter().rev().copied().eq(0..99));
}

#[test]
fn a_stop_comes_after_all_earlier_messages_and_before_all_later_ones() {
    for undone in [false, true] {
        for mailbox in [
            Mailbox::unbounded(),
            Mailbox::bounded(5, OnFull::Fail).unwrap(),
            Mailbox::bounded(5, OnFull::DropOldest).unwrap(),
            Mailbox::priority(|n: &u32| -i64::from(*n)),
        ] {
            let local = Local::new().unwrap();
            let (told, heard) = channel();
            let actor = behavior(move |n: u32, _| {
                told.send(n).unwrap();
                if undone { Next::Undo } else { Next::Continue }
            });
            let inlet = local.actor(actor).mailbox(mailbox).spawn();
            // An actor sends the messages, so that they are in order in all mailboxes.
            let to = inlet.clone();
            let sender = local.spawn(behavior(move |(), cx| {
                (1..=3).for_each(|n| cx.send(&to, n).unwrap());
                to.stop();
                cx.send(&to, 4).unwrap();
                Next::Continue
            }));
            sender.send(()).unwrap();
            local.run();
            assert_eq!(all(&heard), [1, 2, 3]);
            assert!(inlet.is_stopped());
            assert_eq!(local.handle().dead_letters(), 1);
        }
    }
}

#[test]
fn a_stop_from_outside_loses_no_message() {
    for mailbox in [
        Mailbox::bounded(5, OnFull::DropOldest).unwrap(),
        Mailbox::priority(|n: &u32| -i64::from(*n)),
    ] {
        let local = Local::new().unwrap();
        let (told, heard) = channel();
        let inlet = local.actor(teller(told)).mailbox(mailbox).spawn();
        (1..=3).for_each(|n| inlet.send(n).unwrap());
        inlet.stop();
        local.run();
        assert_eq!(all(&heard), [1, 2, 3]);
        assert!(inlet.is_stopped());
        assert_eq!(local.handle().dead_letters(), 0);
    }
}

#[test]
fn no_room_at_all_is_an_error() {
    let error = Mailbox::<u32>::bounded(0, OnFull::Fail).unwrap_err();
    assert_eq!(error, CapacityError);
    assert!(error.to_string().contains("at least 1"));
}

#[test]
fn a_system_that_has_ended_gives_the_actor_back() {
    let system = System::new().unwrap();
    let handle = system.handle();
    system.shutdown();
    let (told, heard) = channel();
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let refused = handle.actor(teller(told)).mailbox(mailbox).spawn();
    assert!(refused.is_err());
    drop(refused);
    assert!(heard.recv().is_err());
}

/// Checks that an inlet's address looks like any other address.
#[test]
fn nobody_sees_what_stands_behind_an_address() {
    let (local, inlet, heard) = stand(10, OnFull::Fail);
    let addresses: Vec<Address<u32>> = vec![inlet.clone(), inlet.clone()];
    assert_eq!(addresses[0], addresses[1]);
    addresses
        .iter()
        .for_each(|address| address.send(1).unwrap());
    local.run();
    assert_eq!(all(&heard), [1, 1]);
}

#[test]
fn what_stands_behind_a_mailbox_can_be_watched_and_stopped() {
    for mailbox in [
        Mailbox::unbounded(),
        Mailbox::bounded(5, OnFull::Fail).unwrap(),
        Mailbox::bounded(5, OnFull::DropOldest).unwrap(),
        Mailbox::priority(|n: &u32| i64::from(*n)),
    ] {
        let local = Local::new().unwrap();
        let (told, heard) = channel();
        let inlet = local
            .handle()
            .actor(teller(told))
            .mailbox(mailbox)
            .spawn()
            .unwrap();
        let (notices, ended) = channel();
        let _ = inlet.watch(move |how| notices.send(how).unwrap());
        inlet.send(1).unwrap();
        local.run();
        assert!(!inlet.is_stopped());
        inlet.stop();
        local.run();
        assert_eq!(ended.try_recv(), Ok(Ended::Stopped));
        assert!(inlet.is_stopped() && inlet.is_stopped());
        assert_eq!(inlet.send(2), Err(SendError(2)));
        assert_eq!(all(&heard), [1]);
    }
}
