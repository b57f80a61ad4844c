//! The builder of systems.

use std::fmt;
use std::sync::Arc;
use std::thread;

use garrick_sched::{Drivers, Sponsor, World};

use crate::extras::named;
use crate::failure::Failure;
use crate::system::workload::Workload;

type Reporter = Box<dyn Fn(&Failure) + Send + Sync>;

/// Configuration of a system. Created by [`System::builder`](crate::System::builder).
///
/// # Examples
/// ```
/// use garrick_actor::System;
///
/// let system = System::builder()
///     .name("quiet")
///     .workers(1)
///     .pin_to([0])
///     .on_failure(|failure| eprintln!("{} said {}", failure.task, failure.message))
///     .start()?;
/// assert_eq!(system.handle().workers(), 1);
/// # Ok::<(), garrick_actor::StartError>(())
/// ```
pub struct Builder {
    name: String,
    /// Number of workers. `None` means one for every core.
    workers: Option<usize>,
    cores: Vec<usize>,
    stack_size: Option<usize>,
    callers_run: bool,
    blocking_threads: Option<usize>,
    refuses_strangers: bool,
    world: Option<Arc<dyn World>>,
    reporter: Option<Reporter>,
    probes: bool,
    workload: Workload,
    drivers: Option<Box<dyn Drivers + Send>>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            name: "system".to_owned(),
            workers: None,
            cores: Vec::new(),
            stack_size: None,
            callers_run: true,
            blocking_threads: None,
            refuses_strangers: false,
            world: None,
            reporter: None,
            probes: false,
            workload: Workload::Mixed,
            drivers: None,
        }
    }

    /// Sets the system's name, which is also the beginning of its threads' names. `system` by
    /// default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the number of threads that run actors. One for every core by default.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Pins the workers to these cores in rotation. Has no effect where the operating system cannot
    /// pin.
    #[must_use]
    pub fn pin_to(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.cores = cores.into_iter().collect();
        self
    }

    /// Sets the size of each worker's stack in bytes, from
    /// [`STACK_BYTES_MIN`](crate::system::STACK_BYTES_MIN) to
    /// [`STACK_BYTES_MAX`](crate::system::STACK_BYTES_MAX).
    ///
    /// The default is that of the standard library's threads: 2 MiB, or the value of the
    /// environment variable `RUST_MIN_STACK`. Handlers that recurse deeply need more. A stack
    /// overflow ends the process. The operating system allocates the memory as it is touched. A
    /// [`Local`](crate::Local) uses the stack of its thread.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{System, behavior};
    ///
    /// let system = System::builder().workers(1).stack_size(64 << 20).start()?;
    /// let walker = system.spawn(behavior(|depth: u32, _| {
    ///     fn walk(depth: u32) -> u32 {
    ///         if depth == 0 {
    ///             0
    ///         } else {
    ///             1 + std::hint::black_box(walk(depth - 1))
    ///         }
    ///     }
    ///     assert_eq!(walk(depth), depth);
    /// }))?;
    /// walker.send(100_000)?;
    /// system.shutdown();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Allows a thread that waits in a [`Call`](crate::Call) to run the called actor if no worker
    /// is awake to do so. True by default. A short call then wakes no thread, which makes it
    /// several times as fast.
    ///
    /// The actor's handler then runs on the caller's thread, with that thread's name, stack,
    /// thread-local values and, in an async runtime, its context. The caller's timeouts do not fire
    /// meanwhile. After a visit of more than 20 us the next 64 calls to that worker go to its own
    /// threads. After short visits up to 7 in a row are not timed. All calls go to the worker's own
    /// threads if workers are [pinned](Builder::pin_to), have a [driver](Builder::driver), or have
    /// a [configured stack size](Builder::stack_size).
    ///
    /// # Examples
    /// ```
    /// let system = garrick_actor::System::builder().workers(1).callers_run(false).start()?;
    /// system.shutdown();
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    #[must_use]
    pub fn callers_run(mut self, callers_run: bool) -> Self {
        self.callers_run = callers_run;
        self
    }

    /// Sets how many turns can be in [`Context::blocking`](crate::Context::blocking) at once
    /// without keeping a worker from other actors. 64 by default, at most
    /// [`BLOCKING_THREADS_MAX`](crate::system::BLOCKING_THREADS_MAX). For each of these turns a
    /// spare thread runs other actors. It is started when it is needed, and ends with the system.
    ///
    /// # Examples
    /// ```
    /// let system = garrick_actor::System::builder().blocking_threads(8).start()?;
    /// system.shutdown();
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    #[must_use]
    pub fn blocking_threads(mut self, threads: usize) -> Self {
        self.blocking_threads = Some(threads);
        self
    }

    /// Sets whether strangers are refused once the system has begun to shut down, in order or at
    /// once. False by default.
    ///
    /// A stranger is a thread that runs no actors of this system: a thread of the application, of
    /// another system or of an async runtime. Once [`System::shutdown`](crate::System::shutdown) or
    /// another shutdown has begun, messages from strangers are refused with an error, as by an
    /// actor that has stopped. Their asks get no answer. Messages accepted before are handled,
    /// unless the system ends at once. The system's own actors can still send to each other, and
    /// still get answers to their asks from strangers. So a shutdown in order ends soon, however
    /// much strangers send. Without this setting, strangers can delay it for as long as they send.
    ///
    /// With this setting, each message from outside a turn takes a lock for reading. Messages that
    /// a turn of another system's actor staged before the shutdown began may still arrive, or
    /// become dead letters.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Next, System, behavior};
    ///
    /// let system = System::builder().refuse_strangers(true).start()?;
    /// let sink = system.spawn(behavior(|_: u32, _| Next::Continue))?;
    /// sink.send(1)?;
    /// system.begin_shutdown();
    /// assert!(sink.send(2).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn refuse_strangers(mut self, refuse: bool) -> Self {
        self.refuses_strangers = refuse;
        self
    }

    /// Sets the world in which the system lives. The real world by default.
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// Enables counters for each type of actor, for [`Handle::sample`](crate::Handle::sample). Off
    /// by default. The counters cost a few nanoseconds for each run of messages that an actor
    /// handles without a break.
    #[must_use]
    pub fn probes(mut self, probes: bool) -> Self {
        self.probes = probes;
        self
    }

    /// Sets the typical work of the actors. Mixed by default.
    /// [`Mailbox::default`](crate::mailbox::Mailbox) chooses a mailbox by it.
    #[must_use]
    pub fn workload(mut self, workload: Workload) -> Self {
        self.workload = workload;
        self
    }

    /// Sets the driver in which workers sleep. By default they park their threads. `garrick-tokio`
    /// has a driver, so that actors can wait for tokio's events.
    #[must_use]
    pub fn driver(mut self, drivers: impl Drivers + Send + 'static) -> Self {
        self.drivers = Some(Box::new(drivers));
        self
    }

    /// Calls `reporter`, on the worker's thread, for every actor that ends in a panic, or by an
    /// error that no supervisor took. The default prints a line to standard error. It names the
    /// actor, by its path if it was given a name, and has the place and the message of the failure.
    #[must_use]
    pub fn on_failure(mut self, reporter: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// Converts this into a builder of the scheduler.
    pub(crate) fn sponsor(self) -> garrick_sched::Builder {
        let reporter = self
            .reporter
            .unwrap_or_else(|| report_to_stderr(self.name.clone()));
        let workers = self.workers.unwrap_or_else(cores);
        let sponsor = Sponsor::builder()
            .name(self.name)
            .workers(workers)
            .pin_to(self.cores)
            .callers_run(self.callers_run)
            .refuse_strangers(self.refuses_strangers)
            .probes(self.probes)
            .attach(self.workload)
            .on_failure(move |failure| {
                reporter(&Failure {
                    task: failure.task,
                    path: named::take_failed(failure.task),
                    message: failure.message.clone(),
                });
            });
        let sponsor = match self.blocking_threads {
            Some(threads) => sponsor.blocking_threads(threads),
            None => sponsor,
        };
        let sponsor = match self.stack_size {
            Some(bytes) => sponsor.stack_size(bytes),
            None => sponsor,
        };
        let sponsor = match self.drivers {
            Some(drivers) => sponsor.driver(drivers),
            None => sponsor,
        };
        match self.world {
            Some(world) => sponsor.world(world),
            None => sponsor,
        }
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn report_to_stderr(system: String) -> Reporter {
    Box::new(move |failure| {
        eprintln!("garrick: in system `{system}`, {failure}");
    })
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
