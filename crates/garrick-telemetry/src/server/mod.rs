//! The web server: one thread, all connections, nothing that a client can hold up.
//!
//! ```text
//!   accept -- room? -- yes --> connection task -- guard -- routes --> pages, texts, event streams
//!                  \-- no ---> 503, or nothing at all
//! ```
//!
//! What a client can do to it is bounded: how many connections there are, how long a request's head may be and
//! take, how long a client may leave what was sent to it unread, and how much is kept for it meanwhile. Bodies
//! of requests are never read.

mod connection;
mod events;
mod guard;
mod patient;
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

pub(crate) use token::Token;
pub use token::TokenError;

/// Beyond the limit, so many more connections are told so at a time; others are closed without a word.
const TOLD_MAX: u64 = 64;

/// How long to wait when the system has no socket left for another connection.
const NO_SOCKETS: Duration = Duration::from_millis(100);

/// How long clients have to take what is under way when the server ends.
const END: Duration = Duration::from_millis(500);

/// What the server is told once.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// What a client has to know, if anything.
    pub(crate) token: Option<Token>,
    /// How many connections there may be.
    pub(crate) connections_max: u64,
    /// How long a client may take to send the head of a request, from when it could.
    pub(crate) head_timeout: Duration,
    /// How long a client may leave what was sent to it unread.
    pub(crate) write_timeout: Duration,
    /// How long a stream is silent at most.
    pub(crate) heartbeat: Duration,
    /// Whether only programs on this machine can reach it.
    pub(crate) is_local: bool,
}

/// What every handler knows.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) hub: Arc<Hub>,
    pub(crate) options: Options,
    /// True when the server ends.
    pub(crate) ending: watch::Receiver<bool>,
}

impl Site {
    /// Waits until the server ends.
    async fn ended(&self) {
        let mut ending = self.ending.clone();
        // Whoever could end it being gone is the end, too.
        let _ = ending.wait_for(|ending| *ending).await;
    }
}

/// Makes a server of `listener`.
///
/// # Errors
///
/// When the system has no means for it.
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

/// A server that has all it needs of the system.
#[derive(Debug)]
pub(crate) struct Prepared {
    runtime: runtime::Runtime,
    listener: tokio::net::TcpListener,
}

impl Prepared {
    /// Serves on the calling thread until `site.ending` turns true.
    pub(crate) fn run(self, site: Site) {
        let site = Arc::new(site);
        self.runtime.block_on(accept_all(&self.listener, &site));
        drop(self.listener);
        self.runtime.block_on(wait_for_the_last(&site));
        // What has not ended by now is cut off.
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
            // A client that is gone again, or no socket left: in any case, others may follow.
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

/// Waits until all connections are closed, though not for long.
async fn wait_for_the_last(site: &Site) {
    let last = async {
        while site.hub.counts.connections.load(Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(END, last).await;
}
