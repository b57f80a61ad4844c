//! Wills: the actions of destructors.

use std::sync::atomic::Ordering::SeqCst;
use std::{mem, thread};

use garrick_sched::{Ask, Watch};

use crate::asking::Answer;
use crate::frame;
use crate::mind::Mind;
use crate::round::{self, Round};
use crate::shapes::{Cargo, Letter, Peer};
use crate::sponsors::Keep;
use crate::watching;

/// An action of a destructor.
pub(crate) enum Deed {
    Send(Peer),
    Burst(Peer),
    Stop(Peer),
    Ask(Peer),
    Watch(Peer, bool),
    Cancel(u32, Watch),
    Forget(#[allow(dead_code, reason = "to be dropped")] Ask<Answer>),
    Spawn,
    /// Drops a sponsor, after it has begun the sponsor's end or not.
    End(Keep, Option<bool>),
    Fail,
}

impl Deed {
    fn may_fail(&self) -> bool {
        matches!(self, Self::Fail | Self::Forget(_))
    }
}

/// The actions that happen when this is dropped.
#[derive(Default)]
pub(crate) struct Will(Vec<Deed>);

impl Will {
    pub(crate) fn of(deeds: Vec<Deed>) -> Self {
        Self(deeds)
    }

    /// Returns the will without questions in flight. Used for doors, which no sponsor ends: the
    /// answer that waits in such a question may leave something to the same door, and both would
    /// live forever.
    pub(crate) fn without_asks(mut self) -> Self {
        let is_ask = |deed: &Deed| matches!(deed, Deed::Forget(_));
        let (asks, others) = mem::take(&mut self.0)
            .into_iter()
            .partition::<Vec<_>, _>(is_ask);
        self.0 = others;
        // It may panic, and then neither an iterator that filters nor a return value that exists
        // already drops its contents (rust-lang/rust#47949).
        drop(asks);
        self
    }

    /// Returns the will, reduced so that a failing will does nothing else. Used for answers: a
    /// thread drops an answer in a turn that belongs to no task of the test, and nobody would know
    /// what was undone with it.
    pub(crate) fn of_one_mind(mut self) -> Self {
        let mut deeds = mem::take(&mut self.0);
        if deeds.iter().any(Deed::may_fail) {
            deeds.clear();
            deeds.push(Deed::Fail);
        }
        Self(deeds)
    }
}

impl Drop for Will {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        let deeds = mem::take(&mut self.0);
        let Some(round) = round::now() else { return };
        for deed in deeds {
            if round.fuel.fetch_sub(1, SeqCst) > 0 {
                execute(&round, deed);
            }
        }
    }
}

fn execute(round: &Round, deed: Deed) {
    match deed {
        Deed::Send(peer) => {
            peer.send(Letter::plain(Cargo::default()));
        }
        Deed::Burst(peer) => (0..20).for_each(|_| {
            peer.send(Letter::bare());
        }),
        Deed::Stop(peer) => peer.stop(),
        Deed::Ask(peer) => drop(peer.ask(Cargo::default())),
        Deed::Watch(peer, fails) => drop(peer.watch(Will::default(), fails)),
        Deed::Cancel(id, watch) => watching::cancel(id, &watch),
        Deed::Forget(_) => {}
        Deed::Spawn => {
            if let Some(peer) = Mind::spawn_anywhere(round) {
                peer.send(Letter::plain(Cargo::default()));
            }
        }
        Deed::End(sponsor, begin) => {
            if let Some(now) = begin {
                sponsor.begin(now);
            }
        }
        Deed::Fail if thread::panicking() => {}
        Deed::Fail => frame::fail(),
    }
}
