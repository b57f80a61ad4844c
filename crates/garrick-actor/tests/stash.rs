//! Tests of the stash: order, capacity, undone turns, `becomes`, and messages that remain when the
//! actor stops.
#![forbid(unsafe_code)]

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use allocation_counter::measure;
use common::settle;
use garrick_actor::error::StashError;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Behavior, Context, Local, Next, Reply, System, behavior};
use garrick_testkit::{HANGS_AFTER, fail, silence_panics};

/// An actor that stashes numbers until it is told to open.
struct Sorter {
    open: bool,
    heard: Rc<RefCell<Vec<u32>>>,
}

enum Msg {
    Number(u32),
    Open,
    OpenFor(usize),
    OpenAndUndo,
    OpenAndFail,
    AddAndUndo(u32),
    AddAndFail(u32),
    Stop,
}

impl Actor for Sorter {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Number(n) if self.open => self.heard.borrow_mut().push(n),
            Msg::Number(_) => match cx.stash(msg) {
                Ok(()) => {}
                Err(StashError(Msg::Number(n))) => self.heard.borrow_mut().push(1_000 + n),
                Err(_) => fail(),
            },
            Msg::Open => {
                self.open = true;
                cx.unstash_all();
                assert_eq!(cx.stash_len(), 0);
            }
            Msg::OpenFor(count) => {
                self.open = true;
                cx.unstash(count);
            }
            Msg::OpenAndUndo => {
                cx.unstash_all();
                return Next::Undo;
            }
            Msg::OpenAndFail => {
                cx.unstash_all();
                fail()
            }
            Msg::AddAndUndo(n) => {
                cx.stash(Msg::Number(n)).unwrap();
                return Next::Undo;
            }
            Msg::AddAndFail(n) => {
                cx.stash(Msg::Number(n)).unwrap();
                fail()
            }
            Msg::Stop => return Next::Stop,
        }
        Next::Continue
    }
}

struct Stand {
    local: Local,
    sorter: Address<Msg>,
    heard: Rc<RefCell<Vec<u32>>>,
}

fn stand(capacity: usize) -> Stand {
    silence_panics();
    let (_, local) = common::local();
    let heard = Rc::default();
    let sorter = Sorter {
        open: false,
        heard: Rc::clone(&heard),
    };
    let sorter = local.actor(sorter).stash(capacity).spawn();
    Stand {
        local,
        sorter,
        heard,
    }
}

impl Stand {
    fn tell(&self, msg: Msg) {
        self.sorter.send(msg).unwrap();
        settle(&self.local);
    }

    fn numbers(&self, numbers: impl IntoIterator<Item = u32>) {
        for n in numbers {
            self.tell(Msg::Number(n));
        }
    }

    fn heard(&self) -> Vec<u32> {
        self.heard.take()
    }

    fn dead_letters(&self) -> u64 {
        settle(&self.local);
        self.local.handle().dead_letters()
    }
}

#[test]
fn messages_come_back_in_order_behind_those_that_wait() {
    let stand = stand(10);
    stand.numbers(1..=5);
    assert_eq!(stand.heard(), []);
    stand.sorter.send(Msg::Open).unwrap();
    stand.sorter.send(Msg::Number(6)).unwrap();
    settle(&stand.local);
    assert_eq!(stand.heard(), [6, 1, 2, 3, 4, 5]);
}

#[test]
fn a_full_stash_gives_the_message_back() {
    let stand = stand(3);
    stand.numbers(1..=5);
    assert_eq!(stand.heard(), [1_004, 1_005]);
    stand.tell(Msg::Open);
    assert_eq!(stand.heard(), [1, 2, 3]);
}

#[test]
fn some_can_be_taken_back() {
    let stand = stand(10);
    stand.numbers(1..=5);
    stand.tell(Msg::OpenFor(2));
    assert_eq!(stand.heard(), [1, 2]);
    stand.tell(Msg::OpenFor(9));
    assert_eq!(stand.heard(), [3, 4, 5]);
}

#[test]
fn an_undone_turn_leaves_the_stash_as_it_was() {
    let stand = stand(3);
    stand.numbers(1..=2);
    stand.tell(Msg::OpenAndUndo);
    stand.tell(Msg::AddAndUndo(7));
    assert_eq!(stand.heard(), []);
    stand.numbers([3]);
    stand.tell(Msg::Open);
    assert_eq!(stand.heard(), [1, 2, 3]);
    assert_eq!(stand.dead_letters(), 0);
}

#[test]
fn what_is_left_when_the_actor_ends_are_dead_letters() {
    let ends: [fn(&Stand); 5] = [
        |stand| stand.tell(Msg::Stop),
        |stand| stand.sorter.stop(),
        |stand| stand.tell(Msg::OpenAndFail),
        // What the failing turn has put aside is gone with it, as its message is.
        |stand| stand.tell(Msg::AddAndFail(9)),
        |stand| {
            stand.sorter.send(Msg::Stop).unwrap();
        },
    ];
    for end in ends {
        let stand = stand(10);
        stand.numbers(1..=4);
        assert_eq!(stand.dead_letters(), 0);
        end(&stand);
        assert_eq!(stand.dead_letters(), 4);
        assert_eq!(stand.heard(), []);
    }
}

#[test]
fn what_is_left_when_nobody_can_reach_the_actor_or_its_system_ends_are_dead_letters() {
    let Stand { local, sorter, .. } = stand(10);
    let handle = local.handle();
    sorter.send(Msg::Number(1)).unwrap();
    settle(&local);
    drop(sorter);
    settle(&local);
    assert_eq!(handle.dead_letters(), 1);
    let stand = stand(10);
    let handle = stand.local.handle();
    stand.numbers(1..=3);
    drop(stand.local);
    assert_eq!(handle.dead_letters(), 3);
}

#[test]
fn an_actor_without_options_has_a_stash() {
    let (_, local) = common::local();
    let seen = Rc::<RefCell<Vec<u32>>>::default();
    struct Plain(Rc<RefCell<Vec<u32>>>);
    impl Actor for Plain {
        type Msg = u32;
        type Outcome = ();

        fn receive(&mut self, n: u32, cx: &mut Context<'_, u32>) {
            if n == 0 {
                assert_eq!(cx.unstash_all(), 1024);
            } else if cx.stash_len() > 0 || self.0.borrow().is_empty() && n < 2000 {
                if let Err(StashError(n)) = cx.stash(n) {
                    self.0.borrow_mut().push(n);
                }
            } else {
                self.0.borrow_mut().push(n);
            }
        }
    }
    let plain = local.spawn(Plain(seen.clone()));
    (1..=1025).for_each(|n| plain.send(n).unwrap());
    settle(&local);
    assert_eq!(seen.take(), [1025], "the default capacity");
    seen.borrow_mut().push(0);
    plain.send(0).unwrap();
    settle(&local);
    assert!(seen.take().into_iter().eq(0..=1024));
    assert_eq!(local.handle().dead_letters(), 0);
}

#[test]
fn unstashed_messages_go_above_the_bound_of_the_mailbox() {
    let (_, local) = common::local();
    let told = std::sync::mpsc::channel();
    let tell = told.0;
    let mut is_open = false;
    let keeper = behavior(move |n: u32, cx| {
        is_open |= n == 0;
        if n == 0 {
            cx.unstash_all();
        } else if is_open {
            tell.send(n).unwrap();
        } else {
            cx.stash(n).unwrap();
        }
    });
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let keeper = local.actor(keeper).mailbox(mailbox).spawn();
    for n in [1, 2, 3, 0] {
        keeper.send(n).unwrap();
        settle(&local);
    }
    assert_eq!(told.1.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        (local.handle().dead_letters(), keeper.waiting()),
        (0, Some(0))
    );
}

/// A behavior that stashes numbers. At `None`, it unstashes them and becomes the behavior `open`.
fn closed(told: Sender<u32>) -> Behavior<Option<u32>> {
    behavior(move |msg, cx| {
        match msg {
            Some(_) => cx.stash(msg).unwrap(),
            None => {
                assert!(cx.unstash_all() > 0);
                cx.becomes_behavior(open(told.clone()));
            }
        }
        Next::Continue
    })
}

fn open(told: Sender<u32>) -> Behavior<Option<u32>> {
    behavior(move |msg, cx| {
        match msg {
            Some(n) => told.send(n).unwrap(),
            None => cx.becomes_behavior(closed(told.clone())),
        }
        Next::Continue
    })
}

#[test]
fn behaviors_put_messages_aside_for_what_they_become() {
    let (_, local) = common::local();
    let (told, heard) = channel();
    let switch = local.actor(closed(told)).stash(10).spawn();
    for msg in [Some(1), Some(2), None] {
        switch.send(msg).unwrap();
    }
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1, 2]);
    for msg in [Some(3), None, Some(4)] {
        switch.send(msg).unwrap();
    }
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [3]);
    switch.send(None).unwrap();
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [4]);
}

#[test]
fn the_stash_of_an_actor_behind_a_mailbox_is_never_found_by_another_one() {
    enum Msg {
        Keep,
        Count(Reply<usize>),
        Open(Reply<usize>),
        Block(Sender<()>, Receiver<()>),
    }
    let keeper = || {
        behavior(|msg: Msg, cx| match msg {
            Msg::Keep => drop(cx.stash(Msg::Keep)),
            Msg::Count(reply) => reply.send(cx.stash_len()),
            Msg::Open(reply) => reply.send(cx.unstash_all()),
            Msg::Block(begins, ends) => {
                begins.send(()).unwrap();
                let _ = ends.recv_timeout(HANGS_AFTER);
            }
        })
    };
    let mailbox = || Mailbox::priority(|_: &Msg| 0);
    let [near, far] = [(); 2].map(|()| System::builder().workers(1).start().unwrap());
    let keeps = near.actor(keeper()).mailbox(mailbox()).spawn().unwrap();
    keeps.send(Msg::Keep).unwrap();
    assert_eq!(keeps.ask(Msg::Count).wait(), Ok(1));
    // The worker cannot see that the actor is gone, while the door of the next one takes the place
    // of its door.
    let blocks = near.spawn(keeper()).unwrap();
    let (begins, begun) = channel();
    let (ends, end) = channel();
    blocks.send(Msg::Block(begins, end)).unwrap();
    begun.recv_timeout(HANGS_AFTER).unwrap();
    drop(keeps);
    let other = far.actor(keeper()).mailbox(mailbox()).spawn().unwrap();
    assert_eq!(other.ask(Msg::Open).wait(), Ok(0));
    ends.send(()).unwrap();
}

#[test]
fn an_actor_behind_a_mailbox_ends_when_nobody_can_reach_it() {
    let (_, local) = common::local();
    for mailbox in [
        Mailbox::bounded(8, OnFull::DropOldest).unwrap(),
        Mailbox::priority(|_: &u32| 0),
    ] {
        let alive = Arc::new(());
        let kept = alive.clone();
        let actor = behavior(move |_: u32, _| drop(kept.clone()));
        let address = local.actor(actor).mailbox(mailbox).spawn();
        address.send(1).unwrap();
        settle(&local);
        drop(address);
        settle(&local);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

#[test]
fn a_long_stash_is_not_copied_at_each_change() {
    const COUNT: u32 = 4_000;
    let stand = stand(COUNT as usize);
    // Each turn stashes one message, or unstashes one of many.
    let stashed = measure(|| stand.numbers(0..COUNT));
    let unstashed = measure(|| {
        for _ in 0..COUNT {
            stand.tell(Msg::OpenFor(1));
        }
    });
    assert_eq!(stand.heard(), (0..COUNT).collect::<Vec<_>>());
    // A copy in each turn would need some 200 MB in total.
    let bytes = [stashed.bytes_total, unstashed.bytes_total];
    assert!(bytes.iter().all(|bytes| *bytes < 4 << 20), "{bytes:?}");
}
