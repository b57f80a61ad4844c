//! Ending a system when the process is told to end.
//!
//! The first SIGINT or SIGTERM begins an end in order: every message that was sent is handled, and every message that this leads
//! to. The second one ends the system after the turns under way, and nobody waits for those.

use std::io;
use std::sync::Arc;

use garrick_actor::{Ending, System};
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::end::waiting;

/// What the process was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: what `kill` and service managers send.
    Terminate,
}

/// The signals that ask a process to end.
///
/// # Examples
/// A server that tells its own actors first:
/// ```no_run
/// use garrick_actor::{Next, Reply};
/// use garrick_tokio::{Ending, Signals};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let system = garrick_tokio::system()?;
///     let desk = system.spawn_behavior(|close: Reply<()>, _| {
///         close.send(());
///         Next::Stop
///     })?;
///     let mut signals = Signals::listen()?;
///     println!("told to end by {:?}", signals.recv().await);
///     desk.ask(|reply| reply).await?;
///     if signals.shutdown(system).await? == Ending::AtOnce {
///         eprintln!("ended at once");
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Listens from here on: the signals do not end the process by themselves any more, to its end.
    ///
    /// # Errors
    /// There is no tokio around the caller, or the operating system refuses.
    ///
    /// # Panics
    /// If the tokio that is around has no I/O.
    pub fn listen() -> io::Result<Self> {
        if Handle::try_current().is_err() {
            return Err(io::Error::other(NO_RUNTIME));
        }
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one. Signals of one kind that come faster than they are received are one.
    ///
    /// # Cancel safety
    /// A signal is not lost if this is dropped.
    pub async fn recv(&mut self) -> StopSignal {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.interrupt.recv() => StopSignal::Interrupt,
        }
    }

    /// Ends a system in order, or at once when there is another signal meanwhile.
    ///
    /// # Errors
    /// The operating system gave no thread to wait on. Then the system ends at once.
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

const NO_RUNTIME: &str = "signals are received by tokio, and there is none around: call it in a task, or use `run_until_signal`";
const WITHIN_RUNTIME: &str =
    "`run_until_signal` blocks its thread, which runs tokio: await `shutdown_on_signal` there";

/// Lets a system run until the process is told to end, and ends it. For tasks of tokio; see [`run_until_signal`] for others.
///
/// # Errors
/// As for [`Signals::listen`] and [`Signals::shutdown`].
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

/// Lets a system run until the process is told to end, and ends it. For threads that run no tokio, as that of a plain `main`.
///
/// # Errors
/// The caller is within a tokio, or as for [`shutdown_on_signal`].
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
