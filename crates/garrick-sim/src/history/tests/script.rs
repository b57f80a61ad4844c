//! A recorder with which tests write histories in few lines.

use crate::history::Verdict;
use crate::history::model::Model;
use crate::history::record::{Call, History};

/// A recorder of a history in which each operation has its own client.
pub(super) struct Script<M: Model> {
    model: M,
    pub(super) history: History<M::Op, M::Ret>,
    clients: u64,
}

impl<M: Model> Script<M> {
    pub(super) fn new(model: M) -> Self {
        Self {
            model,
            history: History::new(),
            clients: 0,
        }
    }

    /// Records an operation that has not ended yet.
    pub(super) fn pending(&mut self, op: M::Op) -> Call {
        self.clients += 1;
        self.history.invoke(self.clients, op)
    }

    /// Records an operation that overlaps only the operations that are already pending.
    pub(super) fn alone(&mut self, op: M::Op, ret: M::Ret) -> Call {
        let call = self.pending(op);
        self.history.complete(call, ret);
        call
    }

    /// Records operations that overlap each other.
    pub(super) fn together<const N: usize>(&mut self, operations: [(M::Op, M::Ret); N]) {
        let begin = |(op, ret)| (self.pending(op), ret);
        for (call, ret) in operations.map(begin) {
            self.history.complete(call, ret);
        }
    }

    pub(super) fn failed(&mut self, op: M::Op) {
        let call = self.pending(op);
        self.history.fail(call);
    }

    pub(super) fn check(&self) -> Verdict {
        self.history.check(&self.model)
    }

    #[track_caller]
    pub(super) fn accepted(&self) {
        let order = self.check().expect_order();
        super::oracle::assert_order(&self.model, &self.history, &order);
    }

    /// Checks that the history is rejected because of the given operation.
    #[track_caller]
    pub(super) fn rejected_at(&self, expected: Call) {
        let verdict = self.check();
        let Verdict::NotLinearizable(explanation) = verdict else {
            panic!("{verdict}");
        };
        assert_eq!(explanation.operation(), expected, "{explanation}");
    }
}
