//! What an actor library, or what stands in for one, has to offer to take part.
//!
//! [`Framework`] has one implementation for each contender, with one actor, its *host*, written as the library's
//! documentation writes actors. What the actors of a scenario do is a [`Role`], written once; a host plays any.
//!
//! ```text
//!   driver (the scenario's) --- spawn, tell, ask ---> host of the framework [ role of the scenario ]
//! ```

use std::any::Any;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use garrick_measure::Result;
use tokio::runtime;

/// What an actor does, in whichever framework.
pub(crate) trait Role<F: Framework>: Sized + Send + 'static {
    /// What it is told.
    type Message: Send + 'static;

    /// Says that it blocks threads, to a library that asks.
    const BLOCKS: bool = false;

    /// Handles one message. Where a framework's handlers are no futures, this one is ready at once, because there
    /// `tell` and `spawn` are.
    fn receive(&mut self, message: Self::Message) -> impl Future<Output = Flow> + Send;
}

/// How an actor goes on after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It waits for more.
    Continue,
    /// There will be no more. Where an actor ends with its last address nothing has to be done about that.
    Stop,
}

/// A way to have an actor beside the plainest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Known by a name.
    Named,
    /// In a supervisor's care, which starts it again when it fails: behind the same address or another one.
    Supervised,
    /// With handlers that may await.
    Async,
}

/// Something that an actor needs beside its address.
pub(crate) type Kept = Box<dyn Any + Send>;

/// Returns a name that no actor has had.
pub(crate) fn new_name() -> String {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    format!("counter {}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// An actor library.
pub(crate) trait Framework: Sized + Send + Sync + 'static {
    /// What it is called in tables.
    const NAME: &'static str;

    /// Whether it has mailboxes that a sender waits at when they are full.
    const HAS_BOUNDED: bool;

    /// The other ways in which it has actors.
    const WAYS: &'static [Way] = &[];

    /// The address of an actor in a role.
    type Address<R: Role<Self>>: Clone + Send + Sync + 'static;

    /// The address of an actor that answers a number with the next one.
    type Answerer: Send + Sync + 'static;

    /// Runs `driver` as a task beside the actors: with one worker all on this thread, else on so many others, if it
    /// has a choice.
    fn run<T: Send + 'static>(
        workers: usize,
        driver: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        run_on_tokio(workers, driver)
    }

    /// Spawns an actor, with a mailbox of so many messages or an unbounded one.
    fn spawn<R: Role<Self>>(
        role: R,
        bound: Option<usize>,
    ) -> impl Future<Output = Self::Address<R>> + Send;

    /// Spawns an actor in one of its [`WAYS`](Self::WAYS), with an unbounded mailbox. What comes with the address keeps who else is needed.
    fn spawn_in_way<R: Role<Self>>(
        way: Way,
        role: R,
    ) -> impl Future<Output = (Self::Address<R>, Kept)> + Send {
        async move {
            debug_assert_eq!(way, Way::Async, "others have a way of their own");
            (Self::spawn(role, None).await, Box::new(()) as Kept)
        }
    }

    /// Sends an actor a message without waiting for an answer.
    ///
    /// # Panics
    /// If the actor is gone, which no scenario's actor is before its last message.
    fn tell<R: Role<Self>>(
        to: &Self::Address<R>,
        message: R::Message,
    ) -> impl Future<Output = ()> + Send;

    /// Spawns an actor that answers.
    fn answerer() -> impl Future<Output = Self::Answerer> + Send;

    /// Asks it, and waits for the answer.
    fn ask(answerer: &Self::Answerer, number: u64) -> impl Future<Output = u64> + Send;

    /// Runs tasks beside the driver: each on whichever worker is free, or on another thread.
    fn go<T: Future<Output = ()> + Send + 'static>(tasks: Vec<T>) {
        for task in tasks {
            tokio::spawn(task);
        }
    }

    /// Lets those run who share the caller's thread.
    fn pause() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

/// Runs `driver` on a tokio runtime: of the calling thread for one worker, else of so many threads beside it. It is
/// a task as the actors' are, because the future that a runtime blocks on is woken through the system's poll.
pub(crate) fn run_on_tokio<T: Send + 'static>(
    workers: usize,
    driver: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let runtime = match workers {
        1 => runtime::Builder::new_current_thread()
            .enable_all()
            .build()?,
        _ => runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build()?,
    };
    Ok(runtime.block_on(async { tokio::spawn(driver).await })?)
}
