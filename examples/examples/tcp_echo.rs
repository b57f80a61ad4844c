//! A server that echoes lines in capitals. The listener and each connection are actors in tokio's
//! driver. An actor of an ordinary system converts the lines to capitals. Eight clients, which are
//! actors too, use the server at the same time.
//!
//! Run it with `cargo run --release -p garrick-examples --example tcp_echo`.
use std::error::Error;
use std::io;
use std::sync::mpsc;

use garrick::{Address, Handle, Incoming, Reply, System, behavior};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const CLIENTS: usize = 8;
const LINES: usize = 1_000;

/// A line, and the reply for the line in capitals.
type Question = (String, Reply<String>);

/// Serves one connection.
async fn serve(stream: TcpStream, capitals: Address<Question>) -> io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut lines = BufReader::new(from).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = capitals.ask(|reply| (line, reply)).await;
        let answer = answer.map_err(io::Error::other)?;
        to.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Binds a listener to a free port.
async fn bind() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Runs the server, with an actor for each connection.
async fn listen(listener: TcpListener, capitals: Address<Question>, sponsor: Handle) {
    while let Ok((stream, from)) = listener.accept().await {
        let capitals = capitals.clone();
        let connection = move |_: Incoming<()>| async move {
            if let Err(error) = serve(stream, capitals).await {
                eprintln!("{from}: {error}");
            }
        };
        if sponsor.spawn(connection).is_err() {
            // The system is ending.
            return;
        }
    }
}

/// Runs a client: sends lines, and counts the correct answers.
async fn talk(port: u16, number: usize) -> io::Result<usize> {
    let (from, mut to) = TcpStream::connect(("127.0.0.1", port)).await?.into_split();
    let mut answers = BufReader::new(from).lines();
    let mut right = 0;
    for line in 0..LINES {
        let question = format!("client {number}, line {line}");
        to.write_all(format!("{question}\n").as_bytes()).await?;
        if answers.next_line().await? == Some(question.to_uppercase()) {
            right += 1;
        }
    }
    Ok(right)
}

fn main() -> Result<(), Box<dyn Error>> {
    let computing = System::builder().name("computing").workers(1).start()?;
    let capitals = computing.spawn(behavior(|(line, reply): Question, _| {
        reply.send(line.to_uppercase());
    }))?;

    let net = System::builder()
        .name("net")
        .workers(1)
        .driver(garrick::tokio::Tokio::new())
        .start()?;
    let sponsor = net.handle();
    let server = net.spawn(|mut mailbox: Incoming<Reply<io::Result<u16>>>| async move {
        let (listener, port) = match bind().await {
            Ok((listener, port)) => (Some(listener), Ok(port)),
            Err(error) => (None, Err(error)),
        };
        if let Some(reply) = mailbox.recv().await {
            reply.send(port);
        }
        if let Some(listener) = listener {
            listen(listener, capitals, sponsor).await;
        }
    })?;
    let port = server.ask(|reply| reply).wait()??;

    let (told, heard) = mpsc::channel();
    for number in 0..CLIENTS {
        let told = told.clone();
        net.spawn(move |_: Incoming<()>| async move {
            // The receiver has been dropped if a client has failed.
            let _ = told.send(talk(port, number).await);
        })?;
    }
    let mut right = 0;
    for result in heard.iter().take(CLIENTS) {
        right += result?;
    }
    println!("{CLIENTS} clients had {right} lines back in capitals");
    assert_eq!(right, CLIENTS * LINES, "a line was lost");
    net.shutdown();
    Ok(())
}
