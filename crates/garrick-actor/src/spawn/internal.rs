//! Actors that belong to a library and not to the program. Telemetry does not show them among the
//! actors of the program, and their unhandled messages do not count as dead letters.

use std::any::type_name;
use std::future::Future;
use std::marker::PhantomData;

use garrick_sched::Address;

use super::kind::{SpawnAt, Spawnable};
use super::options::{Own, Settle};
use super::place::Takes;
use crate::future::{self, Body, Incoming, Named};
use crate::model::actor::Actor;
use crate::model::context::Context;

/// A wrapper that marks an actor as belonging to a library.
#[derive(Debug)]
pub struct Internal<A>(pub A);

impl<A: Actor> Actor for Internal<A> {
    type Msg = A::Msg;
    type Outcome = A::Outcome;
    const STARTS: bool = A::STARTS;
    const BLOCKS: bool = A::BLOCKS;
    const COMMITS_LATER: bool = A::COMMITS_LATER;
    const INTERNAL: bool = true;
    const MESSAGES: &'static [&'static str] = A::MESSAGES;

    fn started(&mut self, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        self.0.started(cx)
    }

    fn receive(&mut self, msg: A::Msg, cx: &mut Context<'_, A::Msg>) -> A::Outcome {
        self.0.receive(msg, cx)
    }

    fn is_letter(_: &A::Msg) -> bool {
        false
    }

    fn message_kind(msg: &A::Msg) -> usize {
        A::message_kind(msg)
    }

    fn name() -> &'static str {
        A::name()
    }
}

/// A wrapper that marks an async function as belonging to a library.
#[derive(Debug)]
pub struct InternalFunction<F>(pub F);

/// The kind of a [`Spawnable`] value that is an [`InternalFunction`].
#[expect(missing_debug_implementations, reason = "never created")]
pub struct OfInternal<M, Fut>(PhantomData<fn(M) -> Fut>);

/// A type that provides the name of an [`InternalFunction`]. The name is the type name of the
/// function's future.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct NameOfInternal<Fut>(PhantomData<fn(Fut)>);

impl<Fut: 'static> Named for NameOfInternal<Fut> {
    const INTERNAL: bool = true;

    fn name() -> &'static str {
        type_name::<Fut>()
    }
}

impl<M, F, Fut> Spawnable<OfInternal<M, Fut>> for InternalFunction<F>
where
    M: Send + 'static,
    F: FnOnce(Incoming<M>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    type Msg = M;
}

impl<M, F, Fut, X, P> SpawnAt<OfInternal<M, Fut>, X, Own, P> for InternalFunction<F>
where
    M: Send + 'static,
    F: FnOnce(Incoming<M>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
    X: Settle,
    P: Takes<Body<M, F, Fut, NameOfInternal<Fut>>>,
{
    #[expect(
        clippy::result_large_err,
        reason = "a rejected task is returned by value"
    )]
    fn spawn_at(self, options: X, Own: Own, place: P) -> Result<Address<M>, Self> {
        let plan = future::of_function(self.0, options.into_path());
        let spawned = plan.spawn(
            |body| place.take_any(body),
            |body, start| place.send_in_turn(body, start),
        );
        spawned.map_err(Self)
    }
}
