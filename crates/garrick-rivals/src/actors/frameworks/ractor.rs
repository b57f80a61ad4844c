//! ractor. `pre_start` creates an actor's state, mailboxes are unbounded, and actors stop on
//! request.

use std::marker::PhantomData;

use ::ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use crate::actors::framework::{Flow, Framework, Kept, Role, Way, new_name};

/// The library ractor, as a [`Framework`].
#[derive(Debug)]
pub(crate) struct Ractor;

/// A message of a role. The type belongs to this crate, so that it can implement a trait of ractor.
pub(crate) struct Letter<M>(pub(crate) M);

// In a build with the feature `cluster` of ractor, types are messages only if they say so.
#[cfg(feature = "far")]
impl<M: Send + 'static> ::ractor::Message for Letter<M> {}

/// An actor that handles its messages by a [`Role`], which is the state of the actor.
struct Host<R>(PhantomData<fn() -> R>);

impl<R: Role<Ractor>> Actor for Host<R> {
    type Msg = Letter<R::Message>;
    type State = R;
    type Arguments = R;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        role: R,
    ) -> std::result::Result<R, ActorProcessingErr> {
        Ok(role)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        Letter(message): Self::Msg,
        role: &mut R,
    ) -> std::result::Result<(), ActorProcessingErr> {
        if role.receive(message).await == Flow::Stop {
            myself.stop(None);
        }
        Ok(())
    }
}

/// An actor that answers each number `n` with `n + 1`.
struct Answerer;

/// A question to an [`Answerer`]: a number `n`, and the reply port for the answer, which is
/// `n + 1`.
pub(crate) struct Question(u64, RpcReplyPort<u64>);

#[cfg(feature = "far")]
impl ::ractor::Message for Question {}

impl Actor for Answerer {
    type Msg = Question;
    type State = ();
    type Arguments = ();

    async fn pre_start(
        &self,
        _: ActorRef<Question>,
        (): (),
    ) -> std::result::Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Question>,
        Question(number, port): Question,
        (): &mut (),
    ) -> std::result::Result<(), ActorProcessingErr> {
        Ok(port.send(number + 1)?)
    }
}

impl Framework for Ractor {
    const NAME: &'static str = "ractor";
    const HAS_BOUNDED: bool = false;

    type Address<R: Role<Self>> = ActorRef<Letter<R::Message>>;
    type Answerer = ActorRef<Question>;

    async fn spawn<R: Role<Self>>(role: R, _: Option<usize>) -> Self::Address<R> {
        let started = Actor::spawn(None, Host::<R>(PhantomData), role).await;
        started
            .expect("the actor has no name that could be taken")
            .0
    }

    const WAYS: &'static [Way] = &[Way::Named, Way::Supervised, Way::Async];

    async fn spawn_in_way<R: Role<Self>>(way: Way, role: R) -> (Self::Address<R>, Kept) {
        let name = (way == Way::Named).then(new_name);
        let host = Host::<R>(PhantomData);
        let (started, kept): (_, Kept) = if way == Way::Supervised {
            let parent = Self::answerer().await;
            let started = Actor::spawn_linked(name, host, role, parent.get_cell()).await;
            (started, Box::new(parent))
        } else {
            (Actor::spawn(name, host, role).await, Box::new(()))
        };
        (started.expect("the name is new").0, kept)
    }

    async fn tell<R: Role<Self>>(to: &Self::Address<R>, message: R::Message) {
        assert!(to.cast(Letter(message)).is_ok(), "the actor is there");
    }

    async fn answerer() -> Self::Answerer {
        let started = Actor::spawn(None, Answerer, ()).await;
        started
            .expect("the actor has no name that could be taken")
            .0
    }

    async fn ask(answerer: &Self::Answerer, number: u64) -> u64 {
        call!(answerer, Question, number).expect("the answerer has answered")
    }
}
