//! Register of the active timers of each task. These timers are cancelled when their owner, the
//! task, ends.
//!
//! Most tasks have no timers, so a cell has no field for them. Instead, this register contains the
//! timers of a task under the id of the task, from the task's first timer until the task ends.

use std::num::NonZeroU32;

use garrick_core::prim::MutexGuard;
use hashbrown::HashMap;
use slab::Slab;

use super::Timer;
use crate::cell::TaskId;
use crate::runtime::shards::Shards;

/// Maximum capacity with which an empty list of a task's timers keeps its allocation.
const ROOM_MIN: usize = 16;

/// A shard of the register: the timers of some of the tasks. Each shard has its own lock.
#[derive(Default)]
struct Register {
    /// Timers of each task, with their serial numbers.
    timers: HashMap<TaskId, Slab<(u32, Timer)>>,
    /// Serial number of the next timer.
    next: u32,
}

/// Timers of all tasks.
#[cfg(not(garrick_loom))]
static OWNERS: std::sync::LazyLock<Shards<Register>> = std::sync::LazyLock::new(Shards::default);

#[cfg(garrick_loom)]
garrick_core::prim::lazy_static! {
    static ref OWNERS: Shards<Register> = Shards::default();
}

/// Entry of a timer in the register of its owner's timers. The owner is the task whose end cancels
/// the timer.
pub(crate) struct Membership {
    owner: TaskId,
    /// Index of the entry, plus one.
    number: NonZeroU32,
    /// Serial number, which distinguishes this timer from later timers at the same index. Serial
    /// numbers repeat only after 2^32 timers.
    serial: u32,
}

impl Membership {
    /// Removes the timer from the register.
    pub(super) fn end(self) {
        let mut shard = shard(self.owner);
        let Some(timers) = shard.timers.get_mut(&self.owner) else {
            return;
        };
        let number = self.number.get() as usize - 1;
        // Another timer may have this index by now, if all timers were cancelled meanwhile.
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

/// Returns true if the task has timers in the register. [`forget`] is then called when the task
/// ends.
pub(crate) fn knows(owner: TaskId) -> bool {
    shard(owner).timers.contains_key(&owner)
}

/// Adds a timer to the register of the timers of its owner, which is a task.
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

/// Cancels all timers that the task `owner` has set with
/// [`Turn::set_own_timer`](crate::Turn::set_own_timer). The timers are cancelled immediately,
/// even if the turn that calls this function is undone later. The task of a supervised actor calls
/// this function when it drops the actor, for example before a restart.
pub fn cancel_timers_of(owner: TaskId) {
    let timers = shard(owner).timers.get_mut(&owner).map(std::mem::take);
    cancel_all(timers);
}

/// Cancels all timers of a task that has ended.
pub(crate) fn forget(owner: TaskId) {
    let timers = shard(owner).timers.remove(&owner);
    cancel_all(timers);
}

fn cancel_all(timers: Option<Slab<(u32, Timer)>>) {
    for (_, (_, timer)) in timers.into_iter().flatten() {
        timer.cancel_now();
    }
}
