//! Wills: what destructors do.

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

/// Something that a destructor does.
pub(crate) enum Deed {
    Send(Peer),
    Burst(Peer),
    Stop(Peer),
    Ask(Peer),
    Watch(Peer, bool),
    Cancel(u32, Watch),
    Forget(#[allow(dead_code, reason = "to be dropped")] Ask<Answer>),
    Spawn,
    /// Lets go of a sponsor, having begun its end or not.
    End(Keep, Option<bool>),
    Fail,
}

impl Deed {
    fn may_fail(&self) -> bool {
        matches!(self, Self::Fail | Self::Forget(_))
    }
}

/// What happens when this is dropped.
#[derive(Default)]
pub(crate) struct Will(Vec<Deed>);

impl Will {
    pub(crate) fn of(deeds: Vec<Deed>) -> Self {
        Self(deeds)
    }

    /// The same without questions under way. It is for doors, which no sponsor ends: the answer that waits in such a question may
    /// leave something to the very door, and both would live for ever.
    pub(crate) fn without_asks(mut self) -> Self {
        let is_ask = |deed: &Deed| matches!(deed, Deed::Forget(_));
        let (asks, others) = mem::take(&mut self.0)
            .into_iter()
            .partition::<Vec<_>, _>(is_ask);
        self.0 = others;
        // It may panic, and then neither an iterator that filters nor a return value that is there already drops what it has
        // (rust-lang/rust#47949).
        drop(asks);
        self
    }

    /// The same, but one that fails does nothing else. It is for answers: whoever takes an answer to a thread drops it in
    /// a turn that no task of ours has, and nobody would know what was undone with it.
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
