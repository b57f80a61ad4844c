//! Tests of standard actors on two workers, with questions from several threads.

use std::thread;

use garrick_actor::behaviors::{
    Request, Service, breaker, fork, par, pipe, race, retry, seq, serializer,
};
use garrick_actor::{Actor, Context, NoReply, Reply, System};

const THREADS: u64 = 3;
const QUESTIONS: u64 = 200;

/// Answers each question in a later turn, and panics if another question arrives before then.
struct Exclusive {
    under_way: Option<Request<u64, u64>>,
}

enum Msg {
    Asked(Request<u64, u64>),
    Later,
}

impl Actor for Exclusive {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
        match msg {
            Msg::Asked(request) => {
                assert!(self.under_way.is_none(), "two at once");
                self.under_way = Some(request);
                cx.send(&cx.address(), Msg::Later).unwrap();
            }
            Msg::Later => {
                if let Some((question, reply)) = self.under_way.take() {
                    reply.send(question + 1);
                }
            }
        }
    }
}

struct Increment;

impl Actor for Increment {
    type Msg = Request<u64, u64>;
    type Outcome = ();

    fn receive(&mut self, (n, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        reply.send(n + 1);
    }
}

fn system() -> System {
    System::builder().workers(2).start().unwrap()
}

/// Asks the service from several threads at once, with several pending questions per thread. Panics
/// if an answer is wrong.
fn ask_all<R>(service: &Service<u64, R>, expected: impl Fn(u64) -> R + Sync)
where
    R: Send + PartialEq + std::fmt::Debug + 'static,
{
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let expected = &expected;
            scope.spawn(move || {
                let questions = (0..QUESTIONS).map(|n| n * THREADS + thread);
                let asks: Vec<_> = questions
                    .map(|n| (n, service.ask(|reply: Reply<R>| (n, reply))))
                    .collect();
                for (n, ask) in asks {
                    assert_eq!(ask.wait(), Ok(expected(n)));
                }
            });
        }
    });
}

#[test]
fn a_serializer_lets_one_through_whoever_asks() {
    let system = system();
    let resource = system.spawn(Exclusive { under_way: None }).unwrap();
    let service = resource.contramap(Msg::Asked);
    let serializer = system.spawn(serializer(service)).unwrap();
    ask_all(&serializer, |n| n + 1);
    assert_eq!((system.failures(), system.dead_letters()), (0, 0));
}

#[test]
fn services_that_make_an_actor_for_each_question_answer_everybody() {
    let system = system();
    let add = || system.spawn(Increment).unwrap();
    let race = race(&system.handle(), vec![add(), add()]);
    ask_all(&race, |n| n + 1);
    let fork = fork(&system.handle(), add(), add());
    ask_all(&fork, |n| (n + 1, n + 1));
    let par = par(&system.handle(), vec![add(), add(), add()]);
    ask_all(&par, |n| vec![n + 1; 3]);
    let seq = seq(&system.handle(), vec![add(), add(), add()]);
    ask_all(&seq, |n| vec![n + 1; 3]);
    let pipe = pipe(&system.handle(), add(), add());
    ask_all(&pipe, |n| n + 2);
    let retry = system.spawn(retry(add())).unwrap();
    ask_all(&retry, |n| n + 1);
    let breaker = system.spawn(breaker(add())).unwrap();
    ask_all(&breaker, |n| n + 1);
    assert_eq!((system.failures(), system.dead_letters()), (0, 0));
}

#[test]
fn a_system_that_ends_leaves_nobody_waiting() {
    let system = system();
    let keeps = system.spawn(Keeps(Vec::new())).unwrap();
    let serializer = system.spawn(serializer(keeps.clone())).unwrap();
    let par = par(&system.handle(), vec![serializer.clone(), keeps]);
    let asks: Vec<_> = (0..10).map(|n| par.ask(|reply| (n, reply))).collect();
    system.shutdown();
    for ask in asks {
        assert_eq!(ask.wait(), Err(NoReply::Dropped));
    }
}

/// Keeps all replies and never answers.
struct Keeps(Vec<Request<u64, u64>>);

impl Actor for Keeps {
    type Msg = Request<u64, u64>;
    type Outcome = ();

    fn receive(&mut self, request: Self::Msg, _: &mut Context<'_, Self::Msg>) {
        self.0.push(request);
    }
}
