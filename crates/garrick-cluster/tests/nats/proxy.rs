//! A proxy between clients and a server, which can stop to forward without closing anything.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// A direction in which bytes are forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    Server,
    Client,
}

/// A proxy. It ends with the test.
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Directions in which nothing is forwarded.
    held: Vec<To>,
    is_closed: bool,
    clients: Vec<TcpStream>,
    servers: Vec<TcpStream>,
}

impl Proxy {
    /// Starts a proxy to a server at an address like `nats://127.0.0.1:4222`.
    pub(crate) fn start(server: &str) -> Self {
        let server = server.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &server, &accepting));
        Self { port, shared }
    }

    /// Returns the address for clients.
    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// From now on, forwards nothing in these directions, and everything in the others.
    pub(crate) fn hold(&self, held: &[To]) {
        self.shared.state.lock().unwrap().held = held.to_vec();
        self.shared.changed.notify_all();
    }

    /// Closes the connections of the clients. Bytes that are held still come to the server when
    /// they are not held any more.
    #[allow(dead_code, reason = "not all test programs use it")]
    pub(crate) fn cut(&self) {
        for client in self.shared.state.lock().unwrap().clients.drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock().unwrap();
            (state.is_closed, state.held) = (true, Vec::new());
            let State {
                clients, servers, ..
            } = &mut *state;
            for stream in clients.drain(..).chain(servers.drain(..)) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.shared.changed.notify_all();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn accept(listener: &TcpListener, server: &str, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let Ok(client) = client else { continue };
        // Without a server, the connection is closed.
        let Ok(server) = TcpStream::connect(server) else {
            continue;
        };
        let copy = |stream: &TcpStream| stream.try_clone().unwrap();
        {
            let mut state = shared.state.lock().unwrap();
            if state.is_closed {
                return;
            }
            state.clients.push(copy(&client));
            state.servers.push(copy(&server));
        }
        let pairs = [
            (To::Server, copy(&client), copy(&server)),
            (To::Client, server, client),
        ];
        for (to, from, into) in pairs {
            let shared = Arc::clone(shared);
            thread::spawn(move || forward(&shared, to, from, into));
        }
    }
}

/// Forwards bytes in one direction until one end is closed.
fn forward(shared: &Shared, to: To, mut from: TcpStream, mut into: TcpStream) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length) = from.read(&mut bytes) {
        let state = shared.state.lock().unwrap();
        let held = |state: &mut State| state.held.contains(&to);
        drop(shared.changed.wait_while(state, held).unwrap());
        if length == 0 || into.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = into.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
