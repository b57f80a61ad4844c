//! Shutdown of a system without blocking a thread of tokio.

use std::io;
use std::sync::Arc;
use std::thread;

use garrick_actor::System;
use tokio::sync::oneshot;

/// Shuts down a system gracefully, like [`System::shutdown`], but without blocking the thread. Use
/// this function in tokio tasks.
///
/// # Errors
/// Returns an error if the operating system cannot start the thread that waits for the shutdown. In
/// that case, the system is shut down immediately.
///
/// # Cancel safety
/// If the future is dropped, the shutdown of the system still proceeds.
///
/// # Examples
/// ```
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let system = garrick_tokio::system()?;
///     garrick_tokio::shutdown(system).await?;
///     Ok(())
/// }
/// ```
pub async fn shutdown(system: System) -> io::Result<()> {
    system.begin_shutdown();
    // Either the waiting thread drops the last reference to the system, or the thread did not
    // start.
    let system = Arc::new(system);
    let _ = waiting(&system)?.await;
    Ok(())
}

/// Returns a receiver that is notified after a system has shut down. The caller must already have
/// begun the shutdown.
pub(crate) fn waiting(system: &Arc<System>) -> io::Result<oneshot::Receiver<()>> {
    let (over, told) = oneshot::channel();
    let ending = system.clone();
    let wait = move || {
        ending.wait();
        drop(ending);
        // The receiver may have been dropped.
        let _ = over.send(());
    };
    let thread = thread::Builder::new().name("garrick-end".to_owned());
    match thread.spawn(wait) {
        Ok(_) => Ok(told),
        Err(error) => {
            // The caller then drops the system, and so waits for its end.
            system.begin_shutdown_now();
            Err(error)
        }
    }
}
