//! Children that are async actors.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use garrick_core::backoff::Backoff;
use garrick_sched::Address;

use super::policy::{Decision, Policy, Restart, Shutdown, policy_setters};
use super::tree::{Child, SuperviseError, Tree};
use crate::failure::fault::Fault;
use crate::future::{
    AsyncActor, House, Incoming, Make, Receives, Resident, address_of_kept, make_of_actor,
};
use crate::system::handle::Handle;

/// Configures an async actor as a child, as [`Child`] does for other actors. Its future is created
/// at the start and again at each restart. The address and the mailbox stay: the next future
/// receives the messages that the last one has not received.
///
/// A future that returns counts as stopped by itself. After a panic or a failed handler the future
/// cannot go on, so a decision to [`Resume`](Decision::Resume) restarts it. Its mailbox never
/// closes.
///
/// # Examples
/// ```
/// use garrick_actor::{AsyncChild, Incoming, Reply, Strategy, Supervisor, System};
///
/// enum Msg {
///     Add(u64),
///     Get(Reply<u64>),
/// }
///
/// /// Counts, and fails at 13.
/// async fn count(mut mailbox: Incoming<Msg>) {
///     let mut sum = 0;
///     while let Some(msg) = mailbox.recv().await {
///         match msg {
///             Msg::Add(13) => panic!("13 is not counted"),
///             Msg::Add(n) => sum += n,
///             Msg::Get(reply) => reply.send(sum),
///         }
///     }
/// }
///
/// let system = System::builder().on_failure(|_| ()).start()?;
/// # std::panic::set_hook(Box::new(|_| ()));
/// let tree = Supervisor::new("app", Strategy::OneForOne).spawn(&system.handle())?;
/// let counter = tree.start_async(AsyncChild::new("counter", count))?;
/// counter.send(Msg::Add(5))?;
/// assert_eq!(counter.ask(Msg::Get).wait(), Ok(5));
/// counter.send(Msg::Add(13))?;
/// counter.send(Msg::Add(2))?;
/// assert_eq!(counter.ask(Msg::Get).wait(), Ok(2), "a new one, behind the same address");
/// tree.stop().wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a child is started by `Tree::start_async`"]
pub struct AsyncChild<M: Send + 'static> {
    policy: Policy,
    make: Arc<Make<M>>,
    receives: Receives,
}

impl<M: Send + 'static> AsyncChild<M> {
    /// Creates a child whose futures come from `function`.
    pub fn new<F, Fut>(name: impl Into<String>, function: F) -> Self
    where
        F: Fn(Incoming<M>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self {
            policy: Policy::new(name, Shutdown::default()),
            make: Arc::new(move |mailbox| Box::pin(function(mailbox))),
            receives: Receives::AsItLikes,
        }
    }

    /// Creates a child from `factory`, whose handlers await.
    pub fn of_actor<A>(
        name: impl Into<String>,
        factory: impl Fn() -> A + Send + Sync + 'static,
    ) -> Self
    where
        A: AsyncActor<Msg = M>,
    {
        Self {
            policy: Policy::new(name, Shutdown::default()),
            make: make_of_actor(factory),
            receives: Receives::ByHand,
        }
    }

    policy_setters!();

    /// Converts this into a child whose messages are words.
    fn seated(mut self) -> Child<Resident<M>> {
        if let Some(decider) = self.policy.decider.take() {
            self = self.decide(move |fault| match decider(fault) {
                Decision::Resume => Decision::Restart,
                decision => decision,
            });
        }
        let house = House::new(self.receives, self.make);
        Child {
            policy: self.policy,
            factory: Box::new(move || house.resident()),
        }
    }
}

impl<M: Send + 'static> fmt::Debug for AsyncChild<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncChild")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Tree {
    /// Starts an async actor as another child, like [`Tree::start`].
    ///
    /// # Errors
    /// Returns a [`SuperviseError`] if the child cannot be started.
    ///
    /// # Examples
    /// See [`AsyncChild`].
    pub fn start_async<M: Send + 'static>(
        &self,
        child: AsyncChild<M>,
    ) -> Result<Address<M>, SuperviseError> {
        self.start(child.seated()).map(address_of_kept)
    }

    /// Starts an async actor as another child, on another system.
    ///
    /// # Errors
    /// Returns a [`SuperviseError`] if the child cannot be started.
    pub fn start_async_on<M: Send + 'static>(
        &self,
        handle: &Handle,
        child: AsyncChild<M>,
    ) -> Result<Address<M>, SuperviseError> {
        self.start_on(handle, child.seated()).map(address_of_kept)
    }
}
