//! Tests that idle workers do not poll: a worker that sleeps in the driver uses no processor time,
//! even with open resources.

use std::sync::mpsc::channel;
use std::time::Duration;

use garrick_actor::Incoming;
use garrick_testkit::{assert_asleep, ends, this_thread, wait};
use tokio::net::{TcpListener, TcpStream};

use super::{later, system};

#[test]
fn workers_with_open_sockets_and_timers_sleep() {
    ends(|| {
        let system = system(2);
        let (told, heard) = channel();
        let actors = [(); 2].map(|()| {
            let told = told.clone();
            system.spawn(move |mut mailbox: Incoming<()>| async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let _client = TcpStream::connect(address).await.unwrap();
                let _server = listener.accept().await.unwrap();
                let own = mailbox.context().sleep(Duration::from_secs(3_600));
                told.send(this_thread()).unwrap();
                tokio::select! {
                    _ = listener.accept() => {}
                    () = own => {}
                    () = later(Duration::from_secs(3_600)) => {}
                    _ = mailbox.recv() => {}
                }
            })
        });
        let threads = [(); 2].map(|()| wait(&heard));
        assert_asleep(&threads);
        drop(actors);
    });
}
