//! Tests that a task that asks gets exactly one answer, whatever happens to the task that should
//! reply.

mod common;

use std::sync::mpsc::channel;

use common::does;
use garrick_sched::{Flow, Here, NoReply, Reply, Sponsor, Turn};
use garrick_testkit::{fail, silence_panics};

type Heard = Option<Result<u32, NoReply>>;

/// Makes a task ask another task, and returns the answer.
fn answers_of(flow: impl Fn(Reply<u32>) -> Flow + 'static) -> Result<u32, NoReply> {
    let here = Here::new_here().unwrap();
    let (told, tells) = channel();
    let replier = here.spawn(does(move |reply: Reply<u32>, _: &Turn<'_, Reply<u32>>| {
        flow(reply)
    }));
    let asker = here.spawn(does(move |heard: Heard, turn: &Turn<'_, Heard>| {
        match heard {
            None => turn
                .send(&replier, Reply::to_task(turn.address(), Some))
                .unwrap(),
            Some(answer) => told.send(answer).unwrap(),
        }
        Flow::Continue
    }));
    asker.send(None).unwrap();
    here.run();
    tells.try_recv().expect("the asker gets exactly one answer")
}

#[test]
fn a_task_that_asks_gets_an_answer() {
    let answer = answers_of(|reply| {
        reply.send(42);
        Flow::Continue
    });
    assert_eq!(answer, Ok(42));
}

#[test]
fn a_task_that_asks_hears_of_a_reply_that_was_dropped() {
    assert!(answers_of(|_| Flow::Continue).is_err());
    assert!(answers_of(|_| Flow::Stop).is_err());
}

#[test]
fn an_asker_hears_why_its_question_was_refused() {
    silence_panics();
    for why in [NoReply::NodeLost, NoReply::Refused] {
        let refuses = move |reply: Reply<u32>| {
            reply.refuse(why);
            Flow::Continue
        };
        assert_eq!(answers_of(refuses), Err(why));
        // A thread that waits for a slot.
        let sponsor = Sponsor::pool(1).unwrap();
        let replier = does(move |reply: Reply<u32>, _: &Turn<'_, Reply<u32>>| refuses(reply));
        let replier = sponsor.handle().spawn(replier).unwrap();
        assert_eq!(replier.ask(|reply| reply).wait(), Err(why));
    }
    // The turn that refuses is undone.
    let answer = answers_of(|reply| {
        reply.refuse(NoReply::Refused);
        fail()
    });
    assert!(answer.is_err(), "{answer:?}");
}

#[test]
fn a_task_that_asks_hears_of_a_replier_that_failed() {
    silence_panics();
    assert!(answers_of(|_| fail()).is_err());
}

#[test]
fn a_task_that_asks_hears_of_a_replier_that_undid_its_turn() {
    assert!(answers_of(|_| Flow::Undo).is_err());
}

#[test]
fn a_task_that_asks_hears_of_an_answer_that_was_undone() {
    let answer = answers_of(|reply| {
        reply.send(42);
        Flow::Undo
    });
    assert!(answer.is_err());
}

/// Asks a task from a separate thread, and returns the answer. The task passes each reply to
/// `does_with`.
fn answer_to_a_thread(
    does_with: impl Fn(Reply<String>) -> Flow + Send + 'static,
) -> Result<String, NoReply> {
    let sponsor = Sponsor::pool(1).unwrap();
    let replier = does(move |reply, _: &Turn<'_, Reply<String>>| does_with(reply));
    let replier = sponsor.handle().spawn(replier).unwrap();
    // On a separate thread, so that this thread does not run the task.
    let asker = std::thread::spawn(move || replier.ask(|reply| reply).wait());
    let answer = asker.join().unwrap();
    sponsor.shutdown();
    answer
}

#[test]
fn a_thread_hears_of_an_answer_when_its_turn_commits_or_is_undone() {
    silence_panics();
    let answer = answer_to_a_thread(|reply| {
        reply.send("yes".to_owned());
        Flow::Continue
    });
    assert_eq!(answer.as_deref(), Ok("yes"));
    let answer = answer_to_a_thread(|reply| {
        reply.send("yes".to_owned());
        Flow::Stop
    });
    assert_eq!(answer.as_deref(), Ok("yes"));
    let answer = answer_to_a_thread(|reply| {
        reply.send("undone".to_owned());
        Flow::Undo
    });
    assert_eq!(answer, Err(NoReply::Dropped));
    let answer = answer_to_a_thread(|reply| {
        reply.send("undone".to_owned());
        fail()
    });
    assert_eq!(answer, Err(NoReply::Dropped));
}
