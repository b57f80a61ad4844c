//! Tests connections over TCP between two multithreaded systems.

use std::sync::mpsc::channel;

use garrick_actor::{Incoming, Next, System, behavior};
use garrick_secure::{Event, Options, Role, Suite, Transport, open};
use garrick_testkit::HANGS_AFTER;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use super::stand::key;

/// Number of payloads, of up to 200,000 bytes, that are sent to the other side and back.
const PAYLOADS: usize = 60;

fn driver() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_io()
        .build()
        .unwrap()
}

/// Returns both ends of a TCP connection.
async fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
    (near.unwrap(), far.unwrap().0)
}

fn transport(stream: TcpStream) -> Transport {
    stream.set_nodelay(true).unwrap();
    let (read, write) = stream.into_split();
    Transport::new(read, write)
}

/// Sends every payload that arrives back to the peer.
async fn echo(mut events: Incoming<Event>) {
    let mut writer = None;
    while let Some(event) = events.recv().await {
        match event {
            Event::Opened(opened) => writer = Some(opened),
            Event::Frame(frame) => {
                let payload = frame.into_payload().freeze();
                writer.as_ref().unwrap().send(payload).await.unwrap();
            }
            Event::Finished => writer = None,
            Event::Closed(outcome) => return outcome.unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn payloads_of_all_sizes_come_back_over_sockets() {
    for suite in [Suite::Aes256CtrHmacSha256, Suite::Aes256CtrHmacSha3] {
        let options = Options {
            suite,
            ..Options::default()
        };
        let driver = driver();
        let (near, far) = driver.block_on(streams());
        let system = System::builder().workers(2).start().unwrap();

        let echo = system.spawn(echo).unwrap();
        let (told, heard) = channel();
        let asks = system.spawn(behavior(move |event, _| {
            told.send(event).unwrap();
            Next::Continue
        }));
        let handle = system.handle();
        open(
            &handle,
            transport(near),
            key(),
            Role::Client,
            options.clone(),
            asks.unwrap(),
        )
        .unwrap();
        open(&handle, transport(far), key(), Role::Server, options, echo).unwrap();

        let Ok(Event::Opened(writer)) = heard.recv_timeout(HANGS_AFTER) else {
            panic!("not opened");
        };
        let payload = |n: usize| vec![n as u8; n * n * n % 200_000];
        let sends = std::thread::spawn(move || {
            for n in 0..PAYLOADS {
                driver.block_on(writer.send(payload(n))).unwrap();
            }
            drop(writer);
            driver
        });
        for n in 0..PAYLOADS {
            let Ok(Event::Frame(frame)) = heard.recv_timeout(HANGS_AFTER) else {
                panic!("no frame {n}");
            };
            assert!(*frame == payload(n)[..], "frame {n}");
        }
        let Ok(Event::Finished) = heard.recv_timeout(HANGS_AFTER) else {
            panic!("not finished");
        };
        let Ok(Event::Closed(Ok(()))) = heard.recv_timeout(HANGS_AFTER) else {
            panic!("not closed");
        };
        sends.join().unwrap();
        assert_eq!(system.failures(), 0);
    }
}
