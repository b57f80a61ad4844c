//! An actor that does nothing, for tests that need addresses.

use crate::actor::{Actor, Next};
use crate::context::Context;

pub(crate) struct Nobody;

impl Actor for Nobody {
    type Msg = ();

    fn receive(&mut self, (): (), _: &mut Context<'_, ()>) -> Next {
        Next::Continue
    }
}
