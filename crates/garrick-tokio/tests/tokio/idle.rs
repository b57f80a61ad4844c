//! Nothing polls: workers that sleep in the driver use no processor, whatever is open in there.

use std::sync::mpsc::channel;
use std::time::Duration;

use garrick_actor::Incoming;
use tokio::net::{TcpListener, TcpStream};

use super::{ends, later, system, wait};

/// Processor time of a thread of this process, in nanoseconds.
fn busy_ns(thread: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Uses up processor time of this thread; the others may use as much meanwhile.
fn work(ns: u64) {
    let end = busy_ns("thread-self") + ns;
    while busy_ns("thread-self") < end {}
}

#[test]
fn workers_with_open_sockets_and_timers_sleep() {
    ends(|| {
        let system = system(2);
        let (told, heard) = channel();
        let actors = [(); 2].map(|()| {
            let told = told.clone();
            system.spawn_async(move |mut mailbox: Incoming<()>| async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let _client = TcpStream::connect(address).await.unwrap();
                let _server = listener.accept().await.unwrap();
                let own = mailbox.context().sleep(Duration::from_secs(3_600));
                let thread = std::fs::read_link("/proc/thread-self").unwrap();
                told.send(thread.to_str().unwrap().to_owned()).unwrap();
                tokio::select! {
                    _ = listener.accept() => {}
                    () = own => {}
                    () = later(Duration::from_secs(3_600)) => {}
                    _ = mailbox.recv() => {}
                }
            })
        });
        let threads = [(); 2].map(|()| wait(&heard));
        // They may look around before they sleep.
        work(20_000_000);
        let before: u64 = threads.iter().map(|thread| busy_ns(thread)).sum();
        work(60_000_000);
        let after: u64 = threads.iter().map(|thread| busy_ns(thread)).sum();
        assert!(
            after - before < 3_000_000,
            "{} ns are not sleep",
            after - before
        );
        drop(actors);
    });
}
