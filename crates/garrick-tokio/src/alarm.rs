//! A timer that wakes a worker from its sleep in tokio's driver.
//!
//! tokio's timers have a resolution of milliseconds, and the timeout of a sleep in tokio's driver
//! is just as coarse. Garrick's timers are a hundred times more precise. To keep this precision, a
//! timer file descriptor (`timerfd`) wakes the worker on Linux. The driver waits for this
//! descriptor in the same way as for a socket, and the kernel does not round the time. On other
//! systems, one of tokio's timers wakes the worker.

use std::io;
use std::time::Duration;

#[cfg(all(target_os = "linux", not(garrick_portable)))]
pub(crate) use fine::Alarm;

#[cfg(all(target_os = "linux", not(garrick_portable)))]
mod fine {
    use std::os::fd::OwnedFd;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use super::{Duration, io};

    /// The timer in the tokio driver of one worker.
    #[derive(Debug)]
    pub(crate) struct Alarm {
        timer: AsyncFd<OwnedFd>,
    }

    impl Alarm {
        /// Creates a timer in the context of the current tokio runtime.
        #[expect(
            deprecated,
            reason = "it is unsound only if the descriptor changes or is closed, which an `OwnedFd` rules out"
        )]
        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            Ok(Self { timer })
        }

        pub(crate) async fn wait(&self, delay: Duration) {
            let set = self.set(delay);
            debug_assert!(set.is_ok(), "{set:?}");
            // Setting the timer again resets its expiration count, so nothing has to be read. Only
            // the readiness that tokio has recorded must be cleared. The recorded readiness may
            // even be from the previous sleep.
            if let Ok(mut ready) = self.timer.readable().await {
                ready.clear_ready();
            }
        }

        fn set(&self, delay: Duration) -> io::Result<()> {
            // A delay of zero would disarm the timer.
            let delay = delay.max(Duration::from_nanos(1));
            let time = Itimerspec {
                it_interval: Timespec::default(),
                it_value: Timespec {
                    tv_sec: i64::try_from(delay.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: delay.subsec_nanos().into(),
                },
            };
            timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &time)?;
            Ok(())
        }
    }
}

/// The timer in the tokio driver of one worker.
#[cfg(any(not(target_os = "linux"), garrick_portable))]
#[derive(Debug)]
pub(crate) struct Alarm;

#[cfg(any(not(target_os = "linux"), garrick_portable))]
impl Alarm {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) async fn wait(&self, delay: Duration) {
        tokio::time::sleep(delay).await;
    }
}
