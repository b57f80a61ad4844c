//! Tasks that a plain thread distributes to actors, threads or pools. The thread waits for all
//! answers.
//!
//! The benchmark has the same shape as a benchmark of the library Cajun, whose actors took 5 to 18
//! times as long as bare threads. The time is measured from the creation of the first actor, or
//! from the submission of the first task, to the last answer. Systems and pools have a worker for
//! each core. Systems, pools and reused actors are created before the time starts.

mod work;

mod crew;

mod actors;
mod threads;

use garrick_measure::{Contender, Effort, Scenario};

use actors::{Created, Gathered, Pooled, Reused};
use crew::{Crew, measure};
use threads::{Bare, Fixed, RayonIterator, RayonSpawn};

pub(crate) const CREATED: Scenario = Scenario {
    name: "tasks-created",
    operation: "one batch of 100 tasks, each of which computes fib(15) 20 times; created: the \
                thread creates an actor for each task and asks it; gathered: another actor creates \
                these actors, and replies once with the sum; compared with a thread for each task, \
                and with pools",
    contenders: |_: &Effort| {
        let mut contenders = vec![
            by::<Created>("garrick", "created", BATCH),
            by::<Gathered>("garrick", "gathered", BATCH),
        ];
        contenders.extend(threads(BATCH));
        contenders
    },
};

pub(crate) const REUSED: Scenario = Scenario {
    name: "tasks-reused",
    operation: "one batch of 100 tasks, each of which computes fib(15) 20 times, by asks to \
                existing actors; reused: 100 actors; pooled: one actor for each worker, \
                round-robin; compared with a thread for each task, and with pools",
    contenders: |_: &Effort| {
        let mut contenders = vec![
            by::<Reused>("garrick", "reused", BATCH),
            by::<Pooled>("garrick", "pooled", BATCH),
        ];
        contenders.extend(threads(BATCH));
        contenders
    },
};

pub(crate) const SINGLE: Scenario = Scenario {
    name: "tasks-single",
    operation: "one task, which computes fib(15) 20 times, and then the next task: by a new actor, \
                by an existing actor, by a new thread, and by pools",
    contenders: |_: &Effort| {
        let mut contenders = vec![
            by::<Created>("garrick", "created", 1),
            by::<Reused>("garrick", "reused", 1),
        ];
        contenders.extend(threads(1));
        contenders
    },
};

/// Number of tasks in a batch.
const BATCH: u64 = 100;

/// Returns the contenders that use threads without actors.
fn threads(tasks: u64) -> [Contender; 4] {
    [
        by::<Bare>("threads", "one per task", tasks),
        by::<Fixed>("pool", "crossbeam channel", tasks),
        by::<RayonSpawn>("rayon", "spawn", tasks),
        by::<RayonIterator>("rayon", "parallel iterator", tasks),
    ]
}

fn by<C: Crew + 'static>(name: &'static str, how: &'static str, tasks: u64) -> Contender {
    Contender::fitted(name, move |batches| measure::<C>(tasks, batches)).with("by", how)
}
