//! xtra. Handlers are futures, mailboxes are bounded or unbounded, and actors stop when their last
//! address is dropped.

use ::xtra::{Actor, Address, Context, Handler, Mailbox};

use crate::actors::framework::{Framework, Role, Way};

/// The library xtra, as a [`Framework`].
#[derive(Debug)]
pub(crate) struct Xtra;

/// An actor that handles its messages by a [`Role`], the behavior that is shared by all frameworks.
pub(crate) struct Host<R>(R);

impl<R: Role<Xtra>> Actor for Host<R> {
    type Stop = ();

    async fn stopped(self) {}
}

impl<R: Role<Xtra>> Handler<R::Message> for Host<R> {
    type Return = ();

    async fn handle(&mut self, message: R::Message, _: &mut Context<Self>) {
        self.0.receive(message).await;
    }
}

/// An actor that answers each number `n` with `n + 1`.
pub(crate) struct Answerer;

/// A question to an [`Answerer`].
struct Question(u64);

impl Actor for Answerer {
    type Stop = ();

    async fn stopped(self) {}
}

impl Handler<Question> for Answerer {
    type Return = u64;

    async fn handle(&mut self, Question(number): Question, _: &mut Context<Self>) -> u64 {
        number + 1
    }
}

impl Framework for Xtra {
    const NAME: &'static str = "xtra";
    const HAS_BOUNDED: bool = true;
    const WAYS: &'static [Way] = &[Way::Async];

    type Address<R: Role<Self>> = Address<Host<R>>;
    type Answerer = Address<Answerer>;

    async fn spawn<R: Role<Self>>(role: R, bound: Option<usize>) -> Self::Address<R> {
        let mailbox = bound.map_or_else(Mailbox::unbounded, Mailbox::bounded);
        ::xtra::spawn_tokio(Host(role), mailbox)
    }

    async fn tell<R: Role<Self>>(to: &Self::Address<R>, message: R::Message) {
        assert!(
            to.send(message).detach().await.is_ok(),
            "the actor is there"
        );
    }

    async fn answerer() -> Self::Answerer {
        ::xtra::spawn_tokio(Answerer, Mailbox::unbounded())
    }

    async fn ask(answerer: &Self::Answerer, number: u64) -> u64 {
        let answer = answerer.send(Question(number)).await;
        answer.expect("the answerer has answered")
    }
}
