//! Tests systems whose drivers are faulty.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::task::Waker;
use std::time::Duration;

use garrick_actor::system::{Driver, Drivers};
use garrick_actor::{Incoming, Next, Reply, System, behavior};
use garrick_testkit::{ends, wait};
use garrick_tokio::Tokio;

use super::later;

/// A factory that wraps tokio's drivers in another driver.
struct Wrapped(fn(Box<dyn Driver>) -> Box<dyn Driver>);

impl Drivers for Wrapped {
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>> {
        Ok(self.0(Tokio::new().driver(worker)?))
    }
}

/// A driver that panics in every third park or poll.
struct Panics(Box<dyn Driver>, AtomicU32);

impl Panics {
    fn panic_now_and_then(&self) {
        assert!(
            self.1.fetch_add(1, Relaxed) % 3 != 2,
            "the driver is broken"
        );
    }
}

impl Driver for Panics {
    fn waker(&self) -> Waker {
        self.0.waker()
    }

    fn surround(&self, life: &mut dyn FnMut()) {
        self.0.surround(life);
    }

    fn park(&self, timeout: Option<Duration>) {
        self.panic_now_and_then();
        self.0.park(timeout);
    }

    fn poll(&self) {
        self.panic_now_and_then();
        self.0.poll();
    }
}

/// A driver that wakes its worker all the time.
struct Restless(Box<dyn Driver>);

impl Driver for Restless {
    fn waker(&self) -> Waker {
        self.0.waker()
    }

    fn surround(&self, life: &mut dyn FnMut()) {
        self.0.surround(life);
    }

    fn park(&self, timeout: Option<Duration>) {
        self.0.waker().wake();
        self.0.park(timeout);
    }

    fn poll(&self) {
        self.0.waker().wake();
        self.0.poll();
    }
}

#[test]
fn one_that_panics_is_reported_and_takes_no_worker_down() {
    ends(|| {
        let (told, heard) = channel();
        let broken = Wrapped(|driver| Box::new(Panics(driver, AtomicU32::new(0))));
        let system = System::builder().workers(1).driver(broken);
        let system = system.on_failure(move |failure| {
            let _ = told.send((failure.task, failure.message.clone()));
        });
        let system = system.start().unwrap();
        let next = system.spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
            reply.send(n + 1);
            Next::Continue
        }));
        let next = next.unwrap();
        for n in 0..100 {
            assert_eq!(next.ask(|reply| (n, reply)).wait(), Ok(n + 1));
        }
        let patient = system.spawn(|mut mailbox: Incoming<Reply<()>>| async move {
            let reply = mailbox.recv().await.unwrap();
            later(Duration::from_millis(1)).await;
            reply.send(());
        });
        assert_eq!(patient.unwrap().ask(|reply| reply).wait(), Ok(()));
        assert_eq!(
            wait(&heard),
            ("the worker's driver", "the driver is broken".to_owned())
        );
        system.shutdown();
    });
}

#[test]
fn wakes_for_no_reason_do_no_harm() {
    ends(|| {
        let restless = Wrapped(|driver| Box::new(Restless(driver)));
        let system = System::builder()
            .workers(2)
            .driver(restless)
            .start()
            .unwrap();
        let (told, heard) = channel();
        let actor = system.spawn(move |mailbox: Incoming<()>| async move {
            later(Duration::from_millis(2)).await;
            mailbox.context().sleep(Duration::from_micros(300)).await;
            told.send(()).unwrap();
        });
        wait(&heard);
        drop(actor);
        system.shutdown();
    });
}
