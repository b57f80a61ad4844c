//! Errors of types that only rustc can find. They are reported at the types.

use garrick::prelude::*;

struct Answers;

#[garrick::actor]
impl Answers {
    fn get(&self) -> std::rc::Rc<u8> {
        std::rc::Rc::new(1)
    }

    fn later(&mut self, reply: Reply<std::rc::Rc<u8>>) {
        drop(reply);
    }
}

struct NoError;

struct Fails;

#[garrick::actor]
impl Fails {
    #[actor(started)]
    fn begin(&mut self) -> Result<Next, NoError> {
        Ok(Next::Continue)
    }

    fn read(&mut self) -> Result<Next, NoError> {
        Ok(Next::Continue)
    }
}

fn main() {}
