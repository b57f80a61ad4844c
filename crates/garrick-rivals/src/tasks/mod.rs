//! Tasks handed out by a plain thread, which waits for all the answers: actors against threads and
//! pools.
//!
//! The shape is that of a benchmark of the Cajun library, whose actors took 5 to 18 times the time
//! of bare threads. Time runs from the first actor's creation, or the first task's submission, to
//! the last answer. Systems and pools have a worker for every core, and exist before the time
//! starts. Reused actors exist before too.

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
    operation: "one batch of 100 tasks, each 20 times fib(15): an actor is made for each and asked for \
                it, or by gathered: another actor makes them all and replies once with the sum; against a thread for each, and against pools",
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
    operation: "one batch of 100 tasks, each 20 times fib(15), put by asks to actors that were there before: to \
                100, or round to one for each worker; against a thread for each task, and against pools",
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
    operation: "one task, 20 times fib(15), and then the next: by an actor made for it, by one that was there \
                before, by a thread, by pools",
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

/// Returns the contenders without actors.
fn threads(tasks: u64) -> [Contender; 4] {
    [
        by::<Bare>("threads", "one a task", tasks),
        by::<Fixed>("pool", "crossbeam channel", tasks),
        by::<RayonSpawn>("rayon", "spawn", tasks),
        by::<RayonIterator>("rayon", "parallel iterator", tasks),
    ]
}

fn by<C: Crew + 'static>(name: &'static str, how: &'static str, tasks: u64) -> Contender {
    Contender::fitted(name, move |batches| measure::<C>(tasks, batches)).with("by", how)
}
