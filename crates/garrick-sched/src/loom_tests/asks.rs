//! Loom models of questions from a thread to a task of another thread. The models run the
//! production code.

use std::cell::Cell;
use std::rc::Rc;

use super::{check, here, spawn};
use crate::reply::{NoReply, Reply};
use crate::runtime::sponsor::{Handle, Sponsor, serve_in_model};
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;

/// Task that answers a question, or stops and drops the question. Records that it has handled the
/// question.
struct Answers(bool, Rc<Cell<bool>>);

impl Task for Answers {
    type Message = Reply<u32>;

    fn receive(&mut self, reply: Reply<u32>, _: &Turn<'_, Reply<u32>>) -> Flow {
        self.1.set(true);
        if self.0 {
            reply.send(7);
            return Flow::Continue;
        }
        Flow::Stop
    }
}

#[test]
fn loom_a_thread_that_asks_gets_its_answer() {
    for answers in [true, false] {
        check(move || {
            let (here, handled) = (here(), Rc::default());
            let task = here.spawn(Answers(answers, Rc::clone(&handled)));
            let asker = spawn(move || task.ask(|reply| reply).wait());
            // The sponsor stays until the asker has its answer. In loom, a thread that is woken
            // while it waits for a lock forgets the wake, and the end of a sponsor takes a lock
            // that the asker may want.
            here.run_until(|| handled.get());
            let answer = asker.join().unwrap();
            assert_eq!(
                answer,
                if answers {
                    Ok(7)
                } else {
                    Err(NoReply::Dropped)
                }
            );
        });
    }
}

#[test]
fn loom_an_asker_that_gives_up_leaves_nothing_behind() {
    check(|| {
        let here = here();
        let task = here.spawn(Answers(true, Rc::default()));
        let asker = spawn(move || drop(task.ask(|reply| reply)));
        here.run();
        asker.join().unwrap();
        here.run();
    });
}

/// Task that answers 7.
struct Seven;

impl Task for Seven {
    type Message = Reply<u32>;

    fn receive(&mut self, reply: Reply<u32>, _: &Turn<'_, Reply<u32>>) -> Flow {
        reply.send(7);
        Flow::Continue
    }
}

#[test]
fn loom_a_thread_that_calls_sits_where_nobody_does() {
    check(|| {
        let shared = Sponsor::builder().share_in_model(true);
        let handle = Handle::new(shared.clone());
        let task = handle.spawn_at(shared.homes[0], Seven, true).unwrap();
        let caller = {
            let shared = shared.clone();
            spawn(move || {
                let answer = task.call(|reply| reply).wait();
                drop(task);
                shared.drain();
                answer
            })
        };
        serve_in_model(shared, 0, None);
        assert_eq!(caller.join().unwrap(), Ok(7));
    });
}
