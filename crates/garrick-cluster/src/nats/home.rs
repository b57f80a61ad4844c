//! The tokio runtime on which a connection to NATS runs.

use std::convert::Infallible;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{Sender, channel};

use super::error::NatsError;

/// The runtime on which a connection runs: a runtime of the program, or a new runtime on a new
/// thread.
pub(super) struct Home {
    handle: Handle,
    alive: Alive,
}

/// Keeps the thread of a connection alive. The thread ends when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Alive {
    _thread: Option<Sender<Infallible>>,
}

impl Home {
    /// Uses the given runtime. If there is none, starts a new runtime on a new thread.
    pub(super) fn new(runtime: Option<Handle>) -> Result<Self, NatsError> {
        if let Some(handle) = runtime {
            let alive = Alive { _thread: None };
            return Ok(Self { handle, alive });
        }
        let failed = |error: std::io::Error| NatsError::Thread {
            why: error.to_string(),
        };
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (alive, mut all_gone) = channel(1);
        thread::Builder::new()
            .name("garrick-nats".to_owned())
            .spawn(move || runtime.block_on(all_gone.recv()))
            .map_err(failed)?;
        let alive = Alive {
            _thread: Some(alive),
        };
        Ok(Self { handle, alive })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(super) fn alive(&self) -> Alive {
        self.alive.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Home;

    #[test]
    fn the_thread_ends_with_the_last_who_needs_it() {
        let home = Home::new(None).unwrap();
        let (told, heard) = std::sync::mpsc::channel();
        let alive = home.alive();
        let asked = home.handle().clone();
        home.handle().spawn(async move {
            let _alive = alive;
            tokio::task::yield_now().await;
            told.send(()).unwrap();
            // Dropped with the runtime.
            std::future::pending::<()>().await;
            drop(told);
        });
        drop(home);
        heard.recv().unwrap();
        // The task still needs the thread.
        asked.spawn(async {});
        let home = Home::new(None).unwrap();
        let (told, heard) = std::sync::mpsc::channel::<()>();
        home.handle().spawn(async move {
            std::future::pending::<()>().await;
            drop(told);
        });
        drop(home);
        assert!(heard.recv().is_err());
    }
}
