//! Measures CPU time and wall time together.
//!
//! On a shared machine, wall time includes the time of other programs. CPU time is the cost of the
//! work itself, so figures are compared by CPU time. Wall time also shows how long the work waits,
//! and how much a second core helps.
//!
//! On systems other than Unix, wall time takes the place of CPU time.

use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// The threads whose CPU time a [`Stopwatch`] measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Measures the CPU time of the calling thread.
    Thread,
    /// Measures the CPU time of all threads of the process.
    Process,
}

#[cfg(all(unix, not(garrick_portable)))]
impl Clock {
    /// Returns the CPU time that the selected threads have used so far.
    fn now(self) -> Duration {
        use nix::time::{ClockId, clock_gettime};

        let id = match self {
            Self::Thread => ClockId::CLOCK_THREAD_CPUTIME_ID,
            Self::Process => ClockId::CLOCK_PROCESS_CPUTIME_ID,
        };
        let time = clock_gettime(id).expect("the system counts CPU time");
        Duration::from(time)
    }
}

#[cfg(any(not(unix), garrick_portable))]
impl Clock {
    /// Returns the wall time since the first call, because this system does not report CPU time in
    /// a portable way.
    fn now(self) -> Duration {
        static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        BEGAN.get_or_init(Instant::now).elapsed()
    }
}

/// A time span, measured as CPU time and as wall time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// CPU time that the threads selected by the [`Clock`] used during the span.
    pub cpu: Duration,
    /// Wall time of the span.
    pub wall: Duration,
}

/// Adds up spans that are measured separately, with other work between them.
impl AddAssign for Span {
    fn add_assign(&mut self, piece: Self) {
        self.cpu += piece.cpu;
        self.wall += piece.wall;
    }
}

/// A stopwatch that measures CPU time and wall time since its start.
#[derive(Debug)]
pub struct Stopwatch {
    /// The threads whose CPU time is measured.
    clock: Clock,
    /// CPU time at the start.
    cpu: Duration,
    /// Wall time at the start.
    wall: Instant,
}

impl Stopwatch {
    /// Starts a stopwatch. It measures wall time, and the CPU time of the threads that `clock`
    /// selects.
    pub fn start(clock: Clock) -> Self {
        Self {
            clock,
            wall: Instant::now(),
            cpu: clock.now(),
        }
    }

    /// Returns the time since the start. The stopwatch keeps running, so this method can be called
    /// again.
    pub fn stop(&self) -> Span {
        Span {
            cpu: self.clock.now().saturating_sub(self.cpu),
            wall: self.wall.elapsed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn work_takes_cpu_time_by_both_clocks() {
        for clock in [Clock::Thread, Clock::Process] {
            let watch = Stopwatch::start(clock);
            while watch.stop().wall < Duration::from_millis(5) {
                black_box((0..100).map(black_box).sum::<u64>());
            }
            assert!(watch.stop().cpu > Duration::ZERO, "{clock:?}");
        }
    }

    #[test]
    fn pieces_add_up() {
        let piece = Span {
            cpu: Duration::from_millis(1),
            wall: Duration::from_millis(3),
        };
        let mut whole = Span::default();
        whole += piece;
        whole += piece;
        assert_eq!((whole.cpu.as_millis(), whole.wall.as_millis()), (2, 6));
    }

    #[cfg(all(unix, not(garrick_portable)))]
    #[test]
    fn another_threads_work_is_the_processes_only() {
        let mine = Stopwatch::start(Clock::Thread);
        let all = Stopwatch::start(Clock::Process);
        std::thread::spawn(|| {
            let watch = Stopwatch::start(Clock::Thread);
            while watch.stop().cpu < Duration::from_millis(20) {}
        })
        .join()
        .unwrap();
        assert!(mine.stop().cpu < Duration::from_millis(10));
        assert!(all.stop().cpu >= Duration::from_millis(20));
    }
}
