//! Load test: the servers hold idle sessions, and pass lines round in busy rooms by turns.
//!
//! Each server runs in a separate process, so that its memory can be measured. Its idle clients run
//! in another process, so that neither needs more descriptors than there are sessions. The busy
//! clients of all servers run in this process.
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

/// Number of clients that enter at once.
const ENTER_AT_ONCE: usize = 64;
/// Number of idle sessions in a room.
const IDLE_IN_ROOM: usize = 10;
/// Number of descriptors that a server needs beside those of idle sessions.
const SPARE_FILES: usize = 300;
/// Number of times per second that the servers take turns.
const TURNS: u32 = 10;

/// Server that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    /// axum that serves one page.
    Bare,
    /// Sessions that are actors.
    Actors,
    /// Sessions that are tokio tasks, on as many threads as the actors have.
    Plain,
    /// Sessions that are tokio tasks, on tokio's pool of threads, one for each core.
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

/// Amount of load.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Idle sessions of each server.
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    /// Seconds under load for each server.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Messages a second; each goes to ten clients.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// Threads of each server.
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

/// Server that is measured, with its crowd.
struct Measured {
    contender: Contender,
    /// Dropped before the server, so that the clients go first.
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
        // The clients end before the servers, which would wait for their answers.
        drop(runtime);
        drop(measured);
        Ok(())
    }

    /// Checks the limit of descriptors, because a process beyond it fails later with a worse
    /// message.
    fn check_limit(&self) -> io::Result<()> {
        let limits = fs::read_to_string("/proc/self/limits")?;
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max open files"));
        let limit = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        let needed = self.sessions + SPARE_FILES;
        match limit {
            Some(limit) if limit < needed => Err(io::Error::other(format!(
                "{} sessions need {needed} open files a process, and {limit} are allowed: \
                 raise that by `ulimit -n {needed}`, or take fewer by `--sessions`",
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

    /// Starts a server, and lets all clients in.
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

    /// Makes the servers work in turns, so that other load on the machine affects all of them. The
    /// order is random, because a server finds the cores as the server before has left them.
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
        println!("The bare server's own memory is {:.1} MB.", megabytes(bare));
        println!(
            "{} idle sessions, then {} messages a second to {} clients each, {} s a server in turns; {} threads a server:",
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
