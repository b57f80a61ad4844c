//! Two-phase commit as a model of actors.

use std::borrow::Cow;

use stateright::Expectation;
use stateright::actor::{Actor, ActorModel, Id, Network, Out, model_timeout};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Message {
    Prepare,
    Ready,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Decided {
    Commit,
    Abort,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Votes {
    missing: usize,
    decisions: Vec<Decided>,
}

#[derive(Clone)]
pub(super) enum Party {
    Participant,
    Coordinator { participants: Vec<Id> },
}

impl Actor for Party {
    type Msg = Message;
    type State = Votes;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> Votes {
        let Party::Coordinator { participants } = self else {
            return Votes::default();
        };
        out.broadcast(participants, &Message::Prepare);
        out.set_timer((), model_timeout());
        Votes {
            missing: participants.len(),
            decisions: Vec::new(),
        }
    }

    fn on_msg(
        &self,
        _: Id,
        votes: &mut Cow<'_, Votes>,
        from: Id,
        message: Message,
        out: &mut Out<Self>,
    ) {
        match message {
            Message::Prepare => out.send(from, Message::Ready),
            Message::Ready => {
                let votes = votes.to_mut();
                votes.missing -= 1;
                if votes.missing == 0 {
                    votes.decisions.push(Decided::Commit);
                }
            }
        }
    }

    fn on_timeout(&self, _: Id, votes: &mut Cow<'_, Votes>, (): &(), _: &mut Out<Self>) {
        if votes.decisions.is_empty() {
            votes.to_mut().decisions.push(Decided::Abort);
        }
    }
}

pub(super) fn two_phase() -> ActorModel<Party> {
    let participants = (1..=3).map(Id::from).collect();
    ActorModel::new((), ())
        .init_network(Network::new_unordered_nonduplicating([]))
        .actor(Party::Coordinator { participants })
        .actors((0..3).map(|_| Party::Participant))
        .property(Expectation::Always, "one decision", |_, state| {
            state.actor_states[0].decisions.len() <= 1
        })
}
