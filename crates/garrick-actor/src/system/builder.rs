//! Making systems.

use std::fmt;
use std::sync::Arc;
use std::thread;

use garrick_sched::{Drivers, Sponsor, World};

use crate::extras::named;
use crate::failure::Failure;
use crate::system::workload::Workload;

type Reporter = Box<dyn Fn(&Failure) + Send + Sync>;

/// How a system is to be. Made by [`System::builder`](crate::System::builder).
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
    /// One for every core if none.
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

    /// Its name, and the beginning of its threads' names; `system` unless told.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How many threads run its actors; one for every core unless told.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Pins the workers to these cores, in turns. Where the system cannot pin, nothing happens.
    #[must_use]
    pub fn pin_to(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.cores = cores.into_iter().collect();
        self
    }

    /// The bytes of each worker's stack, from [`STACK_BYTES_MIN`](crate::STACK_BYTES_MIN) to
    /// [`STACK_BYTES_MAX`](crate::STACK_BYTES_MAX).
    ///
    /// By default it is what the standard library gives a thread: 2 MiB, or what the environment variable
    /// `RUST_MIN_STACK` says. Handlers that recurse deeply need more; one that overflows its stack ends the process. The
    /// system takes memory as it is touched. A [`Local`](crate::Local) has the stack of its thread.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::System;
    ///
    /// let system = System::builder().workers(1).stack_size(64 << 20).start()?;
    /// let walker = system.spawn_behavior(|depth: u32, _| {
    ///     fn walk(depth: u32) -> u32 {
    ///         if depth == 0 { 0 } else { 1 + std::hint::black_box(walk(depth - 1)) }
    ///     }
    ///     assert_eq!(walk(depth), depth);
    /// })?;
    /// walker.send(100_000)?;
    /// system.shutdown();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Lets a thread that waits in a [`Call`](crate::Call) run the actor that it calls, if no worker is awake to do so; true by
    /// default. Then no thread is woken for a short question, which makes that several times as fast.
    ///
    /// The actor's handler runs on the caller's thread then, with its name, stack, thread-local values and, in a runtime for
    /// futures, its context; and the caller's timeouts do not fire meanwhile. After a visit of more than 20 us the next 64
    /// questions to that worker go to its own threads. After short visits up to 7 in a row are not timed. All questions go to its own
    /// threads where workers are [pinned](Builder::pin_to), have a [driver](Builder::driver), or stacks of a
    /// [size of their own](Builder::stack_size).
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

    /// Lets so many turns be in [`Context::blocking`](crate::Context::blocking) at once without keeping a worker from other actors; 64
    /// by default, [`BLOCKING_THREADS_MAX`](crate::BLOCKING_THREADS_MAX) at most. For each of them a spare thread runs other actors. It
    /// is started when it is needed, and ends with the system.
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

    /// Sets whether strangers are refused once the system has begun to end, in order or at once; false by default.
    ///
    /// A stranger is a thread that runs no actors of this system: one of your own, one of another system or of a runtime for futures. Once
    /// [`System::shutdown`](crate::System::shutdown), or one of the other ends, has begun, what a stranger sends is refused with an error,
    /// as by an actor that has stopped, and what it asks has no answer. What was accepted before is handled, unless the end is one at once.
    /// The system's own actors go on sending to each other, and get the answers that they have asked strangers for. So an end in order
    /// comes soon, however much strangers go on sending. Without this, they can put it off for as long as they send.
    ///
    /// Each message from outside of a turn takes a lock for reading then. What the turn of an actor of another system has staged before
    /// the end began may still arrive, or become a dead letter.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Next, System};
    ///
    /// let system = System::builder().refuse_strangers(true).start()?;
    /// let sink = system.spawn_behavior(|_: u32, _| Next::Continue)?;
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

    /// The world it lives in; the real one unless told.
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// Whether it counts what each type of actor does, for [`Handle::sample`](crate::Handle::sample); not unless
    /// told. It costs a few nanoseconds for each run of messages that an actor handles without a break.
    #[must_use]
    pub fn probes(mut self, probes: bool) -> Self {
        self.probes = probes;
        self
    }

    /// What its actors do most of the time, mixed unless told. [`Mailbox::default`](crate::Mailbox) is what suits it.
    #[must_use]
    pub fn workload(mut self, workload: Workload) -> Self {
        self.workload = workload;
        self
    }

    /// What its workers sleep in; in their threads' own sleep unless told. `garrick-tokio` has one, so that actors can wait for
    /// what tokio waits for.
    #[must_use]
    pub fn driver(mut self, drivers: impl Drivers + Send + 'static) -> Self {
        self.drivers = Some(Box::new(drivers));
        self
    }

    /// Calls `reporter`, on the worker's thread, for every actor that ends in a panic, or by an error that no
    /// supervisor took. Unless told, a line on standard error says which actor it was, by its path if it was given
    /// a name, where, and what it said.
    #[must_use]
    pub fn on_failure(mut self, reporter: impl Fn(&Failure) + Send + Sync + 'static) -> Self {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// The same for the scheduler.
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
