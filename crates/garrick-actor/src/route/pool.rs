//! A pool of workers for short tasks.
//!
//! ```text
//!   run(task) --> [ dispatcher ] --- job ---> [ worker ] --- result ---> asker
//!                  waiting: tasks  <-- done ---
//!                  idle: workers
//! ```
//!
//! Each worker has one task at a time. All other tasks wait in the queue of the dispatcher. So a
//! task never waits behind a long task while another worker is idle, and the dispatcher can limit
//! the number of waiting tasks. To run a task, the dispatcher asks a worker. When the worker has
//! finished the task, it answers with its own address. If the worker fails, the ask fails, and the
//! dispatcher creates another worker.

use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use garrick_sched::{Address, NoReply, Reply, SpawnError};

use crate::ask::request::{Request, flatten};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::quiet::{self, Several};
use crate::system::handle::Handle;

/// A pool of workers that run tasks. Workers are reused, so running a task spawns no actor.
///
/// A worker is a closure that takes a task and returns the result. The pool calls another closure,
/// the factory, to create each worker. A worker keeps its captured values from one task to the
/// next. If a worker panics, its task fails and the worker is replaced. Other tasks are not
/// affected. If the factory panics when the pool calls it to replace a worker, the pool stops and
/// all waiting tasks fail.
///
/// Tasks start in the order in which they were submitted. After the last handle to the pool has
/// been dropped, the pool still runs the tasks that are waiting.
///
/// # Examples
/// ```
/// use garrick_actor::System;
/// use garrick_actor::route::Pool;
///
/// let system = System::new()?;
/// let pool = Pool::spawn(&system.handle(), 4, || {
///     let mut scratch = String::new();
///     move |n: u32| {
///         scratch.clear();
///         scratch.extend((0..n).map(|_| '*'));
///         scratch.len()
///     }
/// })?;
/// let tasks: Vec<_> = (0..100).map(|n| pool.run(n)).collect();
/// for (n, task) in tasks.into_iter().enumerate() {
///     assert_eq!(task.wait()?, n);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Tasks can be closures of different types:
/// ```
/// # use garrick_actor::System;
/// # use garrick_actor::route::Pool;
/// type Task = Box<dyn FnOnce() -> u64 + Send>;
///
/// # let system = System::new()?;
/// let pool = Pool::spawn(&system.handle(), 2, || |task: Task| task())?;
/// let sum = pool.run(Box::new(|| (1..=10).sum()));
/// let product = pool.run(Box::new(|| (1..=10).product()));
/// assert_eq!((sum.wait()?, product.wait()?), (55, 3_628_800));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool<T: 'static, R: 'static> {
    address: Address<Msg<T, R>>,
}

/// The error returned when a [`Pool`] rejects a task, when the task fails, or when the caller does
/// not get the result in time.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError<T> {
    /// All workers are busy, and the queue of waiting tasks is full.
    Full {
        /// The task that was not accepted.
        task: T,
        /// The maximum number of waiting tasks.
        waiting_max: usize,
    },
    /// The worker has failed, the pool has stopped, or the time limit of [`Request::wait_timeout`]
    /// has passed.
    Failed(NoReply),
}

/// The reply that receives the result of a task.
type Outcome<T, R> = Reply<Result<R, PoolError<T>>>;

enum Msg<T: 'static, R: 'static> {
    Run(T, Outcome<T, R>),
    /// A worker has finished a task and sends its own address, or a worker has failed.
    Done(Result<Address<Job<T, R>>, NoReply>),
}

/// A message to a worker.
struct Job<T: 'static, R: 'static> {
    task: T,
    outcome: Outcome<T, R>,
    /// Reply to which the worker sends its own address when it has finished the task.
    done: Reply<Address<Self>>,
}

impl<T: Send + 'static, R: Send + 'static> Pool<T, R> {
    /// Creates a pool with `workers` workers and an unbounded queue for waiting tasks.
    ///
    /// # Errors
    /// Returns an error if the system is shutting down.
    ///
    /// # Panics
    /// Panics if `workers` is 0, or if `factory` panics.
    #[track_caller]
    pub fn spawn<W>(
        on: &Handle,
        workers: usize,
        factory: impl FnMut() -> W + Send + 'static,
    ) -> Result<Self, SpawnError<()>>
    where
        W: FnMut(T) -> R + Send + 'static,
    {
        Self::bounded(on, workers, usize::MAX, factory)
    }

    /// Creates a pool with `workers` workers and a queue for at most `waiting_max` waiting tasks.
    ///
    /// # Errors
    /// Returns an error if the system is shutting down.
    ///
    /// # Panics
    /// Panics if `workers` is 0, or if `factory` panics.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::route::{Pool, PoolError};
    /// use garrick_actor::{Local, System};
    ///
    /// let local = Local::new()?; // Nothing runs before `local.run()`.
    /// let pool = Pool::bounded(&local.handle(), 1, 1, || |n: u32| n + 1)?;
    /// let (first, second, third) = (pool.run(1), pool.run(2), pool.run(3));
    /// local.run();
    /// assert_eq!(first.wait(), Ok(2));
    /// assert_eq!(second.wait(), Ok(3));
    /// let full = third.wait().unwrap_err();
    /// assert_eq!(full, PoolError::Full { task: 3, waiting_max: 1 });
    /// assert_eq!(
    ///     full.to_string(),
    ///     "the pool is full: all workers are busy, and 1 task is waiting, which is the maximum"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn bounded<W>(
        on: &Handle,
        workers: usize,
        waiting_max: usize,
        mut factory: impl FnMut() -> W + Send + 'static,
    ) -> Result<Self, SpawnError<()>>
    where
        W: FnMut(T) -> R + Send + 'static,
    {
        assert!(workers > 0, "a pool needs at least one worker");
        let made = (0..workers).map(|_| on.spawn(Worker::new(factory())));
        let idle: Result<Vec<_>, _> = made.collect();
        let dispatcher = Dispatcher {
            factory: move || Worker::new(factory()),
            idle: idle.map_err(|_| SpawnError(()))?,
            waiting: Several::default(),
            waiting_max,
        };
        let address = on.spawn(dispatcher).map_err(|_| SpawnError(()))?;
        Ok(Self { address })
    }

    /// Runs a task. To get the result, await the returned request, or call [`Request::wait`] on a
    /// thread that is allowed to block.
    pub fn run(&self, task: T) -> Request<R, PoolError<T>> {
        Request::new(self.address.ask(|outcome| Msg::Run(task, outcome)))
    }

    /// Runs a task for the actor that `cx` belongs to. The actor receives the result as a message,
    /// which `convert` creates. All values that `convert` captures must be `Copy`.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::route::{Pool, PoolError};
    /// use garrick_actor::{Actor, Context, Local};
    ///
    /// struct Clerk(Pool<u32, u32>);
    ///
    /// enum Msg {
    ///     Begin,
    ///     Done(Result<u32, PoolError<u32>>),
    /// }
    ///
    /// impl Actor for Clerk {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::Begin => self.0.run_from(cx, 20, Msg::Done),
    ///             Msg::Done(result) => assert_eq!(result, Ok(21)),
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let pool = Pool::spawn(&local.handle(), 1, || |n: u32| n + 1)?;
    /// local.spawn(Clerk(pool)).send(Msg::Begin).unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_from<N, F>(&self, cx: &Context<'_, N>, task: T, convert: F)
    where
        N: Send + 'static,
        F: FnOnce(Result<R, PoolError<T>>) -> N + Copy + Send + 'static,
    {
        cx.ask(
            &self.address,
            |outcome| Msg::Run(task, outcome),
            move |result| convert(flatten(result)),
        );
    }
}

/// The actor that distributes tasks to the workers of a pool.
struct Dispatcher<T: 'static, R: 'static, F> {
    /// Function that creates a worker to replace a failed one.
    factory: F,
    /// Workers without a task. The worker that has become idle most recently gets the next task.
    idle: Vec<Address<Job<T, R>>>,
    /// Tasks that are waiting for a worker, oldest first. Empty if a worker is idle.
    waiting: Several<VecDeque<(T, Outcome<T, R>)>>,
    waiting_max: usize,
}

impl<T, R, W, F> Dispatcher<T, R, F>
where
    T: Send + 'static,
    R: Send + 'static,
    W: FnMut(T) -> R + Send + 'static,
    F: FnMut() -> Worker<T, W>,
{
    fn run(&mut self, task: T, outcome: Outcome<T, R>, cx: &Context<'_, Msg<T, R>>) {
        if let Some(worker) = self.idle.pop() {
            Self::hand(&worker, task, outcome, cx);
        } else if self.waiting.len() < self.waiting_max {
            self.waiting.push_back((task, outcome));
        } else {
            let waiting_max = self.waiting_max;
            // A panic in the asker's conversion must not stop the pool.
            quiet::call(|| outcome.send(Err(PoolError::Full { task, waiting_max })));
        }
    }

    fn free(&mut self, worker: Address<Job<T, R>>, cx: &Context<'_, Msg<T, R>>) {
        match self.waiting.pop_front() {
            Some((task, outcome)) => Self::hand(&worker, task, outcome, cx),
            None => self.idle.push(worker),
        }
    }

    fn hand(
        worker: &Address<Job<T, R>>,
        task: T,
        outcome: Outcome<T, R>,
        cx: &Context<'_, Msg<T, R>>,
    ) {
        let job = |done| Job {
            task,
            outcome,
            done,
        };
        cx.ask(worker, job, Msg::Done);
    }
}

impl<T, R, W, F> Actor for Dispatcher<T, R, F>
where
    T: Send + 'static,
    R: Send + 'static,
    W: FnMut(T) -> R + Send + 'static,
    F: FnMut() -> Worker<T, W> + 'static,
{
    type Msg = Msg<T, R>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg<T, R>, cx: &mut Context<'_, Msg<T, R>>) {
        match msg {
            Msg::Run(task, outcome) => self.run(task, outcome, cx),
            Msg::Done(Ok(worker)) => self.free(worker, cx),
            Msg::Done(Err(_)) => {
                let worker = cx.spawn((self.factory)());
                self.free(worker, cx);
            }
        }
    }
}

/// An actor that runs the tasks of a pool, one at a time.
struct Worker<T, W> {
    work: W,
    task: PhantomData<fn(T)>,
}

impl<T, W> Worker<T, W> {
    fn new(work: W) -> Self {
        let task = PhantomData;
        Self { work, task }
    }
}

impl<T, R, W> Actor for Worker<T, W>
where
    T: Send + 'static,
    R: Send + 'static,
    W: FnMut(T) -> R + 'static,
{
    type Msg = Job<T, R>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, job: Job<T, R>, cx: &mut Context<'_, Job<T, R>>) {
        // If the work panics, both replies are dropped.
        let result = (self.work)(job.task);
        // A panic in the asker's conversion must not end a worker that has done its work.
        quiet::call(|| job.outcome.send(Ok(result)));
        job.done.send(cx.address());
    }

    fn name() -> &'static str {
        type_name::<W>()
    }
}

impl<T> From<NoReply> for PoolError<T> {
    fn from(none: NoReply) -> Self {
        Self::Failed(none)
    }
}

impl<T> fmt::Display for PoolError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { waiting_max, .. } => {
                let wait = if *waiting_max == 1 { " is" } else { "s are" };
                write!(
                    f,
                    "the pool is full: all workers are busy, and {waiting_max} task{wait} waiting, which is the maximum"
                )
            }
            Self::Failed(none) => write!(f, "the task has no result: {none}"),
        }
    }
}

impl<T> fmt::Debug for PoolError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { waiting_max, .. } => f
                .debug_struct("Full")
                .field("waiting_max", waiting_max)
                .finish_non_exhaustive(),
            Self::Failed(none) => f.debug_tuple("Failed").field(none).finish(),
        }
    }
}

impl<T> std::error::Error for PoolError<T> {}

impl<T: 'static, R: 'static> Clone for Pool<T, R> {
    fn clone(&self) -> Self {
        let address = self.address.clone();
        Self { address }
    }
}

impl<T: 'static, R: 'static> fmt::Debug for Pool<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
