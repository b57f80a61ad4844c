//! Load test: each server holds idle sessions. The servers alternately pass on the lines of busy
//! rooms.
//!
//! Each server runs in a separate process, so that its memory can be measured. Its idle clients run
//! in another process, so that neither process needs more file descriptors than there are sessions.
//! The busy clients of all servers run in this process.
//!
//! ```text
//!   this process: 100 busy clients --+--> host actors <--- crowd, 10,000 idle clients
//!                  reports           +--> host plain  <--- crowd, 10,000 idle clients
//!                                    +--> host pool   <--- crowd, 10,000 idle clients
//! ```
mod busy;
mod process;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::thread;

use axum::Router;
use axum::routing::get;
use clap::{Args, ValueEnum};
use futures_util::{StreamExt, TryStreamExt, stream};
use garrick_core::random::mix;
use garrick_examples::sessions::client::Client;
use garrick_examples::sessions::{HELP, actors, plain};

use busy::Busy;
use process::Process;

/// Maximum number of clients that enter rooms at the same time.
const ENTER_AT_ONCE: usize = 64;
/// Number of idle sessions in a room.
const IDLE_IN_ROOM: usize = 10;
/// Number of file descriptors that a server needs besides those of the idle sessions.
const SPARE_FILES: usize = 300;
/// Number of times per second that the load switches to the next server.
const TURNS: u32 = 10;

/// A server that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    /// axum with a single page and no sessions.
    Bare,
    /// Sessions that are actors.
    Actors,
    /// Sessions that are tokio tasks, on the same number of threads as the actors.
    Plain,
    /// Sessions that are tokio tasks, on tokio's thread pool with one thread for each core.
    Pool,
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Actors => "actors",
            Self::Plain => "plain",
            Self::Pool => "pool",
        }
    }
}

/// The amount of load.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Number of idle sessions of each server.
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    /// Number of seconds under load, for each server.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Messages per second. Each message goes to ten clients.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// Number of threads of each server.
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

/// A server that is measured, with its crowd of idle clients.
struct Measured {
    contender: Contender,
    /// Process of the idle clients. It is dropped before the server, so that the clients disconnect
    /// first.
    _crowd: Process,
    server: Process,
    busy: Busy,
    /// Resident memory with all idle sessions, in bytes.
    resident: u64,
}

impl Load {
    /// Runs the measurement, and prints the results.
    pub(crate) fn run(&self) -> io::Result<()> {
        self.check_limit()?;
        let bare = self.start(Contender::Bare)?.0.resident()?;
        let runtime = plain::runtime(1)?;
        let mut measured = Vec::new();
        for contender in [Contender::Actors, Contender::Plain, Contender::Pool] {
            measured.push(self.fill(contender, &runtime)?);
        }
        runtime.block_on(self.take_turns(&mut measured))?;
        self.print(bare, &measured);
        // End the clients before the servers, because the servers would wait for the clients'
        // answers.
        drop(runtime);
        drop(measured);
        Ok(())
    }

    /// Checks the limit of file descriptors. A process that exceeded it would fail later with a
    /// less helpful message.
    fn check_limit(&self) -> io::Result<()> {
        let limits = fs::read_to_string("/proc/self/limits")?;
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max open files"));
        let limit = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        let needed = self.sessions + SPARE_FILES;
        match limit {
            Some(limit) if limit < needed => Err(io::Error::other(format!(
                "{} sessions need {needed} open files per process, but only {limit} are allowed: \
                 raise the limit by `ulimit -n {needed}`, or use fewer sessions by `--sessions`",
                self.sessions
            ))),
            _ => Ok(()),
        }
    }

    fn start(&self, contender: Contender) -> io::Result<(Process, SocketAddr)> {
        let workers = self.workers.to_string();
        let (process, said) = Process::start(&["host", contender.name(), &workers])?;
        let address = said.parse().map_err(io::Error::other)?;
        Ok((process, address))
    }

    /// Starts a server, and makes all idle clients enter their rooms.
    fn fill(
        &self,
        contender: Contender,
        runtime: &tokio::runtime::Runtime,
    ) -> io::Result<Measured> {
        let (server, address) = self.start(contender)?;
        let sessions = self.sessions.to_string();
        let (crowd, _) = Process::start(&["crowd", &address.to_string(), &sessions])?;
        let resident = server.resident()?;
        let busy = runtime.block_on(Busy::enter(address))?;
        Ok(Measured {
            contender,
            _crowd: crowd,
            server,
            busy,
            resident,
        })
    }

    /// Makes the servers work alternately, so that other load on the machine affects all of them.
    /// The order is random, because the state of the cores depends on the previous server.
    async fn take_turns(&self, measured: &mut [Measured]) -> io::Result<()> {
        for server in measured.iter_mut() {
            server.busy.warm_up(self.rate, 1_000 / TURNS).await?;
        }
        for round in 0..self.seconds * TURNS {
            measured.sort_by_key(|it| mix(u64::from(round) << 8 | it.contender as u64));
            for server in measured.iter_mut() {
                let before = server.server.busy()?;
                server.busy.talk(self.rate, 1_000 / TURNS).await?;
                server.busy.server_time += server.server.busy()? - before;
            }
        }
        Ok(())
    }

    fn print(&self, bare: u64, measured: &[Measured]) {
        println!(
            "The memory of the bare server is {:.1} MB.",
            megabytes(bare)
        );
        println!(
            "{} idle sessions per server; {} messages per second, each to {} clients; {} s per \
             server, alternately; {} threads per server:",
            self.sessions,
            self.rate,
            busy::IN_ROOM,
            self.seconds,
            self.workers,
        );
        println!("| server | over bare | a session | lines | p50 | p99 | p99.9 | CPU a line |");
        println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
        let mut rows: Vec<_> = measured.iter().collect();
        rows.sort_by_key(|row| row.contender.name());
        for row in rows {
            let over = row.resident.saturating_sub(bare);
            let each = over / (self.sessions.max(1) as u64);
            let figures = row.busy.figures();
            println!(
                "| {} | {:.1} MB | {each} B | {} | {:.0} us | {:.0} us | {:.0} us | {:.1} us |",
                row.contender.name(),
                megabytes(over),
                figures.lines,
                figures.p50,
                figures.p99,
                figures.p999,
                figures.cpu,
            );
        }
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Runs a server until the standard input ends.
pub(crate) fn host(contender: Contender, workers: usize) -> io::Result<()> {
    let at = SocketAddr::from(([127, 0, 0, 1], 0));
    match contender {
        Contender::Actors => {
            let server = actors::Server::start(at, workers)?;
            process::say_and_wait(server.address())?;
            server.close();
        }
        Contender::Plain => host_plain(at, workers)?,
        Contender::Pool => host_plain(at, thread::available_parallelism()?.get().max(2))?,
        Contender::Bare => {
            let runtime = plain::runtime(workers)?;
            runtime.block_on(bare(at))?;
        }
    }
    Ok(())
}

fn host_plain(at: SocketAddr, threads: usize) -> io::Result<()> {
    let server = plain::Server::start(at, threads)?;
    process::say_and_wait(server.address())?;
    server.close();
    Ok(())
}

/// Runs axum with one page, until the standard input ends.
async fn bare(at: SocketAddr) -> io::Result<()> {
    let listener = tokio::net::TcpListener::bind(at).await?;
    let address = listener.local_addr()?;
    let waits = tokio::task::spawn_blocking(move || process::say_and_wait(address));
    let app = Router::new().route("/", get(async || HELP));
    tokio::select! {
        served = axum::serve(listener, app) => served,
        waited = waits => waited.map_err(io::Error::other)?,
    }
}

/// Runs idle clients until the standard input ends.
pub(crate) fn crowd(address: SocketAddr, sessions: usize) -> io::Result<()> {
    let enter = async |number: usize| {
        let room = format!("quiet-{}", number / IDLE_IN_ROOM);
        let name = format!("idle-{number}");
        let mut client = Client::enter(address, &room, &name).await?;
        client.await_line(&format!("* {name} is in {room}")).await?;
        io::Result::Ok(client.into_stream())
    };
    let entering = stream::iter(0..sessions)
        .map(enter)
        .buffer_unordered(ENTER_AT_ONCE);
    let runtime = plain::runtime(1)?;
    let streams: Vec<_> = runtime.block_on(entering.try_collect())?;
    process::say_and_wait(streams.len())
}
