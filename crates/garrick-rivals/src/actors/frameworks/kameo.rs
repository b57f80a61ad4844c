//! kameo. Handlers are futures, mailboxes are bounded or unbounded, and actors stop when their last
//! reference is dropped.
//!
//! `request.send().await` has the same effect as `request.await`, but does not allocate a box.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use ::kameo::actor::{Actor, ActorRef, Spawn};
use ::kameo::mailbox;
use ::kameo::message::{Context, Message};

use crate::actors::framework::{Framework, Kept, Role, Way, new_name};

/// The library kameo, as a [`Framework`].
#[derive(Debug)]
pub(crate) struct Kameo;

/// An actor that handles its messages by a [`Role`], the behavior that is shared by all frameworks.
pub(crate) struct Host<R>(R);

impl<R: Role<Kameo>> Actor for Host<R> {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(host: Self, _: ActorRef<Self>) -> std::result::Result<Self, Infallible> {
        Ok(host)
    }
}

impl<R: Role<Kameo>> Message<R::Message> for Host<R> {
    type Reply = ();

    async fn handle(&mut self, message: R::Message, _: &mut Context<Self, ()>) {
        self.0.receive(message).await;
    }
}

/// An actor that answers each number `n` with `n + 1`.
pub(crate) struct Answerer;

/// A question to an [`Answerer`].
struct Question(u64);

impl Actor for Answerer {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(answerer: Self, _: ActorRef<Self>) -> std::result::Result<Self, Infallible> {
        Ok(answerer)
    }
}

impl Message<Question> for Answerer {
    type Reply = u64;

    async fn handle(
        &mut self,
        Question(number): Question,
        _: &mut Context<Self, u64>,
    ) -> Self::Reply {
        number + 1
    }
}

impl Framework for Kameo {
    const NAME: &'static str = "kameo";
    const HAS_BOUNDED: bool = true;

    type Address<R: Role<Self>> = ActorRef<Host<R>>;
    type Answerer = ActorRef<Answerer>;

    async fn spawn<R: Role<Self>>(role: R, bound: Option<usize>) -> Self::Address<R> {
        let mailbox = bound.map_or_else(mailbox::unbounded, mailbox::bounded);
        Host::spawn_with_mailbox(Host(role), mailbox)
    }

    const WAYS: &'static [Way] = &[Way::Named, Way::Supervised, Way::Async];

    async fn spawn_in_way<R: Role<Self>>(way: Way, role: R) -> (Self::Address<R>, Kept) {
        if way == Way::Supervised {
            let parent = Answerer::spawn_with_mailbox(Answerer, mailbox::unbounded());
            let role = Mutex::new(Some(role));
            let made = move || {
                let role = role.lock().unwrap_or_else(PoisonError::into_inner).take();
                Host(role.expect("the actor never fails, so it is created once"))
            };
            let child = Host::supervise_with(&parent, made)
                .spawn_with_mailbox(mailbox::unbounded())
                .await;
            return (child, Box::new(parent));
        }
        let actor = Self::spawn(role, None).await;
        if way == Way::Named {
            let registered = actor.register(new_name());
            registered.expect("the name is new");
        }
        (actor, Box::new(()))
    }

    async fn tell<R: Role<Self>>(to: &Self::Address<R>, message: R::Message) {
        assert!(to.tell(message).send().await.is_ok(), "the actor is there");
    }

    async fn answerer() -> Self::Answerer {
        Answerer::spawn_with_mailbox(Answerer, mailbox::unbounded())
    }

    async fn ask(answerer: &Self::Answerer, number: u64) -> u64 {
        let answer = answerer.ask(Question(number)).send().await;
        answer.expect("the answerer has answered")
    }
}
