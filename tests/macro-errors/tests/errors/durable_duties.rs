//! Functions that cannot convert effects, reminders and letters of a durable actor.

use garrick::journal::{Decide, Due, Letter, Stored};
use garrick::prelude::*;

#[derive(Stored)]
#[stored(tag = 1)]
struct Event;

#[derive(Default)]
struct Twice;

#[garrick::durable]
impl Twice {
    fn end(&self, _: Due) {}

    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    #[durable(due)]
    fn first(due: Due) -> Option<TwiceMsg> {
        Some(TwiceMsg::End(due))
    }

    #[durable(due)]
    fn second(due: Due) -> Option<TwiceMsg> {
        Some(TwiceMsg::End(due))
    }

    #[durable(letter)]
    fn third(_: Letter) -> Option<TwiceMsg> {
        None
    }

    #[durable(letter)]
    fn fourth(_: Letter) {}
}

#[derive(Default)]
struct Handlers;

#[garrick::durable(message = Order)]
impl Handlers {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    #[durable(due)]
    fn handle(&self, due: Due, cx: &mut Decide<'_, '_, Self>) {
        cx.complete(&due);
    }

    fn deliver(&self, _: Letter) {}

    #[durable(letter)]
    fn letter(letter: &Letter, _: u8) -> Order {
        Order::Deliver(letter.clone())
    }
}

#[derive(Default)]
struct Nothing;

#[garrick::durable]
impl Nothing {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    #[durable(due)]
    async fn due() {}

    #[durable(letter)]
    unsafe fn letter<T>(_: T) -> Result<Next, ()> {
        Ok(Next::Stop)
    }
}

#[derive(Default)]
struct Marks;

#[garrick::durable]
impl Marks {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    #[durable(due = "end")]
    fn end(&self, _: Due) {}

    #[durable(due("end"))]
    fn more(&self, _: Due) {}

    #[durable(due, letter)]
    fn both(_: Due) -> Option<MarksMsg> {
        None
    }

    #[durable(due)]
    #[durable(letter)]
    fn two(_: Letter) -> Option<MarksMsg> {
        None
    }

    #[durable(remind)]
    fn remind(_: Due) -> Option<MarksMsg> {
        None
    }
}

#[derive(Default)]
struct Forgotten;

#[garrick::durable(message = Note)]
impl Forgotten {
    fn end(&self, _: Due) {}

    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    fn due(due: Due) -> Option<Note> {
        Some(Note::End(due))
    }

    fn letter(_: garrick::journal::Letter) -> Option<Note> {
        None
    }

    #[durable(skip)]
    fn skipped(due: Due) -> Option<Note> {
        Self::due(due)
    }

    fn named(_: &str) -> Option<Note> {
        None
    }
}

#[derive(Default)]
struct Delegates;

#[garrick::durable]
impl Delegates {
    fn end(&self, _: Due) {}

    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    #[durable(due)]
    fn due(due: Due) -> Option<DelegatesMsg> {
        Self::message(due)
    }

    fn message(due: Due) -> Option<DelegatesMsg> {
        Some(DelegatesMsg::End(due))
    }
}

struct Plain;

#[garrick::actor]
impl Plain {
    #[actor(due)]
    fn due(_: Due) -> Option<PlainMsg> {
        None
    }

    #[durable(due)]
    fn other(_: Due) -> Option<PlainMsg> {
        None
    }
}

fn main() {}
