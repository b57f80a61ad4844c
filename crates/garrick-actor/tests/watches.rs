//! Tests that watches and links do not pile up in an actor that lives longer than others, for each
//! kind of address, and that notices arrive in full mailboxes.
#![forbid(unsafe_code)]

mod common;

use garrick_actor::behaviors::{demux, label, tee};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context, Incoming, Local, Next, behavior};
use garrick_sched::audit;
use garrick_testkit::{alone, notices_kept};

/// Number of watches that are cancelled.
const WATCHES: usize = 1_000;

/// Maximum number of notices that an actor keeps if all of its watches are cancelled.
const KEPT_MAX: usize = 16;

struct Idle;

impl Actor for Idle {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) {}
}

/// Watches an actor many times, and cancels each watch. Checks that the notices do not pile up.
fn watch_and_cancel(local: &Local, watched: &Address<u32>) {
    let kept = notices_kept(watched, WATCHES, || local.run());
    assert!(kept <= KEPT_MAX, "{kept} notices are kept");
}

#[test]
fn cancelled_watches_of_plain_addresses_do_not_pile_up() {
    let _alone = alone();
    let (_, local) = common::local();
    let idle = local.spawn(Idle);
    watch_and_cancel(&local, &idle);
    watch_and_cancel(&local, &idle.contramap(|n: u32| n));
}

#[test]
fn cancelled_watches_do_not_pile_up_behind_a_door_to_several_actors() {
    let _alone = alone();
    let (_, local) = common::local();
    let [one, other] = [(); 2].map(|()| local.spawn(Idle));
    watch_and_cancel(&local, &tee(one.clone(), other.clone()));
    watch_and_cancel(&local, &label(demux([(1, one), (2, other)]), 1));
}

#[test]
fn cancelled_watches_do_not_pile_up_behind_a_mailbox() {
    let _alone = alone();
    let (_, local) = common::local();
    for mailbox in [
        Mailbox::bounded(1, OnFull::Wait).unwrap(),
        Mailbox::bounded(1, OnFull::DropOldest).unwrap(),
        Mailbox::priority(|_: &u32| 0),
    ] {
        let idle = local.actor(Idle).mailbox(mailbox).spawn();
        watch_and_cancel(&local, &idle);
        watch_and_cancel(&local, &idle.contramap(|n: u32| n));
    }
}

#[test]
fn cancelled_watches_of_an_async_actor_do_not_pile_up() {
    let _alone = alone();
    let (_, local) = common::local();
    let idle = local
        .spawn(|mut mailbox: Incoming<u32>| async move { while mailbox.recv().await.is_some() {} });
    watch_and_cancel(&local, &idle);
    watch_and_cancel(&local, &idle.contramap(|n: u32| n));
}

#[test]
fn links_of_ended_actors_do_not_pile_up() {
    /// Maximum number of blocks: those that the survivor keeps, those of ending threads, and the
    /// spare blocks of the thread, which count as in use. A thread keeps up to two lists of 128
    /// blocks.
    const ENDED_MAX: u64 = KEPT_MAX as u64 + 50 + 2 * 128;

    // The number of blocks is that of the process, so all tests of this file run alone.
    let _alone = alone();
    let (_, local) = common::local();
    let survivor = local.spawn(Idle);
    let before = audit().cells;
    for _ in 0..10 * WATCHES {
        let survivor = survivor.clone();
        let mortal = behavior(move |_: u32, cx| {
            cx.link(&survivor);
            Next::Stop
        });
        local.spawn(mortal).send(0).unwrap();
        local.run();
    }
    let kept = audit().cells.saturating_sub(before);
    assert!(kept <= ENDED_MAX, "the blocks of {kept} ended actors");
    assert!(!survivor.is_stopped());
}

/// Watches another actor, and then receives the notice of its end.
enum Widow {
    Watch(Address<u32>),
    Fill,
    Ended,
}

#[test]
fn a_notice_arrives_in_a_full_mailbox() {
    let _alone = alone();
    for on_full in [OnFull::Wait, OnFull::Fail, OnFull::DropNewest] {
        let (_, local) = common::local();
        let mortal = local.spawn(behavior(|_: u32, _| Next::Stop));
        let widow = behavior(|msg: Widow, cx| match msg {
            Widow::Watch(whom) => {
                let _ = cx.watch(&whom, |_| Widow::Ended);
                Next::Continue
            }
            Widow::Fill => Next::Continue,
            Widow::Ended => Next::Stop,
        });
        let mailbox = Mailbox::bounded(1, on_full).unwrap();
        let widow = local.actor(widow).mailbox(mailbox).spawn();
        widow.send(Widow::Watch(mortal.clone())).unwrap();
        local.run();
        // The end comes before the widow has handled the message that fills its mailbox.
        mortal.send(0).unwrap();
        widow.send(Widow::Fill).unwrap();
        local.run();
        assert!(widow.is_stopped(), "{on_full:?}");
    }
}
