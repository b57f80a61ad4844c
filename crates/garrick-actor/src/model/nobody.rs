//! An actor that does nothing, for tests that need addresses.

use crate::model::actor::{Actor, Next};
use crate::model::context::Context;

pub(crate) struct Nobody;

impl Actor for Nobody {
    type Msg = ();

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        Next::Continue
    }
}
