//! A proxy between clients and a server. It can stop forwarding without closing a connection.

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

/// A proxy that ends with the test.
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
    /// Number of a connection. From this connection on, everything is forwarded, regardless of
    /// `held`.
    passes_from: usize,
    /// Number of connections so far.
    count: usize,
    /// Number of forwarding threads: two for each connection.
    threads: usize,
    /// All bytes that were held back so far.
    bytes: Vec<u8>,
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

    /// Makes the proxy hold back all bytes in the directions `held`, and forward everything in
    /// other directions.
    pub(crate) fn hold(&self, held: &[To]) {
        let mut state = self.shared.state.lock().unwrap();
        (state.held, state.passes_from) = (held.to_vec(), usize::MAX);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Makes the proxy forward everything in all new connections.
    #[allow(dead_code, reason = "not all test programs use it")]
    pub(crate) fn pass_new(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.passes_from = state.count;
    }

    /// Waits until the held bytes contain `needle`.
    #[allow(dead_code, reason = "not all test programs use it")]
    pub(crate) fn until_held(&self, needle: &[u8]) {
        let state = self.shared.state.lock().unwrap();
        let is_missing = |state: &mut State| {
            let mut windows = state.bytes.windows(needle.len());
            windows.all(|window| window != needle)
        };
        drop(self.shared.changed.wait_while(state, is_missing).unwrap());
    }

    /// Waits until all connections except the newest one are closed at both ends.
    #[allow(dead_code, reason = "not all test programs use it")]
    pub(crate) fn until_one_is_left(&self) {
        let state = self.shared.state.lock().unwrap();
        let changed = &self.shared.changed;
        drop(
            changed
                .wait_while(state, |state| state.threads > 2)
                .unwrap(),
        );
    }

    /// Closes the connections of the clients. Held bytes still reach the server when the proxy
    /// forwards again.
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
        let number = {
            let mut state = shared.state.lock().unwrap();
            if state.is_closed {
                return;
            }
            state.clients.push(copy(&client));
            state.servers.push(copy(&server));
            state.count += 1;
            state.threads += 2;
            state.count - 1
        };
        let pairs = [
            (To::Server, copy(&client), copy(&server)),
            (To::Client, server, client),
        ];
        for (to, from, into) in pairs {
            let shared = Arc::clone(shared);
            thread::spawn(move || forward(&shared, (to, number), from, into));
        }
    }
}

/// Forwards bytes in one direction until one end is closed.
fn forward(shared: &Shared, (to, number): (To, usize), mut from: TcpStream, mut into: TcpStream) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length) = from.read(&mut bytes) {
        let bytes = &bytes[..length];
        let mut state = shared.state.lock().unwrap();
        let held = |state: &mut State| state.held.contains(&to) && number < state.passes_from;
        if held(&mut state) {
            state.bytes.extend_from_slice(bytes);
        }
        shared.changed.notify_all();
        drop(shared.changed.wait_while(state, held).unwrap());
        if length == 0 || into.write_all(bytes).is_err() {
            break;
        }
    }
    // The other end may still have something to say.
    let _ = into.shutdown(Shutdown::Write);
    shared.state.lock().unwrap().threads -= 1;
    shared.changed.notify_all();
}
