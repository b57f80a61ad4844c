//! actix. Handlers are plain functions, and actors belong to the thread on which they were started.
//!
//! `do_send` ignores the bound of a mailbox, and `send` awaits the end of the handler. So actix has
//! no send that only waits for room in a bounded mailbox.

use std::future::{Future, ready};

use ::actix::{Actor, Addr, Arbiter, Context, Handler, Message, Supervised, Supervisor, System};
use futures_util::FutureExt;
use futures_util::future::join_all;
use garrick_measure::Result;

use crate::actors::framework::{Framework, Kept, Role, Way};

/// The library actix, as a [`Framework`].
#[derive(Debug)]
pub(crate) struct Actix;

/// An actor that handles its messages by a [`Role`], the behavior that is shared by all frameworks.
pub(crate) struct Host<R>(pub(crate) R);

/// Message to a [`Host`].
struct Told<M>(M);

impl<M> Message for Told<M> {
    type Result = ();
}

// No field is pinned.
impl<R> Unpin for Host<R> {}

impl<R: Role<Actix>> Actor for Host<R> {
    type Context = Context<Self>;
}

impl<R: Role<Actix>> Handler<Told<R::Message>> for Host<R> {
    type Result = ();

    fn handle(&mut self, Told(message): Told<R::Message>, _: &mut Context<Self>) {
        self.0
            .receive(message)
            .now_or_never()
            .expect("the role does not wait");
    }
}

impl<R: Role<Actix>> Supervised for Host<R> {}

/// An actor that answers each number `n` with `n + 1`.
pub(crate) struct Answerer;

/// A question to an [`Answerer`].
struct Question(u64);

impl Message for Question {
    type Result = u64;
}

impl Actor for Answerer {
    type Context = Context<Self>;
}

impl Handler<Question> for Answerer {
    type Result = u64;

    fn handle(&mut self, Question(number): Question, _: &mut Context<Self>) -> u64 {
        number + 1
    }
}

impl Framework for Actix {
    const NAME: &'static str = "actix";
    const HAS_BOUNDED: bool = false;

    type Address<R: Role<Self>> = Addr<Host<R>>;
    type Answerer = Addr<Answerer>;

    fn run<T: Send + 'static>(
        _: usize,
        driver: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        Ok(System::new().block_on(async { ::actix::spawn(driver).await })?)
    }

    fn spawn<R: Role<Self>>(
        role: R,
        _: Option<usize>,
    ) -> impl Future<Output = Self::Address<R>> + Send {
        ready(Host(role).start())
    }

    const WAYS: &'static [Way] = &[Way::Supervised];

    fn spawn_in_way<R: Role<Self>>(
        _: Way,
        role: R,
    ) -> impl Future<Output = (Self::Address<R>, Kept)> + Send {
        let address = Supervisor::start(|_: &mut Context<Host<R>>| Host(role));
        ready((address, Box::new(()) as Kept))
    }

    fn tell<R: Role<Self>>(
        to: &Self::Address<R>,
        message: R::Message,
    ) -> impl Future<Output = ()> + Send {
        to.do_send(Told(message));
        ready(())
    }

    async fn answerer() -> Self::Answerer {
        Answerer.start()
    }

    async fn ask(answerer: &Self::Answerer, number: u64) -> u64 {
        let answer = answerer.send(Question(number)).await;
        answer.expect("the answerer has answered")
    }

    fn go<T: Future<Output = ()> + Send + 'static>(tasks: Vec<T>) {
        Arbiter::new().spawn(async {
            join_all(tasks).await;
            Arbiter::current().stop();
        });
    }
}
