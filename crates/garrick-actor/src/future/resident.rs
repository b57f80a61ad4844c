//! Supervised async actors. A restart replaces the future of the actor. The address and the mailbox
//! stay the same.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use super::actor::{self, AsyncActor};
use super::body::{Body, Named};
use super::incoming::Incoming;
use super::shared::{Heir, Receives, Shared, Word};
use crate::failure::path::ActorPath;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Contained;

/// A boxed future of any type.
pub(crate) type AnyFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Function that creates the future, at the start and at each restart.
pub(crate) type Make<M> = dyn Fn(Incoming<M>) -> AnyFuture + Send + Sync;

type ResidentBody<M, N> = Body<M, Arc<Make<M>>, AnyFuture, N>;

/// Returns a function that creates the futures of an [`AsyncActor`].
pub(crate) fn make_of_actor<A: AsyncActor>(
    factory: impl Fn() -> A + Send + Sync + 'static,
) -> Arc<Make<A::Msg>> {
    Arc::new(move |mailbox| Box::pin(actor::run(Contained::new(factory()), mailbox)))
}

/// A factory that creates a supervised async actor at its first start and at each restart. The type
/// `N` provides the name of the actor's type.
pub(crate) struct House<M: Send + 'static, N> {
    make: Arc<Make<M>>,
    /// Messages that earlier incarnations of the actor have not received. The incarnations have
    /// only weak references to these messages.
    heir: Arc<Heir<M>>,
    receives: Receives,
    path: Option<ActorPath>,
    name: PhantomData<fn(N)>,
}

impl<M: Send + 'static, N: Named> House<M, N> {
    pub(crate) fn new(receives: Receives, make: Arc<Make<M>>, path: Option<ActorPath>) -> Self {
        Self {
            make,
            heir: Heir::new(),
            receives,
            path,
            name: PhantomData,
        }
    }

    /// Creates the next incarnation of a supervised async actor, at the first start or at a
    /// restart.
    pub(crate) fn resident(&self) -> Resident<M, N> {
        let shared = Shared::after(self.receives, &self.heir, self.path.clone(), N::name());
        let body = Body::new(shared, self.make.clone(), |make, mailbox| make(mailbox));
        Resident(body)
    }
}

/// An async actor, wrapped as an [`Actor`] so that a supervisor can run it. Each restart creates a
/// new `Resident`.
#[expect(missing_debug_implementations, reason = "no user can hold one")]
pub struct Resident<M: Send + 'static, N>(ResidentBody<M, N>);

impl<M: Send + 'static, N: Named> Actor for Resident<M, N> {
    type Msg = Word<M>;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, Word<M>>) -> Next {
        self.0.hear(Word::START, cx.turn())
    }

    fn receive(&mut self, word: Word<M>, cx: &mut Context<'_, Word<M>>) -> Next {
        self.0.hear(word, cx.turn())
    }

    const INTERNAL: bool = N::INTERNAL;

    fn is_letter(word: &Word<M>) -> bool {
        word.is_letter()
    }

    fn name() -> &'static str {
        N::name()
    }
}
