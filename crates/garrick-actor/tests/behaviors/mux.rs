//! Tests of a `mux`, which sends many questions over one connection.

use std::sync::mpsc::channel;

use garrick_actor::behaviors::{Mux, Service, forward, mux};
use garrick_actor::{Next, Reply};

use crate::stand::{DROPPED, Narrow, Stand, does, heard};

#[test]
fn each_answer_finds_its_asker() {
    let stand = Stand::new();
    let (wire, sent) = stand.listener::<(u64, u32)>();
    let mux = stand.spawn(mux::<u32, u32>(wire));
    let service: Service<u32, u32> = mux.contramap(Mux::Ask);
    let asks: Vec<_> = (0..5).map(|n| service.ask(|reply| (n, reply))).collect();
    stand.run();
    let mut questions = heard(&sent);
    questions.reverse();
    let wire_end = mux.contramap(Mux::Answer);
    for (number, question) in questions {
        wire_end.send((number, question * 10)).unwrap();
    }
    for (n, ask) in asks.into_iter().enumerate() {
        assert_eq!(stand.answer(ask), Ok(10 * n as u32));
    }
}

#[test]
fn an_answer_that_nobody_waits_for_is_a_dead_letter() {
    let stand = Stand::new();
    let (wire, sent) = stand.listener::<(u64, u32)>();
    let mux = stand.spawn(mux::<u32, u32>(wire));
    let ask = mux.ask(|reply| Mux::Ask((1, reply)));
    stand.run();
    let (number, _) = sent.try_recv().unwrap();
    mux.send(Mux::Refuse(number)).unwrap();
    mux.send(Mux::Refuse(number)).unwrap();
    mux.send(Mux::Answer((number, 1))).unwrap();
    assert_eq!(stand.answer(ask), Err(DROPPED));
    assert_eq!(stand.dead_letters(), 1);
}

#[test]
fn when_the_wire_ends_no_question_stays_open() {
    let stand = Stand::new();
    let (wire, sent) = stand.listener::<(u64, u32)>();
    let mux = stand.spawn(mux::<u32, u32>(wire.clone()));
    let ask = mux.ask(|reply| Mux::Ask((1, reply)));
    stand.run();
    assert_eq!(heard(&sent).len(), 1);
    stand.stop(&wire);
    assert_eq!(stand.answer(ask), Err(DROPPED));
    assert!(mux.is_stopped());
}

#[test]
fn a_wire_that_has_ended_already_refuses() {
    let stand = Stand::new();
    let mux = stand.spawn(mux::<u32, u32>(stand.stopped()));
    assert_eq!(
        stand.answer(mux.ask(|reply| Mux::Ask((1, reply)))),
        Err(DROPPED)
    );
    assert!(mux.is_stopped());
}

#[test]
fn a_wire_may_be_a_door() {
    let stand = Stand::new();
    let (wire, sent) = stand.listener::<(u64, u32)>();
    let mux = stand.spawn(mux::<u32, u32>(forward(wire)));
    let ask = mux.ask(|reply| Mux::Ask((1, reply)));
    stand.run();
    mux.send(Mux::Answer(sent.try_recv().unwrap())).unwrap();
    assert_eq!(stand.answer(ask), Ok(1));
}

#[test]
fn when_the_wire_behind_a_door_ends_no_question_stays_open() {
    let stand = Stand::new();
    let (wire, _sent) = stand.listener::<(u64, u32)>();
    let mux = stand.spawn(mux::<u32, u32>(forward(wire.clone())));
    let ask = mux.ask(|reply| Mux::Ask((1, reply)));
    stand.run();
    stand.stop(&wire);
    assert_eq!(stand.answer(ask), Err(DROPPED));
    assert!(mux.is_stopped());
}

#[test]
fn open_questions_are_refused_in_the_order_in_which_they_came() {
    let stand = Stand::new();
    let (wire, _sent) = stand.listener::<(u64, u32)>();
    let mux = stand.spawn(mux::<u32, u32>(wire.clone()));
    let (told, refused) = channel();
    for n in 0..100 {
        let told = told.clone();
        let asker = stand.spawn(does(move |()| {
            told.send(n).unwrap();
            Next::Continue
        }));
        // Newborns are run newest first, others oldest first.
        asker.send(()).unwrap();
        let reply = Reply::to_task(asker, |_| ());
        mux.send(Mux::Ask((n, reply))).unwrap();
    }
    stand.run();
    assert_eq!(heard(&refused).len(), 100);
    stand.stop(&wire);
    assert_eq!(heard(&refused), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_full_wire_costs_only_the_question_that_it_does_not_take() {
    let stand = Stand::new();
    let wire = Narrow::<(u64, u32)>::new();
    let mux = stand.spawn(mux::<u32, u32>(wire.address.clone()));
    let ask = |n| {
        let asked = mux.ask(|reply| Mux::Ask((n, reply)));
        stand.run();
        asked
    };
    let (taken, refused) = (ask(1), ask(2));
    assert_eq!(stand.answer(refused), Err(DROPPED));
    let answer = || {
        for numbered in wire.heard() {
            mux.send(Mux::Answer(numbered)).unwrap();
        }
    };
    answer();
    assert_eq!(stand.answer(taken), Ok(1));
    let later = ask(3);
    answer();
    assert_eq!(stand.answer(later), Ok(3));
    assert_eq!(stand.dead_letters(), 1);
}
