//! Shared code of the scenarios: a local system with a clock set by hand, listeners, and services
//! that are closures.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use garrick_actor::behaviors::{Request, Service};
use garrick_actor::{Actor, Address, Ask, Context, Handle, Local, Next, NoReply, Reply, System};
use garrick_testkit::{ByHand, ON_PURPOSE};

/// An actor that is a closure.
pub(crate) struct Does<M, F> {
    receive: F,
    message: PhantomData<fn(M)>,
}

impl<M: 'static, F: FnMut(M) -> Next + 'static> Actor for Does<M, F> {
    type Msg = M;
    type Outcome = Next;

    fn receive(&mut self, msg: M, _: &mut Context<'_, M>) -> Next {
        (self.receive)(msg)
    }
}

/// Makes an actor of a closure.
pub(crate) fn does<M: 'static, F: FnMut(M) -> Next + 'static>(receive: F) -> Does<M, F> {
    Does {
        receive,
        message: PhantomData,
    }
}

/// A system of this thread.
pub(crate) struct Stand {
    pub(crate) local: Local,
    clock: Arc<ByHand>,
}

impl Stand {
    pub(crate) fn new() -> Self {
        let clock = ByHand::new();
        let builder = System::builder().on_failure(|_| {});
        let local = builder.world(clock.clone()).local().unwrap();
        Self { local, clock }
    }

    pub(crate) fn spawn<A: Actor>(&self, actor: A) -> Address<A::Msg> {
        self.local.spawn(actor)
    }

    /// An actor, and what it hears.
    pub(crate) fn listener<M: Send + 'static>(&self) -> (Address<M>, Receiver<M>) {
        let (told, heard) = channel();
        let listener = self.spawn(does(move |msg| {
            told.send(msg).unwrap();
            Next::Continue
        }));
        (listener, heard)
    }

    /// A service that is a closure.
    pub(crate) fn service<Q: 'static, R: 'static>(
        &self,
        mut answer: impl FnMut(Q, Reply<R>) + 'static,
    ) -> Service<Q, R> {
        self.spawn(does(move |(question, reply): Request<Q, R>| {
            answer(question, reply);
            Next::Continue
        }))
    }

    /// A service that answers with what it was asked.
    pub(crate) fn echo<Q: 'static>(&self) -> Service<Q, Q> {
        self.service(|question, reply: Reply<Q>| reply.send(question))
    }

    /// A service that gives no answers.
    pub(crate) fn mute<Q: 'static, R: 'static>(&self) -> Service<Q, R> {
        self.service(|_, reply| drop(reply))
    }

    /// A service that panics on every question.
    pub(crate) fn doomed<Q: 'static, R: 'static>(&self) -> Service<Q, R> {
        self.service(|_, reply| {
            let _held = reply;
            std::panic::resume_unwind(Box::new(ON_PURPOSE))
        })
    }

    /// The address of an actor that has stopped.
    pub(crate) fn stopped<M: 'static>(&self) -> Address<M> {
        let address = self.spawn(does(|_: M| Next::Continue));
        self.stop(&address);
        address
    }

    /// Stops an actor and sees that it has.
    pub(crate) fn stop<M: 'static>(&self, address: &Address<M>) {
        address.stop();
        self.run();
        assert!(address.is_stopped());
    }

    /// A service whose replies are kept, with the questions, for the scenario to answer.
    pub(crate) fn by_hand<Q: Send + 'static, R: Send + 'static>(
        &self,
    ) -> (Service<Q, R>, Receiver<Request<Q, R>>) {
        self.listener()
    }

    /// Runs what there is to do, timers that are due included.
    pub(crate) fn run(&self) {
        // The clock is looked at every few activations only.
        (0..16).for_each(|_| self.local.run());
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.run();
    }

    /// Asks, and what comes of it at once.
    pub(crate) fn ask<Q: 'static, R: Send + 'static>(
        &self,
        service: &Service<Q, R>,
        question: Q,
    ) -> Result<R, NoReply> {
        let ask = service.ask(|reply| (question, reply));
        self.answer(ask)
    }

    /// Returns the answer of a question for which no time has to pass.
    pub(crate) fn answer<R: Send + 'static>(&self, ask: Ask<R>) -> Result<R, NoReply> {
        self.run();
        ask.wait_timeout(Duration::ZERO)
    }

    pub(crate) fn handle(&self) -> Handle {
        self.local.handle()
    }

    pub(crate) fn dead_letters(&self) -> u64 {
        self.handle().dead_letters()
    }
}

/// All that has been heard.
pub(crate) fn heard<M>(receiver: &Receiver<M>) -> Vec<M> {
    receiver.try_iter().collect()
}

pub(crate) const DROPPED: NoReply = NoReply::Dropped;
