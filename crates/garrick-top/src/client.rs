//! HTTP client for the telemetry of a process.

use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::time::Duration;

use garrick_telemetry::{HistoryReport, Snapshot};
use serde::de::DeserializeOwned;
use ureq::http::StatusCode;
use ureq::{Agent, Body, http::Response};

use crate::events::Events;
use crate::target::Target;
use crate::text;

/// Time limit of each step before a response: the lookup of the host, the connection to the
/// process, and the wait for the beginning of the response.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Time limit for a process to send a whole snapshot.
const SNAPSHOT_MAX: Duration = Duration::from_secs(20);

/// Duration of silence after which a stream of events counts as dead. A live process sends
/// heartbeats more often.
const SILENCE_MAX: Duration = Duration::from_secs(40);

/// Maximum size of a snapshot, in bytes.
const BYTES_MAX: u64 = 32 << 20;

/// Maximum length, in bytes, of a response that explains a failure.
const SAID_MAX: u64 = 2000;

/// Size of the network read buffer, in bytes. A snapshot with a hundred rows fits.
const BUFFER: usize = 64 * 1024;

/// A client that requests the telemetry of one process over HTTP.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    target: Target,
    /// Token (a secret) that the process may require.
    token: Option<String>,
}

/// The error returned when a request to a process fails.
#[derive(Debug)]
pub struct Fault {
    /// Address of the watched process.
    target: Target,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// The host does not exist.
    Host,
    /// No process listens at the address.
    Refused,
    /// No response came in time.
    Silent,
    /// The process requires a token, but no token or a wrong one was sent.
    Token { given: bool },
    /// The process responded with an error status and a message.
    Status(StatusCode, String),
    /// The response is not HTTP.
    NotHttp(String),
    /// The response is not in Garrick's format.
    NotGarrick(String),
    /// The stream has ended.
    Ended,
    /// The network failed.
    Network(String),
}

impl Client {
    /// Creates a client for the process at `target`. If there is a token, the client sends it with
    /// each request.
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

    /// Returns the address of the watched process.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Requests the current snapshot of the process, and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the request fails, or if the response is not a valid snapshot.
    pub fn snapshot(&self) -> Result<Snapshot, Fault> {
        self.parse(&self.read("/graph.json")?)
    }

    /// Requests the history of the last ten minutes.
    pub(crate) fn history(&self) -> Result<HistoryReport, Fault> {
        self.parse(&self.read("/history.json")?)
    }

    /// Requests `path`, and returns the whole response.
    fn read(&self, path: &str) -> Result<Vec<u8>, Fault> {
        let mut answer = self.get(path, Some(SNAPSHOT_MAX))?;
        let body = answer.body_mut().with_config().limit(BYTES_MAX);
        let bytes = body.read_to_vec();
        bytes.map_err(|error| self.fault(why_not(error)))
    }

    /// Returns a stream of events, with a snapshot every `interval`.
    pub(crate) fn events(&self, interval: Duration) -> Result<Events<impl BufRead + use<>>, Fault> {
        let path = format!("/events?every={}", interval.as_millis());
        let answer = self.get(&path, None)?;
        let kind = answer.headers().get("content-type");
        let kind = kind.map(|kind| kind.as_bytes().to_ascii_lowercase());
        if !kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            return Err(self.fault(Why::NotGarrick(
                "/events is not a stream of events".to_owned(),
            )));
        }
        let body = answer
            .into_body()
            .into_with_config()
            .limit(u64::MAX)
            .reader();
        Ok(Events::new(BufReader::with_capacity(BUFFER, body)))
    }

    /// Parses a snapshot or a history from JSON.
    pub(crate) fn parse<T: DeserializeOwned>(&self, json: &[u8]) -> Result<T, Fault> {
        serde_json::from_slice(json)
            .map_err(|error| self.fault(Why::NotGarrick(text::safe(&error.to_string()))))
    }

    /// Returns the fault for a stream that has ended, with or without an error.
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

/// Returns the first line of a plain-text response.
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
            Why::NotGarrick(format!("the answer is longer than {max} bytes"))
        }
        error => Why::Network(text::safe(&error.to_string())),
    }
}

impl Fault {
    /// Returns a description of the fault, without the address of the process.
    pub(crate) fn why(&self) -> String {
        match &self.why {
            Why::Host => "the host was not found".to_owned(),
            Why::Refused => {
                "nothing listens at this address: is the process running, with telemetry?"
                    .to_owned()
            }
            Why::Silent => "no answer within the time limit".to_owned(),
            Why::Token { given: false } => "the process requires a token: use --token".to_owned(),
            Why::Token { given: true } => {
                "the process has rejected the token: use another --token".to_owned()
            }
            Why::Status(status, said) if said.is_empty() => {
                format!("the process answered {status}, which no Garrick process does")
            }
            Why::Status(status, said) => format!("the process answered {status}: {said}"),
            Why::NotHttp(why) => format!("the server at this address does not speak HTTP: {why}"),
            Why::NotGarrick(why) => {
                format!("this is not a Garrick process, or it has another version: {why}")
            }
            Why::Ended => "the process has ended the connection".to_owned(),
            Why::Network(why) => format!("the connection has failed: {why}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.target, self.why())
    }
}

impl std::error::Error for Fault {}
