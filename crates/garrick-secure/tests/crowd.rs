//! Tests many connections over TCP at the same time: all of them work, an attack ends only the
//! attacked connection, and memory stays constant.
//!
//! The test has its own test binary, because it measures the memory of the process.
//! `GARRICK_SOAK_CONNECTIONS` is the number of connections, whose two ends are both in this
//! process. `GARRICK_SOAK_ROUNDS` is the number of frames that each connection sends.
//!
//! ```text
//! GARRICK_SOAK_CONNECTIONS=2000 GARRICK_SOAK_ROUNDS=50 cargo test --release -p garrick-secure --test crowd -- --nocapture
//! ```

use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use garrick_actor::{Address, Next, System, behavior};
use garrick_secure::{
    Error, Event, Greeting, HELLO_BYTES, Listener, Options, PROOF_BYTES, PreSharedKey, Role, Suite,
    Transport, Writer, open,
};
use garrick_testkit::{resident_bytes, setting};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// Time limit that is reached only if a connection hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Size of a payload in bytes. A frame with this payload is larger than the buffer of a silent
/// connection.
const PAYLOAD_BYTES: usize = 3_000;

/// An event, and the index of the connection that it belongs to.
type Numbered = (usize, Event);

fn key() -> PreSharedKey {
    PreSharedKey::new([9; 32])
}

fn transport(stream: TcpStream) -> Transport {
    stream.set_nodelay(true).unwrap();
    let (read, write) = stream.into_split();
    Transport::new(read, write)
}

/// The servers and clients, by the indices of their connections, and a channel with the events of
/// all connections.
struct Crowd {
    system: System,
    driver: Runtime,
    listener: TcpListener,
    clients: Address<Numbered>,
    servers: Address<Numbered>,
    heard_by_clients: Receiver<Numbered>,
    heard_by_servers: Receiver<Numbered>,
}

impl Crowd {
    fn new() -> Self {
        let system = System::builder().workers(2).start().unwrap();
        let driver = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_io()
            .build()
            .unwrap();
        let listener = driver.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let tells = |told: Sender<Numbered>| {
            let told = system.spawn(behavior(move |event, _| {
                told.send(event).map_or(Next::Stop, |()| Next::Continue)
            }));
            told.unwrap()
        };
        let (clients, heard_by_clients) = channel();
        let (servers, heard_by_servers) = channel();
        let (clients, servers) = (tells(clients), tells(servers));
        Self {
            system,
            driver,
            listener,
            clients,
            servers,
            heard_by_clients,
            heard_by_servers,
        }
    }

    fn open(&self, number: usize, stream: TcpStream, role: Role) {
        let to = match role {
            Role::Client => &self.clients,
            Role::Server => &self.servers,
        };
        let listener = Listener::new(to.clone(), move |event| (number, event));
        let options = Options::default();
        let system = self.system.handle();
        open(&system, transport(stream), key(), role, options, listener).unwrap();
    }

    /// Opens another connection, and returns the writers of both ends.
    fn connect(&self, number: usize) -> (Writer, Writer) {
        let address = self.listener.local_addr().unwrap();
        let (near, far) = self.driver.block_on(async {
            let (near, far) = tokio::join!(TcpStream::connect(address), self.listener.accept());
            (near.unwrap(), far.unwrap().0)
        });
        self.open(number, near, Role::Client);
        self.open(number, far, Role::Server);
        let opened = |heard: &Receiver<Numbered>| match heard.recv_timeout(PATIENCE) {
            Ok((opened, Event::Opened(writer))) if opened == number => writer,
            other => panic!("{number}: {other:?}"),
        };
        let writers = (&self.heard_by_clients, &self.heard_by_servers);
        (opened(writers.0), opened(writers.1))
    }

    /// Makes each client send a payload, and checks that each server receives it.
    fn round(&self, writers: &[(Writer, Writer)], round: usize) {
        for (number, (client, _)) in writers.iter().enumerate() {
            let said = (number + round) as u8;
            client.try_send(vec![said; PAYLOAD_BYTES]).unwrap();
        }
        let mut heard = vec![false; writers.len()];
        for _ in writers {
            let Ok((number, Event::Frame(frame))) = self.heard_by_servers.recv_timeout(PATIENCE)
            else {
                panic!("a frame is missing");
            };
            assert!(frame.iter().all(|byte| *byte == (number + round) as u8));
            assert_eq!(frame.len(), PAYLOAD_BYTES);
            assert!(!std::mem::replace(&mut heard[number], true), "once each");
        }
    }

    /// Runs a client that completes the greeting, and then sends an invalid frame. Returns the
    /// server's error.
    fn attack(&self, number: usize) -> Error {
        let address = self.listener.local_addr().unwrap();
        let mut near = std::net::TcpStream::connect(address).unwrap();
        near.set_nodelay(true).unwrap();
        let (far, _) = self.driver.block_on(self.listener.accept()).unwrap();
        self.open(number, far, Role::Server);
        let client = Greeting::new(key(), Suite::default(), Role::Client, 1_000).unwrap();
        near.write_all(client.hello()).unwrap();
        let mut answer = [0; HELLO_BYTES + PROOF_BYTES];
        std::io::Read::read_exact(&mut near, &mut answer).unwrap();
        let proving = client.heard(answer.first_chunk().unwrap()).unwrap();
        near.write_all(proving.proof()).unwrap();
        near.write_all(&[0, 0, 0, 1]).unwrap();
        near.write_all(&[0; 33]).unwrap();
        let opened = self.heard_by_servers.recv_timeout(PATIENCE);
        assert!(matches!(opened, Ok((_, Event::Opened(_)))));
        match self.heard_by_servers.recv_timeout(PATIENCE) {
            Ok((attacked, Event::Closed(Err(error)))) if attacked == number => error,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_crowd_works_side_by_side_in_flat_memory() {
    let connections = setting("GARRICK_SOAK_CONNECTIONS").unwrap_or(60);
    let rounds = setting("GARRICK_SOAK_ROUNDS").unwrap_or(30);
    let crowd = Crowd::new();
    let empty = resident_bytes();
    let writers: Vec<(Writer, Writer)> = (0..connections).map(|n| crowd.connect(n)).collect();
    let silent = resident_bytes();
    crowd.round(&writers, 0);
    crowd.round(&writers, 1);
    let warm = resident_bytes();
    for round in 2..rounds {
        crowd.round(&writers, round);
        let forged = Error::Forged { sequence: 0 };
        assert_eq!(crowd.attack(connections + round), forged);
    }
    let end = resident_bytes();
    println!(
        "{connections} connections, both ends of each: {} bytes resident each when silent, {} after two rounds, {} after \
         {rounds}",
        silent.saturating_sub(empty) / connections,
        warm.saturating_sub(empty) / connections,
        end.saturating_sub(empty) / connections,
    );
    // A leak of one payload per round would exceed this limit.
    let kept = end.saturating_sub(warm);
    assert!(
        kept < connections * rounds * PAYLOAD_BYTES / 4 + (3 << 20),
        "{kept} bytes"
    );

    drop(writers);
    for _ in 0..2 * connections {
        let told = [&crowd.heard_by_clients, &crowd.heard_by_servers]
            .map(|heard| heard.recv_timeout(PATIENCE).expect("an end").1);
        for event in told {
            assert!(
                matches!(event, Event::Finished | Event::Closed(Ok(()))),
                "{event:?}"
            );
        }
    }
    assert_eq!(crowd.system.failures(), 0);
}
