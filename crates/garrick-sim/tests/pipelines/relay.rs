//! An actor passes numbers on to a pipeline, and keeps the numbers for which the channel has no
//! room. If the actor ends as soon as it is told to end, it loses the numbers that it has kept.

use std::collections::VecDeque;

use garrick_actor::{Actor, Context, Next};
use garrick_flow::{AsyncSender, Graph, note, stages};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// Count of the numbers that the actor passes on.
const NUMBERS: u64 = 4;

/// A fact: the pipeline has received a number.
#[derive(Debug)]
struct Received(u64);

enum Event {
    Number(u64),
    Room,
    End,
}

struct Relay {
    output: AsyncSender<u64>,
    waiting: VecDeque<u64>,
    /// True if no more numbers follow.
    ends: bool,
    /// True if the actor passes on all numbers before it ends.
    is_right: bool,
}

impl Relay {
    /// Passes on as many numbers as possible.
    fn pass_on(&mut self, cx: &Context<'_, Event>) {
        while let Some(number) = self.waiting.pop_front() {
            if self.output.try_push(number).is_err() {
                self.waiting.push_front(number);
                let me = cx.address();
                self.output.on_ready(move || drop(me.send(Event::Room)));
                return;
            }
        }
    }
}

impl Actor for Relay {
    type Msg = Event;
    type Outcome = Next;
    const MESSAGES: &'static [&'static str] = &["Number", "Room", "End"];

    fn message_kind(event: &Event) -> usize {
        match event {
            Event::Number(_) => 0,
            Event::Room => 1,
            Event::End => 2,
        }
    }

    fn receive(&mut self, event: Event, cx: &mut Context<'_, Event>) -> Next {
        match event {
            Event::Number(number) => self.waiting.push_back(number),
            Event::Room => {}
            Event::End => self.ends = true,
        }
        self.pass_on(cx);
        if self.ends && (self.waiting.is_empty() || !self.is_right) {
            return Next::Stop;
        }
        Next::Continue
    }
}

fn relay(sim: &mut Sim, is_right: bool) {
    let node = sim.node("office");
    let mut graph = Graph::new();
    let (output, input) = graph.channel(2).unwrap();
    let read = |numbers: &[u64]| numbers.iter().for_each(|number| note(Received(*number)));
    graph.stage("read", stages::consume(input, read));
    let relay = Relay {
        output: output.into(),
        waiting: VecDeque::new(),
        ends: false,
        is_right,
    };
    let relay = node.spawn(relay).unwrap();
    for number in 0..NUMBERS {
        relay.send(Event::Number(number)).unwrap();
    }
    relay.send(Event::End).unwrap();
    let pipeline = node.run(graph).unwrap();
    sim.at_end("the numbers come in order", |facts| {
        let received = facts.seen::<Received>().map(|received| received.0);
        received.eq(0..NUMBERS)
    });
    sim.at_end("the pipeline ends", move |_| pipeline.has_ended());
}

#[test]
fn a_relay_that_ends_too_early_is_found() {
    let failed = assert_found("relay", "the numbers come in order", |sim| {
        relay(sim, false);
    });
    let trace = failed.trace().to_string();
    assert!(trace.contains("Relay#1 -> stage read: wake"), "{trace}");
}

#[test]
fn a_relay_that_ends_with_the_last_number_is_right() {
    assert_right("relay that waits for room", |sim| relay(sim, true));
}
