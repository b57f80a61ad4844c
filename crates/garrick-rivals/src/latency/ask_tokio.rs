//! Benchmark of questions from tokio tasks to actors.

use std::sync::Arc;

use garrick_bench::Askers;
use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario};
use tokio::runtime::Handle;

use super::peers::Peer;
use crate::actors::frameworks::{Actix, Kameo, Ractor, Xtra};

pub(crate) const ASK_TOKIO: Scenario = Scenario {
    name: "ask-tokio",
    operation: "one ask by a tokio task that repeatedly asks one of 16 actors, one ask at a time; \
                tasks is the number of these tasks, and workers the number of tokio's threads; the \
                actors run on the same threads, except for those of garrick and actix, which have \
                as many separate threads",
    contenders: |effort: &Effort| {
        let point = Point::default();
        let mut contenders = garrick_bench::contenders("ask-tokio", effort, &point);
        for askers in Askers::at(&point) {
            contenders.extend([
                of::<Kameo>(askers),
                of::<Ractor>(askers),
                of::<Actix>(askers),
                of::<Xtra>(askers),
            ]);
        }
        contenders
    },
};

/// Returns the contender in which tokio tasks ask actors of this framework.
fn of<F: Peer>(askers: Askers) -> Contender {
    askers.contender(F::NAME, |askers, asks| {
        F::outside(askers.workers(), ask_from_tasks::<F>(askers, asks))?
    })
}

async fn ask_from_tasks<F: Peer>(askers: Askers, asks: u64) -> Result<Measured> {
    let mut answerers = Vec::new();
    for _ in 0..Askers::ASKED {
        answerers.push(Arc::new(F::place_answerer().await));
    }
    let runtime = (!F::ON_TOKIO).then(|| askers.runtime()).transpose()?;
    let tasks = match &runtime {
        Some(runtime) => runtime.handle().clone(),
        None => Handle::current(),
    };
    let asked = askers.ask(&tasks, asks, |asked, asks| {
        let answerer = answerers[asked].clone();
        async move {
            let mut number = 0;
            for _ in 0..asks {
                number = F::ask(&answerer, number).await;
            }
            number
        }
    });
    let measured = asked.await;
    if let Some(runtime) = runtime {
        // This code runs in a task, so it must not wait for the threads to exit.
        runtime.shutdown_background();
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_gets_its_answers_by_every_framework() {
        for askers in Askers::at(&Point::default().with("tasks", 3)) {
            let contenders = [
                of::<Kameo>(askers),
                of::<Ractor>(askers),
                of::<Actix>(askers),
                of::<Xtra>(askers),
            ];
            for mut contender in contenders {
                // Each task asks at least sixteen questions, and the questions are rounded up to a
                // multiple of the tasks.
                for (asks, asked) in [(1, 48), (100, 100)] {
                    let measured = (contender.measure)(asks).expect("threads are to be had");
                    assert_eq!(measured.ops, asked, "{}", contender.name);
                }
            }
        }
    }
}
