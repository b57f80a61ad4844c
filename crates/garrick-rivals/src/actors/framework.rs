//! Interface that an actor library, or its substitute, implements to take part.
//!
//! [`Framework`] has one implementation for each contender, with one actor, its *host*, written as
//! the library's documentation writes actors. The work of a scenario's actors is a [`Role`],
//! written once. A host plays any role.
//!
//! ```text
//!   driver (the scenario's) --- spawn, tell, ask ---> host of the framework [ role of the scenario ]
//! ```

use std::any::Any;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use garrick_measure::Result;
use tokio::runtime;

/// Behavior of an actor, in any framework.
pub(crate) trait Role<F: Framework>: Sized + Send + 'static {
    /// Type of its messages.
    type Message: Send + 'static;

    /// True if the role blocks threads. For libraries that ask.
    const BLOCKS: bool = false;

    /// Handles one message. If a framework's handlers are not futures, this future is ready at
    /// once, because `tell` and `spawn` are ready at once there.
    fn receive(&mut self, message: Self::Message) -> impl Future<Output = Flow> + Send;
}

/// Continuation of an actor after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The actor waits for more messages.
    Continue,
    /// No more messages will come. If an actor ends with its last address, nothing has to be done.
    Stop,
}

/// A kind of actor other than the plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// An actor with a registered name.
    Named,
    /// An actor with a supervisor, which restarts it when it fails, behind the same address or
    /// another one.
    Supervised,
    /// An actor with handlers that may await.
    Async,
}

/// A value that an actor needs beside its address.
pub(crate) type Kept = Box<dyn Any + Send>;

/// Returns a name that no actor has had.
pub(crate) fn new_name() -> String {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    format!("counter {}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// An actor library.
pub(crate) trait Framework: Sized + Send + Sync + 'static {
    /// Name in tables.
    const NAME: &'static str;

    /// True if the framework has bounded mailboxes, at which a sender waits when they are full.
    const HAS_BOUNDED: bool;

    /// Kinds of actors that the framework has, beside the plain one.
    const WAYS: &'static [Way] = &[];

    /// Address of an actor in a role.
    type Address<R: Role<Self>>: Clone + Send + Sync + 'static;

    /// Address of an actor that answers a number with the next one.
    type Answerer: Send + Sync + 'static;

    /// Runs `driver` as a task beside the actors. With one worker, everything runs on this thread.
    /// Otherwise it runs on `workers` other threads, if the framework has a choice.
    fn run<T: Send + 'static>(
        workers: usize,
        driver: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        run_on_tokio(workers, driver)
    }

    /// Spawns an actor, with a mailbox of `bound` messages or an unbounded one.
    fn spawn<R: Role<Self>>(
        role: R,
        bound: Option<usize>,
    ) -> impl Future<Output = Self::Address<R>> + Send;

    /// Spawns an actor in one of its [`WAYS`](Self::WAYS), with an unbounded mailbox. The second
    /// value keeps everything alive that the actor needs.
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
    /// Panics if the actor is gone. No scenario's actor ends before its last message.
    fn tell<R: Role<Self>>(
        to: &Self::Address<R>,
        message: R::Message,
    ) -> impl Future<Output = ()> + Send;

    /// Spawns an actor that answers.
    fn answerer() -> impl Future<Output = Self::Answerer> + Send;

    /// Asks the answerer, and waits for the answer.
    fn ask(answerer: &Self::Answerer, number: u64) -> impl Future<Output = u64> + Send;

    /// Runs tasks beside the driver: each on a free worker, or on another thread.
    fn go<T: Future<Output = ()> + Send + 'static>(tasks: Vec<T>) {
        for task in tasks {
            tokio::spawn(task);
        }
    }

    /// Yields to the other tasks of the caller's thread.
    fn pause() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

/// Runs `driver` on a tokio runtime: on the calling thread for one worker, otherwise on `workers`
/// other threads. The driver is a task like the actors, because the future that a runtime blocks on
/// is woken through the system's poll.
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
