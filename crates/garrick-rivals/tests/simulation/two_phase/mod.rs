//! Two-phase commit: a coordinator gives up after a timeout, but counts votes that come later. So
//! the coordinator may decide twice.

mod garrick;
#[cfg(madsim)]
mod madsim;
mod shuttle;
mod stateright;
mod turmoil;

use crate::contenders;
use crate::row::{Program, Row};

macro_rules! program {
    ($file:literal) => {
        Program {
            name: "two_phase",
            source: include_str!($file),
        }
    };
}

/// Lets each contender find the bug, and returns the rows of all contenders.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = contenders::garrick::rows(program!("garrick.rs"), garrick::two_phase);
    rows.extend(contenders::shuttle::rows(
        program!("shuttle.rs"),
        shuttle::two_phase,
    ));
    rows.extend(contenders::turmoil::rows(
        program!("turmoil.rs"),
        turmoil::two_phase,
    ));
    #[cfg(madsim)]
    rows.extend(contenders::madsim::rows(
        program!("madsim.rs"),
        madsim::two_phase,
    ));
    rows.extend(contenders::stateright::rows(
        program!("stateright.rs"),
        stateright::two_phase,
    ));
    rows
}
