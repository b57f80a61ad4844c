//! Benchmark of questions to an actor, and of its answers.

use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};

use super::framework::Framework;
use super::{measured, others, ours, watch};

pub(crate) const ASK: Scenario = Scenario {
    name: "ask",
    operation: "one ask of an actor on the same thread: the question is sent and handled, the \
                answer is sent and received, and then the next question is asked; the asker is an \
                actor, or a future that awaits the answer; threads: from one thread to another",
    contenders: |effort: &Effort| {
        let mut contenders = ours("ask", effort, &Point::default());
        contenders.extend(others!(of));
        contenders
    },
};

fn of<F: Framework>() -> Contender {
    Contender::fitted(F::NAME, ask::<F>)
}

fn ask<F: Framework>(ops: u64) -> Result<Measured> {
    F::run(1, async move {
        let answerer = F::answerer().await;
        let watch = watch();
        let mut number = 0;
        for _ in 0..ops {
            number = F::ask(&answerer, number).await;
        }
        let measured = measured(ops, &watch);
        assert_eq!(number, ops, "every question is answered");
        measured
    })
}
