//! Shared code of the tests: a local system whose clock is set by hand, listeners, and services
//! that are closures.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use garrick_actor::behaviors::{Request, Service};
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::{Actor, Address, Ask, Context, Handle, Local, Next, NoReply, Reply, System};
use garrick_testkit::{ByHand, ON_PURPOSE};

/// An actor that runs a closure for each message.
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

/// Creates an actor from a closure.
pub(crate) fn does<M: 'static, F: FnMut(M) -> Next + 'static>(receive: F) -> Does<M, F> {
    Does {
        receive,
        message: PhantomData,
    }
}

/// A system on the current thread, with a clock that is set by hand.
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

    /// Spawns an actor that passes its messages to the test. Returns the address of the actor and
    /// the receiver of the messages.
    pub(crate) fn listener<M: Send + 'static>(&self) -> (Address<M>, Receiver<M>) {
        let (told, heard) = channel();
        let listener = self.spawn(does(move |msg| {
            told.send(msg).unwrap();
            Next::Continue
        }));
        (listener, heard)
    }

    /// Spawns a service that calls a closure for each question.
    pub(crate) fn service<Q: 'static, R: 'static>(
        &self,
        mut answer: impl FnMut(Q, Reply<R>) + 'static,
    ) -> Service<Q, R> {
        self.spawn(does(move |(question, reply): Request<Q, R>| {
            answer(question, reply);
            Next::Continue
        }))
    }

    /// Spawns a service that answers each question with the question itself.
    pub(crate) fn echo<Q: 'static>(&self) -> Service<Q, Q> {
        self.service(|question, reply: Reply<Q>| reply.send(question))
    }

    /// Spawns a service that drops each reply without an answer.
    pub(crate) fn mute<Q: 'static, R: 'static>(&self) -> Service<Q, R> {
        self.service(|_, reply| drop(reply))
    }

    /// Spawns a service that panics at every question.
    pub(crate) fn doomed<Q: 'static, R: 'static>(&self) -> Service<Q, R> {
        self.service(|_, reply| {
            let _held = reply;
            std::panic::resume_unwind(Box::new(ON_PURPOSE))
        })
    }

    /// Returns the address of an actor that has stopped.
    pub(crate) fn stopped<M: 'static>(&self) -> Address<M> {
        let address = self.spawn(does(|_: M| Next::Continue));
        self.stop(&address);
        address
    }

    /// Stops an actor and checks that it has stopped.
    pub(crate) fn stop<M: 'static>(&self, address: &Address<M>) {
        address.stop();
        self.run();
        assert!(address.is_stopped());
    }

    /// Spawns a service that passes each question, with its reply, to the test. The test then
    /// answers the question.
    pub(crate) fn by_hand<Q: Send + 'static, R: Send + 'static>(
        &self,
    ) -> (Service<Q, R>, Receiver<Request<Q, R>>) {
        self.listener()
    }

    /// Runs all ready actors and all due timers.
    pub(crate) fn run(&self) {
        // The clock is looked at every few activations only.
        (0..16).for_each(|_| self.local.run());
    }

    /// Advances the clock and runs the system.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.run();
    }

    /// Asks a service and runs the system. Returns the answer, or an error if there is no answer
    /// yet.
    pub(crate) fn ask<Q: 'static, R: Send + 'static>(
        &self,
        service: &Service<Q, R>,
        question: Q,
    ) -> Result<R, NoReply> {
        let ask = service.ask(|reply| (question, reply));
        self.answer(ask)
    }

    /// Runs the system and returns the answer. The clock does not advance.
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

/// A listener whose mailbox holds one message and refuses others. The listener handles its message
/// only when the test asks for it.
pub(crate) struct Narrow<M: 'static> {
    local: Local,
    pub(crate) address: Address<M>,
    told: Receiver<M>,
}

impl<M: Send + 'static> Narrow<M> {
    pub(crate) fn new() -> Self {
        let local = Local::new().unwrap();
        let (tell, told) = channel();
        let listener = does(move |msg| {
            tell.send(msg).unwrap();
            Next::Continue
        });
        let mailbox = Mailbox::bounded(1, OnFull::Fail).unwrap();
        let address = local.actor(listener).mailbox(mailbox).spawn();
        Self {
            local,
            address,
            told,
        }
    }

    /// Lets the listener handle its message, and returns what it has heard since the last call.
    pub(crate) fn heard(&self) -> Vec<M> {
        self.local.run();
        heard(&self.told)
    }

    pub(crate) fn stop(&self) {
        self.address.stop();
        self.local.run();
        assert!(self.address.is_stopped());
    }
}

/// Returns all messages that the test has received since the last call.
pub(crate) fn heard<M>(receiver: &Receiver<M>) -> Vec<M> {
    receiver.try_iter().collect()
}

pub(crate) const DROPPED: NoReply = NoReply::Dropped;
