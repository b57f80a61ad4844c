//! Records the operations of clients: their invocations, their returns, and their order.
//!
//! A history contains no times of a clock. The time of an event is the number of events that were
//! recorded before it. So two operations overlap if and only if each was invoked before the other
//! returned.

use std::fmt;

/// A reference to an operation of a [`History`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call(usize);

impl Call {
    pub(super) fn new(index: usize) -> Self {
        Self(index)
    }

    /// Returns the position of the operation in [`History::operations`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// The way in which an operation has ended, if it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<Ret> {
    /// The operation has not ended. Its client may have crashed. The operation may take effect at
    /// any time after its invocation, or never.
    Pending,
    /// The operation has failed, and has had no effect.
    Failed {
        /// The position of the failure among the recorded events.
        time: usize,
    },
    /// The operation has returned, and has taken effect between its invocation and its return.
    Returned {
        /// The position of the return among the recorded events.
        time: usize,
        /// The returned value.
        ret: Ret,
    },
}

/// An operation of a client, as recorded by a [`History`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<Op, Ret> {
    /// Number that identifies the client. The check ignores this number: operations of one client
    /// may overlap.
    pub client: u64,
    /// The operation and its arguments.
    pub op: Op,
    /// The time of the invocation: the number of invocations, returns and failures that were
    /// recorded before it.
    pub invoked: usize,
    /// The way in which the operation has ended, if it has ended.
    pub outcome: Outcome<Ret>,
}

impl<Op, Ret> Operation<Op, Ret> {
    /// Returns the value that the operation has returned, or `None` if it has not returned.
    pub fn ret(&self) -> Option<&Ret> {
        match &self.outcome {
            Outcome::Returned { ret, .. } => Some(ret),
            Outcome::Pending | Outcome::Failed { .. } => None,
        }
    }

    /// Returns the time at which the operation has ended, or `None` if the operation is pending.
    /// The time is the number of invocations, returns and failures that were recorded before the
    /// end.
    pub fn ended(&self) -> Option<usize> {
        match self.outcome {
            Outcome::Pending => None,
            Outcome::Failed { time } | Outcome::Returned { time, .. } => Some(time),
        }
    }

    /// Returns true if the operation may have had an effect.
    pub(super) fn may_take_effect(&self) -> bool {
        !matches!(self.outcome, Outcome::Failed { .. })
    }
}

/// A record of operations that several clients carry out at the same time.
///
/// # Examples
/// ```
/// use garrick_sim::history::History;
/// use garrick_sim::history::models::register::{Op, Register, Ret};
///
/// let mut history = History::new();
/// let write = history.invoke(1, Op::Write(5));
/// let read = history.invoke(2, Op::Read);
/// history.complete(read, Ret::Value(5));
/// history.complete(write, Ret::Written);
/// assert!(history.check(&Register::new(0)).is_linearizable());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History<Op, Ret> {
    operations: Vec<Operation<Op, Ret>>,
    /// The number of recorded events, which is the time of the next event.
    time: usize,
}

impl<Op, Ret> Default for History<Op, Ret> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Op, Ret> History<Op, Ret> {
    /// Returns an empty history.
    #[must_use]
    pub fn new() -> Self {
        Self {
            operations: Vec::new(),
            time: 0,
        }
    }

    /// Records that a client begins an operation. The operation is pending until it is completed or
    /// fails.
    pub fn invoke(&mut self, client: u64, op: Op) -> Call {
        let call = Call::new(self.operations.len());
        let invoked = self.tick();
        self.operations.push(Operation {
            client,
            op,
            invoked,
            outcome: Outcome::Pending,
        });
        call
    }

    /// Records that an operation has returned `ret`.
    ///
    /// # Panics
    /// Panics if the operation has already ended, or if the history has no such call.
    #[track_caller]
    pub fn complete(&mut self, call: Call, ret: Ret) {
        let time = self.time;
        self.end(call, Outcome::Returned { time, ret });
    }

    /// Records that an operation has failed, and has had no effect. If you do not know whether the
    /// operation has had an effect, for example after a timeout, leave the operation pending.
    ///
    /// # Panics
    /// Panics if the operation has already ended, or if the history has no such call.
    #[track_caller]
    pub fn fail(&mut self, call: Call) {
        let time = self.time;
        self.end(call, Outcome::Failed { time });
    }

    /// Returns all operations in the order of their invocations.
    #[must_use]
    pub fn operations(&self) -> &[Operation<Op, Ret>] {
        &self.operations
    }

    /// Returns the operation of a call, or `None` if the history has no such call.
    #[must_use]
    pub fn operation(&self, call: Call) -> Option<&Operation<Op, Ret>> {
        self.operations.get(call.0)
    }

    /// Returns the number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns true if no operation has been invoked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    #[track_caller]
    fn end(&mut self, call: Call, outcome: Outcome<Ret>) {
        let calls = self.operations.len();
        let Some(operation) = self.operations.get_mut(call.0) else {
            panic!("a call ends in the history that has recorded it: {call} of {calls} calls");
        };
        let is_pending = matches!(operation.outcome, Outcome::Pending);
        assert!(is_pending, "an operation ends once: {call} has ended");
        operation.outcome = outcome;
        self.tick();
    }

    fn tick(&mut self) -> usize {
        self.time += 1;
        self.time - 1
    }
}
