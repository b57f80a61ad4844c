//! Names of simulated tasks. These names do not depend on the order of the simulation's steps.

use std::fmt;

use garrick_core::random::mix;

/// The identity of a task in a simulation. The identity depends only on the parent of the task and
/// on the number of tasks that the parent had created before. So the identity is the same in every
/// order of the simulation's steps, and in every process.
///
/// A timer also has a name, as the sender of its message. If the simulation copies messages, the
/// sender of the copies has a separate name, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskName(u64);

/// Number that distinguishes the name of a timer from the name of a child task.
const TIMER: u64 = 0x7469_6d65;

/// Number that distinguishes a name that stands for the sender of copied messages from the name of
/// a child task.
const COPY: u64 = 0x636f_7079;

impl TaskName {
    /// The name that stands for all code outside of tasks.
    pub const OUTSIDE: Self = Self(0);

    /// The name that stands for code whose messages are discarded.
    pub(crate) const NOWHERE: Self = Self(u64::MAX);

    /// Returns a name that stands for a sponsor (group of workers), as the parent of the tasks that
    /// no other task creates. `number` is the number of earlier sponsors that also have the name
    /// `sponsor`.
    pub(crate) fn root(sponsor: &str, number: u32) -> Self {
        let hash = sponsor
            .bytes()
            .fold(1, |hash, byte| mix(hash ^ u64::from(byte)));
        Self(hash).derived(u64::from(number) << 32)
    }

    /// Returns the name of a task that this task creates. `number` is the number of tasks that this
    /// task has created earlier.
    pub(crate) fn child(self, number: u32) -> Self {
        self.derived(u64::from(number) << 32)
    }

    /// Returns the name of a task that another thread has created. `number` is the sequence number
    /// of the task among the tasks that other threads have created, beginning with 1.
    pub(crate) fn stranger(number: u32) -> Self {
        Self::NOWHERE.derived(u64::from(number) << 32)
    }

    /// Returns the name of a timer that sends messages to this task. `number` is the number of
    /// earlier timers that send messages to this task.
    pub(crate) fn timer(self, number: u32) -> Self {
        self.derived(u64::from(number) << 32 | TIMER)
    }

    /// Returns a name that stands for the sender of copied messages. `self` is the name of the
    /// sender of the original messages.
    #[must_use]
    pub fn of_copies(self) -> Self {
        self.derived(COPY)
    }

    fn derived(self, by: u64) -> Self {
        Self(mix(mix(self.0) ^ by))
    }

    /// Returns the name for a number that came from [`TaskName::get`].
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// Returns the name as a number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskName({:016x})", self.0)
    }
}
