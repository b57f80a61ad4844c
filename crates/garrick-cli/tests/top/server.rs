//! Server that stands in for a process with telemetry, with answers chosen by the test.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use garrick_telemetry::Snapshot;

/// Head of a request: its first line and its headers.
pub(crate) type Head = Vec<String>;

/// Server on a free port, with a thread for each connection.
pub(crate) struct Server {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server that calls `answer` with each request.
    pub(crate) fn start(answer: impl Fn(&Head, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let (answer, ending) = (Arc::new(answer), Arc::clone(&ends));
        let accepting = thread::spawn(move || {
            for stream in listener.incoming() {
                if ending.load(SeqCst) {
                    return;
                }
                let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
                thread::spawn(move || {
                    while let Some(head) = read_head(&stream) {
                        answer(&head, &mut stream);
                    }
                });
            }
        });
        Self {
            address,
            ends,
            accepting: Some(accepting),
        }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, SeqCst);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
        let _ = self.accepting.take().unwrap().join();
    }
}

/// Returns the next request's head, or `None` when the client has disconnected.
fn read_head(stream: &TcpStream) -> Option<Head> {
    let lines = BufReader::new(stream).lines();
    let head: Head = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    (!head.is_empty()).then_some(head)
}

/// Returns true if `head` asks for `path`, with any parameters.
pub(crate) fn asks_for(head: &Head, path: &str) -> bool {
    let asked = head[0].strip_prefix("GET ").unwrap_or_default();
    asked.split([' ', '?']).next() == Some(path)
}

/// Answers with `body` in one piece.
pub(crate) fn answer(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
}

/// Answers with `body` in chunks of a few bytes.
pub(crate) fn answer_in_chunks(stream: &mut TcpStream, kind: &str, body: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    for piece in body.as_bytes().chunks(7) {
        send_chunk(stream, piece);
    }
    send_chunk(stream, b"");
}

fn send_chunk(stream: &mut TcpStream, bytes: &[u8]) {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    let _ = stream.write_all(&chunk);
}

/// A simulated process. It answers with its newest snapshot, and streams the following snapshots.
pub(crate) struct Process {
    server: Server,
    state: Arc<Mutex<Streams>>,
}

struct Streams {
    newest: Snapshot,
    /// Open streams.
    open: Vec<TcpStream>,
    /// True while connections are accepted.
    serves: bool,
}

impl Process {
    pub(crate) fn start(snapshot: Snapshot) -> Self {
        let state = Arc::new(Mutex::new(Streams {
            newest: snapshot,
            open: Vec::new(),
            serves: true,
        }));
        let streams = Arc::clone(&state);
        let server = Server::start(move |head, stream| {
            let mut streams = streams.lock().unwrap();
            if !streams.serves {
                answer(
                    stream,
                    "503 Service Unavailable",
                    "text/plain",
                    "not now\nor ever",
                );
            } else if asks_for(head, "/graph.json") {
                let json = serde_json::to_string(&streams.newest).unwrap();
                answer(stream, "200 OK", "application/json", &json);
            } else if asks_for(head, "/events") {
                let kind = "content-type: text/event-stream\r\ntransfer-encoding: chunked";
                let _ = write!(stream, "HTTP/1.1 200 OK\r\n{kind}\r\n\r\n");
                send_chunk(stream, b"retry: 2000\n\n:\n\n");
                let newest = event(&streams.newest);
                send_chunk(stream, newest.as_bytes());
                streams.open.push(stream.try_clone().unwrap());
            }
        });
        Self { server, state }
    }

    pub(crate) fn address(&self) -> String {
        self.server.address()
    }

    /// Sends `snapshot` to all open streams, in two chunks and with an alert before it.
    pub(crate) fn show(&self, snapshot: Snapshot) {
        let event = format!("event: alert\ndata: {{}}\n\n{}", event(&snapshot));
        let mut state = self.state.lock().unwrap();
        for stream in &mut state.open {
            let (first, second) = event.as_bytes().split_at(event.len() / 2);
            send_chunk(stream, first);
            send_chunk(stream, second);
        }
        state.newest = snapshot;
    }

    /// Ends all connections, and refuses new ones until [`Self::open`].
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap();
        state.serves = false;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().serves = true;
    }
}

/// Returns a message of a stream.
fn event(snapshot: &Snapshot) -> String {
    let json = serde_json::to_string(snapshot).unwrap();
    format!("id: {}\ndata: {json}\n\n", snapshot.sequence)
}
