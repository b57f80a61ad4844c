//! Supervised actors whose turns the simulation makes fail.
#![forbid(unsafe_code)]

use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Address, Context, NoReply, Reply};
use garrick_sim::{Check, Sim};

/// Number of answers that the client wants.
const ANSWERS: u32 = 5;

/// Number of restarts that the supervisor allows.
const RESTARTS_MAX: usize = 1_000_000;

struct Child;

impl Actor for Child {
    type Msg = Reply<()>;
    type Outcome = ();

    fn receive(&mut self, reply: Reply<()>, _: &mut Context<'_, Reply<()>>) {
        reply.send(());
    }
}

/// An actor that asks a child until it has enough answers.
struct Client {
    /// The supervision tree, which keeps the children running until it is dropped.
    _tree: Tree,
    child: Address<Reply<()>>,
    answers: u32,
}

/// A fact: the client has enough answers.
#[derive(Debug)]
struct Done;

impl Actor for Client {
    type Msg = Result<(), NoReply>;
    type Outcome = ();

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) {
        cx.ask(&self.child, |reply| reply, |answer| answer);
    }

    fn receive(&mut self, answer: Self::Msg, cx: &mut Context<'_, Self::Msg>) {
        self.answers += u32::from(answer.is_ok());
        if self.answers == ANSWERS {
            cx.note(Done);
        } else {
            cx.ask(&self.child, |reply| reply, |answer| answer);
        }
    }
}

fn program(sim: &mut Sim) {
    sim.allow_failures();
    let node = sim.node("one");
    let tree = Supervisor::new("children", Strategy::OneForOne)
        .intensity(RESTARTS_MAX, Duration::from_secs(1))
        .spawn(node.handle())
        .unwrap();
    let child = node.handle().actor(|| Child).supervised_by(&tree);
    let child = child.spawn().unwrap();
    let client = Client {
        _tree: tree,
        child,
        answers: 0,
    };
    node.spawn(client).unwrap();
    sim.faults().turn_fails::<Child>(300);
    sim.at_end("the child answers", |facts| facts.last::<Done>().is_some());
}

#[test]
fn a_supervised_actor_comes_back_after_each_turn_that_fails() {
    match Check::new("seats").seeds(2_000).run(program) {
        Ok(report) => println!("{report}"),
        Err(failed) => panic!("{failed}"),
    }
}
