//! Spawning of async actors.

use std::any::type_name;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use garrick_sched::{Address, SpawnError};

use super::actor::{AsyncActor, NameOf, run};
use super::body::{Body, Named};
use super::gate::{self, Entry};
use super::incoming::Incoming;
use super::shared::{Receives, Shared, Word, tell_at};
use crate::failure::path::ActorPath;
use crate::quiet::Contained;

/// A type that provides the name of an actor that was spawned from a function. The name is the type
/// name of the actor's future.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct NameOfFuture<F>(PhantomData<fn(F)>);

impl<F: 'static> Named for NameOfFuture<F> {
    fn name() -> &'static str {
        type_name::<F>()
    }
}

/// An async actor that has not been spawned yet. Its future will be created from a value of type
/// `D`.
pub(crate) struct Plan<M: Send + 'static, D, Fut, N> {
    body: Body<M, D, Fut, N>,
    entry: Arc<Entry<M>>,
    shared: Arc<Shared<M>>,
}

impl<M, D, Fut, N> Plan<M, D, Fut, N>
where
    M: Send + 'static,
    D: 'static,
    Fut: Future<Output = ()> + 'static,
    N: Named,
{
    fn new(
        receives: Receives,
        data: D,
        make: fn(D, Incoming<M>) -> Fut,
        path: Option<ActorPath>,
    ) -> Self {
        let shared = Shared::new(receives, path, N::name());
        Self {
            body: Body::new(shared.clone(), data, make),
            entry: Entry::first(&shared),
            shared,
        }
    }

    /// Spawns the actor. `take` spawns the task of the actor. `start` sends the first message to
    /// the task as an effect of the current turn, or returns the message if there is no turn.
    ///
    /// # Errors
    /// If the task cannot be spawned, returns the data from which the actor's future would have
    /// been created.
    pub(crate) fn spawn(
        self,
        take: impl FnOnce(
            Body<M, D, Fut, N>,
        ) -> Result<Address<Word<M>>, SpawnError<Body<M, D, Fut, N>>>,
        start: impl FnOnce(&Address<Word<M>>, Word<M>) -> Result<(), Word<M>>,
    ) -> Result<Address<M>, D> {
        match take(self.body) {
            Ok(body) => {
                if start(&body, Word::START).is_err() {
                    tell_at(&body, Word::ring(&self.shared));
                }
                self.entry.set(body);
                Ok(gate::address(self.entry))
            }
            Err(SpawnError(mut body)) => {
                let data = body.take_data();
                Err(data.expect("it has not started"))
            }
        }
    }
}

/// Returns the unspawned actor (a [`Plan`]) that runs an async function.
pub(crate) fn of_function<M, F, Fut, N>(function: F, path: Option<ActorPath>) -> Plan<M, F, Fut, N>
where
    N: Named,
    M: Send + 'static,
    F: FnOnce(Incoming<M>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    Plan::new(
        Receives::AsItLikes,
        function,
        |function, mailbox| function(mailbox),
        path,
    )
}

/// Returns the unspawned actor (a [`Plan`]) that runs async handlers.
pub(crate) fn of_actor<A: AsyncActor>(
    actor: A,
    path: Option<ActorPath>,
) -> Plan<A::Msg, A, impl Future<Output = ()> + Send + 'static, NameOf<A>> {
    let make = |actor, mailbox| run::<A>(Contained::new(actor), mailbox);
    Plan::new(Receives::ByHand, actor, make, path)
}
