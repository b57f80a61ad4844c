//! Whose timers are under way: by task, for those that end with one.
//!
//! A cell has no room for its timers, and most have none. So they stand beside all cells, by what the task is known by, from the first timer on
//! until the task ends.

use std::collections::HashMap;
use std::num::NonZeroU32;

use garrick_core::prim::MutexGuard;
use slab::Slab;

use super::Timer;
use crate::runtime::address::TaskId;
use crate::runtime::shards::Shards;

/// Timers for which a task keeps room in any case.
const ROOM_MIN: usize = 16;

/// The timers of some tasks.
#[derive(Default)]
struct Register {
    /// Each with its serial.
    timers: HashMap<TaskId, Slab<(u32, Timer)>>,
    /// The serial of the next one.
    next: u32,
}

/// The timers of each task.
#[cfg(not(garrick_loom))]
static OWNERS: std::sync::LazyLock<Shards<Register>> = std::sync::LazyLock::new(Shards::default);

#[cfg(garrick_loom)]
garrick_core::prim::lazy_static! {
    static ref OWNERS: Shards<Register> = Shards::default();
}

/// A timer among those of a task that it ends with.
pub(crate) struct Membership {
    owner: TaskId,
    /// Its number and one.
    number: NonZeroU32,
    /// Tells it from one that gets its number later. It would take as many as there are serials meanwhile to mistake them.
    serial: u32,
}

impl Membership {
    /// Takes it out.
    pub(super) fn end(self) {
        let mut shard = shard(self.owner);
        let Some(timers) = shard.timers.get_mut(&self.owner) else {
            return;
        };
        let number = self.number.get() as usize - 1;
        // Another one may have its number by now, if all were cancelled meanwhile.
        if timers
            .get(number)
            .is_some_and(|&(serial, _)| serial == self.serial)
        {
            timers.remove(number);
            if timers.is_empty() && timers.capacity() > ROOM_MIN {
                *timers = Slab::new();
            }
        }
    }
}

fn shard(owner: TaskId) -> MutexGuard<'static, Register> {
    OWNERS.of(owner.get())
}

/// Returns whether somebody sees to it that [`forget`] is called when the task ends.
pub(crate) fn knows(owner: TaskId) -> bool {
    shard(owner).timers.contains_key(&owner)
}

/// Takes a timer in.
pub(super) fn enter(owner: TaskId, timer: Timer) -> Membership {
    let mut shard = shard(owner);
    let serial = shard.next;
    shard.next = serial.wrapping_add(1);
    let number = shard
        .timers
        .entry(owner)
        .or_default()
        .insert((serial, timer));
    let number = u32::try_from(number + 1).ok().and_then(NonZeroU32::new);
    Membership {
        owner,
        number: number.expect("a task has at most 2^32 - 2 timers"),
        serial,
    }
}

/// Cancels the timers of a task that goes on, at once: it begins anew.
pub fn cancel_timers_of(owner: TaskId) {
    let timers = shard(owner).timers.get_mut(&owner).map(std::mem::take);
    cancel_all(timers);
}

/// Cancels the timers of a task that has ended.
pub(crate) fn forget(owner: TaskId) {
    let timers = shard(owner).timers.remove(&owner);
    cancel_all(timers);
}

fn cancel_all(timers: Option<Slab<(u32, Timer)>>) {
    for (_, (_, timer)) in timers.into_iter().flatten() {
        timer.cancel_now();
    }
}
