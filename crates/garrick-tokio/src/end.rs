//! Ending a system without blocking a thread of tokio.

use std::io;
use std::sync::Arc;
use std::thread;

use garrick_actor::System;
use tokio::sync::oneshot;

/// Ends a system in order, as [`System::shutdown`] does, for who must not block: in a task of tokio.
///
/// # Errors
/// The system gave no thread to wait on. Then it ends at once.
///
/// # Cancel safety
/// The end goes on if this is dropped.
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
    // Whoever waits lives longer than the system, or there was no thread.
    let system = Arc::new(system);
    let _ = waiting(&system)?.await;
    Ok(())
}

/// Is told of the end of a system, which the caller has begun.
pub(crate) fn waiting(system: &Arc<System>) -> io::Result<oneshot::Receiver<()>> {
    let (over, told) = oneshot::channel();
    let ending = system.clone();
    let wait = move || {
        ending.wait();
        drop(ending);
        // Nobody need be listening any more.
        let _ = over.send(());
    };
    let thread = thread::Builder::new().name("garrick-end".to_owned());
    match thread.spawn(wait) {
        Ok(_) => Ok(told),
        Err(error) => {
            // Whoever drops it now waits for it.
            system.begin_shutdown_now();
            Err(error)
        }
    }
}
