//! A bounded mailbox: the room is part of the actor's cell.

use garrick_sched::{SpawnError, WhenFull};

use super::inlet::Inlet;
use super::{OnFull, Place};
use crate::model::actor::{Actor, Cell};

pub(super) fn spawn<A>(
    place: &impl Place,
    capacity: usize,
    on_full: OnFull,
    actor: A,
) -> Result<Inlet<A::Msg>, SpawnError<A>>
where
    A: Actor + Send,
    A::Msg: Send,
{
    let when_full = match on_full {
        OnFull::Wait => WhenFull::Wait,
        OnFull::Fail => WhenFull::Fail,
        OnFull::DropNewest => WhenFull::Drop,
        OnFull::DropOldest => unreachable!("`latest` makes those"),
    };
    let spawned = place
        .sponsor()
        .spawn_bounded(capacity, when_full, Cell(actor));
    match spawned {
        Ok(address) => Ok(Inlet::bounded(address)),
        Err(SpawnError(Cell(actor))) => Err(SpawnError(actor)),
    }
}
