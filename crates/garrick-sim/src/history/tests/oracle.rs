//! A check of linearizability by its definition, which tries all permutations of all subsets of the
//! operations.

use crate::history::model::Model;
use crate::history::record::{Call, History};

type HistoryOf<M> = History<<M as Model>::Op, <M as Model>::Ret>;

/// Returns true if at least one order of the operations is correct.
pub(super) fn is_linearizable<M: Model>(model: &M, history: &HistoryOf<M>) -> bool {
    let calls: Vec<_> = (0..history.len()).map(Call::new).collect();
    permute(&mut Vec::new(), &calls, &mut |order| {
        is_complete(history, order) && keeps_time(history, order) && replays(model, history, order)
    })
}

/// Checks that an order proves that the history is linearizable.
#[track_caller]
pub(super) fn assert_order<M: Model>(model: &M, history: &HistoryOf<M>, order: &[Call]) {
    assert!(is_complete(history, order), "{order:?} is not complete");
    assert_prefix(model, history, order);
}

/// Checks that an order is correct, even if operations are missing from it.
#[track_caller]
pub(super) fn assert_prefix<M: Model>(model: &M, history: &HistoryOf<M>, order: &[Call]) {
    assert!(keeps_time(history, order), "{order:?} is against time");
    assert!(
        replays(model, history, order),
        "{order:?} has other results"
    );
}

/// Calls `accepts` with every permutation of every subset, until `accepts` returns true.
fn permute(
    order: &mut Vec<Call>,
    others: &[Call],
    accepts: &mut impl FnMut(&[Call]) -> bool,
) -> bool {
    if accepts(order) {
        return true;
    }
    (0..others.len()).any(|index| {
        let mut others = others.to_vec();
        order.push(others.remove(index));
        let accepted = permute(order, &others, accepts);
        order.pop();
        accepted
    })
}

/// Returns true if the order contains all operations that returned, and none that failed.
fn is_complete<M, R>(history: &History<M, R>, order: &[Call]) -> bool {
    history.operations().iter().enumerate().all(|(index, o)| {
        let times = order.iter().filter(|call| call.index() == index).count();
        match (o.ret(), o.ended()) {
            (Some(_), _) => times == 1,
            (None, Some(_)) => times == 0,
            (None, None) => times <= 1,
        }
    })
}

/// Returns true if operations that do not overlap are in the order in which they happened.
fn keeps_time<M, R>(history: &History<M, R>, order: &[Call]) -> bool {
    let operation = |call: &Call| &history.operations()[call.index()];
    order.iter().enumerate().all(|(index, later)| {
        let ended = operation(later).ended().unwrap_or(usize::MAX);
        let mut earlier = order[..index].iter();
        earlier.all(|call| operation(call).invoked < ended)
    })
}

/// Returns true if the model allows all results in this order.
fn replays<M: Model>(model: &M, history: &HistoryOf<M>, order: &[Call]) -> bool {
    let mut states = vec![model.init()];
    for call in order {
        let operation = &history.operations()[call.index()];
        let next = |state| model.step(state, &operation.op, operation.ret());
        states = states.iter().flat_map(next).collect();
    }
    !states.is_empty()
}
