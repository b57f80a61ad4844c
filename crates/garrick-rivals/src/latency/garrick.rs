//! Garrick as one of the frameworks, so that its actors play the same roles as those of the rivals.
//!
//! A role has no context, so it sends through addresses. In a turn, sends through addresses are
//! staged like sends through the context. A role creates actors through the handle of the system of
//! its thread.

use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::pin::pin;
use std::task::{self, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures_util::pending;
use garrick::{Actor, Address, Context, Handle, Next, Reply, System};
use garrick_measure::Result;

use super::peers::{BLOCKING_THREADS, Blocks, Peer};
use crate::actors::framework::{Flow, Framework, Role};

/// The library Garrick, as a framework.
#[derive(Debug)]
pub(super) struct Garrick;

thread_local! {
    /// The system to which this thread belongs as a worker, or on which this thread creates actors.
    static HERE: RefCell<Option<Handle>> = const { RefCell::new(None) };
    /// The time for which the running actor has requested to block its thread. `None` if there is
    /// no request.
    static BLOCKS: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// An actor that handles its messages by a [`Role`], the behavior that is shared by all frameworks.
struct Host<R>(R);

impl<R: Role<Garrick>> Actor for Host<R> {
    type Msg = R::Message;
    type Outcome = Next;
    const STARTS: bool = false;

    const BLOCKS: bool = R::BLOCKS;

    fn receive(&mut self, message: R::Message, cx: &mut Context<'_, R::Message>) -> Next {
        // A worker's thread exits with its system, so it always belongs to the same system.
        HERE.with_borrow_mut(|here| {
            here.get_or_insert_with(|| cx.sponsor());
        });
        let mut turn = pin!(self.0.receive(message));
        let mut waits = task::Context::from_waker(Waker::noop());
        loop {
            match turn.as_mut().poll(&mut waits) {
                Poll::Ready(Flow::Continue) => return Next::Continue,
                Poll::Ready(Flow::Stop) => return Next::Stop,
                Poll::Pending => {
                    let time = BLOCKS.take().expect("the role waits only to block");
                    cx.blocking(|| thread::sleep(time));
                }
            }
        }
    }
}

impl Blocks for Garrick {
    /// Requests to block the thread for `time`. The [`Host`] then blocks the thread, because a role
    /// has no context.
    async fn block(time: Duration) {
        BLOCKS.set(Some(time));
        pending!();
    }
}

/// A question: a number `n`, and the reply for the answer, which is `n + 1`.
pub(super) struct Question(u64, Reply<u64>);

/// An actor that answers each number `n` with `n + 1`.
struct Answerer;

impl Actor for Answerer {
    type Msg = Question;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, Question(number, reply): Question, _: &mut Context<'_, Question>) {
        reply.send(number + 1);
    }
}

fn start<A: Actor<Msg: Send> + Send>(actor: A) -> Address<A::Msg> {
    HERE.with_borrow(|here| {
        let here = here.as_ref().expect("the thread belongs to a system");
        here.spawn(actor).expect("the system is not ending")
    })
}

impl Framework for Garrick {
    const NAME: &'static str = "garrick";
    const HAS_BOUNDED: bool = false;

    type Address<R: Role<Self>> = Address<R::Message>;
    type Answerer = Address<Question>;

    fn run<T: Send + 'static>(
        workers: usize,
        driver: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        Self::outside(workers, driver)
    }

    fn spawn<R: Role<Self>>(
        role: R,
        _: Option<usize>,
    ) -> impl Future<Output = Self::Address<R>> + Send {
        ready(start(Host(role)))
    }

    fn tell<R: Role<Self>>(
        to: &Self::Address<R>,
        message: R::Message,
    ) -> impl Future<Output = ()> + Send {
        assert!(to.send(message).is_ok(), "the actor has not stopped");
        ready(())
    }

    async fn answerer() -> Self::Answerer {
        start(Answerer)
    }

    async fn ask(answerer: &Self::Answerer, number: u64) -> u64 {
        let answer = answerer.call(|reply| Question(number, reply)).await;
        answer.expect("the answerer has answered")
    }
}

impl Peer for Garrick {
    const ON_TOKIO: bool = false;

    fn outside<T>(workers: usize, driver: impl Future<Output = T>) -> Result<T> {
        let system = System::builder()
            .workers(workers)
            .blocking_threads(BLOCKING_THREADS)
            .start()?;
        HERE.set(Some(system.handle()));
        let end = Ok(pollster::block_on(driver));
        HERE.set(None);
        end
    }

    fn ask_and_wait(answerer: &Self::Answerer, number: u64) -> u64 {
        let answer = answerer.call(|reply| Question(number, reply)).wait();
        answer.expect("the answerer has answered")
    }
}
