//! Members of a cluster, and the owners of its shards. The README of the crate has the protocol.

mod record;

mod plan;

mod lease;
mod roster;
mod view;

mod order;

mod own;
mod sample;
mod used;

mod placer;

pub(crate) use lease::Lease;
pub(crate) use order::{Order, Owner, Regional};
pub(crate) use own::Own;
pub(crate) use placer::{Hosted, Placer, PlacerMsg};
pub(crate) use plan::hash;
pub(crate) use record::{KINDS_MAX, SHARDS_MAX, Versions};
pub use sample::MembersSample;
