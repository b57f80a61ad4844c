//! The builder of sponsors.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use garrick_core::fence::Asymmetric;

use super::gate::OwnGate;
use super::thread::{self, Driven};
use super::{Attachment, Extras, Failure, Hands, Here, LendBy, Reporter, Shared, Sponsor};
use crate::cell::Home;
use crate::driver::Drivers;
use crate::remote::{Remote, WORKERS_MAX};
use crate::world::{STACK_BYTES_MAX, STACK_BYTES_MIN, World};

/// Largest value of [`Builder::blocking_threads`].
pub const BLOCKING_THREADS_MAX: usize = 4096;
/// Default of [`Builder::blocking_threads`].
const BLOCKING_THREADS: usize = if cfg!(garrick_loom) { 1 } else { 64 };

/// The reason why a sponsor could not be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A pool with zero workers was requested.
    NoWorkers,
    /// The process would have more than [`WORKERS_MAX`] workers.
    TooManyWorkers {
        /// Requested number of workers.
        asked: usize,
    },
    /// More than [`BLOCKING_THREADS_MAX`] turns would be allowed to block at once.
    TooManyBlockingThreads {
        /// Requested number of blocking threads.
        asked: usize,
    },
    /// The machine does not have a core with this number.
    NoSuchCore {
        /// Number of the requested core, counted from 0.
        core: usize,
        /// Number of cores of the machine.
        cores: usize,
    },
    /// The name contains a NUL byte. Threads are named after their sponsor, and the system ends a
    /// thread's name at the first NUL byte. Any other character is allowed.
    NulInName {
        /// The rejected name.
        name: String,
    },
    /// The requested stack is too small or too large for a worker.
    StackSize {
        /// Requested stack size in bytes.
        bytes: usize,
    },
    /// A stack size was set for the calling thread, which has its stack already.
    StackHere,
    /// The system could not create a thread.
    Thread(io::Error),
    /// A worker's driver could not be made.
    Driver(io::Error),
    /// A driver was set for the calling thread. Only a sponsor's own threads can sleep in a driver.
    DriverHere,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkers => write!(f, "a sponsor needs at least 1 worker, not 0"),
            Self::TooManyWorkers { asked } => {
                write!(
                    f,
                    "{asked} more workers are too many: a process can have {WORKERS_MAX}"
                )
            }
            Self::TooManyBlockingThreads { asked } => {
                write!(
                    f,
                    "{asked} threads for turns that block are too many: a sponsor can have {BLOCKING_THREADS_MAX}"
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
                    "the name {name:?} has a NUL byte in it: threads are named after their sponsor, and \
                     the name of a thread can have any other character"
                )
            }
            Self::StackSize { bytes } => {
                write!(
                    f,
                    "a stack of {bytes} bytes is no stack for a worker: it can have {STACK_BYTES_MIN} to \
                     {STACK_BYTES_MAX} bytes"
                )
            }
            Self::StackHere => f.write_str(
                "the calling thread has its stack already: only threads of the sponsor's own can be given one",
            ),
            Self::Thread(error) => write!(f, "the system could not create a thread: {error}"),
            Self::Driver(error) => write!(f, "a worker's driver could not be made: {error}"),
            Self::DriverHere => f.write_str(
                "the calling thread cannot sleep in a driver: only a sponsor with threads of its own can have one",
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

/// The configuration of a sponsor. Made by [`Sponsor::builder`].
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
            world: None,
            reporter: None,
            probes: false,
            attachment: None,
            drivers: None,
        }
    }

    /// Sets the sponsor's name, which is also the start of its threads' names. `sponsor` by
    /// default. It must not contain NUL bytes.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the number of worker threads. 1 by default.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Pins the workers to these cores, round robin. Does nothing on systems that cannot pin
    /// threads.
    #[must_use]
    pub fn pin_to(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.cores = cores.into_iter().collect();
        self
    }

    /// Sets the stack size of each worker in bytes, from [`STACK_BYTES_MIN`] to
    /// [`STACK_BYTES_MAX`].
    ///
    /// The default is the standard library's default for threads: 2 MiB, or the value of the
    /// environment variable `RUST_MIN_STACK`. Handlers that recurse deeply need more. The system
    /// rounds the size up to whole pages, and commits memory when it is touched.
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
    ///     "a stack of 0 bytes is no stack for a worker: it can have 65536 to 1073741824 bytes"
    /// );
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Allows a thread that waits in a [`Call`](crate::Call) to run the called task itself, if no
    /// worker is awake to do so. True by default. Then no thread is woken for a short question,
    /// which makes the question several times as fast.
    ///
    /// The task's handler then runs on the caller's thread, with its name, stack, thread-local
    /// values and, in a runtime for futures, its context. The caller's timeouts do not fire
    /// meanwhile. After a visit of more than 20 us, the next 64 questions to that worker go to its
    /// own threads. After short visits, up to 7 visits in a row are not timed. All questions go to
    /// the worker's own threads if workers are [pinned](Builder::pin_to), or have a
    /// [driver](Builder::driver) or a [stack size](Builder::stack_size).
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

    /// Sets how many turns may be in [`Turn::blocking`](crate::Turn::blocking) at once without
    /// blocking a worker. 64 by default, [`BLOCKING_THREADS_MAX`] at most. For each of these turns
    /// a spare thread runs the other tasks. A spare thread is started when it is needed, and ends
    /// with the sponsor.
    ///
    /// A further turn that blocks keeps its worker until it continues. So does every blocking turn
    /// if workers are [pinned](Builder::pin_to) or have a [driver](Builder::driver).
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

    /// Sets whether strangers are refused once the sponsor has begun to end, in order or at once.
    /// False by default.
    ///
    /// A stranger is a thread that runs no tasks of this sponsor. Once
    /// [`shutdown`](Sponsor::shutdown) or another end has begun, a stranger's message comes back to
    /// it, as from a task that has stopped, and a stranger's question gets no answer. Messages
    /// accepted before are handled, unless the sponsor ends at once. The sponsor's own tasks
    /// continue to send to each other, and get the answers to questions that they have asked
    /// strangers. So an orderly end comes soon, however much strangers continue to send. Without
    /// this option, strangers can delay the end for as long as they send.
    ///
    /// The price is a read lock for each message from outside of a turn. A task of another sponsor
    /// is refused too. Messages that its turn has staged before the end began may still arrive, or
    /// become dead letters. The same is true of a message to a task that is still on its way here
    /// from a sponsor that does not refuse strangers.
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

    /// Makes idle workers serve the tasks of every worker that is in a turn, however short, in any
    /// world. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn lend_at_once(mut self, at_once: bool) -> Self {
        self.lends_at_once = at_once;
        self
    }

    /// Sets the world of the sponsor. The real world by default.
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// Sets whether the sponsor counts the activity of each kind of task, for
    /// [`Handle::sample`](crate::Handle::sample). False by default. It costs a few nanoseconds for
    /// each activation, no matter how many messages the activation handles.
    #[must_use]
    pub fn probes(mut self, probes: bool) -> Self {
        self.probes = probes;
        self
    }

    /// Attaches a value of the layer above to the sponsor, for
    /// [`Handle::attachment`](crate::Handle::attachment).
    #[doc(hidden)]
    #[must_use]
    pub fn attach(mut self, attachment: impl Any + Send + Sync) -> Self {
        self.attachment = Some(Box::new(attachment));
        self
    }

    /// Makes the workers sleep in drivers. By default workers park their threads.
    #[must_use]
    pub fn driver(mut self, drivers: impl Drivers + Send + 'static) -> Self {
        self.drivers = Some(Box::new(drivers));
        self
    }

    /// Calls `reporter`, on the worker's thread, for every task that ends in a panic.
    #[must_use]
    pub fn on_failure(mut self, reporter: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// Starts the sponsor's threads.
    ///
    /// # Errors
    /// A [`StartError`]. Nothing is left running then.
    ///
    /// # Panics
    /// Panics if [`World::spawn_thread`], [`Drivers::driver`] or
    /// [`Driver::waker`](crate::Driver::waker) panics. Nothing is left running then either.
    pub fn start(self) -> Result<Sponsor, StartError> {
        let cores = self.check()?;
        let drivers = self.drivers()?;
        let stack_size = self.stack_size;
        let hands = self.hands();
        let shared = self.share(hands)?;
        thread::start(&shared, &cores, stack_size, drivers)
    }

    /// Returns a driver for each worker, or none for all.
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

    /// Makes a sponsor that runs on the calling thread.
    ///
    /// # Errors
    /// A [`StartError`].
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
        let cores = thread::cores();
        if let Some(&core) = self.cores.iter().find(|&&core| core >= cores) {
            return Err(StartError::NoSuchCore { core, cores });
        }
        Ok(self.cores.clone())
    }

    /// Makes the shared state of a sponsor whose threads are brought by a model.
    #[cfg(all(test, garrick_loom))]
    pub(crate) fn share_in_model(self, roams: bool) -> Arc<Shared> {
        let hands = if roams { self.hands() } else { Hands::FIXED };
        let shared = self.share(hands).expect("a model has few workers");
        shared.expect_workers();
        shared
    }

    /// Returns the hands that may sit on the seats of such a sponsor.
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

    /// Returns the way in which workers that roam lend their cells, if they do.
    fn lend_by(&self) -> Option<LendBy> {
        let at_once = self.lends_at_once;
        // Only the real world has a clock that measures how long a turn takes.
        let is_timed = self.world.is_none() && !cfg!(garrick_loom);
        if self.workers < 2 || !self.cores.is_empty() || !(is_timed || at_once) {
            return None;
        }
        let fence = Asymmetric::detect();
        let can_lend = fence.is_light_free() || cfg!(garrick_loom);
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
