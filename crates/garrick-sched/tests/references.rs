//! Tests of the times at which tasks are dropped: when their last address is dropped on any thread,
//! or when their sponsor ends.

mod common;

use std::sync::mpsc::{Receiver, channel};
use std::thread;

use common::does;
use garrick_sched::{Address, Flow, Handle, Here, Sponsor, Task, Turn};
use garrick_testkit::{OnDrop, ends, wait};

/// A task that reports when it is dropped.
fn mortal<M: Send + 'static>() -> (impl Task<Message = M> + Send, Receiver<()>) {
    let (died, dies) = channel();
    let on_drop = OnDrop(move || died.send(()).unwrap_or(()));
    let task = does(move |_: M, _: &Turn<'_, M>| {
        let _ours = &on_drop;
        Flow::Continue
    });
    (task, dies)
}

/// A task on a worker that drops its messages.
fn dropper<M: Send + 'static>(handle: &Handle) -> Address<M> {
    handle
        .spawn(does(|message: M, _: &Turn<'_, M>| {
            drop(message);
            Flow::Continue
        }))
        .unwrap()
}

#[test]
fn the_last_address_is_dropped_by_a_stranger() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (task, dies) = mortal::<()>();
        let address = sponsor.handle().spawn(task).unwrap();
        let second = address.clone();
        address.send(()).unwrap();
        drop(address);
        assert!(dies.try_recv().is_err(), "there is one left");
        thread::spawn(move || drop(second)).join().unwrap();
        wait(&dies);
    });
}

#[test]
fn the_last_address_is_dropped_by_a_task_of_the_same_worker() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (task, dies) = mortal::<()>();
        let address = sponsor.handle().spawn(task).unwrap();
        let dropper = dropper(&sponsor.handle());
        dropper.send(address).unwrap();
        wait(&dies);
    });
}

#[test]
fn the_last_address_is_dropped_by_a_task_of_another_worker() {
    ends(|| {
        let (home, elsewhere) = (Sponsor::pool(1).unwrap(), Sponsor::pool(1).unwrap());
        let dropper = dropper(&elsewhere.handle());
        for touched in [false, true] {
            let (task, dies) = mortal::<()>();
            let address = home.handle().spawn(task).unwrap();
            if touched {
                address.send(()).unwrap();
            }
            dropper.send(address.clone()).unwrap();
            dropper.send(address).unwrap();
            wait(&dies);
        }
    });
}

#[test]
fn a_task_that_nobody_knows_is_dropped_with_the_turn_that_made_it() {
    let here = Here::new_here().unwrap();
    let (task, dies) = mortal::<()>();
    let mut task = Some(task);
    let parent = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
        drop(turn.spawn(task.take().unwrap()));
        Flow::Continue
    }));
    parent.send(()).unwrap();
    here.run();
    assert_eq!(dies.try_recv(), Ok(()));
}

#[test]
fn what_was_sent_is_handled_before_an_unknown_task_is_dropped() {
    let here = Here::new_here().unwrap();
    let (told, tells) = channel();
    let gone = told.clone();
    let on_drop = OnDrop(move || gone.send("gone").unwrap());
    let task = here.spawn(does(move |word, _| {
        let _ours = &on_drop;
        told.send(word).unwrap();
        Flow::Continue
    }));
    task.send("first").unwrap();
    task.send("second").unwrap();
    drop(task);
    here.run();
    let heard: Vec<_> = tells.try_iter().collect();
    assert_eq!(heard, ["first", "second", "gone"]);
}

#[test]
fn a_chain_of_tasks_is_dropped_with_its_head() {
    let here = Here::new_here().unwrap();
    let (told, tells) = channel();
    let mut head: Option<Address<()>> = None;
    for n in 0..1_000 {
        let (next, told) = (head.take(), told.clone());
        let on_drop = OnDrop(move || told.send(n).unwrap());
        head = Some(here.spawn(does(move |(), _| {
            let _ours = (&next, &on_drop);
            Flow::Continue
        })));
    }
    here.run();
    assert!(tells.try_recv().is_err());
    drop(head);
    while tells.try_recv() != Ok(0) {
        here.run();
    }
}

/// A task that keeps its messages.
#[derive(Default)]
struct Holder(Vec<Address<Hold>>, Option<Box<dyn Send>>);

enum Hold {
    Address(Address<Hold>),
    Thing(Box<dyn Send>),
}

impl Task for Holder {
    type Message = Hold;

    fn receive(&mut self, message: Hold, _: &Turn<'_, Hold>) -> Flow {
        match message {
            Hold::Address(address) => self.0.push(address),
            Hold::Thing(thing) => self.1 = Some(thing),
        }
        Flow::Continue
    }
}

#[test]
fn cycles_are_dropped_with_their_sponsors() {
    ends(|| {
        let (one, two) = (Sponsor::pool(2).unwrap(), Sponsor::pool(1).unwrap());
        let holders: Vec<_> = (0..4)
            .map(|n| {
                if n < 3 { one.handle() } else { two.handle() }
                    .spawn(Holder::default())
                    .unwrap()
            })
            .collect();
        let (died, dies) = channel();
        for (index, holder) in holders.iter().enumerate() {
            let died = died.clone();
            let on_drop = OnDrop(move || died.send(()).unwrap_or(()));
            holder.send(Hold::Thing(Box::new(on_drop))).unwrap();
            holder
                .send(Hold::Address(holders[(index + 1) % 4].clone()))
                .unwrap();
        }
        drop((holders, died));
        one.shutdown();
        two.shutdown();
        assert_eq!(dies.iter().count(), 4);
    });
}

#[test]
fn an_address_that_outlives_its_sponsor_gives_messages_back() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (task, dies) = mortal::<Box<u32>>();
        let address = sponsor.handle().spawn(task).unwrap();
        drop(sponsor);
        assert_eq!(dies.try_recv(), Ok(()));
        assert!(address.is_stopped());
        assert_eq!(address.send(Box::new(5)).unwrap_err().0, Box::new(5));
        // The next sponsor gets the numbers of the last one.
        let next = Sponsor::pool(1).unwrap();
        let dropper = dropper(&next.handle());
        let (told, tells) = channel();
        let copy = address.clone();
        let sender = next.handle().spawn(does(move |(), turn: &Turn<'_, ()>| {
            let back = turn.send(&copy, Box::new(6)).map_err(|error| error.0);
            told.send(back).unwrap();
            Flow::Continue
        }));
        sender.unwrap().send(()).unwrap();
        assert_eq!(wait(&tells), Err(Box::new(6)));
        dropper.send(address).unwrap();
        next.shutdown();
    });
}

#[test]
fn a_stop_comes_after_what_the_same_turn_sent_before() {
    ends(|| {
        let (home, elsewhere) = (Sponsor::pool(1).unwrap(), Sponsor::pool(1).unwrap());
        for handle in [home.handle(), elsewhere.handle()] {
            let (told, tells) = channel();
            let receiver = handle.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
                told.send(n).unwrap();
                Flow::Continue
            }));
            let receiver = receiver.unwrap();
            let sender = home.handle().spawn(does(move |(), turn: &Turn<'_, ()>| {
                turn.send(&receiver, 1).unwrap();
                receiver.stop();
                Flow::Continue
            }));
            sender.unwrap().send(()).unwrap();
            assert_eq!(wait(&tells), 1);
        }
    });
}
