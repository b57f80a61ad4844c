//! An actor that ignores its messages, for tests that need an address.

use crate::model::actor::Actor;
use crate::model::context::Context;

pub(crate) struct Nobody;

impl Actor for Nobody {
    type Msg = ();
    type Outcome = ();
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) {}
}
