//! A chat server on axum where each websocket session is an actor, and the same server with plain
//! tokio tasks.
//!
//! - `cargo run --release -p garrick-examples --example sessions` runs a scripted visit of a few
//!   clients;
//! - `.. -- serve 127.0.0.1:8080` runs the server until Ctrl-C;
//! - `.. -- load` opens 10,000 idle sessions on each server, and measures memory and latency.
//!
//! Both servers and the client are in `src/sessions`, so that the tests can use them too.
mod load;
mod visit;

use std::error::Error;
use std::net::SocketAddr;

use clap::{Parser, Subcommand};
use garrick::tokio::Signals;
use garrick_examples::sessions::{actors, plain};

use load::{Contender, Load};

/// A chat server where each session is an actor.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server until Ctrl-C.
    Serve {
        /// Address on which the server listens.
        address: SocketAddr,
        /// Number of threads of the server.
        #[arg(long, default_value_t = 1)]
        workers: usize,
    },
    /// Measure the servers with idle sessions and under load.
    Load(Load),
    /// Run one of the measured servers until the standard input ends.
    #[command(hide = true)]
    Host {
        contender: Contender,
        workers: usize,
    },
    /// Run many idle clients until the standard input ends.
    #[command(hide = true)]
    Crowd {
        address: SocketAddr,
        sessions: usize,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    match Arguments::parse().command {
        None => visit::visit()?,
        Some(Command::Serve { address, workers }) => serve(address, workers)?,
        Some(Command::Load(load)) => load.run()?,
        Some(Command::Host { contender, workers }) => load::host(contender, workers)?,
        Some(Command::Crowd { address, sessions }) => load::crowd(address, sessions)?,
    }
    Ok(())
}

fn serve(address: SocketAddr, workers: usize) -> Result<(), Box<dyn Error>> {
    let server = actors::Server::start(address, workers)?;
    println!("listening at {}", server.address());
    let signal = plain::runtime(1)?.block_on(async {
        let mut signals = Signals::listen()?;
        Ok::<_, std::io::Error>(signals.recv().await)
    })?;
    println!("received a signal: {signal:?}");
    server.close();
    Ok(())
}
