//! An actor that does nothing, for tests that need addresses.

use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

pub(crate) struct Nobody;

impl Actor for Nobody {
    type Msg = ();
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        Next::Continue
    }
}
