//! Tests of answers to pending asks, and of callbacks, which arrive as messages.
#![forbid(unsafe_code)]

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;

use common::settle;
use garrick_actor::ask::AskWithin;
use garrick_actor::{Actor, Ask, Context, Local, Next, NoReply, Reply};
use garrick_testkit::ms;

/// Answers that an actor has received, each with the number of its pipe.
type Heard = Rc<RefCell<Vec<(u8, Result<u32, NoReply>)>>>;

/// An actor that pipes the asks it receives, and records the answers.
#[derive(Default)]
struct Piper {
    heard: Heard,
}

enum Msg {
    Pipe(u8, Ask<u32>, Next),
    PipeWithin(u8, AskWithin<u32>),
    Callback(Box<dyn FnOnce(Reply<u32>) + Send>),
    Heard(u8, Result<u32, NoReply>),
}

impl Actor for Piper {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Pipe(n, ask, next) => {
                cx.pipe_answer(ask, move |answer| Msg::Heard(n, answer));
                return next;
            }
            Msg::PipeWithin(n, ask) => cx.pipe_answer(ask, move |answer| Msg::Heard(n, answer)),
            Msg::Callback(callback) => callback(cx.reply(|answer| Msg::Heard(0, answer))),
            Msg::Heard(n, answer) => self.heard.borrow_mut().push((n, answer)),
        }
        Next::Continue
    }
}

struct Stand {
    clock: std::sync::Arc<garrick_testkit::ByHand>,
    local: Local,
    piper: garrick_actor::Address<Msg>,
    heard: Heard,
    /// Replies of the questions that have no answer yet.
    asked: Rc<RefCell<Vec<Reply<u32>>>>,
    oracle: garrick_actor::Address<Reply<u32>>,
}

/// An actor that keeps the reply of every question, so that the test can answer it.
struct Oracle(Rc<RefCell<Vec<Reply<u32>>>>);

impl Actor for Oracle {
    type Msg = Reply<u32>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<u32>, _: &mut Context<'_, Reply<u32>>) {
        self.0.borrow_mut().push(reply);
    }
}

fn stand() -> Stand {
    let (clock, local) = common::local();
    let piper = Piper::default();
    let heard = Rc::clone(&piper.heard);
    let asked = Rc::default();
    let oracle = local.spawn(Oracle(Rc::clone(&asked)));
    let piper = local.spawn(piper);
    Stand {
        clock,
        local,
        piper,
        heard,
        asked,
        oracle,
    }
}

impl Stand {
    fn tell(&self, msg: Msg) {
        self.piper.send(msg).unwrap();
        settle(&self.local);
    }

    fn pipe(&self, n: u8, next: Next) {
        let ask = self.oracle.ask(|reply| reply);
        self.tell(Msg::Pipe(n, ask, next));
    }

    fn answer(&self, answer: Option<u32>) {
        let reply = self.asked.borrow_mut().pop().unwrap();
        match answer {
            Some(answer) => reply.send(answer),
            None => drop(reply),
        }
        settle(&self.local);
    }

    fn heard(&self) -> Vec<(u8, Result<u32, NoReply>)> {
        self.heard.take()
    }
}

#[test]
fn an_answer_comes_as_a_message_whether_it_is_there_already_or_later() {
    let stand = stand();
    stand.pipe(1, Next::Continue);
    assert_eq!(stand.heard(), []);
    stand.answer(Some(5));
    assert_eq!(stand.heard(), [(1, Ok(5))]);
    let ask = stand.oracle.ask(|reply| reply);
    settle(&stand.local);
    stand.answer(Some(6));
    stand.tell(Msg::Pipe(2, ask, Next::Continue));
    assert_eq!(stand.heard(), [(2, Ok(6))]);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn a_reply_that_is_dropped_comes_as_a_message_too() {
    let stand = stand();
    stand.pipe(1, Next::Continue);
    stand.answer(None);
    assert_eq!(stand.heard(), [(1, Err(NoReply::Dropped))]);
}

#[test]
fn a_timeout_comes_as_a_message_too() {
    let stand = stand();
    let handle = stand.local.handle();
    let ask = handle.ask_within(ms(5), &stand.oracle, |reply| reply);
    stand.tell(Msg::PipeWithin(3, ask));
    stand.clock.advance(ms(6));
    settle(&stand.local);
    assert_eq!(stand.heard(), [(3, Err(NoReply::TimedOut))]);
    stand.answer(Some(1));
    assert_eq!(stand.heard(), []);
}

#[test]
fn a_pipe_of_an_undone_turn_never_was() {
    let stand = stand();
    stand.pipe(1, Next::Undo);
    stand.answer(Some(5));
    assert_eq!(stand.heard(), []);
}

#[test]
fn an_answer_for_an_actor_that_has_stopped_is_dropped() {
    let stand = stand();
    stand.pipe(1, Next::Stop);
    stand.answer(Some(5));
    assert_eq!(stand.heard(), []);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn a_callback_answers_from_another_thread() {
    let stand = stand();
    stand.tell(Msg::Callback(Box::new(|reply| {
        thread::spawn(move || reply.send(9)).join().unwrap();
    })));
    assert_eq!(stand.heard(), [(0, Ok(9))]);
    stand.tell(Msg::Callback(Box::new(drop)));
    assert_eq!(stand.heard(), [(0, Err(NoReply::Dropped))]);
}
