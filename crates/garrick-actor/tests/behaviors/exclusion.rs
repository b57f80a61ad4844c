//! Tests of the `serializer`, which passes on one question at a time, in order.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use garrick_actor::behaviors::{Service, serializer, timeout};
use garrick_actor::{Ask, Reply};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::stand::{DROPPED, Stand};

#[test]
fn the_next_one_waits_for_the_answer() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    let serializer = stand.spawn(serializer(service));
    let asks: Vec<_> = (0..3).map(|n| serializer.ask(|reply| (n, reply))).collect();
    for (n, ask) in asks.into_iter().enumerate() {
        stand.run();
        let (question, reply) = asked.try_recv().unwrap();
        assert_eq!(question, n as u32);
        assert!(asked.try_recv().is_err(), "two at once");
        reply.send(10 * question);
        assert_eq!(stand.answer(ask), Ok(10 * question));
    }
}

#[test]
fn a_dropped_reply_costs_one_question_only() {
    let stand = Stand::new();
    let odd = stand.service(|n: u32, reply: Reply<u32>| {
        if n % 2 == 1 {
            reply.send(n);
        }
    });
    let serializer = stand.spawn(serializer(odd));
    let asks: Vec<_> = (0..4).map(|n| serializer.ask(|reply| (n, reply))).collect();
    let answers: Vec<_> = asks.into_iter().map(|ask| stand.answer(ask)).collect();
    assert_eq!(answers, [Err(DROPPED), Ok(1), Err(DROPPED), Ok(3)]);
}

#[test]
fn when_the_service_dies_all_that_wait_hear_of_it_and_the_serializer_stops() {
    let stand = Stand::new();
    let serializer = stand.spawn(serializer::<u32, u32>(stand.doomed()));
    let asks: Vec<_> = (0..5).map(|n| serializer.ask(|reply| (n, reply))).collect();
    for ask in asks {
        assert_eq!(stand.answer(ask), Err(DROPPED));
    }
    assert_eq!(stand.ask(&serializer, 6), Err(DROPPED));
    assert_eq!(stand.ask(&serializer, 7), Err(DROPPED));
    assert!(serializer.is_stopped());
}

#[test]
fn an_answer_in_a_turn_that_panics_is_none() {
    let stand = Stand::new();
    let service = stand.service(|n: u32, reply: Reply<u32>| {
        reply.send(n);
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    let serializer = stand.spawn(serializer(service));
    assert_eq!(stand.ask(&serializer, 1), Err(DROPPED));
    assert_eq!(stand.ask(&serializer, 2), Err(DROPPED));
    assert_eq!(stand.ask(&serializer, 3), Err(DROPPED));
    assert!(serializer.is_stopped());
}

#[test]
fn a_service_that_keeps_a_reply_is_waited_for_as_long_as_the_timeout_says() {
    let stand = Stand::new();
    let (service, asked) = stand.by_hand::<u32, u32>();
    let timed = timeout(&stand.handle(), service, Duration::from_millis(5));
    let serializer = stand.spawn(serializer(timed));
    let kept = serializer.ask(|reply| (1, reply));
    let next = serializer.ask(|reply| (2, reply));
    stand.run();
    let (_, late) = asked.try_recv().unwrap();
    assert!(asked.try_recv().is_err());

    stand.advance(Duration::from_millis(6));
    assert_eq!(stand.answer(kept), Err(DROPPED));
    let (question, reply) = asked.try_recv().unwrap();
    reply.send(question);
    late.send(1);
    assert_eq!(stand.answer(next), Ok(2));
}

#[test]
fn serializers_nest() {
    let stand = Stand::new();
    let inner = stand.spawn(serializer(stand.echo::<u32>()));
    let outer = stand.spawn(serializer(inner));
    assert_eq!(stand.ask(&outer, 3), Ok(3));
}

/// A random event in a test of the serializer.
#[derive(Debug, Clone, Copy)]
enum Event {
    Ask,
    Answer,
    Drop,
    Run,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Ask),
        2 => Just(Event::Answer),
        1 => Just(Event::Drop),
        2 => Just(Event::Run),
    ]
}

/// A serializer, the replies that its service holds, and the questions that wait for an answer.
struct Model {
    stand: Stand,
    serializer: Service<u32, u32>,
    asked: Receiver<(u32, Reply<u32>)>,
    /// The question that the service is handling, and its reply.
    out: Option<(u32, Reply<u32>)>,
    /// Questions that have no answer yet, the oldest first.
    open: VecDeque<(u32, Ask<u32>)>,
    count: u32,
}

impl Model {
    fn new() -> Self {
        let stand = Stand::new();
        let (service, asked) = stand.by_hand();
        let serializer = stand.spawn(serializer(service));
        Self {
            stand,
            serializer,
            asked,
            out: None,
            open: VecDeque::new(),
            count: 0,
        }
    }

    /// Runs the system. Panics if the service has received two questions at once, or a question out
    /// of order.
    fn run(&mut self) {
        self.stand.run();
        for (question, reply) in self.asked.try_iter() {
            assert!(self.out.is_none(), "two at once");
            assert_eq!(question, self.open[0].0, "out of order");
            self.out = Some((question, reply));
        }
        assert_eq!(
            self.out.is_some(),
            !self.open.is_empty(),
            "nobody is let through"
        );
    }

    fn finish(&mut self, is_answer: bool) {
        self.run();
        let Some((question, reply)) = self.out.take() else {
            return;
        };
        let expected = if is_answer {
            reply.send(question + 1);
            Ok(question + 1)
        } else {
            drop(reply);
            Err(DROPPED)
        };
        let (_, ask) = self.open.pop_front().unwrap();
        assert_eq!(self.stand.answer(ask), expected);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Ask => {
                let question = self.count;
                self.count += 1;
                let ask = self.serializer.ask(|reply| (question, reply));
                self.open.push_back((question, ask));
            }
            Event::Answer => self.finish(true),
            Event::Drop => self.finish(false),
            Event::Run => self.run(),
        }
    }
}

proptest! {
    #[test]
    fn never_two_at_once_and_in_order(events in vec(event(), 0..60)) {
        let mut model = Model::new();
        events.into_iter().for_each(|event| model.happens(event));
        while !model.open.is_empty() {
            model.finish(true);
        }
    }
}
