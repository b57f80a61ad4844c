//! Making sponsors.

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

/// Turns of one sponsor that may block at once, at most; see [`Builder::blocking_threads`].
pub const BLOCKING_THREADS_MAX: usize = 4096;
/// So many, if nothing else is said.
const BLOCKING_THREADS: usize = if cfg!(garrick_loom) { 1 } else { 64 };

/// Why a sponsor could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A pool of no workers was asked for.
    NoWorkers,
    /// There would be more than [`WORKERS_MAX`] workers in the process.
    TooManyWorkers {
        /// How many were asked for.
        asked: usize,
    },
    /// More than [`BLOCKING_THREADS_MAX`] turns would be allowed to block at once.
    TooManyBlockingThreads {
        /// How many were asked for.
        asked: usize,
    },
    /// A core was named that the machine does not have.
    NoSuchCore {
        /// The core that was named, counted from 0.
        core: usize,
        /// How many there are.
        cores: usize,
    },
    /// The name has a NUL byte in it. Threads are named after their sponsor, and the system ends a thread's
    /// name at the first of these bytes; any other character may be in it.
    NulInName {
        /// The name that was given.
        name: String,
    },
    /// The stack that was asked for is too small or too large for a worker.
    StackSize {
        /// The bytes that were asked for.
        bytes: usize,
    },
    /// The size of a stack was named for the calling thread, which has its stack already.
    StackHere,
    /// The system gave no thread.
    Thread(io::Error),
    /// A worker's driver could not be made.
    Driver(io::Error),
    /// A driver was named for the calling thread. Only threads of the sponsor's own sleep in one.
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
            Self::Thread(error) => write!(f, "the system gave no thread: {error}"),
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

/// How a sponsor is to be. Made by [`Sponsor::builder`].
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

    /// Its name, and the beginning of its threads' names; `sponsor` unless told. Without NUL bytes.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How many threads run its tasks; 1 unless told.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Pins the workers to these cores, in turns. Where the system cannot pin, nothing happens.
    #[must_use]
    pub fn pin_to(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.cores = cores.into_iter().collect();
        self
    }

    /// The bytes of each worker's stack, from [`STACK_BYTES_MIN`] to [`STACK_BYTES_MAX`].
    ///
    /// By default it is what the standard library gives a thread: 2 MiB, or what the environment variable
    /// `RUST_MIN_STACK` says. Handlers that recurse deeply need more. The system rounds up to whole pages, and takes memory
    /// as it is touched.
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

    /// Lets a thread that waits in a [`Call`](crate::Call) run the task that it calls, if no worker is awake to do so; true by
    /// default. Then no thread is woken for a short question, which makes that several times as fast.
    ///
    /// The task's handler runs on the caller's thread then, with its name, stack, thread-local values and, in a runtime for
    /// futures, its context; and the caller's timeouts do not fire meanwhile. After a visit of more than 20 us the next 64
    /// questions to that worker go to its own threads. After short visits up to 7 in a row are not timed. All questions go to its own
    /// threads where workers are [pinned](Builder::pin_to), have a [driver](Builder::driver), or stacks of a
    /// [size of their own](Builder::stack_size).
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

    /// Lets so many turns be in [`Turn::blocking`](crate::Turn::blocking) at once without keeping a worker from other tasks; 64 by
    /// default, [`BLOCKING_THREADS_MAX`] at most. For each of them a spare thread runs other tasks. It is started when it is
    /// needed, and ends with the sponsor.
    ///
    /// A further turn that blocks keeps its worker until it goes on. So does every one where workers are
    /// [pinned](Builder::pin_to) or have a [driver](Builder::driver).
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

    /// Sets whether strangers are refused once the sponsor has begun to end, in order or at once; false by default.
    ///
    /// A stranger is a thread that runs no tasks of this sponsor. Once [`shutdown`](Sponsor::shutdown), or one of the other ends, has
    /// begun, what a stranger sends comes back to it, as from a task that has stopped, and what it asks has no answer. What was
    /// taken before is handled, unless the end is one at once. The sponsor's own tasks go on sending to each other, and get the answers
    /// that they have asked strangers for. So an end in order comes soon, however much strangers go on sending. Without this, they
    /// can put it off for as long as they send.
    ///
    /// Each message from outside of a turn pays for it: it takes a lock for reading. A task of another sponsor is refused what it
    /// sends; what its turn has staged before the end began may still arrive, or become a dead letter. So may what is sent to a task
    /// that has not yet arrived from a sponsor that takes what strangers send.
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

    /// Has an idle worker serve the tasks of every other one that is in a turn, however short, and in whatever world: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn lend_at_once(mut self, at_once: bool) -> Self {
        self.lends_at_once = at_once;
        self
    }

    /// The world it lives in; the real one unless told.
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// Whether it counts what each kind of task does, for [`Handle::sample`](crate::Handle::sample); not unless told.
    /// It costs a few nanoseconds an activation, whatever the number of messages that are handled in it.
    #[must_use]
    pub fn probes(mut self, probes: bool) -> Self {
        self.probes = probes;
        self
    }

    /// Attaches what the layer above wants to know of the sponsor, for [`Handle::attachment`](crate::Handle::attachment).
    #[doc(hidden)]
    #[must_use]
    pub fn attach(mut self, attachment: impl Any + Send + Sync) -> Self {
        self.attachment = Some(Box::new(attachment));
        self
    }

    /// Lets its workers sleep in drivers; in their threads' own sleep unless told.
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

    /// Starts its threads.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    ///
    /// # Panics
    /// If [`World::spawn_thread`], [`Drivers::driver`] or [`Driver::waker`](crate::Driver::waker) panics; nothing is left running then either.
    pub fn start(self) -> Result<Sponsor, StartError> {
        let cores = self.check()?;
        let drivers = self.drivers()?;
        let stack_size = self.stack_size;
        let hands = self.hands();
        let shared = self.share(hands)?;
        thread::start(&shared, &cores, stack_size, drivers)
    }

    /// A driver for each worker, or none.
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

    /// Makes a sponsor of the calling thread.
    ///
    /// # Errors
    /// See [`StartError`].
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
            // Before a driver is made for each of them, or room.
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

    /// Makes what the workers of a sponsor share, whose threads a model brings.
    #[cfg(all(test, garrick_loom))]
    pub(crate) fn share_in_model(self, roams: bool) -> Arc<Shared> {
        let hands = if roams { self.hands() } else { Hands::FIXED };
        let shared = self.share(hands).expect("a model has few workers");
        shared.expect_workers();
        shared
    }

    /// Who may sit on the seats of such a sponsor.
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
        // No other world than the real one says how long a turn takes.
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
