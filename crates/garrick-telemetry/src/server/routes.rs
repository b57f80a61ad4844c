//! What is asked for, and who answers.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::hub::to_json;
use crate::page::{ASSETS, Asset};
use crate::render::dot;
use crate::render::prometheus::{self, Format};

use super::{Site, events, guard};

const JSON: &str = "application/json";

const TEXT: &str = "text/plain; charset=utf-8";

/// What there is, for those who asked for something else.
const NOT_FOUND: &str = "there is nothing here; there is / /graph.json /graph.dot /history.json /metrics /events /health\n";

/// All routes with all guards.
pub(super) fn routes(site: &Arc<Site>) -> Router {
    guarded(data(site).merge(open(site)), site)
}

/// What needs the token, if there is one.
fn data(site: &Arc<Site>) -> Router {
    Router::new()
        .route("/graph.json", get(graph_json))
        .route("/graph.dot", get(graph_dot))
        .route("/history.json", get(history_json))
        .route("/metrics", get(metrics))
        .route("/events", get(event_stream))
        .layer(from_fn_with_state(Arc::clone(site), guard::token))
        .with_state(Arc::clone(site))
}

/// What tells nothing about the process but that it is there.
fn open(site: &Arc<Site>) -> Router {
    let mut router = Router::new().route("/health", get(health));
    for asset in ASSETS {
        router = router.route(asset.path, get(|| async { file(asset) }));
    }
    router.with_state(Arc::clone(site))
}

/// Puts before `router` what stands before every route.
fn guarded(router: Router, site: &Arc<Site>) -> Router {
    router
        .fallback(async || (StatusCode::NOT_FOUND, NOT_FOUND))
        .method_not_allowed_fallback(async || {
            (
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD are answered\n",
            )
        })
        .layer(from_fn(guard::panics))
        .layer(from_fn_with_state(Arc::clone(site), guard::host))
        .layer(from_fn(guard::headers))
}

/// Answers that there is no room, whatever is asked.
pub(super) fn turned_away() -> Router {
    Router::new().fallback(async || {
        let headers = [(header::RETRY_AFTER, "5"), (header::CONNECTION, "close")];
        let text = "too many connections are open\n";
        (StatusCode::SERVICE_UNAVAILABLE, headers, text)
    })
}

fn file(asset: &Asset) -> Response {
    ([(header::CONTENT_TYPE, asset.media_type)], asset.bytes).into_response()
}

fn typed(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn graph_json(State(site): State<Arc<Site>>) -> Response {
    typed(JSON, site.hub.newest().json())
}

async fn graph_dot(State(site): State<Arc<Site>>) -> Response {
    let text = dot::render(&site.hub.newest().snapshot);
    typed("text/vnd.graphviz; charset=utf-8", text)
}

async fn history_json(State(site): State<Arc<Site>>) -> Response {
    typed(JSON, to_json(&site.hub.history()))
}

async fn metrics(State(site): State<Arc<Site>>, request: Request) -> Response {
    let accept = request.headers().get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let format = Format::of(accept.unwrap_or_default());
    let text = prometheus::render(&site.hub.newest().snapshot, format);
    typed(format.content_type(), text)
}

async fn event_stream(State(site): State<Arc<Site>>, request: Request) -> Response {
    match every(request.uri().query().unwrap_or_default()) {
        Ok(every) => events::respond(&site, every),
        Err(text) => (StatusCode::BAD_REQUEST, text).into_response(),
    }
}

/// How often a client wants events: `?every=` milliseconds.
fn every(query: &str) -> Result<Duration, String> {
    let Some(asked) = guard::parameter(query, "every") else {
        return Ok(events::EVERY);
    };
    let (least, most) = events::EVERY_RANGE;
    let every = asked.parse().map(Duration::from_millis);
    match every {
        Ok(every) if (least..=most).contains(&every) => Ok(every),
        _ => Err(format!(
            "`every` is a number of milliseconds, {} to {}\n",
            least.as_millis(),
            most.as_millis()
        )),
    }
}

async fn health(State(site): State<Arc<Site>>) -> Response {
    let counts = &site.hub.counts;
    let text = format!(
        "ok\nconnections {}\nstreams {}\nrefused {}\n",
        counts.connections.load(Relaxed),
        counts.streams.load(Relaxed),
        counts.refused.load(Relaxed)
    );
    typed(TEXT, text)
}
