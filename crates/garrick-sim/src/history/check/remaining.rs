//! The operations that the search has not put into its order yet, and the candidates among them:
//! those that may come next.
//!
//! An operation may come next if it was invoked before any other remaining operation returned. The
//! candidates are in the order of their invocations. Operations that have returned and pending
//! operations are in separate lists. A pending operation is put into the order only if an order
//! without this operation has failed.

use super::links::Links;
use super::part::Part;
use crate::history::model::Model;

/// The operations of one part of a history that are not in the order of the search yet.
pub(super) struct Remaining {
    /// The number of operations that have returned, including operations that are already in the
    /// order.
    returned: usize,
    /// The events of the operations that have returned, in the order of time. The number `2 * n`
    /// stands for the invocation of operation `n`, and `2 * n + 1` for its return.
    events: Links,
    /// The pending operations in the order of their invocations. The operation with the number `n`
    /// here has the number `returned + n` in the part.
    pending: Links,
    /// The times of the invocations of the pending operations.
    pending_since: Vec<usize>,
    /// For each pending operation, the latest equal operation among those that were invoked before
    /// it.
    twins: Vec<Option<usize>>,
    /// The return time of each operation that has returned.
    returns: Vec<usize>,
}

impl Remaining {
    /// Returns all operations of a part of a history. At first, none of them is in the order.
    pub(super) fn new<M: Model>(part: &Part<'_, M>) -> Self {
        let returned = part.returned();
        let pending = || (returned..part.len()).map(|number| part.operation(number));
        let numbers: Vec<usize> = (0..part.len() - returned).collect();
        let returns = (0..returned).filter_map(|number| part.operation(number).ended());
        Self {
            returned,
            events: Links::new(&events(part)),
            pending: Links::new(&numbers),
            pending_since: pending().map(|operation| operation.invoked).collect(),
            twins: twins(&pending().map(|operation| &operation.op).collect::<Vec<_>>()),
            returns: returns.collect(),
        }
    }

    /// Returns true if all operations that have returned are in the order.
    pub(super) fn is_done(&self) -> bool {
        self.events.first().is_none()
    }

    /// Returns the remaining operation that returned first. An operation that was invoked after
    /// this return must come later in the order.
    pub(super) fn first_to_return(&self) -> Option<usize> {
        let mut event = self.events.first();
        while let Some(number) = event.and_then(invocation) {
            event = self.events.after(2 * number);
        }
        event.map(|event| event / 2)
    }

    /// Returns the first operation that has returned and may come next in the order.
    pub(super) fn first(&self) -> Option<usize> {
        self.events.first().and_then(invocation)
    }

    /// Returns the operation that was invoked next after the operation `number`. Returns `None` if
    /// that operation cannot come next in the order. Considers only remaining operations that have
    /// returned.
    pub(super) fn after(&self, number: usize) -> Option<usize> {
        self.events.after(2 * number).and_then(invocation)
    }

    /// Returns the first pending operation that may come next in the order.
    pub(super) fn first_pending(&self) -> Option<usize> {
        self.pending_from(self.pending.first())
    }

    /// Returns the first pending operation that was invoked after the operation `number` and may
    /// come next in the order.
    pub(super) fn pending_after(&self, number: usize) -> Option<usize> {
        self.pending_from(self.pending.after(number - self.returned))
    }

    /// Removes an operation, because it is put into the order.
    pub(super) fn take(&mut self, number: usize) {
        match number.checked_sub(self.returned) {
            Some(pending) => self.pending.take(pending),
            None => {
                self.events.take(2 * number);
                self.events.take(2 * number + 1);
            }
        }
    }

    /// Puts back the operation that was removed most recently.
    pub(super) fn put_back(&mut self, number: usize) {
        match number.checked_sub(self.returned) {
            Some(pending) => self.pending.put_back(pending),
            None => {
                self.events.put_back(2 * number + 1);
                self.events.put_back(2 * number);
            }
        }
    }

    /// Searches the pending operations from `pending` on, and returns the first one that may come
    /// next in the order. Of equal operations, only the one that was invoked first may come next.
    /// This rule misses no order, because swapping equal operations changes nothing.
    fn pending_from(&self, mut pending: Option<usize>) -> Option<usize> {
        pending?;
        let deadline = self
            .first_to_return()
            .map_or(usize::MAX, |n| self.returns[n]);
        while let Some(number) = pending {
            if self.pending_since[number] > deadline {
                return None;
            }
            let twin = self.twins[number];
            if twin.is_none_or(|twin| !self.pending.contains(twin)) {
                return Some(self.returned + number);
            }
            pending = self.pending.after(number);
        }
        None
    }
}

/// Returns the operation whose invocation is the event, or `None` if the event is a return.
fn invocation(event: usize) -> Option<usize> {
    event.is_multiple_of(2).then_some(event / 2)
}

/// Returns the invocations and returns of the operations that have returned, in the order of time.
fn events<M: Model>(part: &Part<'_, M>) -> Vec<usize> {
    let mut timed = Vec::with_capacity(2 * part.returned());
    for number in 0..part.returned() {
        let operation = part.operation(number);
        timed.push((operation.invoked, 2 * number));
        timed.extend(operation.ended().map(|time| (time, 2 * number + 1)));
    }
    timed.sort_unstable();
    timed.into_iter().map(|(_, event)| event).collect()
}

/// Returns, for each operation, the index of the nearest earlier operation that is equal to it.
fn twins<Op: PartialEq>(ops: &[&Op]) -> Vec<Option<usize>> {
    let twin = |number: usize| ops[..number].iter().rposition(|op| *op == ops[number]);
    (0..ops.len()).map(twin).collect()
}
