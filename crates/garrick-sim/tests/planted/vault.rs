//! A vault that confirms deposits, and keeps a copy of each deposit on another node. If it confirms
//! a deposit before the copy has arrived, a crash loses a confirmed deposit.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// A fact: a deposit was confirmed.
#[derive(Debug)]
struct Confirmed(u32);

/// A fact: the vault has started.
#[derive(Debug)]
struct Started;

/// A fact: the content of the vault after its start.
#[derive(Debug)]
struct Restored(Vec<u32>);

/// An actor that keeps copies. Its node does not crash.
struct Copies(Vec<u32>);

enum Copy {
    Keep(u32, Reply<()>),
    All(Reply<Vec<u32>>),
}

impl Actor for Copies {
    type Msg = Copy;
    type Outcome = ();

    fn receive(&mut self, copy: Copy, _: &mut Context<'_, Copy>) {
        match copy {
            Copy::Keep(deposit, reply) => {
                self.0.push(deposit);
                reply.send(());
            }
            Copy::All(reply) => reply.send(self.0.clone()),
        }
    }
}

struct Vault {
    copies: Address<Copy>,
    confirms_early: bool,
}

enum Event {
    Deposit(u32),
    Kept(u32, Result<(), NoReply>),
    Restored(Result<Vec<u32>, NoReply>),
}

impl Actor for Vault {
    type Msg = Event;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Event>) {
        cx.note(Started);
        cx.ask(&self.copies, Copy::All, Event::Restored);
    }

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) {
        match event {
            Event::Deposit(deposit) => {
                if self.confirms_early {
                    cx.note(Confirmed(deposit));
                }
                let keep = move |reply| Copy::Keep(deposit, reply);
                cx.ask(&self.copies, keep, move |kept| Event::Kept(deposit, kept));
            }
            Event::Kept(deposit, Ok(())) if !self.confirms_early => cx.note(Confirmed(deposit)),
            Event::Restored(Ok(deposits)) => cx.note(Restored(deposits)),
            Event::Kept(..) | Event::Restored(_) => {}
        }
    }
}

fn vault(sim: &mut Sim, confirms_early: bool) {
    let copies = sim.node("safe").spawn(Copies(Vec::new())).unwrap();
    sim.restarting("vault", move |node| {
        let vault = node.spawn(Vault {
            copies: copies.clone(),
            confirms_early,
        });
        let vault = vault.unwrap();
        for deposit in 1..3 {
            vault.send(Event::Deposit(deposit)).unwrap();
        }
    });
    let after = Duration::ZERO..Duration::from_secs(1);
    sim.faults().crash_and_restart("vault", 1, after);
    sim.always("confirmed deposits are restored", |facts| {
        let Some((start, _)) = facts.placed::<Started>().next_back() else {
            return true;
        };
        let Some((_, restored)) = facts.placed::<Restored>().find(|(at, _)| *at > start) else {
            return true;
        };
        let confirmed = facts.placed::<Confirmed>();
        let mut before = confirmed.take_while(|(at, _)| *at < start);
        before.all(|(_, deposit)| restored.0.contains(&deposit.0))
    });
}

#[test]
fn a_deposit_that_a_crash_loses_is_found() {
    assert_found("vault", "confirmed deposits are restored", |sim| {
        vault(sim, true);
    });
}

#[test]
fn a_vault_that_waits_for_the_copy_is_right() {
    assert_right("vault that waits", |sim| vault(sim, false));
}
