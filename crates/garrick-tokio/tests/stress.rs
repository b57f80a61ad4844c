//! Tests that no wake-up is lost if other threads wake a worker while it goes to sleep in the
//! driver or returns from it.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use garrick_actor::{Incoming, Next, Reply, System, behavior};
use garrick_testkit::{ends, wait};
use garrick_tokio::Tokio;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const ROUNDS: u32 = if cfg!(debug_assertions) {
    3_000
} else {
    10_000
};

/// Starts a system of `workers` workers that sleep in tokio's driver.
fn system(workers: usize) -> System {
    let builder = System::builder().workers(workers).driver(Tokio::new());
    builder.start().unwrap()
}

#[test]
fn stress_asks_from_threads() {
    ends(|| {
        let system = system(2);
        let next = system.spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
            reply.send(n + 1);
            Next::Continue
        }));
        let next = next.unwrap();
        let threads = (0..3).map(|_| {
            let next = next.clone();
            thread::spawn(move || {
                (0..ROUNDS).fold(0, |n, _| next.ask(|reply| (n, reply)).wait().unwrap())
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            assert_eq!(thread.join().unwrap(), ROUNDS);
        }
    });
}

#[test]
fn stress_wakers_of_tokio_from_threads_and_own_timers() {
    ends(|| {
        let system = system(1);
        let (told, heard) = channel();
        let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (pinged, ponged) = (ping.clone(), pong.clone());
        let actor = system.spawn(move |mailbox: Incoming<()>| async move {
            let cx = mailbox.context();
            for round in 0..ROUNDS {
                tokio::select! {
                    () = pinged.notified() => {}
                    () = cx.sleep(Duration::from_secs(3_600)) => unreachable!("an hour"),
                }
                if round % 16 == 0 {
                    cx.sleep(Duration::from_micros(u64::from(round % 64))).await;
                }
                ponged.notify_one();
            }
            told.send(()).unwrap();
        });
        let outside = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            for _ in 0..ROUNDS {
                ping.notify_one();
                runtime.block_on(pong.notified());
            }
        });
        wait(&heard);
        outside.join().unwrap();
        drop(actor);
    });
}

/// Tests three kinds of wake-ups of one worker at the same time: by sockets, by messages from other
/// threads, and by messages of its own tasks.
#[test]
fn stress_sockets_and_messages_at_once() {
    ends(|| {
        let system = system(1);
        let (bound, port) = channel();
        let server = system.spawn(move |_: Incoming<()>| async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            bound.send(listener.local_addr().unwrap().port()).unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            for _ in 0..ROUNDS / 4 {
                let byte = stream.read_u8().await.unwrap();
                stream.write_u8(byte.wrapping_add(1)).await.unwrap();
            }
        });
        let port = wait(&port);
        let client = system.spawn(move |mut mailbox: Incoming<Reply<u32>>| async move {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            stream.set_nodelay(true).unwrap();
            for round in 0..ROUNDS / 4 {
                let reply = mailbox.recv().await.unwrap();
                stream.write_u8(round as u8).await.unwrap();
                assert_eq!(
                    stream.read_u8().await.unwrap(),
                    (round as u8).wrapping_add(1)
                );
                reply.send(round);
            }
        });
        let client = client.unwrap();
        for round in 0..ROUNDS / 4 {
            assert_eq!(client.ask(|reply| reply).wait(), Ok(round));
        }
        drop(server);
    });
}
