//! Types that cannot be the state or the event of a durable actor.

use garrick::journal::Stored;

struct Plain;

#[derive(Stored)]
#[stored(tag = 1)]
struct Event;

#[derive(Default)]
struct NotStored;

#[garrick::durable(save)]
impl NotStored {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}
}

#[derive(Default)]
struct NoEvent;

#[garrick::durable]
impl NoEvent {
    #[durable(apply)]
    fn apply(&mut self, _: &Plain) {}
}

struct NoDefault;

#[garrick::durable(save = "often")]
impl NoDefault {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}
}

fn main() {}
