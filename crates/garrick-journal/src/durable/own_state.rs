//! Entities that run durable actors whose state is the actor itself.

use super::actor::DurableActor;
use super::entity::Entity;
use super::journal::Journal;
use crate::error::JournalError;

impl Journal {
    /// Returns the entity with the given name, like [`Journal::entity`], for an actor whose state
    /// is the actor itself. The attribute `#[garrick::durable]` generates such actors. The state
    /// begins with its default value.
    ///
    /// # Errors
    /// Returns [`JournalError::Name`] if the name is not accepted by
    /// [`check_name`](crate::check_name).
    pub fn entity_of<A: DurableActor<State = A> + Default>(
        &self,
        name: impl Into<String>,
    ) -> Result<Entity<A>, JournalError> {
        self.entity(name, A::default())
    }
}
