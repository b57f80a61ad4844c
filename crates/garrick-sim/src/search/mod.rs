//! Strategies that choose what happens next, and the search for a small failing list of choices.

mod action;
mod rng;

mod walk;

pub use action::{Action, Strategy};
pub use rng::Rng;
pub use walk::Walk;
