//! Tests of a system that shuts down and refuses messages from foreign threads, for each way to
//! send a message.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Address, Next, Reply, System, behavior};

/// Starts a system of two workers that refuses strangers. Its shutdown does not complete until the
/// flag is set.
fn busy() -> (System, Arc<AtomicBool>) {
    let builder = System::builder().workers(2).refuse_strangers(true);
    let system = builder.start().unwrap();
    let ends = Arc::new(AtomicBool::new(false));
    let told = ends.clone();
    let busy = system.spawn(behavior(move |(), cx| {
        if !told.load(SeqCst) {
            let _ = cx.send(&cx.address(), ());
        }
        Next::Continue
    }));
    busy.unwrap().send(()).unwrap();
    (system, ends)
}

#[test]
fn a_message_a_question_and_a_call_are_refused() {
    let (system, ends) = busy();
    let echo: Address<(u32, Reply<u32>)> = system
        .spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
            reply.send(n);
            Next::Continue
        }))
        .unwrap();
    let sink = system.spawn(behavior(|_: u32, _| Next::Continue)).unwrap();
    assert_eq!(echo.ask(|reply| (1, reply)).wait(), Ok(1));
    system.begin_shutdown();
    assert!(sink.send(2).is_err());
    assert!(echo.ask(|reply| (3, reply)).wait().is_err());
    assert!(echo.call(|reply| (4, reply)).wait().is_err());
    ends.store(true, SeqCst);
    system.wait();
    assert_eq!(system.dead_letters(), 0);
}

#[test]
fn who_waits_for_room_is_refused_when_it_comes() {
    let (system, ends) = busy();
    let (entered, enters) = channel();
    let leaves = Arc::new(Barrier::new(2));
    let left = leaves.clone();
    let mailbox = Mailbox::bounded(1, OnFull::Wait).unwrap();
    let slow = behavior(move |n: u32, _| {
        entered.send(n).unwrap();
        left.wait();
        Next::Continue
    });
    let slow = system.actor(slow).mailbox(mailbox).spawn().unwrap();
    slow.send_blocking(1).unwrap();
    assert_eq!(enters.recv(), Ok(1));
    // The only place is the next one's, or the one after that waits.
    slow.send_blocking(2).unwrap();
    let waits = {
        let slow = slow.clone();
        thread::spawn(move || slow.send_blocking(3))
    };
    system.begin_shutdown();
    leaves.wait();
    assert_eq!(enters.recv(), Ok(2), "it was accepted before the end began");
    leaves.wait();
    // It came to the mailbox before the end began only if it did not have to wait.
    assert!(waits.join().unwrap().is_err());
    ends.store(true, SeqCst);
    system.wait();
}

#[test]
fn what_actors_of_the_system_send_is_handled() {
    let (system, ends) = busy();
    let heard = Arc::new(AtomicU64::new(0));
    let sum = heard.clone();
    let sink = system.spawn(behavior(move |n: u64, _| {
        sum.fetch_add(n, SeqCst);
        Next::Continue
    }));
    let sink = sink.unwrap();
    let (ended, ends_begin) = channel();
    let source = system.spawn(behavior(move |n: u64, cx| {
        // The end has begun meanwhile.
        ends_begin.recv().unwrap();
        let _ = cx.send(&sink, n);
        cx.blocking(|| sink.send(10 * n).unwrap());
        Next::Continue
    }));
    source.unwrap().send(1).unwrap();
    system.begin_shutdown();
    ended.send(()).unwrap();
    ends.store(true, SeqCst);
    system.wait();
    assert_eq!(heard.load(SeqCst), 11);
    assert_eq!(system.dead_letters(), 0);
}
