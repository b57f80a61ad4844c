//! Who waits for whose answer: the questions with a timeout that are under way, so that one that is not answered in
//! time can say whether those asked wait for one another.
//!
//! ```text
//!   WAITS   shard by asker:  [ asker -> asked | asker -> asked | .. ]   a hash table, several entries an asker
//!
//!   A -> B -> C        A's time is over: from B along the arrows ... back to B: a circle
//!        ^____|
//! ```
//!
//! An entry lasts as long as its [`Wait`], which goes with the deadline of the question, also if the turn that asked is
//! undone. Entering one and taking it out again costs a lock that hardly anybody else wants, and allocates nothing
//! once the table has its size. Nobody looks for circles but a question whose time is over.

use std::hash::BuildHasher;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use garrick_sched::{Address, Circle, TaskId};
use hashbrown::{DefaultHashBuilder, HashTable};

/// Tables with a lock each.
const SHARDS: usize = 16;
/// Questions that are looked at for one answer.
const STEPS_MAX: usize = 256;

/// A question under way.
struct Entry {
    asker: TaskId,
    /// The asker's type.
    name: &'static str,
    asked: TaskId,
    /// Tells the questions of one asker apart.
    number: u64,
}

/// The questions of some askers.
struct Shard {
    entries: HashTable<Entry>,
    /// The number of the next one.
    next: u64,
}

static WAITS: [Mutex<Shard>; SHARDS] = [const {
    Mutex::new(Shard {
        entries: HashTable::new(),
        next: 0,
    })
}; SHARDS];

static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

fn hash(asker: TaskId) -> u64 {
    HASHER.hash_one(asker)
}

/// The shard for that hash. The table uses the other end of it.
fn shard(hash: u64) -> MutexGuard<'static, Shard> {
    let shard = &WAITS[(hash >> 20) as usize % SHARDS];
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One actor's wait for another's answer, for as long as this is there.
pub(crate) struct Wait {
    asker: TaskId,
    number: u64,
}

impl Wait {
    /// Says that `asker` waits for `asked`.
    pub(crate) fn enter<M, N>(asker: &Address<M>, asked: &Address<N>) -> Self {
        // Both may be doors, whose code must not run under the lock.
        let (id, name, asked) = (asker.id(), asker.task_name(), asked.id());
        let hash_of = hash(id);
        let shard = &mut *shard(hash_of);
        let number = shard.next;
        shard.next += 1;
        let entry = Entry {
            asker: id,
            name,
            asked,
            number,
        };
        let rehash = |entry: &Entry| hash(entry.asker);
        shard.entries.insert_unique(hash_of, entry, rehash);
        Self { asker: id, number }
    }

    /// The circle, if there is one, that the asker waits for.
    pub(crate) fn circle(&self) -> Option<Circle> {
        circle_from(self.asker)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let hash = hash(self.asker);
        let shard = &mut *shard(hash);
        let is_ours = |entry: &Entry| entry.asker == self.asker && entry.number == self.number;
        if let Ok(entry) = shard.entries.find_entry(hash, is_ours) {
            entry.remove();
        }
    }
}

/// A circle that can be reached from `start` along the questions under way.
pub(crate) fn circle_from(start: TaskId) -> Option<Circle> {
    let mut search = Search {
        path: Vec::new(),
        done: Vec::new(),
        steps: 0,
    };
    let names = search.visit(start)?;
    Circle::of(&names)
}

/// A search in depth (Tarjan 1972, for one circle only).
struct Search {
    /// From the start to where it is now, with the types of those that ask.
    path: Vec<(TaskId, &'static str)>,
    /// From where no circle is reached.
    done: Vec<TaskId>,
    steps: usize,
}

impl Search {
    /// The types of those in a circle that can be reached from `task`.
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

/// Whom a task waits for, and its own type, in the order in which it asked: where the table has them differs from run
/// to run.
fn questions_of(task: TaskId) -> Vec<(&'static str, TaskId)> {
    let hash = hash(task);
    let shard = shard(hash);
    let entries = shard.entries.iter_hash(hash);
    let mut questions: Vec<_> = entries
        .filter(|entry| entry.asker == task)
        .map(|entry| (entry.number, entry.name, entry.asked))
        .collect();
    drop(shard);
    questions.sort_unstable_by_key(|(number, ..)| *number);
    questions.truncate(STEPS_MAX);
    let in_order = questions.into_iter();
    in_order.map(|(_, name, asked)| (name, asked)).collect()
}
