//! Shutdown of a system when the process receives a stop signal.
//!
//! On systems other than Unix, the only signal is Ctrl-C.
//!
//! The first SIGINT or SIGTERM begins an orderly shutdown: the system handles all messages that
//! were already sent. It also handles the further messages that actors send during the shutdown.
//! The second signal stops the system immediately, without waiting for turns that are still
//! running.

use std::sync::Arc;
use std::{fmt, io};

use garrick_actor::System;
use garrick_actor::system::Ending;
use tokio::runtime::{Builder, Handle};

use crate::end::waiting;

#[cfg(any(not(unix), garrick_portable))]
use key::Source;
#[cfg(all(unix, not(garrick_portable)))]
use unix::Source;

/// A stop signal that the process has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT, which Ctrl-C sends.
    Interrupt,
    /// SIGTERM, which `kill` and service managers send, and which exists only on Unix.
    Terminate,
}

/// Prints the Unix name of the signal.
impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}

/// A receiver of SIGINT and SIGTERM, the signals that ask a process to exit. On systems other than
/// Unix, the receiver gets only Ctrl-C, as [`StopSignal::Interrupt`].
///
/// # Examples
/// This server notifies its own actors before it shuts down:
/// ```no_run
/// use garrick_actor::{Next, Reply, behavior};
/// use garrick_tokio::{Ending, Signals};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let system = garrick_tokio::system()?;
///     let desk = system.spawn(behavior(|close: Reply<()>, _| {
///         close.send(());
///         Next::Stop
///     }))?;
///     let mut signals = Signals::listen()?;
///     println!("told to end by {}", signals.recv().await);
///     desk.ask(|reply| reply).await?;
///     if signals.shutdown(system).await? == Ending::AtOnce {
///         eprintln!("ended at once");
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Signals(Source);

impl Signals {
    /// Starts to receive SIGINT and SIGTERM. After this call, these signals no longer terminate the
    /// process, even after the returned value has been dropped.
    ///
    /// # Errors
    /// Returns an error if the caller is not in the context of a tokio runtime, or if the operating
    /// system rejects the signal handlers.
    ///
    /// # Panics
    /// Panics if I/O is not enabled in the tokio runtime.
    pub fn listen() -> io::Result<Self> {
        if Handle::try_current().is_err() {
            return Err(io::Error::other(NO_RUNTIME));
        }
        Source::listen().map(Self)
    }

    /// Waits for the next stop signal: SIGINT or SIGTERM. Signals of the same kind that arrive
    /// between two calls of this method count as one.
    ///
    /// # Cancel safety
    /// No signal is lost if the future is dropped.
    pub async fn recv(&mut self) -> StopSignal {
        self.0.recv().await
    }

    /// Shuts down a system gracefully, or immediately if another stop signal arrives during the
    /// shutdown. The result shows how the shutdown ended.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot start the thread that waits for the
    /// shutdown. In that case, the system is shut down immediately.
    pub async fn shutdown(&mut self, system: System) -> io::Result<Ending> {
        let system = Arc::new(system);
        system.begin_shutdown();
        let over = waiting(&system)?;
        tokio::select! {
            biased;
            _ = over => Ok(Ending::InOrder),
            _ = self.recv() => {
                system.begin_shutdown_now();
                Ok(Ending::AtOnce)
            }
        }
    }
}

/// The receivers of SIGINT and SIGTERM on Unix.
#[cfg(all(unix, not(garrick_portable)))]
mod unix {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::{StopSignal, io};

    #[derive(Debug)]
    pub(super) struct Source {
        interrupt: Signal,
        terminate: Signal,
    }

    impl Source {
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        pub(super) async fn recv(&mut self) -> StopSignal {
            tokio::select! {
                biased;
                _ = self.terminate.recv() => StopSignal::Terminate,
                _ = self.interrupt.recv() => StopSignal::Interrupt,
            }
        }
    }
}

/// Receiver of Ctrl-C, the only stop signal that tokio receives on every operating system.
#[cfg(any(not(unix), garrick_portable))]
mod key {
    use std::fmt;
    use std::future::{pending, ready};
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use tokio::signal::ctrl_c;

    use super::{StopSignal, io};

    type Press = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

    /// A future that becomes ready at the next Ctrl-C. `listen` polls the future once, so that
    /// tokio already listens for the signal when `listen` returns.
    pub(super) struct Source(Press);

    impl Source {
        pub(super) fn listen() -> io::Result<Self> {
            let mut press: Press = Box::pin(ctrl_c());
            // The first poll begins to listen.
            let mut context = Context::from_waker(Waker::noop());
            Ok(Self(match press.as_mut().poll(&mut context) {
                Poll::Ready(pressed) => Box::pin(ready(Ok(pressed?))),
                Poll::Pending => press,
            }))
        }

        pub(super) async fn recv(&mut self) -> StopSignal {
            loop {
                let pressed = self.0.as_mut().await;
                // Without a listener, nothing is ever heard again.
                self.0 = Self::listen().map_or_else(|_| Box::pin(pending()) as _, |next| next.0);
                if pressed.is_ok() {
                    return StopSignal::Interrupt;
                }
            }
        }
    }

    impl fmt::Debug for Source {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Source").finish_non_exhaustive()
        }
    }
}

const NO_RUNTIME: &str = "receiving signals needs a tokio runtime: call this in a task of tokio, or use `run_until_signal`";
const WITHIN_RUNTIME: &str =
    "`run_until_signal` would block a thread that runs tokio: await `shutdown_on_signal` instead";

/// Waits until the process receives SIGINT or SIGTERM, then shuts down `system`. Returns how the
/// shutdown ended.
///
/// The shutdown is graceful. If a second signal arrives during the shutdown, the system stops
/// immediately. Use this function in tokio tasks, and [`run_until_signal`] on other threads.
///
/// # Errors
/// Returns an error if [`Signals::listen`] or [`Signals::shutdown`] fails.
///
/// # Examples
/// ```no_run
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let system = garrick_tokio::system()?;
///     // .. actors ..
///     let _ = garrick_tokio::shutdown_on_signal(system).await?;
///     Ok(())
/// }
/// ```
pub async fn shutdown_on_signal(system: System) -> io::Result<Ending> {
    let mut signals = Signals::listen()?;
    signals.recv().await;
    signals.shutdown(system).await
}

/// Blocks until the process receives SIGINT or SIGTERM, then shuts down `system`. Returns how the
/// shutdown ended.
///
/// The shutdown is graceful. If a second signal arrives during the shutdown, the system stops
/// immediately. Use this function on threads outside of tokio, such as the thread of a plain
/// `main`.
///
/// # Errors
/// Returns an error if the caller is in the context of a tokio runtime, if the runtime of this
/// function cannot be created, or if [`shutdown_on_signal`] fails.
///
/// # Examples
/// ```no_run
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let system = garrick_tokio::system()?;
///     // .. actors ..
///     let _ = garrick_tokio::run_until_signal(system)?;
///     Ok(())
/// }
/// ```
pub fn run_until_signal(system: System) -> io::Result<Ending> {
    if Handle::try_current().is_ok() {
        return Err(io::Error::other(WITHIN_RUNTIME));
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(shutdown_on_signal(system))
}

#[cfg(test)]
mod tests {
    use super::StopSignal;

    #[test]
    fn a_signal_has_the_name_of_its_constant() {
        assert_eq!(StopSignal::Interrupt.to_string(), "SIGINT");
        assert_eq!(StopSignal::Terminate.to_string(), "SIGTERM");
    }
}
