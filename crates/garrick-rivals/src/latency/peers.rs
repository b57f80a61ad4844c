//! Traits for frameworks whose driver is a plain thread outside of the framework.

use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::thread;
use std::time::Duration;

use ::actix::{Actor, Arbiter, System};
use futures_util::FutureExt;
use garrick_measure::Result;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use crate::actors::framework::{Framework, Role};
use crate::actors::frameworks::actix::{Answerer, Host};
use crate::actors::frameworks::{Actix, Kameo, Ractor, Tasks, Xtra};

/// Calls `$function::<F>($argument..)` for each contender, and collects the results.
macro_rules! peers {
    ($function:ident $(, $argument:expr)*) => {
        [
            $function::<$crate::latency::garrick::Garrick>($($argument),*),
            $function::<$crate::actors::frameworks::Kameo>($($argument),*),
            $function::<$crate::actors::frameworks::Ractor>($($argument),*),
            $function::<$crate::actors::frameworks::Actix>($($argument),*),
            $function::<$crate::actors::frameworks::Xtra>($($argument),*),
            $function::<$crate::actors::frameworks::Tasks>($($argument),*),
        ]
    };
}
pub(super) use peers;

/// Number of threads for blocking work, in each contender that has such threads.
pub(super) const BLOCKING_THREADS: usize = 50;

/// A framework whose actors run on a given number of threads, while a plain thread sends messages
/// to them.
pub(super) trait Peer: Framework {
    /// True if the actors are tasks of a tokio runtime whose threads can also run other tasks.
    const ON_TOKIO: bool = true;

    /// Runs `driver` on this thread, and the actors on `workers` other threads. The driver may
    /// block.
    fn outside<T>(workers: usize, driver: impl Future<Output = T>) -> Result<T> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()?;
        Ok(runtime.block_on(driver))
    }

    /// Creates an actor from a thread outside of the framework. If the creator must choose the
    /// actor's thread, the threads are chosen round-robin.
    fn place<R: Role<Self>>(role: R) -> impl Future<Output = Self::Address<R>> + Send {
        Self::spawn(role, None)
    }

    /// Creates an actor from a thread outside of the framework. The actor answers each number `n`
    /// with `n + 1`.
    fn place_answerer() -> impl Future<Output = Self::Answerer> + Send {
        Self::answerer()
    }

    /// Asks an actor from a plain thread, and waits for the answer.
    fn ask_and_wait(answerer: &Self::Answerer, number: u64) -> u64 {
        // The thread is inside tokio's `block_on`, so its asks would use up tokio's budget. Without
        // budget, the future would be woken endlessly.
        pollster::block_on(tokio::task::unconstrained(Self::ask(answerer, number)))
    }
}

/// A framework with threads for blocking work, so that other actors can run meanwhile.
pub(super) trait Blocks: Peer {
    /// Blocks a thread for `time`, on behalf of the actor that awaits the returned future.
    fn block(time: Duration) -> impl Future<Output = ()> + Send {
        spawn_blocking(move || thread::sleep(time)).map(|end| end.expect("sleeping does not panic"))
    }
}

impl Blocks for Kameo {}
impl Blocks for Ractor {}
impl Blocks for Tasks {}
impl Blocks for Xtra {}

impl Peer for Kameo {}
impl Peer for Ractor {}
impl Peer for Tasks {}
impl Peer for Xtra {}

thread_local! {
    /// The threads that run the actors. Each [`Arbiter`] is one thread.
    static ARBITERS: RefCell<Vec<Arbiter>> = const { RefCell::new(Vec::new()) };
    /// The number of actors started so far.
    static PLACED: Cell<usize> = const { Cell::new(0) };
}

/// Starts an actor on the next thread, round-robin.
fn place<A: Actor<Context = ::actix::Context<A>> + Send>(actor: A) -> ::actix::Addr<A> {
    let number = PLACED.replace(PLACED.get() + 1);
    ARBITERS.with_borrow(|arbiters| {
        let arbiter = &arbiters[number % arbiters.len()];
        A::start_in_arbiter(&arbiter.handle(), |_| actor)
    })
}

impl Peer for Actix {
    const ON_TOKIO: bool = false;

    fn outside<T>(workers: usize, driver: impl Future<Output = T>) -> Result<T> {
        System::new().block_on(async {
            ARBITERS.set((0..workers).map(|_| Arbiter::new()).collect());
            let end = driver.await;
            for arbiter in ARBITERS.take() {
                arbiter.stop();
                arbiter.join().expect("no actor panics");
            }
            Ok(end)
        })
    }

    fn place<R: Role<Self>>(role: R) -> impl Future<Output = Self::Address<R>> + Send {
        ready(place(Host(role)))
    }

    fn place_answerer() -> impl Future<Output = Self::Answerer> + Send {
        ready(place(Answerer))
    }
}
