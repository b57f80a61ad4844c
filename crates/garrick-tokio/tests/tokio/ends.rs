//! Tests systems that end while resources are open.

use std::io::Read;
use std::net::TcpStream as Plain;
use std::sync::mpsc::{Sender, channel};

use garrick_actor::{Incoming, System, behavior};
use garrick_testkit::{ends, wait};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::system;

/// A value that sends a message when it is dropped: true if this happens in the context of a tokio
/// runtime, and otherwise false.
struct Guard(Sender<bool>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(tokio::runtime::Handle::try_current().is_ok());
    }
}

fn open_connections(count: usize) -> (System, Vec<Plain>, std::sync::mpsc::Receiver<bool>) {
    let system = system(2);
    let (bound, port) = channel();
    let (told, dropped) = channel();
    let sponsor = system.handle();
    let server = system.spawn(move |_: Incoming<()>| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        bound.send(listener.local_addr().unwrap().port()).unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let guard = Guard(told.clone());
            let connection = sponsor.spawn(move |_: Incoming<()>| async move {
                let _guard = guard;
                // Reports that it has started, and waits forever.
                tokio::io::AsyncWriteExt::write_u8(&mut stream, 1)
                    .await
                    .unwrap();
                let _ = stream.read_u8().await;
                std::future::pending::<()>().await;
            });
            assert!(connection.is_ok());
        }
    });
    drop(server.unwrap());
    let port = wait(&port);
    let clients = (0..count).map(|_| {
        let mut client = Plain::connect(("127.0.0.1", port)).unwrap();
        client.read_exact(&mut [0]).unwrap();
        client
    });
    (system, clients.collect(), dropped)
}

#[test]
fn sockets_are_closed_and_futures_dropped_where_they_lived() {
    ends(|| {
        for in_order in [false, true] {
            let (system, clients, dropped) = open_connections(20);
            if in_order {
                system.shutdown();
            } else {
                drop(system);
            }
            for mut client in clients {
                assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
            }
            assert_eq!(dropped.iter().filter(|inside| *inside).count(), 20);
        }
    });
}

#[test]
fn tasks_that_actors_have_spawned_end_with_them() {
    ends(|| {
        let system = system(1);
        let (told, dropped) = channel();
        let (begun, begins) = channel();
        let actor = system.spawn(move |mailbox: Incoming<u32>| async move {
            let (guard, own) = (Guard(told), mailbox.context().address());
            tokio::spawn(async move {
                let _guard = guard;
                begun.send(()).unwrap();
                std::future::pending::<()>().await;
                drop(own);
            });
            std::future::pending::<()>().await;
        });
        wait(&begins);
        system.shutdown();
        assert_eq!(dropped.iter().count(), 1);
        assert!(actor.unwrap().is_stopped());
    });
}

#[test]
fn an_end_that_has_begun_can_be_hurried() {
    ends(|| {
        let system = std::sync::Arc::new(system(1));
        // The actor is never finished, so the system never ends in order.
        let busy = system.spawn(behavior(|(), cx| {
            let _ = cx.send(&cx.address(), ());
            garrick_actor::Next::Continue
        }));
        busy.unwrap().send(()).unwrap();
        system.begin_shutdown();
        let waiting = system.clone();
        let (over, ended) = channel();
        std::thread::spawn(move || {
            waiting.wait();
            over.send(()).unwrap();
        });
        assert!(ended.try_recv().is_err());
        system.begin_shutdown_now();
        wait(&ended);
        system.wait();
    });
}
