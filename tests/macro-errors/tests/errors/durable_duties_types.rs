//! Wrong types in the functions that convert effects, reminders and letters of a durable actor.

use garrick::journal::{Due, Letter, Stored};

#[derive(Stored)]
#[stored(tag = 1)]
struct Event;

#[derive(Default)]
struct Arguments;

#[garrick::durable]
impl Arguments {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    #[durable(due)]
    fn due(_key: String) -> Option<ArgumentsMsg> {
        None
    }

    #[durable(letter)]
    fn letter(_letter: Due) -> Option<ArgumentsMsg> {
        None
    }
}

#[derive(Default)]
struct Messages;

#[garrick::durable]
impl Messages {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}

    #[durable(due)]
    fn due(_: Due) -> Option<String> {
        None
    }

    #[durable(letter)]
    fn letter(_: Letter) -> Option<ArgumentsMsg> {
        None
    }
}

fn main() {}
