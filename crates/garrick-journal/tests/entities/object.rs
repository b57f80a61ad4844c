//! Kinds of entities that clients call, and whose history of calls is checked.

use garrick_actor::Reply;
use garrick_journal::DurableActor;
use garrick_sim::history::{History, Sequential};

/// Some entities of a kind, with numbers. They are the parts of a sequential model, which is empty
/// at first.
pub(crate) trait Object:
    Sequential<Key = usize, State: Send, Op: Send + 'static, Ret: Send + 'static> + Default + 'static
{
    /// The actor.
    type Entity: DurableActor<Msg = Request<Self>>;

    /// Begins the names of the entities.
    const NAME: &'static str;

    /// Number of simulated clients, if the entities decide ahead. Each call without an answer may
    /// have taken effect or not. With many of them, the check of a history would take too long.
    const CLIENTS_AHEAD: u64;

    /// Returns an entity. If `panics` is true, it panics in some decisions.
    fn entity(panics: bool) -> Self::Entity;

    /// Returns an operation on an entity, by the random number `chance`. No other operation has the
    /// number `new`. `view` is what the client knows.
    fn operation(key: usize, chance: u64, new: u64, view: &Self::State) -> Self::Op;

    /// Returns the operation that reads the whole state of an entity.
    fn look(key: usize) -> Self::Op;

    /// Sets the state of an entity to the one that `ret` tells, if it is the result of a look.
    fn see(state: &mut Self::State, key: usize, ret: &Self::Ret);
}

/// A message to an entity: the operation of a client.
pub(crate) struct Request<O: Object> {
    pub(crate) op: O::Op,
    pub(crate) reply: Reply<O::Ret>,
}

/// A history of the operations on entities.
pub(crate) type HistoryOf<O> = History<<O as Sequential>::Op, <O as Sequential>::Ret>;

/// Returns the number of the entity of an operation.
pub(crate) fn key_of<O: Object>(op: &O::Op) -> usize {
    let key = Sequential::key(&O::default(), op);
    key.expect("an operation concerns one entity")
}

/// Returns the name of an entity.
pub(crate) fn name_of<O: Object>(key: usize) -> String {
    format!("{}-{key}", O::NAME)
}
