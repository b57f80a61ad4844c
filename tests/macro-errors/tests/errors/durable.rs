//! Blocks, methods and options that a durable actor cannot have.

use garrick::journal::{Decide, Stored};
use garrick::prelude::*;

#[derive(Stored)]
enum Event {
    #[stored(tag = 1)]
    Added,
}

#[derive(Default)]
struct Changing;

#[garrick::durable]
impl Changing {
    fn add(&mut self, cx: &mut Decide<'_, '_, Self>) {
        cx.record(Event::Added);
    }
    fn consumed(self) {}
    async fn later(&self) {}
    fn borrowed(&self, _: &str) {}
    fn contexts(&self, _: &mut Decide<'_, '_, Self>, _: &mut Context<'_, ChangingMsg>) {}

    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}
}

struct NoApply;

#[garrick::durable]
impl NoApply {
    fn add(&self) {}

    fn apply(&self, _: Event) {}
}

#[derive(Default)]
struct Twice;

#[garrick::durable]
impl Twice {
    #[durable(apply)]
    fn first(&mut self, _: &Event) {}

    #[durable(apply)]
    fn second(&mut self, _: &Event) {}
}

struct Applies;

#[garrick::durable]
impl Applies {
    #[durable(apply)]
    fn nothing(&mut self) {}
}

struct Values;

#[garrick::durable]
impl Values {
    #[durable(apply)]
    fn value(&self, _: Event, _: u8) -> u64 {
        0
    }
}

struct Marks;

#[garrick::durable(event = Event)]
impl Marks {
    #[durable(started)]
    fn started(&self) {}

    #[actor(skip)]
    fn skipped(&self) {}

    #[durable(apply)]
    fn apply(&mut self, _: &mut Event) {}
}

#[derive(Default)]
struct Options;

#[garrick::durable(save, save = 2)]
impl Options {
    #[durable(apply)]
    fn apply(&mut self, _: &Event) {}
}

#[garrick::durable]
struct NoBlock;

#[garrick::durable]
impl Drop for NoBlock {
    fn drop(&mut self) {}
}

fn main() {}
