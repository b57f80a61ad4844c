//! The searches of the contenders: each runs a program until it finds the bug.

pub(crate) mod garrick;
#[cfg(madsim)]
pub(crate) mod madsim;
pub(crate) mod shuttle;
pub(crate) mod stateright;
pub(crate) mod turmoil;
