//! A chat server over TCP, in which each client and each room is an actor. The README shows how to
//! run the server.
#![forbid(unsafe_code)]

mod line;

mod room;

mod lobby;

mod session;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use garrick::tokio::{Tokio, run_until_signal};
use garrick::{Address, Handle, Incoming, Reply, System};
use tokio::net::{TcpListener, TcpSocket};

use lobby::{Lobby, ToLobby};

/// Size in bytes of the kernel's send buffer for each client.
const SEND_BUFFER_BYTES: u32 = 64 * 1_024;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// Delay after an error, before the server accepts connections again.
const ACCEPTS_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Runs a chat server.
#[derive(Parser)]
struct Arguments {
    /// Address on which the server listens.
    #[arg(long, default_value = "127.0.0.1:7000")]
    address: SocketAddr,
    /// Number of threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1_024))]
    workers: u16,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let system = System::builder()
        .name("chat")
        .workers(arguments.workers.into());
    let system = system.driver(Tokio::new()).start()?;
    let lobby = system.spawn(Lobby::new(system.handle()))?;
    let (address, clients, handle) = (arguments.address, lobby, system.handle());
    let door = system.spawn(
        move |mut mailbox: Incoming<Reply<io::Result<SocketAddr>>>| async move {
            let bound = bind(address);
            let told = bound.as_ref().map(|(_, address)| *address);
            if let Some(reply) = mailbox.recv().await {
                reply.send(told.map_err(|error| io::Error::new(error.kind(), error.to_string())));
            }
            if let Ok((listener, _)) = bound {
                accept(listener, clients, handle).await;
            }
        },
    )?;
    let address = door.ask(|reply| reply).wait()??;
    println!(
        "listens at {address}: try `nc {} {}`",
        address.ip(),
        address.port()
    );
    let ending = run_until_signal(system)?;
    println!("has ended: {ending:?}");
    Ok(())
}

/// Binds a listener whose connections have small send buffers.
fn bind(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Accepts connections, and spawns an actor for each client.
async fn accept(listener: TcpListener, lobby: Address<ToLobby>, handle: Handle) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The client is gone already, or too many files are open. In the second case, this
            // ends when clients leave.
            tokio::time::sleep(ACCEPTS_AGAIN_AFTER).await;
            continue;
        };
        let lobby = lobby.clone();
        let session = move |mailbox| session::session(stream, lobby, mailbox);
        if handle.spawn(session).is_err() {
            // The system is ending.
            return;
        }
    }
}
