//! Tests sockets and files in actors.

use std::sync::mpsc::channel;

use garrick_actor::{Address, Handle, Incoming, Next, Reply, System, behavior};
use garrick_testkit::{ends, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::system;

/// Starts an echo server with an actor for each connection. Returns its port.
fn serve(system: &System, sponsor: Handle) -> u16 {
    let (bound, port) = channel();
    let server = system.spawn(move |_: Incoming<()>| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        bound.send(listener.local_addr().unwrap().port()).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            let connection = sponsor.spawn(move |_: Incoming<()>| echo(stream));
            assert!(connection.is_ok());
        }
    });
    drop(server.unwrap());
    wait(&port)
}

async fn echo(mut stream: TcpStream) {
    let mut bytes = vec![0; 4096];
    loop {
        let count = stream.read(&mut bytes).await.unwrap();
        if count == 0 {
            return;
        }
        stream.write_all(&bytes[..count]).await.unwrap();
    }
}

/// Starts a client that sends `bytes` bytes to the echo server, and reports the answer.
fn client(system: &System, port: u16, bytes: usize, told: impl Fn(Vec<u8>) + Send + 'static) {
    let client = system.spawn(move |_: Incoming<()>| async move {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (mut from, mut to) = stream.into_split();
        let sent: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
        let writing = tokio::spawn(async move {
            to.write_all(&sent).await.unwrap();
            to.shutdown().await.unwrap();
        });
        let mut heard = Vec::new();
        from.read_to_end(&mut heard).await.unwrap();
        writing.await.unwrap();
        told(heard);
    });
    drop(client.unwrap());
}

#[test]
fn both_sides_of_a_connection_are_actors() {
    for workers in [1, 2] {
        ends(move || {
            let system = system(workers);
            let port = serve(&system, system.handle());
            let (told, heard) = channel();
            for number in 0..20 {
                let told = told.clone();
                client(&system, port, 10_000 * number, move |bytes| {
                    told.send((number, bytes)).unwrap();
                });
            }
            for _ in 0..20 {
                let (number, bytes) = wait(&heard);
                assert_eq!(bytes.len(), 10_000 * number);
                assert!(
                    bytes
                        .iter()
                        .enumerate()
                        .all(|(n, byte)| *byte == (n % 251) as u8)
                );
            }
            assert_eq!(system.handle().failures(), 0);
        });
    }
}

#[test]
fn an_actor_with_a_socket_asks_one_of_an_ordinary_pool() {
    ends(|| {
        let (driven, ordinary) = (system(1), System::builder().workers(1).start().unwrap());
        let upper = ordinary.spawn(behavior(|(text, reply): (String, Reply<String>), _| {
            reply.send(text.to_uppercase());
            Next::Continue
        }));
        let upper: Address<(String, Reply<String>)> = upper.unwrap();
        let (bound, port) = channel();
        let server = driven.spawn(move |_: Incoming<()>| async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            bound.send(listener.local_addr().unwrap().port()).unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            for _ in 0..100 {
                let mut word = [0; 4];
                stream.read_exact(&mut word).await.unwrap();
                let word = String::from_utf8(word.to_vec()).unwrap();
                let answer = upper.ask(|reply| (word, reply)).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let port = wait(&port);
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        for _ in 0..100 {
            use std::io::{Read, Write};
            stream.write_all(b"abcd").unwrap();
            let mut answer = [0; 4];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"ABCD");
        }
        drop(server);
    });
}

#[test]
fn a_file_is_read() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let reader = system.spawn(move |_: Incoming<()>| async move {
            told.send(tokio::fs::read_to_string("Cargo.toml").await)
                .unwrap();
        });
        assert!(wait(&heard).unwrap().contains("garrick-tokio"));
        drop(reader);
    });
}

#[test]
fn actors_of_an_ordinary_pool_are_told_what_they_lack() {
    ends(|| {
        let (told, heard) = channel();
        let failed = System::builder().workers(1).on_failure(move |failure| {
            told.send(failure.message.clone()).unwrap();
        });
        let ordinary = failed.start().unwrap();
        let actor = ordinary.spawn(|_: Incoming<()>| async {
            let _ = TcpListener::bind("127.0.0.1:0").await;
        });
        assert!(wait(&heard).contains("no reactor running"));
        drop(actor);
    });
}
