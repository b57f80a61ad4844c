//! The digits as messages in a model of actors.

use std::borrow::Cow;

use stateright::Expectation;
use stateright::actor::{Actor, ActorModel, Id, Network, Out};

#[derive(Clone)]
pub(super) enum Party {
    Sees,
    Sends(u32),
}

impl Actor for Party {
    type Msg = u32;
    type State = u32;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> u32 {
        if let Party::Sends(digit) = self {
            out.send(Id::from(0), *digit);
        }
        0
    }

    fn on_msg(&self, _: Id, seen: &mut Cow<'_, u32>, _: Id, digit: u32, _: &mut Out<Self>) {
        *seen.to_mut() = 10 * **seen + digit;
    }
}

pub(super) fn order() -> ActorModel<Party> {
    ActorModel::new((), ())
        .init_network(Network::new_unordered_nonduplicating([]))
        .actor(Party::Sees)
        .actors((1..=4).map(Party::Sends))
        .property(Expectation::Always, "not 3142", |_, state| {
            *state.actor_states[0] != 3142
        })
}
