//! Tests that cancelled watches do not pile up in the watched actor, for each kind of address.
#![forbid(unsafe_code)]

mod common;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Context, Incoming, Local};
use garrick_testkit::notices_kept;

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
    let (_, local) = common::local();
    let idle = local.spawn(Idle);
    watch_and_cancel(&local, &idle);
    watch_and_cancel(&local, &idle.contramap(|n: u32| n));
}

#[test]
fn cancelled_watches_do_not_pile_up_behind_a_mailbox() {
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
    let (_, local) = common::local();
    let idle = local
        .spawn(|mut mailbox: Incoming<u32>| async move { while mailbox.recv().await.is_some() {} });
    watch_and_cancel(&local, &idle);
    watch_and_cancel(&local, &idle.contramap(|n: u32| n));
}
