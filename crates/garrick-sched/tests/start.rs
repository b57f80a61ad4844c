//! Tests of sponsors that cannot be started. Each error explains the reason, and the failed start
//! leaves nothing behind.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::{io, thread};

use garrick_sched::{Builder, Nanos, Sponsor, StartError, ThreadSpec, WORKERS_MAX, World};
use garrick_testkit::{alone, ends, fail, silence_panics};

/// Number of workers of a pool that does not start. The test starts such a pool so often that
/// numbers of workers would run out if they were not given back.
const MANY: usize = WORKERS_MAX / 4;
const TRIES: usize = 6;

/// Panics unless all numbers of workers are free.
fn all_homes_are_free() {
    let world = Arc::new(Poor::new(0, Poverty::Says));
    let builder = Sponsor::builder().workers(WORKERS_MAX).world(world);
    assert!(matches!(builder.start(), Err(StartError::Thread(_))));
}

#[test]
fn errors_say_what_is_wrong() {
    let _alone = alone();
    let refusal = |builder: Builder| builder.start().unwrap_err().to_string();
    assert_eq!(
        refusal(Sponsor::builder().workers(0)),
        "a sponsor needs at least 1 worker, but 0 were requested"
    );
    let cores = thread::available_parallelism().unwrap().get();
    assert_eq!(
        refusal(Sponsor::builder().pin_to([0, cores])),
        format!(
            "there is no core {cores}: this machine has cores 0 to {}",
            cores - 1
        )
    );
    let asked = WORKERS_MAX + 1;
    assert_eq!(
        refusal(Sponsor::builder().workers(asked)),
        format!("cannot start {asked} more workers: a process can have at most {WORKERS_MAX}")
    );
    all_homes_are_free();
}

#[test]
fn a_name_that_no_thread_can_have_is_an_error() {
    let _alone = alone();
    let named = || Sponsor::builder().name("in\0out").workers(MANY);
    for _ in 0..TRIES {
        let error = named().start().unwrap_err();
        assert!(matches!(&error, StartError::NulInName { name } if name == "in\0out"));
        assert_eq!(
            error.to_string(),
            "the name \"in\\0out\" contains a NUL byte: the threads of a sponsor are named after it, \
             and the name of a thread cannot contain NUL bytes"
        );
    }
    assert!(matches!(named().here(), Err(StartError::NulInName { .. })));
    assert!(matches!(
        Sponsor::single("\0"),
        Err(StartError::NulInName { .. })
    ));
    all_homes_are_free();
}

/// The way in which a world reports that it has no more threads.
#[derive(Clone, Copy)]
enum Poverty {
    Says,
    Panics,
}

/// A world with threads for only some workers.
struct Poor {
    left: Mutex<usize>,
    poverty: Poverty,
    /// Number of threads of this world that are running.
    running: Arc<AtomicUsize>,
}

impl Poor {
    fn new(threads: usize, poverty: Poverty) -> Self {
        Self {
            left: Mutex::new(threads),
            poverty,
            running: Arc::default(),
        }
    }

    fn take(&self) -> io::Result<()> {
        let mut left = self.left.lock().unwrap();
        *left = left
            .checked_sub(1)
            .ok_or_else(|| io::Error::other("the world is poor"))?;
        Ok(())
    }
}

impl World for Poor {
    fn now(&self) -> Nanos {
        0
    }

    fn seed(&self) -> u64 {
        0
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<thread::JoinHandle<()>> {
        match (self.take(), self.poverty) {
            (Err(_), Poverty::Panics) => fail(),
            (taken, _) => taken?,
        }
        self.running.fetch_add(1, SeqCst);
        let running = self.running.clone();
        spec.builder().spawn(move || {
            body();
            running.fetch_sub(1, SeqCst);
        })
    }
}

#[test]
fn a_world_without_threads_is_an_error_and_leaves_nothing() {
    ends(|| {
        let _alone = alone();
        for threads in 0..TRIES {
            let world = Arc::new(Poor::new(threads, Poverty::Says));
            let builder = Sponsor::builder().workers(MANY).world(world.clone());
            assert_eq!(
                builder.start().unwrap_err().to_string(),
                "the system could not create a thread: the world is poor"
            );
            assert_eq!(Arc::strong_count(&world), 1, "somebody still lives in it");
            assert_eq!(world.running.load(SeqCst), 0);
        }
        all_homes_are_free();
    });
}

#[test]
fn a_panic_of_the_world_is_passed_on_and_leaves_nothing() {
    silence_panics();
    ends(|| {
        let _alone = alone();
        for threads in 0..TRIES {
            let world = Arc::new(Poor::new(threads, Poverty::Panics));
            let builder = Sponsor::builder().workers(MANY).world(world.clone());
            let panic = panic::catch_unwind(AssertUnwindSafe(|| builder.start())).unwrap_err();
            assert_eq!(
                panic.downcast_ref::<&str>(),
                Some(&garrick_testkit::ON_PURPOSE)
            );
            assert_eq!(Arc::strong_count(&world), 1, "somebody still lives in it");
            assert_eq!(world.running.load(SeqCst), 0);
        }
        all_homes_are_free();
    });
}
