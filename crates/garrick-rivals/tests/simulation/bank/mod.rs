//! The bank: two tellers read a balance, add one, and write the sum. If both read before one of
//! them writes, a deposit is lost.

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
            name: "bank",
            source: include_str!($file),
        }
    };
}

/// Lets each contender find the bug, and returns the rows of all contenders.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = contenders::garrick::rows(program!("garrick.rs"), garrick::bank);
    rows.extend(contenders::shuttle::rows(
        program!("shuttle.rs"),
        shuttle::bank,
    ));
    rows.extend(contenders::turmoil::rows(
        program!("turmoil.rs"),
        turmoil::bank,
    ));
    #[cfg(madsim)]
    rows.extend(contenders::madsim::rows(
        program!("madsim.rs"),
        madsim::bank,
    ));
    rows.extend(contenders::stateright::rows(
        program!("stateright.rs"),
        stateright::bank,
    ));
    rows
}
