//! Tests of sponsors that foreign code ends: in drivers, in wakers, and in worlds without threads.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use garrick_sched::{
    Driver, Drivers, Flow, Nanos, RealWorld, Sponsor, Task, ThreadSpec, Turn, World, audit,
};

use crate::common::does;
use garrick_testkit::{OnDrop, ends_alone, fail, silence_panics, wait};

/// The function that a [`Sleep`] calls in addition to sleeping.
type Habit = Arc<dyn Fn(Place) + Send + Sync>;

/// The place where the function is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Surround,
    Park,
    Wake,
    Drop,
}

struct Sleeper {
    thread: OnceLock<Thread>,
    habit: Habit,
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
        (self.habit)(Place::Wake);
    }
}

/// A driver in which a thread sleeps, and the function that the driver calls.
struct Sleep {
    sleeper: Arc<Sleeper>,
    /// Number of times that the driver calls the function that runs its worker.
    lives: usize,
}

impl Drop for Sleep {
    fn drop(&mut self) {
        (self.sleeper.habit)(Place::Drop);
    }
}

impl Driver for Sleep {
    fn waker(&self) -> Waker {
        Waker::from(self.sleeper.clone())
    }

    fn surround(&self, life: &mut dyn FnMut()) {
        self.sleeper.thread.get_or_init(thread::current);
        (self.sleeper.habit)(Place::Surround);
        for _ in 0..self.lives {
            life();
        }
        (self.sleeper.habit)(Place::Surround);
    }

    fn park(&self, timeout: Option<Duration>) {
        // If the driver did not begin the life, nobody has set the thread.
        self.sleeper.thread.get_or_init(thread::current);
        (self.sleeper.habit)(Place::Park);
        match timeout {
            Some(timeout) => thread::park_timeout(timeout),
            None => thread::park(),
        }
    }

    fn poll(&self) {}
}

struct Sleeps {
    habit: Habit,
    lives: usize,
}

impl Drivers for Sleeps {
    fn driver(&self, _: usize) -> io::Result<Box<dyn Driver>> {
        let sleeper = Arc::new(Sleeper {
            thread: OnceLock::new(),
            habit: self.habit.clone(),
        });
        Ok(Box::new(Sleep {
            sleeper,
            lives: self.lives,
        }))
    }
}

fn driven(workers: usize, lives: usize, habit: impl Fn(Place) + Send + Sync + 'static) -> Sponsor {
    let habit: Habit = Arc::new(habit);
    let builder = Sponsor::builder().workers(workers);
    builder.driver(Sleeps { habit, lives }).start().unwrap()
}

/// Checks that a new task of the sponsor handles a message.
fn runs(sponsor: &Sponsor) {
    let (tell, heard) = mpsc::channel();
    let task = does(move |(): (), _: &Turn<'_, ()>| {
        tell.send(()).unwrap();
        Flow::Stop
    });
    sponsor.handle().spawn(task).unwrap().send(()).unwrap();
    wait(&heard);
}

#[test]
fn a_sponsor_that_its_own_driver_drops_ends() {
    ends_alone(|| {
        let before = audit();
        for workers in [1, 2] {
            let owned: Arc<Mutex<Option<Sponsor>>> = Arc::default();
            let (tell, heard) = mpsc::channel();
            let (taken, told) = (owned.clone(), Mutex::new(tell));
            let sponsor = driven(workers, 1, move |place| {
                if place == Place::Park {
                    let sponsor = taken.lock().unwrap().take();
                    if sponsor.is_some() {
                        drop(sponsor);
                        let _ = told.lock().unwrap().send(());
                    }
                }
            });
            let handle = sponsor.handle();
            *owned.lock().unwrap() = Some(sponsor);
            for _ in 0..4 {
                if let Ok(task) = handle.spawn(does(|(): (), _: &Turn<'_, ()>| Flow::Continue)) {
                    let _ = task.send(());
                }
            }
            wait(&heard);
        }
        // Nobody joins the threads of such a sponsor. The next scenario counts blocks.
        while audit() != before {
            thread::yield_now();
        }
    });
}

#[test]
fn a_driver_that_begins_no_life_or_several_or_panics_has_one_all_the_same() {
    ends_alone(|| {
        silence_panics();
        let before = audit();
        for lives in [0, 1, 3] {
            for workers in [1, 2] {
                let sponsor = driven(workers, lives, |place| {
                    if place != Place::Park {
                        fail();
                    }
                });
                runs(&sponsor);
                sponsor.shutdown();
                let sponsor = driven(workers, lives, |_| {});
                runs(&sponsor);
                sponsor.shutdown();
            }
        }
        assert_eq!(audit(), before);
    });
}

#[test]
fn a_waker_that_ends_the_sponsor_or_makes_tasks_may() {
    // The waker was once called while the lock for admitting newborns was held.
    ends_alone(|| {
        struct Starts(mpsc::Sender<()>);
        impl Task for Starts {
            type Message = ();
            const STARTS: bool = true;
            fn start(&mut self, _: &Turn<'_, ()>) -> Flow {
                let _ = self.0.send(());
                Flow::Stop
            }
            fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
                Flow::Continue
            }
        }
        for _ in 0..20 {
            let shared: Arc<OnceLock<Sponsor>> = Arc::default();
            let ends = Arc::new(AtomicBool::new(false));
            let (inside, armed) = (shared.clone(), ends.clone());
            let sponsor = driven(1, 1, move |place| {
                if place == Place::Wake
                    && armed.load(Relaxed)
                    && let Some(sponsor) = inside.get()
                {
                    sponsor.begin_shutdown();
                }
            });
            let handle = sponsor.handle();
            runs(&sponsor);
            assert!(shared.set(sponsor).is_ok());
            ends.store(true, Relaxed);
            let (tell, heard) = mpsc::channel();
            // Until one of them comes while the worker sleeps.
            while handle.spawn(Starts(tell.clone())).is_ok() {
                wait(&heard);
            }
            shared.get().unwrap().wait();
        }
    });
}

/// A world that runs only the first thread. It drops the bodies of all other threads, immediately
/// or later.
struct Forgets {
    real: Arc<dyn World>,
    asked: AtomicUsize,
    kept: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl World for Forgets {
    fn now(&self) -> Nanos {
        self.real.now()
    }

    fn seed(&self) -> u64 {
        self.real.seed()
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        if self.asked.fetch_add(1, Relaxed) == 0 {
            return self.real.spawn_thread(spec, body);
        }
        self.kept.lock().unwrap().push(body);
        Ok(thread::spawn(|| {}))
    }
}

#[test]
fn a_world_that_lets_go_of_a_thread_later_gives_no_task_to_another_sponsor() {
    ends_alone(|| {
        let world = Arc::new(Forgets {
            real: RealWorld::shared(),
            asked: AtomicUsize::new(0),
            kept: Mutex::default(),
        });
        let builder = Sponsor::builder().workers(2).world(world.clone());
        let sponsor = builder.start().unwrap();
        let (tell, heard) = mpsc::channel();
        let addresses: Vec<_> = (0..8)
            .map(|_| {
                let tell = tell.clone();
                let on_drop = OnDrop(move || tell.send("dropped").unwrap_or(()));
                let task = does(move |(): (), _: &Turn<'_, ()>| {
                    let _kept = &on_drop;
                    Flow::Continue
                });
                sponsor.handle().spawn(task).unwrap()
            })
            .collect();
        world.kept.lock().unwrap().clear();
        sponsor.wait();
        let dropped = heard.try_iter().count();
        assert!(dropped < 8, "the second worker has never come");
        // The next worker with its number must not find the tasks.
        for _ in 0..3 {
            let other = Sponsor::pool(4).unwrap();
            runs(&other);
            other.shutdown();
        }
        for address in &addresses {
            let _ = address.send(());
        }
        assert_eq!(heard.try_iter().count(), 0, "they are nobody's");
    });
}
