//! Tests of the search with systems of tasks that are tables of reactions, without actors.

mod mock;
mod systems;

mod exhaustive;
mod followed;
mod random;
