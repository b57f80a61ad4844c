//! Loom models of a cell (task) of one worker. Other threads send messages to the cell, have
//! references to it, and watch it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::{Alive, Lives, Log, Sink, check, check_long, here, of, spawn};
use crate::runtime::address::Address;
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;
use crate::runtime::watch::Ended;

/// Task that calls a function once, with an address of another task.
struct Holder {
    held: Option<Address<u32>>,
    does: fn(Address<u32>),
}

impl Task for Holder {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        if let Some(held) = self.held.take() {
            (self.does)(held);
        }
        Flow::Continue
    }
}

#[test]
fn loom_sends_from_the_own_worker_and_from_others_arrive_once_and_in_order() {
    check_long(2, || {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let sink = here.spawn(Sink::new(&log, &alive));
        let foreign = sink.clone();
        let sender = spawn(move || {
            for number in [1, 2] {
                foreign.send(number).unwrap();
            }
        });
        let does = |held: Address<u32>| {
            held.send(11).unwrap();
            held.send(12).unwrap();
        };
        let held = Some(sink);
        here.spawn(Holder { held, does }).send(()).unwrap();
        here.run();
        sender.join().unwrap();
        here.run();
        let heard = log.borrow();
        assert_eq!((of(&heard, 0), of(&heard, 1)), (vec![1, 2], vec![11, 12]));
        assert_eq!(alive.count(), 0, "nothing refers to it any more");
    });
}

#[test]
fn loom_of_two_senders_one_takes_the_token() {
    check_long(2, || {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let sink = here.spawn(Sink::new(&log, &alive));
        let foreign = sink.clone();
        let sender = spawn(move || foreign.send(1).unwrap());
        let second = spawn(move || sink.send(2).unwrap());
        sender.join().unwrap();
        here.run();
        second.join().unwrap();
        here.run();
        assert_eq!(log.borrow().len(), 2);
        assert_eq!(alive.count(), 0, "nothing refers to it any more");
    });
}

#[test]
fn loom_a_sleeper_is_woken_by_a_send() {
    check(|| {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let sink = here.spawn(Sink::new(&log, &alive));
        let sender = spawn(move || {
            sink.send(1).unwrap();
            sink.send(2).unwrap();
        });
        here.run_until(|| log.borrow().len() == 2);
        sender.join().unwrap();
        assert_eq!(*log.borrow(), [1, 2]);
    });
}

#[test]
fn loom_the_last_reference_is_dropped_by_another_task_while_a_message_is_on_its_way() {
    check(|| {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let sink = here.spawn(Sink::new(&log, &alive));
        let foreign = sink.clone();
        let holder = here.spawn(Holder {
            held: Some(sink),
            does: drop,
        });
        let sender = spawn(move || {
            foreign.send(1).unwrap();
            drop(foreign);
        });
        holder.send(()).unwrap();
        here.run();
        sender.join().unwrap();
        here.run();
        assert_eq!(
            *log.borrow(),
            [1],
            "what is sent is handled before the cell is freed"
        );
        assert_eq!(alive.count(), 0);
    });
}

/// Task that keeps its own address until its first message.
struct Selfish {
    me: Rc<RefCell<Option<Address<u32>>>>,
    log: Log,
    _lives: Lives,
}

impl Task for Selfish {
    type Message = u32;

    fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
        self.log.borrow_mut().push(message);
        drop(self.me.take());
        Flow::Continue
    }
}

#[test]
fn loom_the_last_reference_is_dropped_by_the_task_itself_while_a_message_is_on_its_way() {
    check(|| {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let me = Rc::default();
        let selfish = here.spawn(Selfish {
            me: Rc::clone(&me),
            log: log.clone(),
            _lives: alive.one_more(),
        });
        let foreign = selfish.clone();
        let kick = here.spawn(Holder {
            held: Some(selfish.clone()),
            does: |held| held.send(0).unwrap(),
        });
        *me.borrow_mut() = Some(selfish);
        drop(me);
        let sender = spawn(move || {
            foreign.send(1).unwrap();
            drop(foreign);
        });
        kick.send(()).unwrap();
        here.run();
        sender.join().unwrap();
        here.run();
        log.borrow_mut().sort_unstable();
        assert_eq!(*log.borrow(), [0, 1]);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn loom_references_are_cloned_and_dropped_here_and_there() {
    check(|| {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let sink = here.spawn(Sink::new(&log, &alive));
        let foreign = sink.clone();
        let holder = spawn(move || {
            let second = foreign.clone();
            drop(foreign);
            drop(second);
        });
        let does = |held: Address<u32>| {
            let second = held.clone();
            drop(held);
            drop(second);
        };
        let held = Some(sink);
        here.spawn(Holder { held, does }).send(()).unwrap();
        here.run();
        holder.join().unwrap();
        here.run();
        assert_eq!(alive.count(), 0, "the last one frees it, exactly once");
    });
}

#[test]
fn loom_a_sponsor_ends_while_others_send_and_let_go() {
    check(|| {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let sink = here.spawn(Sink::new(&log, &alive));
        let handle = here.handle();
        let sender = spawn(move || {
            let second = sink.clone();
            let sent = usize::from(sink.send(1).is_ok());
            drop(sink);
            sent + usize::from(second.send(2).is_ok())
        });
        here.run();
        drop(here);
        assert_eq!(alive.count(), 0, "tasks end with their sponsor");
        let sent = sender.join().unwrap();
        let handled = log.borrow().len() + handle.dead_letters() as usize;
        assert_eq!(handled, sent, "handled, counted, or given back");
    });
}

#[test]
fn loom_a_newborn_is_refused_or_ends_with_the_sponsor() {
    struct Newborn(#[allow(dead_code)] Lives);
    impl Task for Newborn {
        type Message = ();
        const STARTS: bool = true;
        fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
            Flow::Continue
        }
    }
    check(|| {
        let (here, alive) = (here(), Alive::default());
        let (handle, lives) = (here.handle(), alive.one_more());
        let maker = spawn(move || {
            let _ = handle.spawn(Newborn(lives));
        });
        drop(here);
        maker.join().unwrap();
        assert_eq!(alive.count(), 0);
    });
}

/// Task that stops at its first message. If `sends` is true, the task sends a message to itself in
/// the same turn.
struct Brief {
    sends: bool,
}

impl Task for Brief {
    type Message = u32;

    fn receive(&mut self, _: u32, turn: &Turn<'_, u32>) -> Flow {
        if self.sends {
            turn.address().send(1).unwrap();
        }
        Flow::Stop
    }
}

#[test]
fn loom_who_watches_a_task_that_stops_hears_of_it_once() {
    for sends in [false, true] {
        check_long(2, move || {
            let here = here();
            let brief = here.spawn(Brief { sends });
            let notices: Arc<Mutex<Vec<Ended>>> = Arc::default();
            let (watched, heard) = (brief.clone(), notices.clone());
            let watcher = spawn(move || {
                watched.watch(move |ended| heard.lock().unwrap().push(ended));
            });
            let kick = here.spawn(Holder {
                held: Some(brief),
                does: |held| held.send(0).unwrap(),
            });
            kick.send(()).unwrap();
            here.run();
            watcher.join().unwrap();
            here.run();
            let notices = notices.lock().unwrap();
            assert_eq!(notices.len(), 1, "{notices:?}");
        });
    }
}

#[test]
fn loom_what_is_undone_leaves_no_reference_and_no_message() {
    /// Task that sends a message to a task of another thread, and then undoes the turn.
    struct Fickle(Address<u32>);
    impl Task for Fickle {
        type Message = ();
        fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
            self.0.send(7).unwrap();
            Flow::Undo
        }
    }
    check_long(2, || {
        let (here, log, alive) = (here(), Log::default(), Alive::default());
        let sink = here.spawn(Sink::new(&log, &alive));
        let fickle = Fickle(sink.clone());
        let other = spawn(move || {
            let there = super::here();
            there.spawn(fickle).send(()).unwrap();
            there.run();
        });
        sink.send(1).unwrap();
        drop(sink);
        here.run();
        other.join().unwrap();
        here.run();
        assert_eq!(*log.borrow(), [1]);
        assert_eq!(alive.count(), 0);
    });
}
