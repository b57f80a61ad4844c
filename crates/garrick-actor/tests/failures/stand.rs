//! Shared code of the tests: a system whose clock is set by hand, an actor that fails on request,
//! and a list of the failure reports.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::supervise::{Strategy, Supervisor, Tree};
use garrick_actor::system::Builder;
use garrick_actor::{Actor, Address, Context, Failure, Handle, Incoming, Local, Next, System};
use garrick_testkit::{ByHand, fail, silence_panics};

/// A message to an actor that fails on request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Do {
    Panic,
    Fail,
    Stop,
}

/// An error whose `source` is another error.
#[derive(Debug)]
pub(crate) struct NoAccount;

impl fmt::Display for NoAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no account")
    }
}

impl Error for NoAccount {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&fmt::Error)
    }
}

/// Text of the failure report for the error [`NoAccount`].
pub(crate) const NO_ACCOUNT: &str =
    "there is no account: an error occurred when formatting an argument";

/// An actor that panics, fails or stops, depending on the message.
pub(crate) struct Teller;

impl Actor for Teller {
    type Msg = Do;
    type Outcome = Next;

    fn receive(&mut self, what: Do, cx: &mut Context<'_, Do>) -> Next {
        match what {
            Do::Panic => fail(),
            Do::Fail => cx.fail(NoAccount),
            Do::Stop => Next::Stop,
        }
    }
}

/// An async actor that panics when it receives [`Do::Panic`].
pub(crate) async fn clerk(mut mailbox: Incoming<Do>) {
    while let Some(what) = mailbox.recv().await {
        if matches!(what, Do::Panic) {
            fail();
        }
    }
}

/// A system on the current thread, with a clock that is set by hand and a list of its failure
/// reports.
pub(crate) struct Stand {
    pub(crate) local: Local,
    pub(crate) world: Arc<ByHand>,
    reports: Arc<Mutex<Vec<Failure>>>,
}

impl Stand {
    pub(crate) fn new() -> Self {
        Self::of(System::builder())
    }

    pub(crate) fn of(builder: Builder) -> Self {
        silence_panics();
        let (world, reports) = (ByHand::new(), Arc::<Mutex<Vec<Failure>>>::default());
        let told = reports.clone();
        let builder = builder.world(world.clone());
        let local = builder
            .on_failure(move |failure| told.lock().unwrap().push(failure.clone()))
            .local()
            .unwrap();
        Self {
            local,
            world,
            reports,
        }
    }

    /// Runs all ready actors and all due timers.
    pub(crate) fn run(&self) {
        (0..16).for_each(|_| self.local.run());
    }

    pub(crate) fn handle(&self) -> Handle {
        self.local.handle()
    }

    /// Returns the failure reports since the last call.
    pub(crate) fn reports(&self) -> Vec<Failure> {
        std::mem::take(&mut self.reports.lock().unwrap())
    }

    /// Sends a message to an actor and runs the system.
    pub(crate) fn tell(&self, teller: &Address<Do>, what: Do) {
        teller.send(what).unwrap();
        self.run();
    }

    /// Spawns a [`Teller`] with the given name as a child of `tree`.
    pub(crate) fn teller(&self, tree: &Tree, name: &str) -> Address<Do> {
        let teller = self.local.actor(|| Teller).named(name);
        let teller = teller.supervised_by(tree).spawn().unwrap();
        self.run();
        teller
    }

    /// Spawns a tree that allows 1000 restarts per hour.
    pub(crate) fn tree(&self) -> Tree {
        supervisor("bank").spawn(&self.handle()).unwrap()
    }
}

pub(crate) fn supervisor(name: &str) -> Supervisor {
    Supervisor::new(name, Strategy::OneForOne).intensity(1000, Duration::from_secs(3600))
}

/// Returns a supervisor that allows `restarts` restarts per second.
pub(crate) fn strict(name: &str, restarts: usize) -> Supervisor {
    Supervisor::new(name, Strategy::OneForOne).intensity(restarts, Duration::from_secs(1))
}
