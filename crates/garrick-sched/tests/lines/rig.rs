//! A sponsor for the counts, and its tasks. The test can observe that the threads of the sponsor
//! sleep.

use std::cell::RefCell;
use std::fs;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

use garrick_core::prim::counting::unseen;
use garrick_sched::{Address, Flow, Handle, Sponsor, Task};

use crate::common::does;

/// Name of the sponsor, with which the names of its threads begin.
const NAME: &str = "lines";
/// Number of consecutive checks that must find all threads asleep, because a thread that seems to
/// sleep may only wait for a lock.
const LOOKS: usize = 3;
/// Number of tasks between two tasks that must not share a cache line. The number is even, so that
/// each of two workers gets one of the two tasks.
const SPACERS: usize = 8;

/// Signals between the tasks and the test, outside of the counted operations.
#[derive(Default)]
pub(crate) struct Signs {
    /// Number of messages that a sender must still send, each after the previous one was heard.
    left: AtomicU64,
    /// True when the tasks that send to themselves must end.
    is_over: AtomicBool,
    heard: AtomicU64,
    /// Number of messages that must be received before the sleeping thread is woken.
    wanted: AtomicU64,
    sleeper: Mutex<Option<Thread>>,
}

impl Signs {
    /// Records that a message was received.
    pub(crate) fn hear(&self) {
        let heard = self.heard.fetch_add(1, SeqCst) + 1;
        if heard == self.wanted.load(SeqCst)
            && let Some(sleeper) = self.sleeper.lock().unwrap().take()
        {
            sleeper.unpark();
        }
    }

    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(SeqCst)
    }

    /// Spins until `heard` messages were received.
    pub(crate) fn wait(&self, heard: u64) {
        while self.heard() < heard {
            thread::yield_now();
        }
    }

    /// Calls `act`, and waits until one more message is received.
    pub(crate) fn heard_after(&self, act: impl FnOnce()) {
        let next = self.heard() + 1;
        act();
        self.wait(next);
    }

    /// Makes the sender send `messages` messages, and sleeps until all of them are received.
    pub(crate) fn send(&self, messages: u64) {
        let all = self.heard() + messages;
        *self.sleeper.lock().unwrap() = Some(thread::current());
        self.wanted.store(all, SeqCst);
        self.left.store(messages, Relaxed);
        while self.heard() < all {
            thread::park();
        }
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }
}

/// A message to a task that records its messages.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    Hear,
    /// Makes the task send this message to itself again and again, so that its worker does not
    /// sleep.
    StayAwake,
}

/// A task that records each message.
pub(crate) fn hears(signs: Arc<Signs>) -> impl Task<Message = Word> + Send {
    let mut own = None;
    does(move |word, turn| {
        match word {
            Word::Hear => signs.hear(),
            Word::StayAwake if signs.is_over.load(Relaxed) => return Flow::Stop,
            Word::StayAwake => {
                let own = own.get_or_insert_with(|| turn.address());
                let _ = turn.send(own, Word::StayAwake);
            }
        }
        Flow::Continue
    })
}

/// A task that does nothing.
fn rests() -> impl Task<Message = ()> + Send {
    does(|(), _| Flow::Continue)
}

/// A task that sends to itself, and to `to` as often as requested.
pub(crate) fn sends(to: Address<Word>, signs: Arc<Signs>) -> impl Task<Message = ()> + Send {
    let mut unheard_until = 0;
    does(move |(), turn| {
        if signs.is_over.load(Relaxed) {
            return Flow::Stop;
        }
        let heard = signs.heard();
        if heard >= unheard_until && signs.left.load(Relaxed) > 0 {
            unheard_until = heard + 1;
            signs.left.fetch_sub(1, Relaxed);
            let _ = turn.send(&to, Word::Hear);
        }
        let _ = turn.send(&turn.address(), ());
        Flow::Continue
    })
}

/// A message that two tasks pass to and fro.
pub(crate) struct Ball {
    pub(crate) left: u64,
    pub(crate) back: Address<Ball>,
}

/// Passes the ball back.
pub(crate) fn plays(signs: Arc<Signs>) -> impl Task<Message = Ball> + Send {
    does(move |Ball { left, back }, turn| {
        if left == 0 {
            signs.hear();
        } else {
            let ball = Ball {
                left: left - 1,
                back: turn.address(),
            };
            let _ = turn.send(&back, ball);
        }
        Flow::Continue
    })
}

/// A sponsor for the counted scenarios.
pub(crate) struct Rig {
    sponsor: Sponsor,
    handle: Handle,
    spacers: RefCell<Vec<Address<()>>>,
}

impl Rig {
    /// Starts a sponsor of `workers` workers, and waits until they sleep.
    pub(crate) fn new(workers: usize) -> Self {
        let sponsor = Sponsor::builder().name(NAME).workers(workers);
        let sponsor = sponsor.start().unwrap();
        let rig = Self {
            handle: sponsor.handle(),
            sponsor,
            spacers: RefCell::default(),
        };
        rig.sleep_but(0);
        rig
    }

    pub(crate) fn workers(&self) -> usize {
        self.handle.workers()
    }

    pub(crate) fn spawn<T>(&self, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        let task = self.handle.spawn(task);
        task.unwrap_or_else(|_| panic!("the sponsor runs"))
    }

    /// Makes tasks that take up space, so that the tasks before and after them share no cache line.
    /// These two tasks then belong to different workers, because new tasks are distributed round
    /// robin.
    pub(crate) fn space(&self) {
        let spacers = (0..SPACERS).map(|_| self.spawn(rests()));
        self.spacers.borrow_mut().extend(spacers);
    }

    /// Waits until all threads except `awake` of them sleep.
    pub(crate) fn sleep_but(&self, awake: usize) {
        let mut looks = 0;
        while looks < LOOKS {
            looks = if awake_threads() <= awake {
                looks + 1
            } else {
                0
            };
            thread::yield_now();
        }
    }

    /// Calls `act`, and returns the number of turns that each worker has run meanwhile.
    pub(crate) fn turns_of(&self, act: impl FnOnce()) -> Vec<u64> {
        let before = self.sample(|worker| worker.turns);
        act();
        let after = self.sample(|worker| worker.turns);
        let pairs = after.iter().zip(before);
        pairs.map(|(after, before)| after - before).collect()
    }

    /// Returns the number of cells that were taken over so far.
    pub(crate) fn claimed(&self) -> u64 {
        self.sample(|worker| worker.claimed).iter().sum()
    }

    fn sample(&self, of: impl Fn(&garrick_sched::WorkerSample) -> u64) -> Vec<u64> {
        let sample = unseen(|| self.handle.sample());
        sample.workers.iter().map(of).collect()
    }

    pub(crate) fn end(self) {
        self.sponsor.shutdown();
    }
}

/// Returns the number of threads of the sponsor that run or want to run.
fn awake_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux tells of threads");
    let stats = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
    // The file has the form `123 (name) S ..`.
    let is_awake = |stat: &String| {
        let name = stat.split_once('(').map(|(_, rest)| rest);
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        name.is_some_and(|name| name.starts_with(NAME))
            && state.is_some_and(|state| !state.starts_with('S'))
    };
    stats.filter(is_awake).count()
}
