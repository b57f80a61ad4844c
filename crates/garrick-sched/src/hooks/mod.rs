//! Hooks by which a simulation follows the tasks of a sponsor (a group of workers).
//!
//! Without the feature `sim`, a [`Hooks`] has no fields and its methods do nothing, so the hooks
//! add nothing to the compiled code. With the feature, only a simulated sponsor has active hooks.

#[cfg(not(feature = "sim"))]
mod absent;
#[cfg(feature = "sim")]
mod active;

#[cfg(not(feature = "sim"))]
pub(crate) use absent::{Hooks, simulates_here};
#[cfg(feature = "sim")]
pub(crate) use active::{Birth, Event, Hooks, Running, simulates_here};
#[cfg(feature = "sim")]
pub use active::{CHOSEN_FAILURE, break_turn_off};
