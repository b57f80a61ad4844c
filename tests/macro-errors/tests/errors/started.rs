//! Methods that cannot be called at the start of the actor.

use garrick::prelude::*;

struct Wrong;

#[garrick::actor]
impl Wrong {
    #[actor(started)]
    fn plain() {}

    #[actor(started)]
    fn argument(&mut self, _: &mut Context<'_, WrongMsg>, _: u8) {}

    #[actor(started)]
    fn answer(&mut self) -> u8 {
        0
    }

    #[actor(started)]
    async fn consumed(self) {}

    #[actor(started)]
    fn first(&mut self) {}

    #[actor(started)]
    fn second(&mut self) -> Next {
        Next::Continue
    }
}

fn main() {}
