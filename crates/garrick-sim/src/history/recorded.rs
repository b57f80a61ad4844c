//! Histories.

/// A call in a [`History`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call(usize);

/// The calls of operations and their results, in the order in which they happened.
#[derive(Debug, Clone)]
pub struct History<Op, Ret> {
    pub(super) calls: Vec<Recorded<Op, Ret>>,
    /// Number of calls and returns so far.
    time: usize,
}

/// A call with its result.
#[derive(Debug, Clone)]
pub(super) struct Recorded<Op, Ret> {
    pub(super) op: Op,
    pub(super) called_at: usize,
    pub(super) end: End<Ret>,
}

/// End of a call.
#[derive(Debug, Clone)]
pub(super) enum End<Ret> {
    /// The call has not returned. The operation may take effect at any later time, or never.
    Pending,
    /// The call has returned at this time with this result.
    Returned(usize, Ret),
    /// The operation has certainly had no effect.
    Failed,
}

impl<Op, Ret> History<Op, Ret> {
    /// Creates a history without calls.
    #[must_use]
    pub fn new() -> Self {
        Self {
            calls: Vec::new(),
            time: 0,
        }
    }

    /// Records that a client calls an operation.
    pub fn call(&mut self, op: Op) -> Call {
        let called_at = self.tick();
        self.calls.push(Recorded {
            op,
            called_at,
            end: End::Pending,
        });
        Call(self.calls.len() - 1)
    }

    /// Records that a call has returned.
    ///
    /// # Panics
    /// Panics if the call has already ended, or belongs to another history.
    #[track_caller]
    pub fn complete(&mut self, call: Call, ret: Ret) {
        let now = self.tick();
        self.end(call, End::Returned(now, ret));
    }

    /// Records that a call has failed and certainly had no effect. A call whose effect is unknown
    /// stays open instead.
    ///
    /// # Panics
    /// Panics if the call has already ended, or belongs to another history.
    #[track_caller]
    pub fn fail(&mut self, call: Call) {
        self.end(call, End::Failed);
    }

    #[track_caller]
    fn end(&mut self, call: Call, end: End<Ret>) {
        let recorded = self.calls.get_mut(call.0);
        let recorded = recorded.unwrap_or_else(|| panic!("this history has no call {}", call.0));
        assert!(
            matches!(recorded.end, End::Pending),
            "call {} has already ended",
            call.0
        );
        recorded.end = end;
    }

    fn tick(&mut self) -> usize {
        self.time += 1;
        self.time
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns true if there are no calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl<Op, Ret> Default for History<Op, Ret> {
    fn default() -> Self {
        Self::new()
    }
}

/// A fact: a client calls an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called<Op> {
    /// Number of the client.
    pub client: u32,
    /// The operation.
    pub op: Op,
}

/// A fact: the last call of a client has returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned<Ret> {
    /// Number of the client.
    pub client: u32,
    /// The result.
    pub ret: Ret,
}
