//! The web server, with one thread for all connections. No client can block this thread.
//!
//! ```text
//!   accept -- room? -- yes --> connection task -- guard -- routes --> pages, texts, event streams
//!                  \-- no ---> 503, or nothing at all
//! ```
//!
//! The server limits the number of connections, the size of a request's head, and the time in which
//! a client must send this head. The server also limits how long sent data may stay unread, how
//! slowly a client may read, and the size of the buffer for unread data. Bodies of requests are
//! never read.

mod loans;

mod events;
mod guard;
mod patient;

mod connection;
mod routes;
mod token;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::watch;

use crate::hub::{Counted, Hub};

pub(crate) use loans::Loans;
pub(crate) use token::Token;
pub use token::TokenError;

/// Number of connections beyond the limit that still get a response. Further connections are closed
/// without a response.
const TOLD_MAX: u64 = 64;

/// Time to wait after a connection could not be accepted, for example because the operating system
/// has no socket left.
const NO_SOCKETS: Duration = Duration::from_millis(100);

/// Time for which clients can still receive their current responses after a stop of the server was
/// requested.
const END: Duration = Duration::from_millis(500);

/// Configuration of the server.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Token that a client must send, if any.
    pub(crate) token: Option<Token>,
    pub(crate) connections_max: u64,
    /// Maximum time that a client may take to send the head of a request. The time begins when the
    /// client connects, and begins again after each response.
    pub(crate) head_timeout: Duration,
    /// Maximum time for which a client can leave sent data unread. Also the length of each period
    /// in which a client must read a minimum number of bytes.
    pub(crate) write_timeout: Duration,
    /// Time after which an event stream that has sent nothing sends a heartbeat.
    pub(crate) heartbeat: Duration,
    /// True if only programs on this machine can reach the server.
    pub(crate) is_local: bool,
}

/// State shared by all handlers.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) hub: Arc<Hub>,
    pub(crate) options: Options,
    /// Rendered responses that clients are reading, with a limit on their total size.
    pub(crate) loans: Loans,
    /// True if the server must stop.
    pub(crate) ending: watch::Receiver<bool>,
}

impl Site {
    /// Waits until a stop of the server is requested.
    async fn ended(&self) {
        let mut ending = self.ending.clone();
        // A dropped sender also means the end.
        let _ = ending.wait_for(|ending| *ending).await;
    }
}

/// Creates a server for `listener`.
///
/// # Errors
///
/// Returns an error if the system cannot provide a resource.
pub(crate) fn prepare(listener: TcpListener) -> io::Result<Prepared> {
    listener.set_nonblocking(true)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    Ok(Prepared { runtime, listener })
}

/// A server that has all its system resources, but does not run yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    runtime: runtime::Runtime,
    listener: tokio::net::TcpListener,
}

impl Prepared {
    /// Serves on the calling thread until `site.ending` becomes true.
    pub(crate) fn run(self, site: Site) {
        let site = Arc::new(site);
        self.runtime.block_on(accept_all(&self.listener, &site));
        drop(self.listener);
        self.runtime.block_on(wait_for_the_last(&site));
        // Cuts off the connections that are still open.
        self.runtime.shutdown_background();
    }
}

async fn accept_all(listener: &tokio::net::TcpListener, site: &Arc<Site>) {
    let routes = routes::routes(site);
    let turned_away = routes::turned_away();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = site.ended() => return,
        };
        let Ok((stream, _)) = accepted else {
            // The client has disconnected, or the system has no socket left. Other clients may
            // follow.
            tokio::time::sleep(NO_SOCKETS).await;
            continue;
        };
        let open = site.hub.counts.connections.load(Relaxed);
        let service = if open < site.options.connections_max {
            &routes
        } else {
            site.hub.counts.refused.fetch_add(1, Relaxed);
            &turned_away
        };
        if open < site.options.connections_max + TOLD_MAX {
            let counted = Counted::new(&site.hub, |counts| &counts.connections);
            let serve = connection::serve(stream, service.clone(), Arc::clone(site), counted);
            tokio::spawn(serve);
        }
    }
}

/// Waits until all connections are closed, but only for a limited time.
async fn wait_for_the_last(site: &Site) {
    let last = async {
        while site.hub.counts.connections.load(Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(END, last).await;
}
