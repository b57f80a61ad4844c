//! Kinds of entities that clients call, and whose history of calls is checked.

use garrick_actor::Reply;
use garrick_journal::DurableActor;
use garrick_sim::history::{History, Sequential};

/// A kind of numbered entities. Each entity is a part of a sequential model, which is empty at
/// first.
pub(crate) trait Object:
    Sequential<Key = usize, State: Send, Op: Send + 'static, Ret: Send + 'static> + Default + 'static
{
    /// The type of the actors.
    type Entity: DurableActor<Msg = Request<Self>>;

    /// Beginning of the names of the entities.
    const NAME: &'static str;

    /// Number of simulated clients, if the entities decide ahead. Each call without an answer may
    /// have taken effect or not. With many such calls, the check of a history would take too long.
    const CLIENTS_AHEAD: u64;

    /// Returns an entity. If `panics` is true, it panics in some decisions.
    fn entity(panics: bool) -> Self::Entity;

    /// Returns an operation on an entity, which depends on the random number `chance`. `new` is a
    /// number that no other operation gets. `view` is the state as the client knows it.
    fn operation(key: usize, chance: u64, new: u64, view: &Self::State) -> Self::Op;

    /// Returns the operation that reads the whole state of an entity.
    fn look(key: usize) -> Self::Op;

    /// If `ret` is the result of reading an entity, sets the state of this entity to the state in
    /// `ret`.
    fn see(state: &mut Self::State, key: usize, ret: &Self::Ret);
}

/// A message to an entity: the operation of a client.
pub(crate) struct Request<O: Object> {
    pub(crate) op: O::Op,
    pub(crate) reply: Reply<O::Ret>,
}

/// A history of the operations on entities.
pub(crate) type HistoryOf<O> = History<<O as Sequential>::Op, <O as Sequential>::Ret>;

/// Returns the number of the entity that an operation concerns.
pub(crate) fn key_of<O: Object>(op: &O::Op) -> usize {
    let key = Sequential::key(&O::default(), op);
    key.expect("an operation concerns one entity")
}

/// Returns the name of an entity.
pub(crate) fn name_of<O: Object>(key: usize) -> String {
    format!("{}-{key}", O::NAME)
}
