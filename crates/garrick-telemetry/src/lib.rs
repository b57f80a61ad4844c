//! What goes on in a process, live.
//!
//! A [`Snapshot`] is what there is to see at one moment. It is what `/graph.json` answers and each message
//! of `/events` carries.
#![forbid(unsafe_code)]

mod snapshot;

pub use snapshot::{
    Alert, Batches, Edge, Level, Node, NodeKind, Process, Snapshot, SponsorStatus, State,
};
