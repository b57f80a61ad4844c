//! The HTTP interface of a node.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use garrick::metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use garrick::telemetry::{View, metrics_text};
use garrick::{NoReply, Reply};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::net::TcpListener;

use crate::account::{Balance, CENTS_MAX, Change, Order, Refusal};
use crate::bank::Bank;

/// Time before a question to an account is repeated.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Maximum length of a request's body in bytes. The next constants are the maximum lengths of an
/// account's name and of a request's key.
const BODY_BYTES_MAX: usize = 4_096;
const NAME_BYTES_MAX: usize = 32;
const KEY_BYTES_MAX: usize = 64;

/// Name of the header that contains the key of a change.
const KEY: &str = "idempotency-key";

/// Maximum additional time that a request may take to send its body.
const BODY_WITHIN: Duration = Duration::from_secs(5);

/// The state that the request handlers share.
#[derive(Clone)]
pub(crate) struct Front {
    bank: Arc<Bank>,
    view: View,
    /// Time limit of a question to an account.
    within: Duration,
}

/// The response to a request that failed: the status code, and the reason as an English sentence.
struct Failure(StatusCode, String);

impl Failure {
    fn bad(why: impl Display) -> Self {
        Self(StatusCode::BAD_REQUEST, why.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        json_response(self.0, &json!({ "error": self.1 }))
    }
}

fn json_response(status: StatusCode, body: &serde_json::Value) -> Response {
    (
        status,
        [(CONTENT_TYPE, "application/json")],
        format!("{body}\n"),
    )
        .into_response()
}

/// The body of a deposit or a withdrawal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Amount {
    cents: u64,
}

/// The body of a transfer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transfer {
    to: String,
    cents: u64,
}

/// Serves requests until `end` is ready, and then answers the requests that were already accepted.
pub(crate) async fn serve(
    listener: TcpListener,
    front: Front,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let app = Router::new()
        .route("/accounts/{name}", routing::get(read))
        .route("/accounts/{name}/deposit", routing::post(deposit))
        .route("/accounts/{name}/withdraw", routing::post(withdraw))
        .route("/accounts/{name}/transfer", routing::post(transfer))
        .route("/healthz", routing::get(health))
        .route("/metrics", routing::get(metrics))
        .fallback(async || Failure(StatusCode::NOT_FOUND, PATHS.to_owned()))
        .method_not_allowed_fallback(async || {
            Failure(StatusCode::METHOD_NOT_ALLOWED, PATHS.to_owned())
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(front.clone(), limited))
        .with_state(front);
    axum::serve(listener, app).with_graceful_shutdown(end).await
}

/// Answers a request with an error if it is not finished in time, for example because its body does
/// not arrive.
async fn limited(State(front): State<Front>, request: Request, next: Next) -> Response {
    let within = front.within + front.within.min(BODY_WITHIN);
    match tokio::time::timeout(within, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let why = format!("the request was not done in {within:?}");
            Failure(StatusCode::REQUEST_TIMEOUT, why).into_response()
        }
    }
}

const PATHS: &str = "there are: GET /accounts/NAME, POST /accounts/NAME/deposit, \
                     POST /accounts/NAME/withdraw, POST /accounts/NAME/transfer, GET /healthz, \
                     GET /metrics";

async fn read(State(front): State<Front>, Path(name): Path<String>) -> Result<Response, Failure> {
    front.ask("read", &name, true, Order::Read).await
}

async fn deposit(
    State(front): State<Front>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failure> {
    let Amount { cents } = parse(&body, r#"{"cents": 100}"#)?;
    let change = Change::Deposit(checked(cents)?);
    front.change("deposit", &name, &headers, change).await
}

async fn withdraw(
    State(front): State<Front>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failure> {
    let Amount { cents } = parse(&body, r#"{"cents": 100}"#)?;
    let change = Change::Withdraw(checked(cents)?);
    front.change("withdraw", &name, &headers, change).await
}

async fn transfer(
    State(front): State<Front>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failure> {
    let Transfer { to, cents } = parse(&body, r#"{"to": "bob", "cents": 100}"#)?;
    check_name(&to)?;
    if to == name {
        return Err(Failure::bad("a transfer must lead to another account"));
    }
    let cents = checked(cents)?;
    let change = Change::Transfer { to, cents };
    front.change("transfer", &name, &headers, change).await
}

async fn health(State(front): State<Front>) -> Response {
    let members = front.bank.entities().members();
    let trouble = front.bank.trouble();
    let status = match trouble {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let names: Vec<_> = members.members.iter().map(|name| name.as_str()).collect();
    let body = json!({
        "node": front.bank.name(), "trouble": trouble, "members": names, "shards": members.owned,
    });
    json_response(status, &body)
}

async fn metrics(State(front): State<Front>, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let metrics = metrics_text(&front.view.latest(), accept.unwrap_or_default());
    ([(CONTENT_TYPE, metrics.content_type)], metrics.text).into_response()
}

/// Describes the metrics of this program.
pub(crate) fn describe() {
    describe_counter!(
        "bank_requests",
        "Requests to accounts, by action and outcome."
    );
    describe_histogram!(
        "bank_request_seconds",
        Unit::Seconds,
        "Time until an account answered."
    );
}

impl Front {
    pub(crate) fn new(bank: Arc<Bank>, view: View, within: Duration) -> Self {
        Self { bank, view, within }
    }

    async fn change(
        &self,
        action: &'static str,
        name: &str,
        headers: &HeaderMap,
        change: Change,
    ) -> Result<Response, Failure> {
        let key = key_of(headers)?;
        let order = |reply| Order::Change {
            change: change.clone(),
            key: key.clone(),
            reply,
        };
        self.ask(action, name, key.is_some(), order).await
    }

    /// Asks an account. Asks again if the node of the account is lost, provided that a repetition
    /// has no additional effect.
    async fn ask(
        &self,
        action: &'static str,
        name: &str,
        may_repeat: bool,
        order: impl Fn(Reply<Result<Balance, Refusal>>) -> Order,
    ) -> Result<Response, Failure> {
        check_name(name)?;
        let began = Instant::now();
        let until = tokio::time::Instant::from_std(began + self.within);
        let answer = loop {
            let account = self
                .bank
                .account(name)
                .map_err(|error| Failure(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
            let asked = tokio::time::timeout_at(until, account.ask(&order)).await;
            let answer = asked.unwrap_or(Err(NoReply::TimedOut));
            let is_lost = matches!(answer, Err(NoReply::NodeLost | NoReply::Dropped));
            if !(is_lost && may_repeat) {
                break answer;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        };
        histogram!("bank_request_seconds", "action" => action).record(began.elapsed());
        let (outcome, answer) = response(name, answer);
        counter!("bank_requests", "action" => action, "outcome" => outcome).increment(1);
        answer
    }
}

/// Converts the answer of an account into the outcome that the metrics show, and the response to
/// the client.
fn response(
    name: &str,
    answer: Result<Result<Balance, Refusal>, NoReply>,
) -> (&'static str, Result<Response, Failure>) {
    let balance = match answer {
        Ok(Ok(balance)) => balance,
        Ok(Err(refusal)) => {
            let failure = Failure(StatusCode::CONFLICT, refusal.to_string());
            return ("refused", Err(failure));
        }
        Err(why) => {
            let status = match why {
                NoReply::TimedOut => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::SERVICE_UNAVAILABLE,
            };
            let sentence = format!(
                "the account has not answered: {why}. A change may have been made. Repeat the \
                 request with the same key in the header Idempotency-Key"
            );
            return ("unanswered", Err(Failure(status, sentence)));
        }
    };
    let body = json!({
        "account": name, "cents": balance.cents, "on_its_way": balance.on_its_way,
    });
    ("done", Ok(json_response(StatusCode::OK, &body)))
}

fn parse<T: DeserializeOwned>(body: &[u8], example: &str) -> Result<T, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::bad(format_args!("the body must be like {example}: {error}")))
}

fn checked(cents: u64) -> Result<u64, Failure> {
    if (1..=CENTS_MAX).contains(&cents) {
        return Ok(cents);
    }
    let why = format_args!("an amount is from 1 to {CENTS_MAX} cents, not {cents}");
    Err(Failure::bad(why))
}

/// Checks that a text consists of letters, digits, `-` and `_`.
fn check(what: &str, text: &str, bytes_max: usize) -> Result<(), Failure> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=bytes_max).contains(&text.len()) && text.bytes().all(is_allowed) {
        return Ok(());
    }
    Err(Failure::bad(format_args!(
        "{what} has 1 to {bytes_max} letters, digits, `-` and `_` of ASCII, unlike `{text}`"
    )))
}

fn check_name(name: &str) -> Result<(), Failure> {
    check("the name of an account", name, NAME_BYTES_MAX)
}

fn key_of(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(key) = headers.get(KEY) else {
        return Ok(None);
    };
    let key = key.to_str().unwrap_or_default();
    check("the key of a request", key, KEY_BYTES_MAX)?;
    Ok(Some(key.to_owned()))
}
