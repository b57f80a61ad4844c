//! The interface between the scenarios and the actor libraries. Tasks and threads without a library
//! have the same interface.
//!
//! [`Framework`] has one implementation for each contender. The implementation contains one actor,
//! its *host*, which is written as the library's documentation recommends. The work of a scenario's
//! actors is a [`Role`], which is written once. A host can play any role.
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
    type Message: Send + 'static;

    /// True if the role blocks its thread. Some libraries must know this in advance.
    const BLOCKS: bool = false;

    /// Handles one message. In frameworks with synchronous handlers, the futures of `tell` and
    /// `spawn` are ready at their first poll. So the future of this method is ready at its first
    /// poll, too.
    fn receive(&mut self, message: Self::Message) -> impl Future<Output = Flow> + Send;
}

/// The decision of an actor, after a message, to continue or to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The actor continues, and waits for more messages.
    Continue,
    /// The actor ends, because no more messages will come. Libraries that stop an actor when its
    /// last address is dropped ignore this decision.
    Stop,
}

/// A kind of actor with an additional feature, such as a name or a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// An actor with a registered name.
    Named,
    /// An actor with a supervisor, which restarts the actor after a failure. The restarted actor
    /// may have the same address or a new one.
    Supervised,
    /// An actor with handlers that may await.
    Async,
}

/// A value that must be kept alive because an actor needs it.
pub(crate) type Kept = Box<dyn Any + Send>;

/// Returns a name that no actor has had before.
pub(crate) fn new_name() -> String {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    format!("counter {}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// An actor library, or tasks or threads that take its place.
pub(crate) trait Framework: Sized + Send + Sync + 'static {
    /// Name of the framework in tables.
    const NAME: &'static str;

    /// True if the framework has bounded mailboxes. A sender waits while such a mailbox is full.
    const HAS_BOUNDED: bool;

    /// Kinds of actors that the framework has in addition to plain actors.
    const WAYS: &'static [Way] = &[];

    /// Address of an actor that plays the role `R`.
    type Address<R: Role<Self>>: Clone + Send + Sync + 'static;

    /// Address of an actor that answers each number `n` with `n + 1`.
    type Answerer: Send + Sync + 'static;

    /// Runs the future `driver` as a task of the framework's runtime, like the actors. By default,
    /// the driver and the actors run on this thread if `workers` is 1, and otherwise on `workers`
    /// other threads. actix and plain threads ignore `workers`.
    fn run<T: Send + 'static>(
        workers: usize,
        driver: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        run_on_tokio(workers, driver)
    }

    /// Spawns an actor that plays `role`. Its mailbox has the capacity `bound`, or is unbounded if
    /// `bound` is `None`.
    fn spawn<R: Role<Self>>(
        role: R,
        bound: Option<usize>,
    ) -> impl Future<Output = Self::Address<R>> + Send;

    /// Spawns an actor of the kind `way`, with an unbounded mailbox. Only the kinds in
    /// [`WAYS`](Self::WAYS) are possible. The second returned value keeps alive everything that the
    /// actor needs.
    fn spawn_in_way<R: Role<Self>>(
        way: Way,
        role: R,
    ) -> impl Future<Output = (Self::Address<R>, Kept)> + Send {
        async move {
            debug_assert_eq!(
                way,
                Way::Async,
                "frameworks implement all other ways themselves"
            );
            (Self::spawn(role, None).await, Box::new(()) as Kept)
        }
    }

    /// Sends a message to an actor, without waiting for an answer.
    ///
    /// # Panics
    /// Panics if the actor has stopped. No actor of a scenario stops before its last message.
    fn tell<R: Role<Self>>(
        to: &Self::Address<R>,
        message: R::Message,
    ) -> impl Future<Output = ()> + Send;

    /// Spawns an actor that answers each number `n` with `n + 1`.
    fn answerer() -> impl Future<Output = Self::Answerer> + Send;

    /// Sends `number` to the actor `answerer`, and waits for the answer, which is `number + 1`.
    fn ask(answerer: &Self::Answerer, number: u64) -> impl Future<Output = u64> + Send;

    /// Starts each task on a free worker or on a new thread. The tasks run at the same time as the
    /// driver, the code that measures.
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

/// Runs `driver` on a tokio runtime. With one worker, the runtime uses the calling thread, and
/// otherwise `workers` other threads. The driver is spawned as a task, like the actors. A future
/// that is passed to `block_on` directly would be slower, because tokio wakes it by a system call.
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
