//! Watches that a test cancels.

use std::sync::Arc;

use garrick_sched::Address;

/// Watches an actor `times` times, cancels each watch, and then calls `pass`. Returns the number of
/// notices that are kept at the end.
pub fn notices_kept<M: 'static>(
    watched: &Address<M>,
    times: usize,
    mut pass: impl FnMut(),
) -> usize {
    let alive = Arc::new(());
    for _ in 0..times {
        let alive = alive.clone();
        watched.watch(move |_| drop(alive)).cancel();
        pass();
    }
    Arc::strong_count(&alive) - 1
}
