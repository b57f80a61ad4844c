//! Cost of a push and a pop for the owner of a deque, compared with a plain `VecDeque` without
//! thieves.
//!
//! `cargo bench -p garrick-steal --bench deque` runs for about a second. Each round measures all
//! contenders one after another, so that a slow phase of the machine affects all contenders. The
//! table shows medians over the rounds. Times are CPU time of the measured thread, in nanoseconds
//! per pair of a push and a pop.
#![allow(unsafe_code)] // One system call for the clock.
use std::{
    collections::VecDeque,
    hint::black_box,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use garrick_core::fence::Asymmetric;
use garrick_steal::deque::{self, Steal, Stealer, Worker};

const CAPACITY: usize = 256;
const ROUNDS: usize = 21;
const PAIRS: u64 = 200_000;
/// Length of a thief's pause after an attempt that found no value, in iterations of an empty loop.
/// The pause simulates parking.
const BACKOFF_SPINS: usize = 2000;

/// Operations that every contender supports.
trait Deque {
    fn push(&mut self, value: u64);
    fn pop(&mut self) -> Option<u64>;
}

impl Deque for VecDeque<u64> {
    #[inline]
    fn push(&mut self, value: u64) {
        self.push_back(value);
    }
    #[inline]
    fn pop(&mut self) -> Option<u64> {
        self.pop_back()
    }
}

impl Deque for Worker<u64> {
    #[inline]
    fn push(&mut self, value: u64) {
        // The bench never fills it: a thief only makes room.
        let _ = Worker::push(self, value);
    }
    #[inline]
    fn pop(&mut self) -> Option<u64> {
        Worker::pop(self)
    }
}

#[allow(clippy::mut_mutex_lock)] // To pay for the lock is the point.
impl Deque for Mutex<VecDeque<u64>> {
    #[inline]
    fn push(&mut self, value: u64) {
        self.lock().unwrap().push_back(value);
    }
    #[inline]
    fn pop(&mut self) -> Option<u64> {
        self.lock().unwrap().pop_back()
    }
}

/// A pattern of pushes and pops to measure.
#[derive(Clone, Copy)]
enum Scenario {
    /// Pushes one value and pops one value, while the deque holds the given number of other values.
    Depth(u64),
    /// Pushes the given number of values, and then pops the same number of values.
    Batch(u64),
}

impl Scenario {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Depth(0), "depth 0"),
        (Self::Depth(64), "depth 64"),
        (Self::Batch(64), "64 then 64"),
    ];

    /// Runs the scenario on `deque`, and returns the time per pair, in nanoseconds.
    fn measure(self, deque: &mut impl Deque) -> f64 {
        // A real user of a deque holds it in a struct, so nothing may stay in registers for good.
        let deque = black_box(deque);
        let (depth, batch) = match self {
            Self::Depth(depth) => (depth, 1),
            Self::Batch(batch) => (0, batch),
        };
        (0..depth).for_each(|value| deque.push(value));
        let start = thread_cpu_ns();
        if batch == 1 {
            pairs(deque);
        } else {
            batches(deque, batch);
        }
        let took = thread_cpu_ns() - start;
        while deque.pop().is_some() {}
        took as f64 / PAIRS as f64
    }
}

fn pairs(deque: &mut impl Deque) {
    for value in 0..PAIRS {
        deque.push(black_box(value));
        black_box(deque.pop());
    }
}

fn batches(deque: &mut impl Deque, batch: u64) {
    for _ in 0..PAIRS / batch {
        (0..batch).for_each(|value| deque.push(black_box(value)));
        (0..batch).for_each(|_| {
            black_box(deque.pop());
        });
    }
}

/// Returns the CPU time of this thread, or the wall-clock time if the system does not report CPU
/// time.
#[cfg(target_os = "linux")]
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours and lives through the call, which only writes to it.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "the thread's clock must be readable");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(not(target_os = "linux"))]
fn thread_cpu_ns() -> u64 {
    use std::{sync::LazyLock, time::Instant};
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Measures every contender in every scenario, without a thief.
fn owner_alone() {
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "owner alone", "VecDeque", "deque", "ratio", "fenced", "mutexed"
    );
    for (scenario, name) in Scenario::ALL {
        let mut plain = VecDeque::with_capacity(CAPACITY);
        let mut asymmetric = deque::bounded(CAPACITY);
        let mut fenced = deque::bounded_with_fence(CAPACITY, Asymmetric::symmetric());
        let mut mutexed = Mutex::new(VecDeque::with_capacity(CAPACITY));
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..ROUNDS {
            times[0].push(scenario.measure(&mut plain));
            times[1].push(scenario.measure(&mut asymmetric));
            times[2].push(scenario.measure(&mut fenced));
            times[3].push(scenario.measure(&mut mutexed));
        }
        let [plain, asymmetric, fenced, mutexed] = times.map(median);
        println!(
            "{name:<12} {plain:>9.2} {asymmetric:>9.2} {:>9.2} {fenced:>9.2} {mutexed:>9.2}",
            asymmetric / plain
        );
    }
}

/// Behavior of a thief after an attempt that found no value.
#[derive(Debug, Clone, Copy)]
enum Patience {
    /// Tries again immediately, which slows the owner down the most.
    Greedy,
    /// Pauses for a while, like a thief that parks.
    Patient,
}

/// Steals half of the values repeatedly, until `stop` is set. Returns the number of stolen values.
fn rob(stealer: &Stealer<u64>, patience: Patience, stop: &AtomicBool) -> u64 {
    let mut loot = Vec::new();
    let mut stolen = 0;
    while !stop.load(Relaxed) {
        if let Steal::Success(count) = stealer.steal_half_into(&mut loot, CAPACITY) {
            stolen += count as u64;
            loot.clear();
        } else if matches!(patience, Patience::Patient) {
            (0..BACKOFF_SPINS).for_each(|_| std::hint::spin_loop());
        }
    }
    stolen
}

/// Measures the cost for the owner while one thief steals, and the share of the values that the
/// thief gets.
fn owner_robbed(fence: Asymmetric, patience: Patience, scenario: Scenario) -> (f64, f64) {
    let mut worker = deque::bounded_with_fence(CAPACITY, fence);
    let stealer = worker.stealer();
    let stop = AtomicBool::new(false);
    let (times, stolen) = thread::scope(|scope| {
        let thief = scope.spawn(|| rob(&stealer, patience, &stop));
        let times = (0..ROUNDS).map(|_| scenario.measure(&mut worker)).collect();
        stop.store(true, Relaxed);
        (times, thief.join().unwrap())
    });
    let share = stolen as f64 / (ROUNDS as u64 * PAIRS) as f64;
    (median(times), share)
}

/// Measures both pairs of fences with both kinds of thief.
fn with_a_thief() {
    println!(
        "{:<12} {:>9} {:>8} {:>9} {:>8}",
        "one thief", "deque", "stolen", "fenced", "stolen"
    );
    for patience in [Patience::Patient, Patience::Greedy] {
        for (scenario, name) in [Scenario::ALL[0], Scenario::ALL[2]] {
            let (deque, stolen) = owner_robbed(Asymmetric::detect(), patience, scenario);
            let (fenced, stolen_fenced) = owner_robbed(Asymmetric::symmetric(), patience, scenario);
            println!(
                "{name:<12} {deque:>9.2} {:>6.1} % {fenced:>9.2} {:>6.1} %   {patience:?}",
                100.0 * stolen,
                100.0 * stolen_fenced
            );
        }
    }
}

fn main() {
    // Under `cargo test` only the build matters.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!(
        "CPU time, ns per pair; {:?}, u64, capacity {CAPACITY}, median of {ROUNDS} rounds of {PAIRS} pairs",
        Asymmetric::detect()
    );
    owner_alone();
    with_a_thief();
}
