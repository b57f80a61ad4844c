//! The builder of systems.

use std::fmt;
use std::sync::Arc;
use std::thread;

use garrick_sched::{Drivers, Sponsor, World};

use crate::extras::named;
use crate::failure::office::{Office, Reporter};
use crate::failure::{Consequence, Failure};
use crate::system::attached::Attached;
use crate::system::workload::Workload;

/// A builder that configures and starts a system. Call [`System::builder`](crate::System::builder)
/// to create it.
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
    /// Number of workers. `None` means one for each core.
    workers: Option<usize>,
    cores: Vec<usize>,
    stack_size: Option<usize>,
    callers_run: bool,
    blocking_threads: Option<usize>,
    refuses_strangers: bool,
    world: Option<Arc<dyn World>>,
    reporter: Option<Reporter>,
    reports_restarts: bool,
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
            reports_restarts: true,
            probes: false,
            workload: Workload::Mixed,
            drivers: None,
        }
    }

    /// Sets the name of the system. The names of its threads begin with this name. The default is
    /// `system`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the number of workers. Each worker runs one actor at a time. The default is one worker
    /// for each core.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Pins the workers to the cores with the numbers `cores`, counted from 0. If there are more
    /// workers than cores, the cores are assigned in round-robin order.
    ///
    /// Has no effect if the operating system does not support pinning.
    #[must_use]
    pub fn pin_to(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.cores = cores.into_iter().collect();
        self
    }

    /// Sets the stack size of each worker in bytes.
    ///
    /// The size must be from [`STACK_BYTES_MIN`](crate::system::STACK_BYTES_MIN) to
    /// [`STACK_BYTES_MAX`](crate::system::STACK_BYTES_MAX). The default is the standard library's
    /// default for threads: 2 MiB, or the value of the environment variable `RUST_MIN_STACK`.
    /// Handlers with deep recursion need a larger stack. A stack overflow aborts the process. The
    /// operating system allocates the memory on first access. A [`Local`](crate::Local) uses the
    /// stack of its thread, so [`Builder::local`] returns an error if a stack size is set.
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

    /// Sets whether a thread that is waiting in a [`Call`](crate::Call) may run the called actor
    /// itself if no worker is awake. The default is true.
    ///
    /// The purpose is speed: no other thread has to be woken, so a short call is several times
    /// faster. The handler of the actor then runs on the caller's thread, with the name, the stack
    /// and the thread-local values of that thread. If the caller runs in an async runtime, the
    /// handler also runs in the context of that runtime. While the handler runs, timeouts of the
    /// caller do not fire.
    ///
    /// The system measures how long these calls take. While calls are short, it measures only some
    /// of them: up to 7 calls are skipped between two measurements. If a measured call takes more
    /// than 20 us, the next 64 calls to actors on the same worker run on the worker's own threads.
    /// Calls always run on the worker's own threads if the workers are [pinned](Builder::pin_to),
    /// have a [driver](Builder::driver), or have a [configured stack size](Builder::stack_size).
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

    /// Sets how many turns can run [`Context::blocking`](crate::Context::blocking) at the same time
    /// without blocking their workers.
    ///
    /// The default is 64, and the maximum is
    /// [`BLOCKING_THREADS_MAX`](crate::system::BLOCKING_THREADS_MAX). While one of these turns
    /// blocks, a spare thread runs the other actors of its worker. Spare threads are started on
    /// demand and run until the system shuts down.
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

    /// Sets whether the system rejects messages from strangers once it has begun to shut down. The
    /// default is false.
    ///
    /// A stranger is a thread that runs no actors of this system. It can be a thread of the
    /// application, of another system or of an async runtime. Once
    /// [`System::shutdown`](crate::System::shutdown) or any other shutdown has begun, a message
    /// from a stranger is returned to its sender with an error, as if the receiver had stopped.
    /// Asks from strangers get no answer. Messages that were accepted before the shutdown began are
    /// still handled, unless the system is shut down by
    /// [`System::shutdown_now`](crate::System::shutdown_now). Actors of the system can still send
    /// messages to each other, and still receive answers from strangers. So a shutdown completes
    /// soon, even if strangers keep sending. Without this setting, strangers can delay a shutdown
    /// for as long as they keep sending.
    ///
    /// With this setting, each message that is sent outside of a turn acquires a read lock. Suppose
    /// that an actor of another system has sent a message, but its turn has not committed when the
    /// shutdown begins. Then the message may still arrive or may become a dead letter.
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

    /// Sets the [`World`] of the system, which provides its clock, randomness and threads. The
    /// default is [`RealWorld`](crate::system::RealWorld).
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// Sets whether the system keeps counters for each type of actor.
    /// [`Handle::sample`](crate::Handle::sample) returns these counters.
    ///
    /// The default is false. The counters cost 15 to 30 ns for each batch of messages that an actor
    /// handles without interruption. `docs/telemetry.md` contains measurements.
    #[must_use]
    pub fn probes(mut self, probes: bool) -> Self {
        self.probes = probes;
        self
    }

    /// Sets the typical workload of the actors, which determines the mailbox that
    /// [`Mailbox::default`](crate::mailbox::Mailbox) creates. The default is [`Workload::Mixed`].
    /// An actor that is spawned without [`Spawn::mailbox`](crate::spawn::Spawn::mailbox) has an
    /// unbounded mailbox for any workload.
    #[must_use]
    pub fn workload(mut self, workload: Workload) -> Self {
        self.workload = workload;
        self
    }

    /// Sets the factory that creates a [`Driver`](crate::system::Driver) for each worker. An idle
    /// worker sleeps in its driver. By default, idle workers park their threads. With the driver of
    /// `garrick-tokio`, actors can wait for tokio's timers and I/O.
    #[must_use]
    pub fn driver(mut self, drivers: impl Drivers + Send + 'static) -> Self {
        self.drivers = Some(Box::new(drivers));
        self
    }

    /// Sets the function to which failures are reported. By default, failures are printed to
    /// standard error.
    ///
    /// The function is called in each of these cases:
    ///
    /// - An actor without a supervisor panics or fails with an error. The function is called on the
    ///   thread of the actor's worker.
    /// - A supervised actor fails, or stops by itself and is restarted. The supervisor first
    ///   decides what happens to the actor. The function is then called on the thread of the
    ///   supervisor's worker.
    /// - The destructor of an actor panics, or a [door](crate::door) panics in the turn of a
    ///   sender. The function is called on the thread that panicked.
    ///
    /// The function receives all of these reports. In contrast, the lines on standard error about
    /// the children of one supervisor are limited to one per second.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Consequence, System};
    ///
    /// let system = System::builder()
    ///     .on_failure(|failure| match failure.consequence {
    ///         Consequence::Restarted { restarts } if restarts < 10 => {}
    ///         _ => eprintln!("{failure}"),
    ///     })
    ///     .start()?;
    /// # system.shutdown();
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    #[must_use]
    pub fn on_failure(mut self, reporter: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// Sets whether the failures of supervised actors are reported. The default is true.
    ///
    /// If `report` is false, these failures are neither printed nor passed to the function that
    /// [`Builder::on_failure`] sets. But
    /// [`Handle::recent_failures`](crate::Handle::recent_failures) still returns them.
    ///
    /// [`Supervisor::report_restarts`](crate::supervise::Supervisor::report_restarts) has the same
    /// effect for the children of one supervisor.
    #[must_use]
    pub fn report_restarts(mut self, report: bool) -> Self {
        self.reports_restarts = report;
        self
    }

    /// Converts this builder into a builder of the scheduler.
    pub(crate) fn sponsor(self) -> garrick_sched::Builder {
        let office = Office::new(self.name.clone(), self.reporter, self.reports_restarts);
        let office = Arc::new(office);
        let told = office.clone();
        let workers = self.workers.unwrap_or_else(cores);
        let sponsor = Sponsor::builder()
            .name(self.name)
            .workers(workers)
            .pin_to(self.cores)
            .callers_run(self.callers_run)
            .refuse_strangers(self.refuses_strangers)
            .probes(self.probes)
            .attach(Attached::new(self.workload, office))
            .on_failure(move |failure| {
                let consequence = if failure.ends {
                    Consequence::Stopped
                } else {
                    Consequence::Continued
                };
                let report = Failure {
                    task: failure.task,
                    path: named::take_failed(failure.task),
                    message: failure.message.clone(),
                    consequence,
                };
                told.tell(failure.at, &report);
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
