//! Tests of asks with a timeout, from actors, futures and plain threads. Each ask gets exactly one
//! result.
#![forbid(unsafe_code)]

mod common;

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use common::settle;
use garrick_actor::ask::Circle;
use garrick_actor::{Actor, Address, Context, Local, Next, NoReply, Reply, System, behavior};
use garrick_testkit::{ByHand, fail, ms, silence_panics};

/// An actor that answers, keeps or drops replies, depending on the message.
#[derive(Default)]
struct Oracle {
    kept: Vec<Reply<u32>>,
}

enum Ask {
    Now(Reply<u32>),
    Keep(Reply<u32>),
    AnswerKept,
    DropKept,
    Fail(Reply<u32>),
    Undo(Reply<u32>),
    Stop,
}

impl Actor for Oracle {
    type Msg = Ask;
    type Outcome = Next;

    fn receive(&mut self, msg: Ask, _: &mut Context<'_, Ask>) -> Next {
        match msg {
            Ask::Now(reply) => reply.send(42),
            Ask::Keep(reply) => self.kept.push(reply),
            Ask::AnswerKept => self.kept.drain(..).for_each(|reply| reply.send(7)),
            Ask::DropKept => self.kept.clear(),
            Ask::Fail(reply) => {
                self.kept.push(reply);
                fail()
            }
            Ask::Undo(reply) => {
                reply.send(1);
                return Next::Undo;
            }
            Ask::Stop => return Next::Stop,
        }
        Next::Continue
    }
}

/// An actor that asks questions and records the results.
struct Asker {
    oracle: Address<Ask>,
    heard: Rc<RefCell<Vec<Result<u32, NoReply>>>>,
}

enum Msg {
    Ask(fn(Reply<u32>) -> Ask, Next),
    AskAndFail,
    Answer(Result<u32, NoReply>),
}

impl Actor for Asker {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        match msg {
            Msg::Ask(question, next) => {
                cx.ask_within(ms(10), &self.oracle, question, Msg::Answer);
                return next;
            }
            Msg::AskAndFail => {
                cx.ask_within(ms(10), &self.oracle, Ask::Now, Msg::Answer);
                fail()
            }
            Msg::Answer(answer) => self.heard.borrow_mut().push(answer),
        }
        Next::Continue
    }
}

struct Stand {
    clock: std::sync::Arc<ByHand>,
    local: Local,
    oracle: Address<Ask>,
    asker: Address<Msg>,
    heard: Rc<RefCell<Vec<Result<u32, NoReply>>>>,
}

fn stand() -> Stand {
    let (clock, local) = common::local();
    let oracle = local.spawn(Oracle::default());
    let heard = Rc::default();
    let asker = local.spawn(Asker {
        oracle: oracle.clone(),
        heard: Rc::clone(&heard),
    });
    Stand {
        clock,
        local,
        oracle,
        asker,
        heard,
    }
}

impl Stand {
    fn ask(&self, question: fn(Reply<u32>) -> Ask) {
        self.asker.send(Msg::Ask(question, Next::Continue)).unwrap();
        settle(&self.local);
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
        settle(&self.local);
    }

    fn tell(&self, msg: Ask) {
        self.oracle.send(msg).unwrap();
        settle(&self.local);
    }

    fn heard(&self) -> Vec<Result<u32, NoReply>> {
        self.heard.take()
    }
}

#[test]
fn an_answer_in_time_is_the_only_one() {
    let stand = stand();
    stand.ask(Ask::Now);
    assert_eq!(stand.heard(), [Ok(42)]);
    stand.pass(ms(20));
    assert_eq!(stand.heard(), []);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn without_an_answer_the_time_is_over_and_a_late_one_is_dropped() {
    let stand = stand();
    stand.ask(Ask::Keep);
    stand.pass(ms(9));
    assert_eq!(stand.heard(), []);
    stand.pass(ms(2));
    assert_eq!(stand.heard(), [Err(NoReply::TimedOut)]);
    stand.tell(Ask::AnswerKept);
    assert_eq!(stand.heard(), []);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn a_reply_that_is_dropped_is_heard_of_before_the_time_is_over() {
    let stand = stand();
    stand.ask(Ask::Keep);
    stand.tell(Ask::DropKept);
    assert_eq!(stand.heard(), [Err(NoReply::Dropped)]);
    stand.ask(Ask::Undo);
    assert_eq!(stand.heard(), [Err(NoReply::Dropped)]);
    stand.pass(ms(20));
    assert_eq!(stand.heard(), []);
}

#[test]
fn who_fails_or_has_stopped_does_not_answer() {
    silence_panics();
    let stand = stand();
    stand.ask(Ask::Fail);
    assert_eq!(stand.heard(), [Err(NoReply::Dropped)]);
    stand.ask(Ask::Now);
    assert_eq!(stand.heard(), [Err(NoReply::Dropped)]);
    stand.pass(ms(20));
    assert_eq!(stand.heard(), []);
}

#[test]
fn an_undone_question_is_not_put_and_its_asker_hears_so() {
    let stand = stand();
    stand.asker.send(Msg::Ask(Ask::Now, Next::Undo)).unwrap();
    settle(&stand.local);
    assert_eq!(stand.heard(), [Err(NoReply::Dropped)]);
    stand.pass(ms(20));
    assert_eq!(stand.heard(), []);
}

#[test]
fn an_asker_that_is_gone_is_not_missed() {
    silence_panics();
    let stand = stand();
    stand.asker.send(Msg::Ask(Ask::Keep, Next::Stop)).unwrap();
    settle(&stand.local);
    stand.pass(ms(20));
    stand.tell(Ask::AnswerKept);
    assert_eq!(stand.heard(), []);
    let failing = stand.local.spawn(Asker {
        oracle: stand.oracle.clone(),
        heard: Rc::clone(&stand.heard),
    });
    failing.send(Msg::AskAndFail).unwrap();
    settle(&stand.local);
    stand.pass(ms(20));
    assert_eq!(stand.heard(), []);
}

fn circle_in(answer: Result<u32, NoReply>) -> Option<Circle> {
    match answer {
        Err(NoReply::Circle(circle)) => Some(circle),
        _ => None,
    }
}

#[test]
fn one_outside_hears_of_the_circle_that_it_waits_for() {
    /// An actor that asks itself a question, and answers only when its own question has an answer.
    struct Narcissus(Vec<Reply<u32>>);
    enum NarcissusMsg {
        Ask(Reply<u32>),
        Answer,
    }
    impl Actor for Narcissus {
        type Msg = NarcissusMsg;
        type Outcome = ();

        fn receive(&mut self, msg: NarcissusMsg, cx: &mut Context<'_, NarcissusMsg>) {
            match msg {
                NarcissusMsg::Ask(reply) if self.0.is_empty() => {
                    self.0.push(reply);
                    let own = cx.address();
                    cx.ask_within(ms(50), &own, NarcissusMsg::Ask, |_| NarcissusMsg::Answer);
                }
                NarcissusMsg::Ask(reply) => self.0.push(reply),
                NarcissusMsg::Answer => self.0.clear(),
            }
        }
    }
    let (clock, local) = common::local();
    let narcissus = local.spawn(Narcissus(Vec::new()));
    let handle = local.handle();
    let answer = handle.ask_within(ms(5), &narcissus, NarcissusMsg::Ask);
    settle(&local);
    clock.advance(ms(6));
    settle(&local);
    let circle = circle_in(local.block_on(answer)).expect("it waits for itself");
    assert_eq!(circle.names().len(), 1);
}

#[test]
fn a_circle_of_asks_ends_with_the_time_and_is_named() {
    /// An actor in a ring. When it is asked, it asks the next actor, and waits for that answer.
    struct Link {
        next: Option<Address<LinkMsg>>,
        waiting: Vec<Reply<u32>>,
        ended: Rc<RefCell<Vec<Result<u32, NoReply>>>>,
    }
    enum LinkMsg {
        Meet(Address<LinkMsg>),
        Ask(Reply<u32>),
        Answer(Result<u32, NoReply>),
    }
    impl Actor for Link {
        type Msg = LinkMsg;
        type Outcome = ();

        fn receive(&mut self, msg: LinkMsg, cx: &mut Context<'_, LinkMsg>) {
            match msg {
                LinkMsg::Meet(next) => self.next = Some(next),
                LinkMsg::Ask(reply) => {
                    self.waiting.push(reply);
                    if self.waiting.len() == 1 {
                        let next = self.next.as_ref().unwrap();
                        cx.ask_within(ms(5), next, LinkMsg::Ask, LinkMsg::Answer);
                    }
                }
                LinkMsg::Answer(answer) => {
                    self.ended.borrow_mut().push(answer);
                    self.waiting.clear();
                }
            }
        }
    }
    let (clock, local) = common::local();
    let ended = Rc::default();
    let link = || {
        local.spawn(Link {
            next: None,
            waiting: Vec::new(),
            ended: Rc::clone(&ended),
        })
    };
    let links = [link(), link(), link()];
    let ring = links.iter().zip(links.iter().cycle().skip(1));
    ring.for_each(|(link, next)| link.send(LinkMsg::Meet(next.clone())).unwrap());
    let first = &links[0];
    let handle = local.handle();
    let answer = handle.ask_within(ms(100), first, LinkMsg::Ask);
    settle(&local);
    assert_eq!(ended.take(), []);
    clock.advance(ms(6));
    settle(&local);
    let circles: Vec<_> = ended.take().into_iter().filter_map(circle_in).collect();
    let [circle] = circles[..] else {
        panic!("the first to end the circle names it, and the others see none: {circles:?}");
    };
    assert_eq!(circle.names().len(), 3);
    assert!(circle.names().iter().all(|name| name.ends_with("::Link")));
    let error = NoReply::Circle(circle).to_string();
    assert_eq!(error.matches("::Link -> ").count(), 3, "{error}");
    assert_eq!(local.block_on(answer), Err(NoReply::Dropped));
}

#[test]
fn futures_wait_in_any_executor() {
    let stand = stand();
    let handle = stand.local.handle();
    let mut answered = pin!(handle.ask_within(ms(10), &stand.oracle, Ask::Now));
    let mut late = pin!(handle.ask_within(ms(10), &stand.oracle, Ask::Keep));
    let mut context = TaskContext::from_waker(Waker::noop());
    assert_eq!(answered.as_mut().poll(&mut context), Poll::Pending);
    settle(&stand.local);
    assert_eq!(answered.as_mut().poll(&mut context), Poll::Ready(Ok(42)));
    assert_eq!(late.as_mut().poll(&mut context), Poll::Pending);
    stand.pass(ms(11));
    let over = Poll::Ready(Err(NoReply::TimedOut));
    assert_eq!(late.as_mut().poll(&mut context), over);
    stand.tell(Ask::AnswerKept);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn threads_wait_for_an_answer_or_the_time() {
    let system = System::new().unwrap();
    let oracle = system.spawn(Oracle::default()).unwrap();
    let handle = system.handle();
    let long = Duration::from_secs(3600);
    assert_eq!(handle.ask_within(long, &oracle, Ask::Now).wait(), Ok(42));
    let late = handle.ask_within(ms(1), &oracle, Ask::Keep);
    assert_eq!(late.wait(), Err(NoReply::TimedOut));
    oracle.send(Ask::Stop).unwrap();
    let unheard = handle.ask_within(long, &oracle, Ask::Now);
    assert_eq!(unheard.wait(), Err(NoReply::Dropped));
}

#[test]
fn a_system_that_has_ended_does_not_answer() {
    let system = System::new().unwrap();
    let oracle = system.spawn(Oracle::default()).unwrap();
    let handle = system.handle();
    let under_way = handle.ask_within(Duration::from_secs(3600), &oracle, Ask::Keep);
    system.shutdown_now();
    assert_eq!(under_way.wait(), Err(NoReply::Dropped));
    let after = handle.ask_within(ms(1), &oracle, Ask::Now);
    assert_eq!(after.wait(), Err(NoReply::Dropped));
}

#[test]
fn an_actor_that_would_wait_is_told_at_once() {
    let (_, local) = common::local();
    let oracle = local.spawn(Oracle::default());
    let handle = local.handle();
    let waits = local.spawn(behavior(move |(): (), _| {
        let answer = handle.ask_within(ms(10), &oracle, Ask::Now).wait();
        assert_eq!(answer, Err(NoReply::OnWorker));
        Next::Continue
    }));
    waits.send(()).unwrap();
    settle(&local);
    assert_eq!(local.handle().failures(), 0);
}
