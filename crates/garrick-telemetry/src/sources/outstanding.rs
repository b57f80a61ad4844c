//! Finds the most conspicuous actors of a sponsor (thread pool or thread): actors that are busy,
//! have long mailboxes, or have messages that have waited for a long time.

use garrick_sched::{Nanos, TaskId, TaskSample};

use crate::reading::ActorReading;

use super::names::{id_of_group, short};

/// Time in nanoseconds for which an actor stays in the list after the latest sample that contains
/// it.
const KEPT: Nanos = 10_000_000_000;

/// Maximum number of actors in the list. A sample contains at most 60 actors.
const LISTED_MAX: usize = 256;

/// The actors in recent samples, with their total busy times.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    actors: Vec<Listed>,
    /// Time of the latest sample.
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
    /// Time of the latest sample that contains the actor.
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
            let actor = self.of(task.task, task.name, task.label.as_deref());
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

    /// Returns the list entry of the actor with the id `task` and the type `kind`. Creates the
    /// entry if there is none yet.
    fn of(&mut self, task: TaskId, kind: &'static str, label: Option<&str>) -> &mut Listed {
        let is_known = |actor: &Listed| actor.task == task && actor.kind == kind;
        let index = self.actors.iter().position(is_known).unwrap_or_else(|| {
            self.actors.push(Listed {
                task,
                kind,
                name: format!("{} {task}", short(kind)),
                waiting: 0,
                oldest: 0,
                busy: 0.0,
                seen: 0,
            });
            self.actors.len() - 1
        });
        let actor = &mut self.actors[index];
        if let Some(label) = label {
            // Earlier samples may have had no label, or an earlier actor may have had this id.
            label.clone_into(&mut actor.name);
        }
        actor
    }
}

impl Listed {
    fn reading(&self) -> ActorReading {
        ActorReading {
            id: format!("{} {}", self.kind, self.task),
            actors: id_of_group(self.kind),
            name: self.name.clone(),
            waiting: self.waiting,
            oldest_nanos: self.oldest,
            busy_nanos: self.busy as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_gets_its_label_from_the_first_sample_that_has_one() {
        let mut outstanding = Outstanding::default();
        let task = TaskId::far(1);
        let mut name = |label| outstanding.of(task, "shop::Cart", label).name.clone();
        assert_eq!(name(None), format!("Cart {task}"));
        assert_eq!(name(Some("/user/cart-1")), "/user/cart-1");
        assert_eq!(name(None), "/user/cart-1");
        assert_eq!(name(Some("/user/cart-2")), "/user/cart-2");
    }
}
