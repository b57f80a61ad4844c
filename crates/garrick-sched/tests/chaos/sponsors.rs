//! Sponsors that have several owners, and the threads of these sponsors.

use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use garrick_core::random::mix;
use garrick_sched::{Driver, Drivers, Nanos, Sponsor, ThreadSpec, World, in_turn};

use crate::dice::Dice;
use crate::frame;
use crate::ledger;
use crate::round;
use crate::shapes::{Cargo, Letter};

/// Size of a thread's stack in bytes. Many doors pass large messages on by value, on this stack.
pub(crate) const STACK: usize = 16 << 20;

thread_local! {
    /// The sponsor that this thread works for.
    static WORKS_FOR: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A sponsor that ends when its last owner is dropped, on any thread.
pub(crate) struct Kept {
    sponsor: Option<Sponsor>,
    index: usize,
}

pub(crate) type Keep = Arc<Kept>;

impl Kept {
    pub(crate) fn new(sponsor: Sponsor, index: usize) -> Self {
        Self {
            sponsor: Some(sponsor),
            index,
        }
    }

    fn sponsor(&self) -> &Sponsor {
        self.sponsor.as_ref().expect("taken when dropped only")
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn begin(&self, now: bool) {
        if now {
            self.sponsor().begin_shutdown_now();
        } else {
            self.sponsor().begin_shutdown();
        }
    }

    /// Returns true if this thread may wait for the end of the sponsor. A thread of a later sponsor
    /// may not wait, because two threads could wait for each other. If a plain thread is in a turn,
    /// or a turn blocks on it, the thread works for an unknown sponsor.
    fn may_wait(&self) -> bool {
        WORKS_FOR
            .get()
            .map_or(!in_turn() && !frame::is_blocking(), |index| {
                index <= self.index
            })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(sponsor) = self.sponsor.take() else {
            return;
        };
        if !self.may_wait() {
            sponsor.begin_shutdown_now();
            if let Some(round) = round::now() {
                round.bury(sponsor);
            }
            return;
        }
        // The current turn has no part in the actions of others when they end.
        frame::outside(|| drop(sponsor));
    }
}

/// The number of running threads, and a way to wait until all of them have ended.
#[derive(Default)]
pub(crate) struct Threads {
    running: Mutex<usize>,
    none: Condvar,
}

impl Threads {
    fn count(&self, by: isize) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running = running.wrapping_add_signed(by);
        if *running == 0 {
            self.none.notify_all();
        }
    }

    pub(crate) fn wait_for_all(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while *running > 0 {
            running = self
                .none
                .wait(running)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The real world, which also tracks the end of its threads, whichever thread joins them.
pub(crate) struct Earth {
    began: Instant,
    index: usize,
    threads: Arc<Threads>,
}

impl Earth {
    pub(crate) fn new(index: usize, threads: Arc<Threads>) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            index,
            threads,
        })
    }
}

impl World for Earth {
    fn now(&self) -> Nanos {
        self.began.elapsed().as_nanos() as Nanos
    }

    fn seed(&self) -> u64 {
        mix(self.now())
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        let index = self.index;
        let worker = spec.builder().stack_size(STACK);
        let worker = worker.spawn(move || {
            WORKS_FOR.set(Some(index));
            body();
        })?;
        self.threads.count(1);
        let threads = self.threads.clone();
        // It ends after the worker, with all the values of the worker's thread.
        thread::Builder::new().spawn(move || {
            let ended = worker.join();
            if ended.is_err() {
                ledger::wrong("a worker's thread ended in a panic".to_owned());
            }
            threads.count(-1);
            if let Err(panic) = ended {
                std::panic::resume_unwind(panic);
            }
        })
    }
}

#[derive(Default)]
struct Sleeper(OnceLock<Thread>);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.get().map(Thread::unpark);
    }
}

/// A driver that parks its thread, and in the meantime sends messages and panics.
struct Restless {
    sleeper: Arc<Sleeper>,
    dice: Mutex<Dice>,
    index: usize,
}

impl Restless {
    fn stir(&self) {
        if in_turn() {
            ledger::wrong("a driver is in a turn".to_owned());
        }
        let Some(round) = round::now() else { return };
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        if round.fuel.fetch_sub(1, SeqCst) <= 0 {
            return;
        }
        let (chance, whom) = (dice.below(24), round.somebody(&mut dice));
        drop(dice);
        match (chance, whom) {
            (0..=5, Some(peer)) => {
                peer.send(Letter::plain(Cargo::default()));
            }
            (6, Some(peer)) => drop(peer.ask(Cargo::default())),
            (7, _) => {
                // Its own sponsor, perhaps, and perhaps for the last time.
                if let Some(sponsor) = round.let_go(self.index) {
                    drop(sponsor);
                }
            }
            (8..=11, _) => frame::fail(),
            _ => {}
        }
    }
}

impl Driver for Restless {
    fn waker(&self) -> Waker {
        Waker::from(self.sleeper.clone())
    }

    fn surround(&self, life: &mut dyn FnMut()) {
        self.sleeper.0.get_or_init(thread::current);
        life();
    }

    fn park(&self, timeout: Option<Duration>) {
        self.stir();
        match timeout {
            Some(timeout) => thread::park_timeout(timeout),
            None => thread::park(),
        }
    }

    fn poll(&self) {
        self.stir();
    }
}

/// A factory of drivers that send messages and panic.
pub(crate) struct Unrest {
    pub(crate) seed: u64,
    pub(crate) index: usize,
}

impl Drivers for Unrest {
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>> {
        Ok(Box::new(Restless {
            sleeper: Arc::default(),
            dice: Mutex::new(Dice::new(self.seed ^ worker as u64)),
            index: self.index,
        }))
    }
}
