//! Partial-order sampling (POS).
//!
//! Yuan, Yang and Gu, "Partial order aware concurrency sampling" (CAV 2018). Each action gets a
//! random priority when it is enabled, and the enabled action of the highest priority is always the
//! next. Then the enabled actions that race with the chosen action, because they change the same
//! task, get new random priorities. So the partial orders of the steps are sampled more evenly than
//! by a [walk](super::Walk): a partial order does not become more probable by containing many
//! orders.
//!
//! A *chain* is a group of actions that happen in a fixed order, such as the messages of one sender
//! to one receiver. The priority of an action is a hash of two numbers: the number of its chain,
//! and a random number that belongs to the task that the action changes. Each step that changes the
//! task also replaces this random number, so all actions that race with the step get new
//! priorities. Thus no table of actions is needed, only a table of tasks.

use super::action::{Action, Strategy};
use super::rng::Rng;
use garrick_core::random::mix;
use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher that multiplies a number by an odd constant, and combines the two halves of the
/// product. The hash is the same in every process.
#[derive(Clone, Copy, Debug, Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// A strategy that chooses the enabled action with the highest random priority, and gives new
/// random priorities to the actions that race with it.
///
/// The first run uses the seed of [`Pos::new`], the second run uses the next seed, and so
/// on.
#[derive(Clone, Debug)]
pub struct Pos {
    next_seed: u64,
    rng: Rng,
    /// The current random number of each task that a step has changed. The map is used only for
    /// lookups.
    draws: HashMap<u64, u64, BuildHasherDefault<Fold>>,
    /// Random number that is part of the priorities of all tasks. A step that may have changed
    /// every task replaces this number.
    draw_of_all: u64,
    /// Random number for the priorities of actions that may change everything. Each step replaces
    /// this number, because each step races with these actions.
    draw_of_step: u64,
}

impl Pos {
    /// Creates a strategy whose first run has this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            next_seed: seed,
            rng: Rng::new(seed),
            draws: HashMap::default(),
            draw_of_all: 0,
            draw_of_step: 0,
        }
    }

    /// Begins the run with the seed `seed`.
    pub(super) fn start(&mut self, seed: u64) {
        self.next_seed = seed.wrapping_add(1);
        self.rng = Rng::new(seed);
        self.draws.clear();
        self.draw_of_all = self.rng.number();
        self.draw_of_step = self.rng.number();
    }

    #[inline]
    fn priority<A: Action>(&self, action: &A) -> u64 {
        let draw = match action.changes() {
            Some(task) => self.draw(task) ^ self.draw_of_all,
            None => self.draw_of_step,
        };
        mix(action.chain() ^ draw)
    }

    /// Returns the random number of a task. Until a step changes the task, the number depends only
    /// on the task.
    #[inline]
    fn draw(&self, task: u64) -> u64 {
        let draw = self.draws.get(&task).copied();
        draw.unwrap_or_else(|| mix(task))
    }

    /// Gives new random priorities to all actions that race with a step. `task` is the task that
    /// the step has changed. `None` means that the step may have changed every task.
    #[inline]
    fn redraw(&mut self, task: Option<u64>) {
        self.draw_of_step = self.rng.number();
        match task {
            Some(task) => _ = self.draws.insert(task, self.draw_of_step),
            None => self.draw_of_all = self.rng.number(),
        }
    }
}

impl<A: Action> Strategy<A> for Pos {
    fn begin(&mut self) -> bool {
        self.start(self.next_seed);
        true
    }

    #[inline]
    fn choose(&mut self, enabled: &[A]) -> Option<usize> {
        let mut best = 0;
        if enabled.len() > 1 {
            let mut best_priority = 0;
            for (index, action) in enabled.iter().enumerate() {
                let priority = self.priority(action);
                if priority > best_priority {
                    (best, best_priority) = (index, priority);
                }
            }
        }
        self.redraw(enabled[best].changes());
        Some(best)
    }
}
