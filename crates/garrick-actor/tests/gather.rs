//! Tests of questions whose conversions capture values, and of questions to several actors.
#![forbid(unsafe_code)]

mod common;

use std::sync::mpsc;
use std::time::Duration;

use common::settle;
use garrick_actor::mailbox::{Mailbox, OnFull, TrySendError};
use garrick_actor::{Address, Ask, Local, Next, NoReply, Reply, behavior};
use garrick_testkit::{fail, silence_panics};

const DROPPED: Result<u32, NoReply> = Err(NoReply::Dropped);
const LATE: Result<u32, NoReply> = Err(NoReply::TimedOut);

fn constant(local: &Local, n: u32) -> Address<Reply<u32>> {
    local.spawn(behavior(move |reply: Reply<u32>, _| reply.send(n)))
}

/// Returns the address of a stopped actor.
fn stopped(local: &Local) -> Address<Reply<u32>> {
    let stopped = local.spawn(behavior(|_: Reply<u32>, _| Next::Stop));
    stopped.stop();
    local.run();
    stopped
}

/// Calls `ask` in a turn of a new actor, and returns the answers that arrive at this actor.
fn arriving<T: Send + 'static>(
    local: &Local,
    mut ask: impl FnMut(&mut garrick_actor::BehaviorContext<'_, Option<T>>) -> Next + Send + 'static,
) -> Vec<T> {
    let (told, heard) = mpsc::channel();
    let asker = local.spawn(behavior(move |msg: Option<T>, cx| match msg {
        None => ask(cx),
        Some(msg) => {
            told.send(msg).unwrap();
            Next::Continue
        }
    }));
    asker.send(None).unwrap();
    settle(local);
    heard.try_iter().collect()
}

#[test]
fn a_conversion_may_capture() {
    let (_, local) = common::local();
    let (seven, gone) = (constant(&local, 7), stopped(&local));
    let said = arriving(&local, move |cx| {
        let (small, large) = (1_u8, "large".to_owned());
        cx.ask(
            &seven,
            |reply| reply,
            move |answer| Some((small.to_string(), answer)),
        );
        cx.ask_once(&seven, |reply| reply, move |answer| Some((large, answer)));
        cx.ask(
            &gone,
            |reply| reply,
            move |answer| Some((small.to_string(), answer)),
        );
        let gone = gone.clone();
        cx.ask_once(
            &gone.clone(),
            |reply| reply,
            move |answer| Some((gone.is_stopped().to_string(), answer)),
        );
        Next::Continue
    });
    let mut said: Vec<_> = said
        .into_iter()
        .map(|(text, answer)| (text, answer.ok()))
        .collect();
    said.sort();
    let of = |text: &str, answer| (text.to_owned(), answer);
    assert_eq!(
        said,
        [
            of("1", None),
            of("1", Some(7)),
            of("large", Some(7)),
            of("true", None)
        ]
    );
    assert_eq!(local.handle().failures(), 0);
}

#[test]
fn questions_of_an_undone_turn_have_no_answer() {
    let (_, local) = common::local();
    let seven = constant(&local, 7);
    let said = arriving(&local, move |cx| {
        let (one, two) = (1, "two".to_owned());
        cx.ask(
            &seven,
            |reply| reply,
            move |answer| Some((one, vec![answer])),
        );
        cx.ask_once(
            &seven,
            |reply| reply,
            move |answer| Some((two.len(), vec![answer])),
        );
        cx.ask_all(
            [&seven, &seven],
            |reply| reply,
            |answers| Some((2, answers)),
        );
        Next::Undo
    });
    let mut said = said;
    said.sort_by_key(|(place, answers)| (*place, answers.len()));
    let none = |count| vec![DROPPED; count];
    assert_eq!(said, [(1, none(1)), (2, none(2)), (3, none(1))]);
}

#[test]
fn an_answer_of_an_undone_turn_is_none_for_a_conversion_that_captures() {
    let (_, local) = common::local();
    let undoes = local.spawn(behavior(|reply: Reply<u32>, _| {
        reply.send(1);
        Next::Undo
    }));
    let said = arriving(&local, move |cx| {
        let one = 1;
        cx.ask(&undoes, |reply| reply, move |answer| Some((one, answer)));
        Next::Continue
    });
    assert_eq!(said, [(1, DROPPED)]);
}

#[test]
fn answers_of_several_come_together_in_the_order_of_asking() {
    let (_, local) = common::local();
    let all = [constant(&local, 1), stopped(&local), constant(&local, 3)];
    let said = arriving(&local, move |cx| {
        cx.ask_all(&all, |reply| reply, Some);
        Next::Continue
    });
    assert_eq!(said, [[Ok(1), DROPPED, Ok(3)]]);
    // Nobody asked is an answer as well.
    let said = arriving::<Vec<Result<u32, NoReply>>>(&local, |cx| {
        cx.ask_all::<Reply<u32>, _, _, _>([], |reply| reply, Some);
        Next::Continue
    });
    assert_eq!(said, [vec![]]);
}

#[test]
fn one_that_does_not_answer_in_time_does_not_keep_the_others_answers() {
    let (clock, local) = common::local();
    let (keeps, kept) = mpsc::channel();
    let mute = local.spawn(behavior(move |reply: Reply<u32>, _| {
        keeps.send(reply).unwrap();
    }));
    let all = [constant(&local, 1), mute, constant(&local, 3)];
    let (told, heard) = mpsc::channel();
    let asker = local.spawn(behavior(
        move |msg: Option<Vec<Result<u32, NoReply>>>, cx| match msg {
            None => cx.ask_all_within(Duration::from_secs(1), &all, |reply| reply, Some),
            Some(answers) => told.send(answers).unwrap(),
        },
    ));
    asker.send(None).unwrap();
    settle(&local);
    assert!(heard.try_recv().is_err());
    clock.advance(Duration::from_secs(2));
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [[Ok(1), LATE, Ok(3)]]);
    // Too late.
    kept.try_recv().unwrap().send(2);
    settle(&local);
    assert!(heard.try_recv().is_err());
    // In time.
    asker.send(None).unwrap();
    settle(&local);
    kept.try_recv().unwrap().send(2);
    settle(&local);
    assert_eq!(
        heard.try_iter().collect::<Vec<_>>(),
        [[Ok(1), Ok(2), Ok(3)]]
    );
    clock.advance(Duration::from_secs(2));
    settle(&local);
    assert!(heard.try_recv().is_err());
    assert_eq!(local.handle().failures(), 0);
}

#[test]
fn questions_that_cannot_be_made_are_not_asked() {
    silence_panics();
    let (_, local) = common::local();
    let (counts, asked) = mpsc::channel();
    let counter = local.spawn(behavior(move |_: Reply<u32>, _| counts.send(()).unwrap()));
    let said = arriving::<Vec<Result<u32, NoReply>>>(&local, move |cx| {
        let mut left = 2;
        let make = move |reply| {
            left -= 1;
            if left == 0 {
                fail();
            }
            reply
        };
        cx.ask_all(&[counter.clone(), counter.clone()], make, Some);
        Next::Continue
    });
    assert!(said.is_empty() && asked.try_recv().is_err());
    assert_eq!(local.handle().failures(), 1);
}

#[test]
fn a_pair_is_a_question_without_a_message() {
    let (ask, reply) = Ask::pair();
    let answering = std::thread::spawn(move || reply.send(42));
    assert_eq!(ask.wait(), Ok(42));
    answering.join().unwrap();
    let (ask, reply) = Ask::<u32>::pair();
    drop(reply);
    assert_eq!(ask.wait(), DROPPED);
    let (ask, reply) = Ask::pair();
    drop(ask);
    reply.send(1);
    // An answer given in a turn comes with the turn.
    let (_, local) = common::local();
    let (ask, reply) = Ask::pair();
    let answers = local.spawn(behavior(|reply: Reply<u32>, _| reply.send(7)));
    answers.send(reply).unwrap();
    assert_eq!(local.block_on(ask), Ok(7));
}

#[test]
fn answers_come_in_above_the_bound_of_the_asker() {
    let (_, local) = common::local();
    let (keeps, kept) = mpsc::channel();
    let mute = local.spawn(behavior(move |reply: Reply<u32>, _| {
        keeps.send(reply).unwrap();
    }));
    let (future, mut reply) = Ask::pair();
    let mut future = Some(future);
    let (told, heard) = mpsc::channel();
    enum Msg {
        Begin,
        Answer(&'static str, Result<u32, NoReply>),
        All(Vec<Result<u32, NoReply>>),
    }
    let asker = behavior(move |msg: Msg, cx| match msg {
        Msg::Begin => {
            let (copied, moved) = ("copied", "moved".to_owned());
            let hour = Duration::from_secs(3600);
            let answer = |way| move |answer| Msg::Answer(way, answer);
            cx.ask(&mute, |reply| reply, |answer| Msg::Answer("plain", answer));
            cx.ask(&mute, |reply| reply, answer(copied));
            cx.ask_once(
                &mute,
                |reply| reply,
                move |answer| {
                    assert_eq!(moved, "moved");
                    Msg::Answer("moved", answer)
                },
            );
            cx.ask_within(hour, &mute, |reply| reply, answer("within"));
            cx.ask_all([&mute], |reply| reply, Msg::All);
            cx.pipe_answer(mute.ask(|reply| reply), answer("piped"));
            cx.pipe(future.take().unwrap(), |answer| {
                Msg::Answer("future", answer.unwrap_or(DROPPED))
            });
        }
        Msg::Answer(way, answer) => told.send((way, answer)).unwrap(),
        Msg::All(answers) => told.send(("all", answers[0])).unwrap(),
    });
    let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
    let asker = local.actor(asker).mailbox(mailbox).spawn();
    asker.send(Msg::Begin).unwrap();
    settle(&local);
    // The mailbox is full when the answers come.
    let place = local.block_on(asker.place());
    assert!(matches!(
        asker.try_send(Msg::Begin),
        Err(TrySendError::Full(_))
    ));
    for left in kept.try_iter() {
        reply.send(7);
        reply = left;
    }
    reply.send(7);
    settle(&local);
    let mut heard: Vec<_> = heard.try_iter().collect();
    heard.sort_by_key(|(way, _)| *way);
    let ways = [
        "all", "copied", "future", "moved", "piped", "plain", "within",
    ];
    assert_eq!(heard, ways.map(|way| (way, Ok(7))));
    drop(place);
}
