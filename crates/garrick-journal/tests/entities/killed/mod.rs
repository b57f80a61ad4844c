//! Processes with entities and clients on the real disk, which are killed at random moments. After
//! each kill, the entities are read. The history of the clients and of these reads must be
//! linearizable, from the states that were read after the previous kill.

mod engine;
mod line;
mod since;

mod process;
mod rounds;

pub(crate) use engine::Engine;
pub(crate) use rounds::{bank, registers};
