//! A client under full control of the test, and sources to watch.

#![allow(dead_code, unreachable_pub)] // Each test program uses a part of it.

pub mod busy;
pub mod tools;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use garrick_telemetry::{
    Builder, ChannelReading, HeldReading, Reading, SponsorReading, StageReading, State, Telemetry,
};

/// Time limit that no operation reaches, unless a broken server would hang the test.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a builder for telemetry on any free port.
pub fn anywhere() -> Builder {
    Telemetry::builder().address(([127, 0, 0, 1], 0).into())
}

/// Starts telemetry on any free port.
pub fn start(builder: Builder) -> Telemetry {
    builder.start().expect("there is a free port")
}

/// An answer of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// Opens a connection with a time limit.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    let set = stream.set_read_timeout(Some(PATIENCE));
    set.and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
        .expect("timeouts can be set");
    stream
}

/// Sends `bytes`, and reads one answer. Returns no answer if the server closes the connection
/// first.
pub fn exchange(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address);
    // A server that rejects the beginning does not have to read the rest.
    let _ = stream.write_all(bytes);
    read_answer(&mut BufReader::new(stream), bytes.starts_with(b"HEAD"))
}

/// Sends `GET path` with additional header lines, each ending in a line break.
pub fn get_with(address: SocketAddr, path: &str, headers: &str) -> Answer {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n");
    exchange(address, request.as_bytes()).expect("an answer")
}

/// Sends `GET path` to any server, which may not have started yet. Returns the status and the body,
/// or `None` if there is no answer.
pub fn try_get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    // Servers send no chunks to clients of HTTP 1.0. The body ends when the server hangs up.
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// Sends `GET path`.
pub fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, "")
}

/// Reads the status, the headers, and a body whose length a header contains.
pub fn read_answer(reader: &mut impl BufRead, is_head: bool) -> Option<Answer> {
    let first = line(reader)?;
    let status = first.split(' ').nth(1)?.parse().ok()?;
    let mut headers = HashMap::new();
    loop {
        let line = line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|n| n.parse().ok());
    let mut body = vec![0; if is_head { 0 } else { length.unwrap_or(0) }];
    reader.read_exact(&mut body).ok()?;
    Some(Answer {
        status,
        headers,
        body,
    })
}

/// Reads a line without its end. Returns `None` if the server has closed the connection.
pub fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(0) => None,
        Ok(_) => Some(line.trim_end().to_owned()),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
        Err(error) => panic!("the server neither answers nor hangs up: {error}"),
    }
}

/// An event stream, read event by event.
pub struct Events {
    reader: BufReader<TcpStream>,
}

/// An event of the stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub id: Option<u64>,
    pub data: String,
    pub retry: Option<u64>,
    /// True for an event that is only a comment.
    pub heartbeat: bool,
}

impl Events {
    /// Opens a stream.
    pub fn open(address: SocketAddr, path: &str) -> Self {
        let mut stream = connect(address);
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut reader = BufReader::new(stream);
        let answer = read_answer(&mut reader, false).expect("a stream begins");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            answer.header("content-type"),
            "text/event-stream; charset=utf-8"
        );
        Self { reader }
    }

    /// Returns the next event, or `None` at the end of the stream.
    pub fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        let mut begun = false;
        loop {
            let line = line(&mut self.reader)?;
            // The body is sent in chunks. A chunk is preceded by its length and followed by an
            // empty line.
            if u64::from_str_radix(&line, 16).is_ok() {
                if line == "0" {
                    return None;
                }
                continue;
            }
            match line.split_once(':') {
                None if line.is_empty() && !begun => continue,
                None => return Some(event),
                Some(("", _)) => event.heartbeat = true,
                Some(("id", id)) => event.id = id.trim().parse().ok(),
                Some(("event", kind)) => event.kind = kind.trim().to_owned(),
                Some(("data", data)) => event.data = data.trim().to_owned(),
                Some(("retry", retry)) => event.retry = retry.trim().parse().ok(),
                Some(_) => panic!("not a field of an event: {line}"),
            }
            begun = true;
        }
    }
}

/// Reads to the end of the stream, closes it, and returns the number of bytes read.
pub fn drain(mut stream: TcpStream) -> usize {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all.len()
}

/// A pipeline whose names contain characters that each output format must escape.
pub fn pipeline(reading: &mut Reading) {
    let stage = |id: &str, name: &str, messages| StageReading {
        id: id.to_owned(),
        name: name.to_owned(),
        place: "team".to_owned(),
        messages,
        turns: 3,
        busy_nanos: Some(1_000),
        ..StageReading::default()
    };
    reading.stages.push(stage("s0", "gen\"erator\\", 100));
    reading
        .stages
        .push(stage("s1", "line\nbreak <b>&amp;</b> {x} \u{1F3AD}", 90));
    reading.stages[1].state = State::Failed;
    reading.stages[1].note = Some("it said \"no\"\\".to_owned());
    reading.channels.push(ChannelReading {
        id: "c0".to_owned(),
        from: Some("s0".to_owned()),
        to: Some("s1".to_owned()),
        name: Some("a \"name\" \\N".to_owned()),
        message: "Frame<'_>".to_owned(),
        capacity: 100,
        fill: 95,
        taken: 90,
        batches: vec![1, 2, 0, 4, 0],
        sender_stalls: 5,
        ..ChannelReading::default()
    });
    reading.channels.push(ChannelReading {
        id: "c1".to_owned(),
        message: "u8".to_owned(),
        ..ChannelReading::default()
    });
    reading.sponsors.push(SponsorReading {
        id: "p0".to_owned(),
        name: "pool \"A\"".to_owned(),
        workers: 2,
        idle_nanos: Some(1_000),
        held: vec![
            held(0, "short", 1_000_000_000),
            held(1, "lo\"ng", 2_500_000_000),
        ],
        ..SponsorReading::default()
    });
}

fn held(worker: u64, name: &str, nanos: u64) -> HeldReading {
    HeldReading {
        worker,
        actors: name.to_owned(),
        name: name.to_owned(),
        nanos,
    }
}

/// Creates a source of many channels.
pub fn many_channels(count: usize) -> impl FnMut(&mut Reading) + Send + 'static {
    let mut taken = 0;
    move |reading: &mut Reading| {
        taken += 1;
        reading
            .channels
            .extend((0..count).map(|number| ChannelReading {
                id: format!("c{number}"),
                name: Some(format!("channel number {number}")),
                capacity: 1000,
                fill: taken % 1000,
                taken,
                ..ChannelReading::default()
            }));
    }
}
