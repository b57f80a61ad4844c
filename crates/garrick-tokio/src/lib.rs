//! Integration of Garrick with tokio: actors that await sockets, timers and files, and addresses
//! that tokio's tasks can use.
//!
//! The workers of a system that is built with [`Tokio`] sleep in tokio's driver. Each worker has
//! its own driver, so the thread that runs an actor also receives the I/O events for which the
//! actor waits. No second thread pool is needed, and no event has to be passed to another thread.
//!
//! ```text
//!   worker thread:  [ turns of actors ][ poll the driver ][ turns ] ... [ sleep in the driver ] ...
//!                      |   register                ^                            ^
//!                      v                           | readiness, timers          | Address::send from elsewhere
//!                   sockets, tokio::time, any library that needs a tokio runtime
//! ```
//!
//! Tasks of tokio can use actors without this crate: any task can send to an address, and an ask is
//! a future.
//!
//! # Examples
//! ```
//! use garrick_actor::{Incoming, Reply};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tokio::net::{TcpListener, TcpStream};
//!
//! let system = garrick_tokio::system()?;
//! let server = system.spawn(|mut mailbox: Incoming<Reply<u16>>| async move {
//!     let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
//!     let port = listener.local_addr().expect("it is bound").port();
//!     mailbox.recv().await.expect("somebody asks").send(port);
//!     let (mut stream, _) = listener.accept().await.expect("a client");
//!     stream.write_all(b"hello").await.expect("it reads");
//! })?;
//! let port = server.ask(|reply| reply).wait()?;
//!
//! let client = system.spawn(move |mut mailbox: Incoming<Reply<String>>| async move {
//!     let mut heard = String::new();
//!     let mut stream = TcpStream::connect(("127.0.0.1", port))
//!         .await
//!         .expect("it listens");
//!     stream.read_to_string(&mut heard).await.expect("it writes");
//!     mailbox.recv().await.expect("somebody asks").send(heard);
//! })?;
//! assert_eq!(client.ask(|reply| reply).wait()?, "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod alarm;

mod driver;

mod blocking;

mod end;
mod signals;

pub use blocking::{BlockingError, SpawnBlocking};
pub use driver::{Tokio, system};
pub use end::shutdown;
pub use garrick_actor::system::Ending;
pub use signals::{Signals, StopSignal, run_until_signal, shutdown_on_signal};
