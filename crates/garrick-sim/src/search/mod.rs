//! Strategies that choose what happens next, and the search for a small failing list of choices.
//!
//! This module does not depend on actors: a run offers its enabled [actions](Action), and a
//! [`Strategy`] chooses one of them. The modules are declared in the order of their layers.
//!
//! | strategy | for |
//! | --- | --- |
//! | [`Walk`], [`Pct`], [`Pos`] | random search by seeds |
//! | [`Portfolio`] | all three, chosen by the seed |
//! | [`Exhaustive`] | all orders of a small system, once per partial order |
//! | [`Replay`] | repeating a run exactly, to see whether it is deterministic |
//! | [`Follow`] | repeating what is possible of a list, for [`shrink()`] |

mod action;

mod rng;

mod shrink;

mod follow;
mod pct;
mod pos;
mod replay;
mod walk;

mod portfolio;

mod exhaustive;

pub use action::{Action, Strategy};
pub use exhaustive::{Coverage, Exhaustive, Reduction, Statistics};
pub use follow::{Follow, Then};
pub use pct::Pct;
pub use portfolio::{Plan, Portfolio};
pub use pos::Pos;
pub use replay::{Difference, Replay};
pub use rng::Rng;
pub use shrink::{Shrunk, shrink};
pub use walk::Walk;
