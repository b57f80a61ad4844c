//! Asking a process for what there is to see, over HTTP.

use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::time::Duration;

use garrick_telemetry::Snapshot;
use ureq::http::StatusCode;
use ureq::{Agent, Body, http::Response};

use crate::events::Events;
use crate::target::Target;
use crate::text;

/// How long a process may take to accept a connection, and again to begin its answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// How long a process may take to send a snapshot whole.
const SNAPSHOT_MAX: Duration = Duration::from_secs(20);

/// A stream of events that is silent for so long is dead. It sends signs of life more often than that.
const SILENCE_MAX: Duration = Duration::from_secs(40);

/// The largest snapshot, in bytes.
const BYTES_MAX: u64 = 32 << 20;

/// The longest explanation of a failure, in bytes.
const SAID_MAX: u64 = 2000;

/// What is read of the network at once; a snapshot of a hundred rows fits.
const BUFFER: usize = 64 * 1024;

/// A process that can be asked.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    target: Target,
    /// What it may want to be shown.
    token: Option<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub struct Fault {
    /// Who was asked.
    target: Target,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// There is no such host.
    Host,
    /// Nobody listens.
    Refused,
    /// Nothing came in time.
    Silent,
    /// It wants a token: none was given, or the wrong one.
    Token { given: bool },
    /// It answered something else than success, and said something.
    Status(StatusCode, String),
    /// What it said is not HTTP.
    NotHttp(String),
    /// What it said is not what a Garrick says.
    NotGarrick(String),
    /// The stream has ended.
    Ended,
    /// The network failed.
    Network(String),
}

impl Client {
    /// A client for the process at `target`, which may want to be shown `token`.
    pub fn new(target: Target, token: Option<String>) -> Self {
        let agent = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("garrick-top/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(ANSWER_MAX))
            .timeout_connect(Some(ANSWER_MAX))
            .timeout_recv_response(Some(ANSWER_MAX))
            .timeout_per_read(Some(SILENCE_MAX))
            .build()
            .new_agent();
        Self {
            agent,
            target,
            token,
        }
    }

    /// Who is asked.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// What there is to see now.
    pub fn snapshot(&self) -> Result<Snapshot, Fault> {
        let mut answer = self.get("/graph.json", Some(SNAPSHOT_MAX))?;
        let body = answer
            .body_mut()
            .with_config()
            .limit(BYTES_MAX)
            .read_to_vec()
            .map_err(|error| self.fault(why_not(error)))?;
        self.parse(&body)
    }

    /// What there is to see from now on, every `interval`, as events.
    pub(crate) fn events(&self, interval: Duration) -> Result<Events<impl BufRead + use<>>, Fault> {
        let path = format!("/events?every={}", interval.as_millis());
        let answer = self.get(&path, None)?;
        let kind = answer.headers().get("content-type");
        let kind = kind.map(|kind| kind.as_bytes().to_ascii_lowercase());
        if !kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            return Err(self.fault(Why::NotGarrick("/events is no stream of events".to_owned())));
        }
        let body = answer
            .into_body()
            .into_with_config()
            .limit(u64::MAX)
            .reader();
        Ok(Events::new(BufReader::with_capacity(BUFFER, body)))
    }

    /// A snapshot out of its JSON, made safe to show.
    pub(crate) fn parse(&self, json: &[u8]) -> Result<Snapshot, Fault> {
        serde_json::from_slice(json)
            .map_err(|error| self.fault(Why::NotGarrick(text::safe(&error.to_string()))))
    }

    /// The end of a stream, with an error or without.
    pub(crate) fn end(&self, error: Option<io::Error>) -> Fault {
        self.fault(error.map_or(Why::Ended, |error| why_not(error.into())))
    }

    fn get(&self, path: &str, time_max: Option<Duration>) -> Result<Response<Body>, Fault> {
        let mut request = self.agent.get(self.target.url(path));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = request.config().timeout_recv_body(time_max).build().call();
        let answer = answer.map_err(|error| self.fault(why_not(error)))?;
        match answer.status() {
            StatusCode::OK => Ok(answer),
            StatusCode::UNAUTHORIZED => Err(self.fault(Why::Token {
                given: self.token.is_some(),
            })),
            status => Err(self.fault(Why::Status(status, said(answer)))),
        }
    }

    fn fault(&self, why: Why) -> Fault {
        Fault {
            target: self.target.clone(),
            why,
        }
    }
}

/// What a text says in its first line.
fn said(mut answer: Response<Body>) -> String {
    let kind = answer.headers().get("content-type");
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain")) {
        return String::new();
    }
    let body = answer
        .body_mut()
        .with_config()
        .limit(SAID_MAX)
        .read_to_vec();
    let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
    text::safe(body.lines().next().unwrap_or_default())
}

fn why_not(error: ureq::Error) -> Why {
    match error {
        ureq::Error::HostNotFound => Why::Host,
        ureq::Error::Timeout(_) => Why::Silent,
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => Why::Refused,
            io::ErrorKind::TimedOut => Why::Silent,
            io::ErrorKind::UnexpectedEof => Why::Ended,
            _ => Why::Network(text::safe(&error.to_string())),
        },
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
            Why::NotHttp(text::safe(&error.to_string()))
        }
        ureq::Error::BodyExceedsLimit(max) => {
            Why::NotGarrick(format!("an answer of more than {max} bytes"))
        }
        error => Why::Network(text::safe(&error.to_string())),
    }
}

impl Fault {
    /// What is wrong, without who was asked.
    pub(crate) fn why(&self) -> String {
        match &self.why {
            Why::Host => "there is no such host".to_owned(),
            Why::Refused => {
                "nothing listens there: does the process run, with its telemetry on?".to_owned()
            }
            Why::Silent => "no answer".to_owned(),
            Why::Token { given: false } => "it wants a token: give --token".to_owned(),
            Why::Token { given: true } => "it wants another --token".to_owned(),
            Why::Status(status, said) if said.is_empty() => {
                format!("it answers {status}, which no Garrick process does")
            }
            Why::Status(status, said) => format!("it answers {status}: {said}"),
            Why::NotHttp(why) => format!("what listens there does not speak HTTP: {why}"),
            Why::NotGarrick(why) => {
                format!("this is no Garrick process, or one of another version: {why}")
            }
            Why::Ended => "it has ended the connection".to_owned(),
            Why::Network(why) => format!("it cannot be reached: {why}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.target, self.why())
    }
}

impl std::error::Error for Fault {}
