//! Systems, their builder, and handles to them.

pub(crate) mod workload;

pub(crate) mod handle;

pub(crate) mod builder;

pub(crate) mod local;
pub(crate) mod pool;
