//! Finds the actors of a sponsor (thread pool or thread) that stand out: they are busy, have long
//! mailboxes, or have messages that have waited for a long time.

use garrick_sched::{Nanos, TaskId, TaskSample};

use crate::reading::ActorReading;

use super::names::short;

/// Time in nanoseconds for which an actor stays in the list after the last sample that contains it.
const KEPT: Nanos = 10_000_000_000;

/// Maximum number of actors in the list. A sample contains at most 60 actors.
const LISTED_MAX: usize = 256;

/// The actors in recent samples, with their total busy times.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    actors: Vec<Listed>,
    /// Time of the last sample.
    looked: Nanos,
}

#[derive(Debug)]
struct Listed {
    task: TaskId,
    kind: &'static str,
    name: String,
    waiting: u64,
    oldest: Nanos,
    busy: f64,
    /// Time of the last sample that contains the actor.
    seen: Nanos,
}

impl Outstanding {
    /// Adds the actors of a sample to the list of recent actors. The sample `tasks` was taken at
    /// the time `now`. Appends the values of all listed actors to `readings`.
    pub(super) fn read(
        &mut self,
        now: Nanos,
        tasks: &[TaskSample],
        readings: &mut Vec<ActorReading>,
    ) {
        let passed = now.saturating_sub(self.looked) as f64;
        self.looked = now;
        for actor in &mut self.actors {
            (actor.waiting, actor.oldest) = (0, 0);
        }
        for task in tasks.iter().filter(|task| !task.internal) {
            let actor = self.of(task);
            (actor.waiting, actor.oldest) = (task.waiting, task.oldest);
            actor.seen = now;
            if task.over > 0 {
                // A worker reports the busy time since its last census. Another reader may have
                // requested that census. So only the busy share is used, for the whole time since
                // the last sample here.
                actor.busy += passed * task.busy as f64 / task.over as f64;
            }
        }
        self.actors
            .retain(|actor| now.saturating_sub(actor.seen) < KEPT);
        self.actors
            .sort_by_key(|actor| std::cmp::Reverse((actor.seen, actor.waiting)));
        self.actors.truncate(LISTED_MAX);
        readings.extend(self.actors.iter().map(Listed::reading));
    }

    fn of(&mut self, task: &TaskSample) -> &mut Listed {
        let is_known = |actor: &Listed| actor.task == task.task && actor.kind == task.name;
        let index = self.actors.iter().position(is_known).unwrap_or_else(|| {
            self.actors.push(Listed {
                task: task.task,
                kind: task.name,
                name: name_of(task),
                waiting: 0,
                oldest: 0,
                busy: 0.0,
                seen: 0,
            });
            self.actors.len() - 1
        });
        &mut self.actors[index]
    }
}

impl Listed {
    fn reading(&self) -> ActorReading {
        ActorReading {
            id: format!("{} {}", self.kind, self.task),
            actors: self.kind.to_owned(),
            name: self.name.clone(),
            waiting: self.waiting,
            oldest_nanos: self.oldest,
            busy_nanos: self.busy as u64,
        }
    }
}

/// Returns the label of a task. If the task has no label, returns its type and its id.
fn name_of(task: &TaskSample) -> String {
    let label = task.label.as_deref().map(str::to_owned);
    label.unwrap_or_else(|| format!("{} {}", short(task.name), task.task))
}
