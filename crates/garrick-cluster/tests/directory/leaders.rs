//! Leaders. At any time, only one node has the name of the leader.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context, NoReply};
use garrick_cluster::{NameError, Registry};
use garrick_sim::Facts;

use crate::desks::{Desk, ToDesk};
use crate::news::LifeName;

/// Time between two attempts to get the name.
const AGAIN: Duration = Duration::from_secs(2);

/// A fact: an incarnation of a node was told that it has the name.
#[derive(Debug)]
pub(crate) struct Leads(LifeName);

/// A fact: the leader that an incarnation of a node has found at the end, by its answer.
#[derive(Debug)]
pub(crate) struct Found(LifeName, Result<String, String>);

/// A fact: an incarnation of a node was last told that it leads (true) or that it does not.
#[derive(Debug)]
pub(crate) struct Told(LifeName, bool);

pub(crate) enum ToCandidate {
    Try,
    Tried(Result<(), NameError>),
    Told(Option<Address<ToDesk>>),
    Look,
    Looked(Result<Address<ToDesk>, NameError>),
    Answer(Result<String, NoReply>),
}

/// An actor that tries to get the name of the leader.
pub(crate) struct Candidate {
    pub(crate) life: LifeName,
    pub(crate) registry: Registry,
    pub(crate) leader: Option<Address<ToDesk>>,
    pub(crate) told: Option<Address<ToDesk>>,
    pub(crate) looks_after: Duration,
}

impl Actor for Candidate {
    type Msg = ToCandidate;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, ToCandidate>) {
        let me = cx.address();
        self.leader = Some(cx.spawn(Desk(format!("{:?}", self.life))));
        let _ = cx.send(&me, ToCandidate::Try);
        let _ = cx.send_after(self.looks_after, &me, ToCandidate::Look);
        let to = me.contramap(ToCandidate::Told);
        drop(self.registry.watch("leader", &to));
    }

    fn receive(&mut self, message: ToCandidate, cx: &mut Context<'_, ToCandidate>) {
        match message {
            ToCandidate::Try => {
                let leader = self.leader.as_ref().expect("it was spawned");
                let tried = ToCandidate::Tried;
                self.registry.register_from(cx, "leader", leader, tried);
            }
            ToCandidate::Tried(Ok(())) => cx.note(Leads(self.life)),
            ToCandidate::Tried(Err(NameError::NoAnswer(_))) => {}
            ToCandidate::Tried(Err(_)) => {
                let me = cx.address();
                let _ = cx.send_after(AGAIN, &me, ToCandidate::Try);
            }
            ToCandidate::Told(leader) => self.told = leader,
            ToCandidate::Look => {
                self.registry.lookup_from(cx, "leader", ToCandidate::Looked);
            }
            ToCandidate::Looked(Ok(leader)) => {
                cx.note(Told(self.life, self.told.as_ref() == Some(&leader)));
                cx.ask(&leader, ToDesk, ToCandidate::Answer);
            }
            ToCandidate::Looked(Err(error)) => {
                cx.note(Found(self.life, Err(error.to_string())));
            }
            ToCandidate::Answer(answer) => {
                let answer = answer.map_err(|error| error.to_string());
                cx.note(Found(self.life, answer));
            }
        }
    }
}

/// Checks that all `lives` find the same leader at the end, and that this leader was told that it
/// leads.
pub(crate) fn one_leads(facts: &Facts, lives: &[LifeName]) -> Result<(), String> {
    let led: Vec<_> = (facts.seen::<Leads>())
        .map(|leads| format!("{:?}", leads.0))
        .collect();
    let found = facts
        .seen::<Found>()
        .filter(|found| lives.contains(&found.0));
    let found: Vec<_> = found.collect();
    let Some(Found(_, Ok(leader))) = found.first() else {
        return Err(format!("nobody leads: {found:?}"));
    };
    let is_same = |found: &&&Found| found.1.as_ref() == Ok(leader);
    if found.len() != lives.len() || found.iter().filter(is_same).count() != lives.len() {
        return Err(format!("{found:?}"));
    }
    let is_alive = lives.iter().any(|life| format!("{life:?}") == *leader);
    if !led.contains(leader) || !is_alive {
        return Err(format!("{leader} leads, but {led:?} were told so"));
    }
    match facts
        .seen::<Told>()
        .find(|told| !told.1 && lives.contains(&told.0))
    {
        Some(told) => Err(format!("{told:?}")),
        None => Ok(()),
    }
}

/// Checks that only one incarnation was told that it has the name, if no messages are lost.
pub(crate) fn one_was_told(facts: &Facts) -> bool {
    facts.seen::<Leads>().count() == 1
}
