//! A client of the service.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;

/// Time limit of a request, which is longer than that of the service.
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct Client(Agent);

/// The status of a response, and its body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the balance of a successful response.
    pub(crate) fn cents(&self) -> u64 {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()["cents"].as_u64().unwrap()
    }

    /// Returns the sentence of a failure with a status.
    pub(crate) fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        self.json()["error"].as_str().unwrap().to_owned()
    }
}

impl Client {
    pub(crate) fn new() -> Self {
        let config = Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false);
        Self(config.timeout_global(Some(LIMIT)).build().into())
    }

    pub(crate) fn try_get(&self, url: &str, path: &str) -> Result<Response, ureq::Error> {
        let mut response = self.0.get(format!("{url}{path}")).call()?;
        Ok(Response {
            status: response.status().as_u16(),
            text: response.body_mut().read_to_string()?,
        })
    }

    pub(crate) fn get(&self, url: &str, path: &str) -> Response {
        self.try_get(url, path).unwrap()
    }

    pub(crate) fn try_post(
        &self,
        url: &str,
        path: &str,
        key: Option<&str>,
        body: &str,
    ) -> Result<Response, ureq::Error> {
        let mut request = self.0.post(format!("{url}{path}"));
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let mut response = request.send(body)?;
        Ok(Response {
            status: response.status().as_u16(),
            text: response.body_mut().read_to_string()?,
        })
    }

    pub(crate) fn post(&self, url: &str, path: &str, body: &Value) -> Response {
        self.try_post(url, path, None, &body.to_string()).unwrap()
    }

    /// Makes a change until it is acknowledged or refused, at one node after another. Returns the
    /// response, and the number of attempts.
    pub(crate) fn insist(
        &self,
        urls: &[String],
        path: &str,
        key: &str,
        body: &Value,
    ) -> (Response, usize) {
        let began = Instant::now();
        for attempt in 0.. {
            assert!(began.elapsed() < LIMIT * 3, "{path} is not acknowledged");
            let url = &urls[attempt % urls.len()];
            match self.try_post(url, path, Some(key), &body.to_string()) {
                Ok(response) if response.status < 500 => return (response, attempt + 1),
                // The node was killed, or an account does not answer.
                Ok(_) | Err(_) => std::thread::yield_now(),
            }
        }
        unreachable!("attempts have no end")
    }

    /// Waits until no money of an account is on its way, and returns its cents.
    pub(crate) fn settled(&self, url: &str, name: &str) -> u64 {
        let began = Instant::now();
        loop {
            assert!(
                began.elapsed() < LIMIT * 3,
                "money of {name} does not arrive"
            );
            let response = self.get(url, &format!("/accounts/{name}"));
            if response.status == 200 && response.json()["on_its_way"] == json!(0) {
                return response.cents();
            }
            std::thread::yield_now();
        }
    }
}
