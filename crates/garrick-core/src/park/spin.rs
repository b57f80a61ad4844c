//! Adaptive spinning before parking: the duration of a spin depends on the success of recent spins.
//!
//! Parking and waking take microseconds, so spinning is cheaper for a shorter wait. The spin budget
//! adapts to the latest waits, as described by Karlin, Li, Manasse and Owicki in "Empirical Studies
//! of Competitive Spinning for a Shared-Memory Multiprocessor" (SOSP 1991).
//!
//! ```text
//!     ready while spinning            budget x 2, up to SPIN_MAX
//!     not ready                       budget / 2, below ROUNDS_MIN it is 0
//!     budget 0                        every PROBE_EVERY-th wait spins up to SPIN_MAX, as a probe
//! ```

use std::{
    fmt,
    ops::RangeInclusive,
    sync::OnceLock,
    time::{Duration, Instant},
};

use crate::prim::hint;

/// Maximum duration of a spin. It is roughly the time that two threads in a virtual machine need to
/// park and to wake each other once. We measured a thread that sends single tasks to a worker and
/// sleeps until the worker has answered. When the maximum was a third of this value, the worker was
/// parked whenever a task arrived. A task of 80 us then took 115 to 135 us instead of 90 to 110 us.
const SPIN_MAX: Duration = Duration::from_micros(60);

/// Lower and upper bound of the number of rounds in the longest spin. The number is measured,
/// because a pause instruction takes 10 ns on some processors and 60 ns on others.
const ROUNDS_MAX: RangeInclusive<u32> = 256..=8192;

/// Smallest spin budget, in rounds. A budget that falls below this value is set to 0, because so
/// short a spin is not worth its cost.
const ROUNDS_MIN: u32 = 16;

/// Interval between probes, in waits. While the budget is 0, every 16th wait spins anyway, as a
/// probe. So a thread whose waits are always long loses on average at most a sixteenth of
/// [`SPIN_MAX`] per wait.
const PROBE_EVERY: u32 = 16;

/// A short busy wait before a thread parks. Its maximum duration adapts to the earlier waits of the
/// same thread.
///
/// # Examples
///
/// ```
/// use garrick_core::park::{Parker, Spin};
///
/// let mut parker = Parker::new();
/// let mut spin = Spin::new(1);
/// let mut mail = vec!["letter"];
/// let letter = loop {
///     if let Some(letter) = spin.wait(|| mail.pop()) {
///         break letter;
///     }
///     parker.park();
/// };
/// assert_eq!(letter, "letter");
/// ```
pub struct Spin {
    /// True if there are more cores than running threads. Always false under loom, where spinning
    /// would only add equivalent states.
    is_on: bool,

    /// Number of rounds that the next wait may spin.
    budget: u32,

    /// Number of waits without spinning since the last probe.
    waits_unspun: u32,
}

impl Spin {
    /// Creates a `Spin` for a process in which `threads_running` threads each need a core.
    pub fn new(threads_running: usize) -> Self {
        let mut spin = Self {
            is_on: false,
            budget: rounds_max(),
            waits_unspun: 0,
        };
        spin.set_threads_running(threads_running);
        spin
    }

    /// Creates a `Spin` that does not spin, unless
    /// [`set_threads_running`](Self::set_threads_running) turns spinning on later.
    pub fn off() -> Self {
        Self::new(usize::MAX)
    }

    /// Sets the number of threads that now need a core. Spinning is on only while this number is
    /// less than the number of cores.
    pub fn set_threads_running(&mut self, threads_running: usize) {
        self.is_on = cfg!(not(garrick_loom)) && threads_running < cores();
    }

    /// Calls `ready` until it returns `Some` or the [`budget`](Self::budget) is used up. Returns
    /// the last result of `ready`.
    ///
    /// `ready` is called at least once, even if spinning is off.
    #[inline]
    pub fn wait<R>(&mut self, mut ready: impl FnMut() -> Option<R>) -> Option<R> {
        // A result without any waiting teaches nothing.
        if let Some(result) = ready() {
            return Some(result);
        }
        let rounds = self.rounds();
        for _ in 0..rounds {
            hint::spin_loop();
            if let Some(result) = ready() {
                self.paid(rounds);
                return Some(result);
            }
        }
        self.failed(rounds);
        None
    }

    /// Returns the maximum number of rounds in the next [`wait`](Self::wait). In each round, `wait`
    /// executes a pause instruction and calls the closure `ready`.
    ///
    /// If spinning is on but the budget is 0, every 16th wait spins anyway, to find out whether
    /// spinning is worthwhile again.
    pub fn budget(&self) -> u32 {
        if self.is_on { self.budget } else { 0 }
    }

    /// Returns the number of rounds for a wait that is about to begin. The wait may be a probe.
    fn rounds(&mut self) -> u32 {
        if !self.is_on || self.budget > 0 {
            return self.budget();
        }
        self.waits_unspun += 1;
        if self.waits_unspun < PROBE_EVERY {
            return 0;
        }
        self.waits_unspun = 0;
        rounds_max()
    }

    fn paid(&mut self, rounds: u32) {
        self.budget = (rounds * 2).min(rounds_max());
    }

    fn failed(&mut self, rounds: u32) {
        // A probe that failed leaves the budget at 0, and so does a wait without spinning.
        if rounds > 0 && self.budget > 0 {
            let halved = self.budget / 2;
            self.budget = if halved < ROUNDS_MIN { 0 } else { halved };
        }
    }
}

impl fmt::Debug for Spin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spin")
            .field("budget", &self.budget())
            .finish_non_exhaustive()
    }
}

/// Returns the number of cores that this process may use. The first call makes system calls. Later
/// calls return the result of the first call.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Returns the number of rounds of the longest spin. The first call measures this number, because
/// on some processors the pause instruction takes several times as long as on others.
fn rounds_max() -> u32 {
    /// Number of rounds per measurement. Only the shortest measurement counts, because longer ones
    /// were disturbed.
    const TRIED: u32 = 64;
    const TRIES: usize = 4;
    static ROUNDS: OnceLock<u32> = OnceLock::new();
    *ROUNDS.get_or_init(|| {
        let tried = (0..TRIES).map(|_| {
            let start = Instant::now();
            (0..TRIED).for_each(|_| std::hint::spin_loop());
            start.elapsed()
        });
        let shortest = tried.min().unwrap_or_default().as_nanos().max(1);
        let rounds = SPIN_MAX.as_nanos() * u128::from(TRIED) / shortest;
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        rounds.clamp(*ROUNDS_MAX.start(), *ROUNDS_MAX.end())
    })
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    fn on() -> Spin {
        let mut spin = Spin::new(0);
        spin.is_on = true;
        spin
    }

    /// Waits with a closure that returns `None` in its first `rounds` calls. The first result is
    /// true if the closure returned `Some`. The second result is the number of calls of the
    /// closure.
    fn wait_for(spin: &mut Spin, rounds: u32) -> (bool, u32) {
        let mut looks = 0;
        let came = spin.wait(|| {
            looks += 1;
            (looks > rounds).then_some(())
        });
        (came.is_some(), looks)
    }

    #[test]
    fn long_waits_turn_it_off_and_short_ones_on_again() {
        let mut spin = on();
        for _ in 0..10 {
            assert!(!wait_for(&mut spin, u32::MAX).0);
        }
        assert_eq!(spin.budget(), 0);
        let probed = (0..2 * PROBE_EVERY).position(|_| wait_for(&mut spin, 40).0);
        assert!(probed.is_some(), "never tried again");
        assert_eq!(spin.budget(), rounds_max());
    }

    #[test]
    fn a_failed_probe_costs_one_spin_in_sixteen() {
        let mut spin = on();
        spin.budget = 0;
        let looks: u32 = (0..PROBE_EVERY)
            .map(|_| wait_for(&mut spin, u32::MAX).1)
            .sum();
        assert_eq!(looks, PROBE_EVERY + rounds_max());
        assert_eq!(spin.budget(), 0);
    }

    #[test]
    fn the_budget_is_bounded() {
        let mut spin = on();
        for _ in 0..10 {
            assert_eq!(wait_for(&mut spin, 1), (true, 2));
        }
        assert_eq!(wait_for(&mut spin, u32::MAX), (false, rounds_max() + 1));
    }

    #[test]
    fn no_spinning_when_cores_are_scarce() {
        let mut spin = Spin::new(cores());
        assert_eq!(spin.budget(), 0);
        assert_eq!(wait_for(&mut spin, u32::MAX), (false, 1));
        assert_eq!(Spin::off().budget(), 0);
        spin.set_threads_running(0);
        assert_eq!(spin.budget(), rounds_max());
    }
}
