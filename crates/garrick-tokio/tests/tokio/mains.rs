//! Tests systems that are started and dropped inside and outside of a tokio runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use garrick_actor::{Incoming, Next, Reply, System, behavior};
use garrick_testkit::{HANGS_AFTER, ends};
use garrick_tokio::{Signals, Tokio, run_until_signal, shutdown};

use super::{later, system};

async fn sums(system: System) {
    let sum = Arc::new(AtomicUsize::new(0));
    let seen = sum.clone();
    let add = system.spawn(
        move |mut mailbox: Incoming<(usize, Reply<usize>)>| async move {
            while let Some((n, reply)) = mailbox.recv().await {
                reply.send(sum.fetch_add(n, Relaxed) + n);
            }
        },
    );
    let add = add.unwrap();
    let tasks = (0..10).map(|_| {
        let add = add.clone();
        tokio::spawn(async move {
            for _ in 0..100 {
                add.ask(|reply| (1, reply)).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let patience = tokio::time::timeout(HANGS_AFTER, add.ask(|reply| (0, reply)));
    assert_eq!(patience.await.unwrap(), Ok(1_000));
    drop(add);
    shutdown(system).await.unwrap();
    assert_eq!(seen.load(Relaxed), 1_000);
}

#[test]
fn inside_of_a_runtime_of_one_thread() {
    ends(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            sums(system(1)).await;
            sums(System::builder().workers(1).start().unwrap()).await;
        });
    });
}

#[test]
fn inside_of_a_runtime_of_several() {
    ends(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            tokio::spawn(sums(system(2))).await.unwrap();
        });
    });
}

#[test]
fn a_system_may_be_dropped_and_fail_to_start_inside_of_a_runtime() {
    ends(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let driven = system(1);
            let waiting = driven.spawn(|_: Incoming<()>| async {
                later(Duration::from_secs(3_600)).await;
            });
            drop((driven, waiting));
            let nul = System::builder().name("\0").driver(Tokio::new()).start();
            assert!(nul.is_err());
            // The fourth driver fails, after three others were created.
            let many = System::builder().workers(5).driver(Few).start();
            let error = many.unwrap_err().to_string();
            assert!(error.contains("no more drivers"), "{error}");
        });
    });
}

/// A factory that creates drivers for three workers, and fails for the fourth one.
struct Few;

impl garrick_actor::system::Drivers for Few {
    fn driver(&self, worker: usize) -> std::io::Result<Box<dyn garrick_actor::system::Driver>> {
        if worker == 3 {
            return Err(std::io::Error::other("no more drivers"));
        }
        Tokio::new().driver(worker)
    }
}

#[test]
fn what_cannot_work_says_so() {
    ends(|| {
        let none = Signals::listen().unwrap_err().to_string();
        assert!(none.contains("needs a tokio runtime"), "{none}");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let blocks = runtime.block_on(async { run_until_signal(system(1)) });
        let blocks = blocks.unwrap_err().to_string();
        assert!(blocks.contains("shutdown_on_signal"), "{blocks}");
    });
}

#[test]
fn a_plain_thread_asks() {
    ends(|| {
        let system = system(2);
        let half = system.spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
            reply.send(n / 2);
            Next::Continue
        }));
        assert_eq!(half.unwrap().ask(|reply| (42, reply)).wait(), Ok(21));
        system.shutdown();
    });
}
