//! Strategies that choose what happens next, and the search for a small failing list of choices.

mod action;
mod hash;
mod rng;

mod pct;
mod pos;
mod walk;

mod exhaustive;
mod portfolio;

mod shrink;

#[cfg(test)]
mod tests;

pub use action::{Action, Strategy};
pub use exhaustive::Exhaustive;
pub use pct::Pct;
pub use portfolio::portfolio;
pub use pos::Pos;
pub use rng::Rng;
pub use shrink::shrink;
pub use walk::Walk;
