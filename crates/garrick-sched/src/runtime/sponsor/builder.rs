//! The builder of sponsors (groups of workers).

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use garrick_core::fence::Asymmetric;

use super::gate::OwnGate;
use super::signal::Signal;
use super::thread::{self, Driven};
use super::{Attachment, Extras, Failure, Hands, Here, LendBy, Reporter, Shared, Sponsor};
use crate::cell::Home;
use crate::driver::Drivers;
use crate::hooks::{Hooks, simulates_here};
#[cfg(feature = "sim")]
use crate::names::TaskName;
use crate::remote::{Remote, WORKERS_MAX};
use crate::world::{STACK_BYTES_MAX, STACK_BYTES_MIN, World};

/// The maximum value for [`Builder::blocking_threads`]: 4,096.
pub const BLOCKING_THREADS_MAX: usize = 4096;

const _: () = {
    let (workers, away) = Signal::COUNTS_MAX;
    assert!(WORKERS_MAX <= workers && BLOCKING_THREADS_MAX <= away);
};
/// Default of [`Builder::blocking_threads`].
const BLOCKING_THREADS: usize = if cfg!(garrick_loom) { 1 } else { 64 };

/// The error returned when a sponsor (a group of workers) cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A sponsor with zero workers was requested.
    NoWorkers,
    /// The process would have more than [`WORKERS_MAX`] workers.
    TooManyWorkers {
        /// Requested number of workers.
        asked: usize,
    },
    /// More than [`BLOCKING_THREADS_MAX`] blocking threads were requested.
    TooManyBlockingThreads {
        /// Requested number of blocking threads.
        asked: usize,
    },
    /// The machine does not have a core with the requested number.
    NoSuchCore {
        /// Number of the requested core, counted from 0.
        core: usize,
        /// Number of cores of the machine.
        cores: usize,
    },
    /// The name contains a NUL byte, which is not allowed in the name of a thread. Threads are
    /// named after their sponsor.
    NulInName {
        /// The rejected name.
        name: String,
    },
    /// The requested stack is too small or too large for a worker.
    StackSize {
        /// Requested stack size in bytes.
        bytes: usize,
    },
    /// A stack size was set for a sponsor on the calling thread, which already has a stack.
    StackHere,
    /// The operating system could not create a thread.
    Thread(io::Error),
    /// The driver of a worker could not be created. Contains the error that [`Drivers::driver`]
    /// returned.
    Driver(io::Error),
    /// The calling thread runs a simulation. The results of the simulation would depend on the
    /// speed of the sponsor's threads. Start simulated nodes instead.
    InSimulation,
    /// A driver was set for a sponsor on the calling thread. Only threads that a sponsor starts can
    /// sleep in a driver.
    DriverHere,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkers => {
                f.write_str("a sponsor needs at least 1 worker, but 0 were requested")
            }
            Self::TooManyWorkers { asked } => {
                write!(
                    f,
                    "cannot start {asked} more workers: a process can have at most {WORKERS_MAX}"
                )
            }
            Self::TooManyBlockingThreads { asked } => {
                write!(
                    f,
                    "cannot use {asked} blocking threads: a sponsor can have at most \
                     {BLOCKING_THREADS_MAX}"
                )
            }
            Self::NoSuchCore { core, cores } => {
                write!(
                    f,
                    "there is no core {core}: this machine has cores 0 to {}",
                    cores - 1
                )
            }
            Self::NulInName { name } => {
                write!(
                    f,
                    "the name {name:?} contains a NUL byte: the threads of a sponsor are named \
                     after it, and the name of a thread cannot contain NUL bytes"
                )
            }
            Self::StackSize { bytes } => {
                write!(
                    f,
                    "a worker cannot have a stack of {bytes} bytes: the size must be \
                     {STACK_BYTES_MIN} to {STACK_BYTES_MAX} bytes"
                )
            }
            Self::StackHere => f.write_str(
                "the stack size of the calling thread cannot be changed: set a stack size only for \
                 a sponsor that starts its own threads",
            ),
            Self::Thread(error) => write!(f, "the system could not create a thread: {error}"),
            Self::Driver(error) => {
                write!(f, "the driver of a worker could not be created: {error}")
            }
            Self::InSimulation => f.write_str(
                "a simulation has no threads: spawn on a node of the simulation instead of starting a \
                 system",
            ),
            Self::DriverHere => f.write_str(
                "the calling thread cannot sleep in a driver: set a driver only for a sponsor that \
                 starts its own threads",
            ),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Thread(error) | Self::Driver(error) => Some(error),
            _ => None,
        }
    }
}

/// The configuration of a sponsor (a group of workers). [`Sponsor::builder`] creates it.
///
/// # Examples
/// ```
/// let sponsor = garrick_sched::Sponsor::builder().workers(2).name("io").start()?;
/// assert_eq!(sponsor.handle().workers(), 2);
/// # Ok::<(), garrick_sched::StartError>(())
/// ```
pub struct Builder {
    name: String,
    workers: usize,
    cores: Vec<usize>,
    stack_size: Option<usize>,
    callers_run: bool,
    blocking_threads: usize,
    lends_at_once: bool,
    refuses_strangers: bool,
    hooks: Hooks,
    world: Option<Arc<dyn World>>,
    reporter: Option<Reporter>,
    probes: bool,
    attachment: Option<Attachment>,
    drivers: Option<Box<dyn Drivers + Send>>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            name: "sponsor".to_owned(),
            workers: 1,
            cores: Vec::new(),
            stack_size: None,
            callers_run: true,
            blocking_threads: BLOCKING_THREADS,
            lends_at_once: false,
            refuses_strangers: false,
            hooks: Hooks::none(),
            world: None,
            reporter: None,
            probes: false,
            attachment: None,
            drivers: None,
        }
    }

    /// Sets the name of the sponsor. The names of its threads begin with this name. The default is
    /// `sponsor`. The name must not contain NUL bytes.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the number of worker threads. The default is 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Pins each worker to one of `cores`, in round-robin order. Cores are numbered from 0. Does
    /// nothing on systems that cannot pin threads.
    #[must_use]
    pub fn pin_to(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.cores = cores.into_iter().collect();
        self
    }

    /// Sets the stack size of each worker in bytes, from [`STACK_BYTES_MIN`] to
    /// [`STACK_BYTES_MAX`].
    ///
    /// The default is the standard library's default for threads: 2 MiB, or the value of the
    /// environment variable `RUST_MIN_STACK`. Handlers with deep recursion need more. The operating
    /// system rounds the size up to whole pages, and allocates physical memory only when the memory
    /// is accessed.
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::Sponsor;
    ///
    /// let sponsor = Sponsor::builder().stack_size(16 << 20).start()?;
    /// sponsor.shutdown();
    ///
    /// let error = Sponsor::builder().stack_size(0).start().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "a worker cannot have a stack of 0 bytes: the size must be 65536 to 1073741824 bytes"
    /// );
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets whether a thread that waits for the answer to a [`Call`](crate::Call) may run the asked
    /// task itself while the worker of the task is asleep. The default is true.
    ///
    /// The advantage is that no thread needs to be woken. So a short question is answered several
    /// times as fast.
    ///
    /// The handler of the task then runs on the caller's thread. It uses the name, the stack and
    /// the thread-local values of this thread and, in a runtime for futures, the context of the
    /// caller. A timeout around the call cannot fire while the thread runs the task.
    ///
    /// The time during which a caller runs tasks of a worker is called a *visit*. After a visit of
    /// more than 20 us, the sponsor's own threads handle the next 64 questions to this worker.
    /// While visits are short, only every eighth visit is measured.
    ///
    /// If workers are [pinned](Builder::pin_to), or have a [driver](Builder::driver) or a [stack
    /// size](Builder::stack_size), callers never run tasks.
    ///
    /// # Examples
    /// ```
    /// let sponsor = garrick_sched::Sponsor::builder().callers_run(false).start()?;
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    #[must_use]
    pub fn callers_run(mut self, callers_run: bool) -> Self {
        self.callers_run = callers_run;
        self
    }

    /// Sets how many turns can be in [`Turn::blocking`](crate::Turn::blocking) at the same time
    /// without blocking a worker. The default is 64, and the maximum is [`BLOCKING_THREADS_MAX`].
    ///
    /// During each of these turns, a spare thread runs the other tasks of the worker. Spare threads
    /// are started when they are needed, and exit when the sponsor stops.
    ///
    /// While this number of turns is in [`Turn::blocking`](crate::Turn::blocking), each further
    /// call blocks the worker of the calling turn. If workers are [pinned](Builder::pin_to) or have
    /// a [driver](Builder::driver), every blocking turn blocks its worker.
    ///
    /// # Examples
    /// ```
    /// let sponsor = garrick_sched::Sponsor::builder().blocking_threads(8).start()?;
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    #[must_use]
    pub fn blocking_threads(mut self, threads: usize) -> Self {
        self.blocking_threads = threads;
        self
    }

    /// Sets whether messages from strangers are refused after a shutdown has begun. The default is
    /// false. A stranger is a thread that does not run tasks of this sponsor.
    ///
    /// After [`shutdown`](Sponsor::shutdown) or another kind of shutdown has begun, a message from
    /// a stranger is returned to its sender, as if the task had stopped. A question from a stranger
    /// gets no answer. Messages that were accepted before the shutdown are handled, except in an
    /// immediate shutdown. The sponsor's own tasks can still send to each other. They also get the
    /// answers to questions that they have asked strangers. So an orderly shutdown finishes soon,
    /// even if strangers continue to send. Without this option, strangers that continue to send can
    /// delay an orderly shutdown.
    ///
    /// The cost is a read lock for each message that is sent outside of a turn. Messages from tasks
    /// of other sponsors are also refused. But a message that such a task staged before the
    /// shutdown began may still arrive, or may become a dead letter. The same is true for a message
    /// to a task that is moving to this sponsor from a sponsor that does not refuse strangers.
    ///
    /// # Examples
    /// ```
    /// # use garrick_sched::{Flow, Sponsor, Task, Turn};
    /// struct Sink;
    /// impl Task for Sink {
    ///     type Message = u32;
    ///     fn receive(&mut self, _: u32, _: &Turn<'_, u32>) -> Flow {
    ///         Flow::Continue
    ///     }
    /// }
    ///
    /// let sponsor = Sponsor::builder().refuse_strangers(true).start()?;
    /// let sink = sponsor.handle().spawn(Sink).unwrap();
    /// sink.send(1).unwrap();
    /// sponsor.begin_shutdown();
    /// assert!(sink.send(2).is_err());
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    #[must_use]
    pub fn refuse_strangers(mut self, refuse: bool) -> Self {
        self.refuses_strangers = refuse;
        self
    }

    /// Sets whether idle workers help each busy worker immediately: they run the waiting tasks of
    /// the busy worker during its turn. By default, they help only during a long turn, and only in
    /// the [`RealWorld`](crate::RealWorld). With this setting, they help in any [`World`]. Intended
    /// for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn lend_at_once(mut self, at_once: bool) -> Self {
        self.lends_at_once = at_once;
        self
    }

    /// Sets the [`World`] of the sponsor: its clock, its random seeds and its threads. The default
    /// is a [`RealWorld`](crate::RealWorld).
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// Sets whether the sponsor (group of workers) counts the work of each kind of task.
    /// [`Handle::sample`](crate::Handle::sample) returns these counts. The default is false.
    ///
    /// Counting takes one store for each activation (a sequence of turns of one task). Some
    /// activations are also timed, which takes less than one hundredth of the running time.
    /// Counting needs one more thread, which [`World::spawn_thread`](crate::World::spawn_thread)
    /// starts. If this thread cannot be started, the times of long activations are less exact.
    #[must_use]
    pub fn probes(mut self, probes: bool) -> Self {
        self.probes = probes;
        self
    }

    /// Attaches a value to the sponsor (group of workers), for a crate that is built on this crate.
    /// [`Handle::attachment`](crate::Handle::attachment) returns the value.
    #[doc(hidden)]
    #[must_use]
    pub fn attach(mut self, attachment: impl Any + Send + Sync) -> Self {
        self.attachment = Some(Box::new(attachment));
        self
    }

    /// Gives each worker a [`Driver`](crate::Driver), which `drivers` creates. An idle worker
    /// sleeps in its driver. By default, there are no drivers, and an idle worker parks its thread.
    #[must_use]
    pub fn driver(mut self, drivers: impl Drivers + Send + 'static) -> Self {
        self.drivers = Some(Box::new(drivers));
        self
    }

    /// Sets a function that is called for every panic of a task. The function is also called for
    /// panics of other user code that the sponsor calls, such as a [driver](crate::Driver), or a
    /// [door](crate::Door) during a turn. The function is called on the thread that panicked.
    #[must_use]
    pub fn on_failure(mut self, reporter: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// Starts the threads of the sponsor (group of workers).
    ///
    /// # Errors
    /// Returns a [`StartError`] if the sponsor cannot be started. In this case, all threads that
    /// were already started have stopped again.
    ///
    /// # Panics
    /// Panics if [`World::spawn_thread`], [`Drivers::driver`] or
    /// [`Driver::waker`](crate::Driver::waker) panics. In this case, too, all threads that were
    /// already started have stopped again.
    pub fn start(self) -> Result<Sponsor, StartError> {
        if simulates_here() {
            return Err(StartError::InSimulation);
        }
        let cores = self.check()?;
        let drivers = self.drivers()?;
        let stack_size = self.stack_size;
        let hands = self.hands();
        let shared = self.share(hands)?;
        thread::start(&shared, &cores, stack_size, drivers)
    }

    /// Creates a driver for each worker. Returns `None` for each worker if no drivers were set.
    fn drivers(&self) -> Result<Vec<Option<Driven>>, StartError> {
        let make = |worker| {
            let drivers = self.drivers.as_ref();
            let driver = drivers.map(|drivers| drivers.driver(worker)).transpose()?;
            Ok(driver.map(Driven::new))
        };
        (0..self.workers)
            .map(make)
            .collect::<io::Result<_>>()
            .map_err(StartError::Driver)
    }

    /// Creates a sponsor (a group of workers) that runs on the calling thread.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the sponsor cannot be created. For example, a driver and a stack
    /// size are allowed only for a sponsor that starts its own threads.
    pub fn here(mut self) -> Result<Here, StartError> {
        if self.drivers.is_some() {
            return Err(StartError::DriverHere);
        }
        if self.stack_size.is_some() {
            return Err(StartError::StackHere);
        }
        self.workers = 1;
        self.check()?;
        Ok(Here::new(self.share(Hands::FIXED)?))
    }

    /// Creates a sponsor on the calling thread, for a simulation. If code outside of tasks creates
    /// a task, the parent of this task is `root`.
    #[cfg(feature = "sim")]
    pub(crate) fn simulated(mut self, root: TaskName) -> Result<Here, StartError> {
        self.hooks = Hooks::active(root);
        self.here()
    }

    #[cfg(feature = "sim")]
    pub(crate) fn name_of(&self) -> &str {
        &self.name
    }

    fn check(&self) -> Result<Vec<usize>, StartError> {
        if self.workers == 0 {
            return Err(StartError::NoWorkers);
        }
        if self.workers > WORKERS_MAX {
            // Checked before a driver or any memory is allocated for each worker.
            let asked = self.workers;
            return Err(StartError::TooManyWorkers { asked });
        }
        if self.blocking_threads > BLOCKING_THREADS_MAX {
            let asked = self.blocking_threads;
            return Err(StartError::TooManyBlockingThreads { asked });
        }
        if self.name.contains('\0') {
            let name = self.name.clone();
            return Err(StartError::NulInName { name });
        }
        let stacks = STACK_BYTES_MIN..=STACK_BYTES_MAX;
        if let Some(bytes) = self.stack_size
            && !stacks.contains(&bytes)
        {
            return Err(StartError::StackSize { bytes });
        }
        if self.cores.is_empty() {
            // Counting the cores takes tens of microseconds.
            return Ok(Vec::new());
        }
        let cores = thread::cores();
        if let Some(&core) = self.cores.iter().find(|&&core| core >= cores) {
            return Err(StartError::NoSuchCore { core, cores });
        }
        Ok(self.cores.clone())
    }

    /// Creates the state that the workers of a loom model share.
    #[cfg(all(test, garrick_loom))]
    pub(crate) fn share_in_model(self, roams: bool) -> Arc<Shared> {
        let hands = if roams { self.hands() } else { Hands::FIXED };
        let shared = self.share(hands).expect("a model has few workers");
        shared.expect_workers();
        shared
    }

    /// Returns the rules that determine which threads may run the workers.
    fn hands(&self) -> Hands {
        let roam = self.drivers.is_none();
        Hands {
            roam,
            have_guests: roam
                && self.callers_run
                && self.cores.is_empty()
                && self.stack_size.is_none(),
            away_max: if roam && self.cores.is_empty() {
                self.blocking_threads
            } else {
                0
            },
            lend_by: if roam { self.lend_by() } else { None },
        }
    }

    /// Returns the settings by which workers lend their cells to other workers during long turns.
    /// Returns `None` if they do not lend cells.
    fn lend_by(&self) -> Option<LendBy> {
        let at_once = self.lends_at_once;
        // Only the real world has a clock that measures how long a turn takes.
        let is_timed = self.world.is_none() && !cfg!(garrick_loom);
        if self.workers < 2 || !self.cores.is_empty() || !(is_timed || at_once) {
            return None;
        }
        let fence = Asymmetric::detect();
        // A fence for each look would cost more than lending gains. Tests accept the cost.
        let can_lend = fence.is_light_free() || at_once;
        can_lend.then_some(LendBy { fence, at_once })
    }

    fn share(self, hands: Hands) -> Result<Arc<Shared>, StartError> {
        let asked = self.workers;
        let mut homes: Vec<Home> = Vec::new();
        while homes.len() < asked {
            let Some(home) = Remote::claim() else {
                homes.into_iter().for_each(Remote::release);
                return Err(StartError::TooManyWorkers { asked });
            };
            homes.push(home);
        }
        let gate = if self.refuses_strangers {
            let Some(gate) = OwnGate::claim() else {
                homes.into_iter().for_each(Remote::release);
                return Err(StartError::TooManyWorkers { asked });
            };
            Some(gate)
        } else {
            None
        };
        let shared = Arc::new(Shared::new(
            self.name,
            self.world,
            homes,
            Extras {
                reporter: self.reporter,
                probes: self.probes,
                attachment: self.attachment,
                gate,
                hooks: self.hooks,
            },
            hands,
        ));
        shared.open_gate();
        Ok(shared)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("workers", &self.workers)
            .field("cores", &self.cores)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
