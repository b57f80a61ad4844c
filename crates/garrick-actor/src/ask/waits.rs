//! The wait-for graph, which contains all pending questions with a timeout.
//!
//! When a question is not answered in time, the graph is searched to find out whether the asked
//! actors are waiting for each other.
//!
//! ```text
//!   WAITS   shard by asker:  { asker -> first }   a hash table
//!                                       |
//!                                     entry <-> entry <-> entry <-> (first)   its questions, oldest first
//!
//!   A -> B -> C        A's time is over: from B along the arrows ... back to B: a circle
//!        ^____|
//! ```
//!
//! An entry exists as long as its [`Wait`]. The `Wait` belongs to the task that implements the
//! deadline of the question (`within.rs`). The `Wait` is dropped together with this task, even if
//! the turn that asked is undone. Adding or removing an entry locks one shard of the graph, so
//! there is little contention. Once the collections of the shard are large enough, adding an entry
//! needs no allocation. The graph is searched for circles only when a timeout has passed.

use std::hash::BuildHasher;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, Circle, TaskId};
use hashbrown::{DefaultHashBuilder, HashTable};

/// Number of shards of the wait-for graph, each with its own lock.
const SHARDS: usize = 16;
/// Maximum number of questions that one search for a circle of waiting actors examines.
const STEPS_MAX: usize = 256;

/// An element of [`Shard::entries`]: a pending question, or a free place for a question. The
/// questions of an asker form a circular list.
struct Entry {
    /// Type name of the asker.
    name: &'static str,
    asked: TaskId,
    /// Index of the asker's previous question. For the oldest question, this is the index of the
    /// newest one.
    before: usize,
    /// Index of the asker's next question. For the newest question, this is the index of the oldest
    /// one. For a free place, this is the index of the next free place.
    after: usize,
}

/// One shard of the wait-for graph: the pending questions of all askers whose hashes select this
/// shard.
struct Shard {
    /// The askers, each with the index of its oldest question in `entries`.
    askers: HashTable<(TaskId, usize)>,
    entries: Vec<Entry>,
    /// Index of the place that became free most recently. If no place is free, the length of
    /// `entries`.
    free: usize,
}

impl Shard {
    /// Stores a pending question in a free place, as a circular list that contains only this
    /// question. Returns the index of the place.
    fn place(&mut self, name: &'static str, asked: TaskId) -> usize {
        let place = self.free;
        let entry = Entry {
            name,
            asked,
            before: place,
            after: place,
        };
        if let Some(free) = self.entries.get_mut(place) {
            self.free = free.after;
            *free = entry;
        } else {
            self.entries.push(entry);
            self.free = self.entries.len();
        }
        place
    }

    /// Adds the question at `place` to the circular list of its asker, as the newest question.
    /// `first` is the index of the oldest question in the list.
    fn link(&mut self, place: usize, first: usize) {
        let last = self.entries[first].before;
        (self.entries[place].before, self.entries[place].after) = (last, first);
        self.entries[last].after = place;
        self.entries[first].before = place;
    }

    /// Removes a question and frees its place. Returns the index of the asker's next question.
    fn unlink(&mut self, place: usize) -> usize {
        let Entry { before, after, .. } = self.entries[place];
        self.entries[before].after = after;
        self.entries[after].before = before;
        self.entries[place].after = self.free;
        self.free = place;
        after
    }
}

static WAITS: [Mutex<Shard>; SHARDS] = [const {
    Mutex::new(Shard {
        askers: HashTable::new(),
        entries: Vec::new(),
        free: 0,
    })
}; SHARDS];

static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

fn hash(asker: TaskId) -> u64 {
    HASHER.hash_one(asker)
}

/// Locks the shard that `hash` selects. The hash table in the shard uses other bits of the same
/// hash.
fn shard(hash: u64) -> MutexGuard<'static, Shard> {
    let shard = &WAITS[(hash >> 20) as usize % SHARDS];
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry in the wait-for graph: one actor is waiting for the answer of another actor. Dropping
/// this value removes the entry.
pub(crate) struct Wait {
    asker: TaskId,
    /// Index of the pending question in its shard of the wait-for graph.
    place: usize,
}

impl Wait {
    /// Records that `asker` is waiting for `asked`.
    pub(crate) fn enter<M, N>(asker: &Address<M>, asked: &Address<N>) -> Self {
        // Both may be doors. Their code must not run under the lock.
        let (id, name, asked) = (asker.id(), asker.task_name(), asked.id());
        let hash_of = hash(id);
        let shard = &mut *shard(hash_of);
        let place = shard.place(name, asked);
        match shard.askers.find(hash_of, |(asker, _)| *asker == id) {
            Some(&(_, first)) => shard.link(place, first),
            None => {
                let rehash = |(asker, _): &(TaskId, usize)| hash(*asker);
                shard.askers.insert_unique(hash_of, (id, place), rehash);
            }
        }
        Self { asker: id, place }
    }

    /// Searches for a circle of waiting actors that can be reached from the asker. Returns the
    /// circle, or `None` if the search finds none.
    pub(crate) fn circle(&self) -> Option<Circle> {
        circle_from(self.asker)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let hash = hash(self.asker);
        let shard = &mut *shard(hash);
        let after = shard.unlink(self.place);
        let asker = shard
            .askers
            .find_entry(hash, |(asker, _)| *asker == self.asker);
        if let Ok(mut asker) = asker
            && asker.get().1 == self.place
        {
            if after == self.place {
                asker.remove();
            } else {
                asker.get_mut().1 = after;
            }
        }
    }
}

/// Searches for a circle of waiting actors that can be reached from `start`. Returns the circle, or
/// `None` if the search finds none.
pub(crate) fn circle_from(start: TaskId) -> Option<Circle> {
    let mut search = Search {
        path: Vec::new(),
        done: Vec::new(),
        steps: 0,
    };
    let names = search.visit(start)?;
    Circle::of(&names)
}

/// A depth-first search in the wait-for graph (Tarjan 1972). It stops at the first circle.
struct Search {
    /// Actors on the path from the start of the search to the current actor. Each actor is stored
    /// with its type.
    path: Vec<(TaskId, &'static str)>,
    /// Actors that have been searched completely. No circle can be reached from these actors.
    done: Vec<TaskId>,
    steps: usize,
}

impl Search {
    /// Returns the types of the actors in a circle, if a circle can be reached from `task`.
    fn visit(&mut self, task: TaskId) -> Option<Vec<&'static str>> {
        if let Some(first) = self.path.iter().position(|(id, _)| *id == task) {
            return Some(self.path[first..].iter().map(|(_, name)| *name).collect());
        }
        if self.done.contains(&task) {
            return None;
        }
        for (name, asked) in questions_of(task) {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return None;
            }
            self.path.push((task, name));
            if let Some(names) = self.visit(asked) {
                return Some(names);
            }
            self.path.pop();
        }
        self.done.push(task);
        None
    }
}

/// Returns the actors that a task is waiting for, in the order in which it asked them. Each actor
/// is paired with the type of the asker.
fn questions_of(task: TaskId) -> Vec<(&'static str, TaskId)> {
    let hash = hash(task);
    let shard = shard(hash);
    let Some(&(_, first)) = shard.askers.find(hash, |(asker, _)| *asker == task) else {
        return Vec::new();
    };
    let next = |place: &usize| Some(shard.entries[*place].after).filter(|after| *after != first);
    let places = std::iter::successors(Some(first), next).take(STEPS_MAX);
    let entries = places.map(|place| &shard.entries[place]);
    entries.map(|entry| (entry.name, entry.asked)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::nobody::Nobody;
    use crate::system::local::Local;

    #[test]
    fn questions_end_in_any_order_and_the_others_stay_in_theirs() {
        let local = Local::new().unwrap();
        let (asker, other) = (local.spawn(Nobody), local.spawn(Nobody));
        let asked: Vec<Address<()>> = (0..40).map(|_| local.spawn(Nobody)).collect();
        for step in 1..40 {
            let others = Wait::enter(&other, &asker);
            let mut waits: Vec<_> = asked
                .iter()
                .map(|asked| (asked.id(), Wait::enter(&asker, asked)))
                .collect();
            while !waits.is_empty() {
                waits.remove(step * 7 % waits.len());
                let left: Vec<TaskId> = waits.iter().map(|(asked, _)| *asked).collect();
                let questions = questions_of(asker.id()).into_iter();
                assert!(questions.map(|(_, asked)| asked).eq(left));
            }
            assert_eq!(questions_of(other.id()).len(), 1);
            drop(others);
            assert!(questions_of(other.id()).is_empty());
        }
    }
}
