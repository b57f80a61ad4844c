//! Independent parts of a history (Horn and Kroening 2015).

use std::collections::BTreeMap;

use crate::history::model::Model;
use crate::history::record::{Call, History, Operation};

type OperationOf<M> = Operation<<M as Model>::Op, <M as Model>::Ret>;
type HistoryOf<M> = History<<M as Model>::Op, <M as Model>::Ret>;

/// The operations on one independent part of the object, without failed operations.
///
/// Within a part, operations are numbered from 0. The operations that have returned come first, and
/// the pending operations follow. Each of these two groups is in the order of invocation.
pub(super) struct Part<'h, M: Model> {
    /// The key of the part, or `None` if the history was not split.
    key: Option<M::Key>,
    entries: Vec<(Call, &'h OperationOf<M>)>,
    /// The number of operations that have returned.
    returned: usize,
}

impl<'h, M: Model> Part<'h, M> {
    fn new(key: Option<M::Key>, entries: Vec<(Call, &'h OperationOf<M>)>) -> Self {
        let (mut entries, pending): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|(_, operation)| operation.ret().is_some());
        let returned = entries.len();
        entries.extend(pending);
        Self {
            key,
            entries,
            returned,
        }
    }

    pub(super) fn key(&self) -> Option<&M::Key> {
        self.key.as_ref()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of operations that have returned.
    pub(super) fn returned(&self) -> usize {
        self.returned
    }

    pub(super) fn call(&self, number: usize) -> Call {
        self.entries[number].0
    }

    pub(super) fn operation(&self, number: usize) -> &'h OperationOf<M> {
        self.entries[number].1
    }
}

/// Splits a history by the independent parts of the modelled object, such as the keys of a map.
/// Each result contains the calls to one part. The results with the fewest calls come first,
/// because checking them takes little work and reveals most faults.
pub(super) fn split<'h, M: Model>(model: &M, history: &'h HistoryOf<M>) -> Vec<Part<'h, M>> {
    let entries = || {
        let all = history.operations().iter().enumerate();
        all.filter(|(_, operation)| operation.may_take_effect())
            .map(|(index, operation)| (Call::new(index), operation))
    };
    let keys: Option<Vec<_>> = entries().map(|(_, o)| model.key(&o.op)).collect();
    let Some(keys) = keys else {
        return vec![Part::new(None, entries().collect())];
    };
    let mut by_key: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (key, entry) in keys.into_iter().zip(entries()) {
        by_key.entry(key).or_default().push(entry);
    }
    let parts = by_key.into_iter().map(|(k, e)| Part::new(Some(k), e));
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(Part::len);
    parts
}

/// Merges the orders of all parts into an order of the whole history.
///
/// The merge assigns a time to each operation: the latest invocation among the operation itself and
/// all operations before it in the order of its part. All of these operations were invoked before
/// the operation returned. So the assigned time is before the return, and sorting by the assigned
/// times keeps the order of operations that do not overlap.
pub(super) fn merge<Op, Ret>(history: &History<Op, Ret>, orders: &[Vec<Call>]) -> Vec<Call> {
    let mut timed = Vec::with_capacity(history.len());
    for order in orders {
        let mut time = 0;
        for call in order {
            time = time.max(history.operations()[call.index()].invoked);
            timed.push((time, *call));
        }
    }
    // Equal times occur only within a part, and the sort is stable.
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, call)| call).collect()
}
