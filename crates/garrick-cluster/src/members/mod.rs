//! Members of a cluster, and the owners of its shards. `src/README.md` describes the protocol.

mod record;

mod plan;

mod lease;
mod roster;
mod view;

mod agenda;
mod overview;

mod order;

mod own;
mod sample;
mod standing;
mod used;

mod placer;

pub(crate) use agenda::Hosted;
pub(crate) use lease::{Lease, Tenure};
pub(crate) use order::{Order, Owner, Regional};
pub use overview::{DrainOrder, KindOverview, MemberOverview, Overview, ShardOverview};
pub(crate) use own::Own;
pub(crate) use placer::{Placer, PlacerMsg};
pub(crate) use plan::hash;
pub(crate) use record::{
    KINDS_MAX, Key as MemberKey, Member, SHARDS_MAX, Versions, decode, encode,
};
pub use sample::MembersSample;
pub use standing::{MemberSample, MemberState};
pub(crate) use standing::{ShardCounts, Standings};
