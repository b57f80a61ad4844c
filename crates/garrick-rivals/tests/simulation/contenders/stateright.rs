//! Searches by Stateright.

use std::hash::Hash;
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model, UniformChooser};

use crate::row::{Found, Program, Row};

/// Returns the rows of the breadth-first search, the depth-first search and random walks.
pub(crate) fn rows<M>(program: Program, model: fn() -> M) -> Vec<Row>
where
    M: Model<State: Clone + PartialEq + Hash + Send + Sync, Action: Clone + PartialEq>,
    M: Send + Sync + 'static,
{
    let row = |search| ("Stateright", search, "states");
    let begin = || model().checker().finish_when(HasDiscoveries::AnyFailures);
    vec![
        Row::same(program, row("breadth first"), || {
            find(|| begin().spawn_bfs())
        })
        .found(),
        Row::same(program, row("depth first"), || find(|| begin().spawn_dfs())).found(),
        Row::random(program, row("random"), |seed| {
            find(|| begin().spawn_simulation(seed, UniformChooser))
        }),
    ]
}

fn find<M, C>(spawn: impl FnOnce() -> C) -> Option<Found>
where
    M: Model<State: Clone + PartialEq, Action: Clone + PartialEq>,
    C: Checker<M>,
{
    let began = Instant::now();
    let checker = spawn().join();
    let time = began.elapsed();
    let after = checker.state_count() as u64;
    (!checker.discoveries().is_empty()).then_some(Found { after, time })
}
