//! Models that begin in a given state.

use garrick_sim::history::Sequential;

/// A model that begins in the state `state`.
pub(super) struct Since<M: Sequential> {
    pub(super) model: M,
    pub(super) state: M::State,
}

impl<M: Sequential> Sequential for Since<M> {
    type State = M::State;
    type Op = M::Op;
    type Ret = M::Ret;
    type Key = M::Key;

    fn init(&self) -> M::State {
        self.state.clone()
    }

    fn apply(&self, state: &mut M::State, op: &M::Op) -> M::Ret {
        self.model.apply(state, op)
    }

    fn key(&self, op: &M::Op) -> Option<M::Key> {
        Sequential::key(&self.model, op)
    }
}
