//! A program with a bug that depends on order. Four parties send a digit each, and one of the 24
//! possible orders of arrival is wrong.

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
            name: "order",
            source: include_str!($file),
        }
    };
}

/// Lets each contender find the bug, and returns the rows of all contenders.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = contenders::garrick::rows(program!("garrick.rs"), garrick::order);
    rows.extend(contenders::shuttle::rows(
        program!("shuttle.rs"),
        shuttle::order,
    ));
    rows.extend(contenders::turmoil::rows(
        program!("turmoil.rs"),
        turmoil::order,
    ));
    #[cfg(madsim)]
    rows.extend(contenders::madsim::rows(
        program!("madsim.rs"),
        madsim::order,
    ));
    rows.extend(contenders::stateright::rows(
        program!("stateright.rs"),
        stateright::order,
    ));
    rows
}
