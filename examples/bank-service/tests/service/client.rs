//! A client of the service.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;

/// Time limit of a request, which is longer than the time limit of the service.
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

    /// Returns the balance in a response. Panics if the request was not successful.
    pub(crate) fn cents(&self) -> u64 {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()["cents"].as_u64().unwrap()
    }

    /// Returns the error text of a response. Panics if the response does not have the status
    /// `status`.
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

    /// Requests a change from one node after another, until the change is acknowledged or refused.
    /// Returns the response, and the number of attempts.
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

    /// Waits until all transfers of an account have arrived, and returns the account's balance in
    /// cents.
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
