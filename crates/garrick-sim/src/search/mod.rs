//! Strategies that choose what happens next, and the search for a small failing list of choices.

mod action;

pub use action::{Action, Strategy};
