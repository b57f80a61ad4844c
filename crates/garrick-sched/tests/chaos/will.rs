//! Wills: the actions that the destructors of values perform.

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
    /// Drops a sponsor. Before that, the destructor may begin the end of the sponsor.
    End(Keep, Option<bool>),
    Fail,
}

impl Deed {
    fn may_fail(&self) -> bool {
        matches!(self, Self::Fail | Self::Forget(_))
    }
}

/// The actions that happen when this value is dropped.
#[derive(Default)]
pub(crate) struct Will(Vec<Deed>);

impl Will {
    pub(crate) fn of(deeds: Vec<Deed>) -> Self {
        Self(deeds)
    }

    /// Returns the will without unanswered questions. Used for doors, which no sponsor ends. The
    /// answer to such a question may contain a reference to the same door, so both would live
    /// forever.
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

    /// If an action in this will may panic, returns a will that only panics. Otherwise, returns the
    /// will unchanged. Used for answers, because a thread drops an answer in a turn that belongs to
    /// no task of the test. The test would not know what was undone by a panic in this turn.
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
