//! Routes of the server, and their handlers.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;

use crate::hub::Bytes;
use crate::page::{ASSETS, Asset};
use crate::render::prometheus::Format;

use super::{Site, events, guard};

const JSON: &str = "application/json";

const DOT: &str = "text/vnd.graphviz; charset=utf-8";

const TEXT: &str = "text/plain; charset=utf-8";

/// Response to requests for unknown paths.
const NOT_FOUND: &str = "no page has this path; the paths are / /graph.json /graph.dot /history.json /failures.json /tree.json /metrics /events /health\n";

/// Returns the router with all routes and all middleware.
pub(super) fn routes(site: &Arc<Site>) -> Router {
    guarded(data(site).merge(open(site)), site)
}

/// Returns the routes that need the token, if one is set.
fn data(site: &Arc<Site>) -> Router {
    Router::new()
        .route("/graph.json", get(graph_json))
        .route("/graph.dot", get(graph_dot))
        .route("/history.json", get(history_json))
        .route("/failures.json", get(failures_json))
        .route("/tree.json", get(tree_json))
        .route("/metrics", get(metrics))
        .route("/events", get(event_stream))
        .layer(from_fn_with_state(Arc::clone(site), guard::token))
        .with_state(Arc::clone(site))
}

/// Returns the routes that need no token: `/health` and the files of the dashboard. They only
/// reveal that the process runs.
fn open(site: &Arc<Site>) -> Router {
    let mut router = Router::new().route("/health", get(health));
    for asset in ASSETS {
        router = router.route(asset.path, get(|| async { file(asset) }));
    }
    router.with_state(Arc::clone(site))
}

/// Adds the middleware of all routes to `router`.
fn guarded(router: Router, site: &Arc<Site>) -> Router {
    router
        .fallback(async || (StatusCode::NOT_FOUND, NOT_FOUND))
        .method_not_allowed_fallback(async || {
            (
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD are supported\n",
            )
        })
        .layer(from_fn(guard::panics))
        .layer(from_fn_with_state(Arc::clone(site), guard::host))
        .layer(from_fn(guard::headers))
}

/// Returns the router for connections beyond the limit. The router rejects every request.
pub(super) fn turned_away() -> Router {
    let router = Router::new().fallback(async || {
        let headers = [(header::RETRY_AFTER, "5"), (header::CONNECTION, "close")];
        let text = "too many connections are open, retry in 5 seconds\n";
        (StatusCode::SERVICE_UNAVAILABLE, headers, text)
    });
    router.layer(from_fn(guard::headers))
}

fn file(asset: &Asset) -> Response {
    ([(header::CONTENT_TYPE, asset.media_type)], asset.bytes).into_response()
}

fn typed(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// Returns a response with a rendered body. Other clients may read the same body at the same time.
fn lent(site: &Site, kind: &'static str, rendering: Bytes) -> Response {
    let reading = site.loans.lend(rendering);
    let length = HeaderValue::from(reading.left());
    let pieces = stream::unfold(reading, async |mut reading| {
        Some((reading.next()?, reading))
    });
    let mut response = typed(kind, Body::from_stream(pieces));
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, length);
    response
}

async fn graph_json(State(site): State<Arc<Site>>) -> Response {
    lent(&site, JSON, site.hub.newest().json())
}

async fn graph_dot(State(site): State<Arc<Site>>) -> Response {
    lent(&site, DOT, site.hub.newest().dot())
}

async fn history_json(State(site): State<Arc<Site>>) -> Response {
    lent(&site, JSON, site.hub.history_json())
}

async fn failures_json(State(site): State<Arc<Site>>) -> Response {
    lent(&site, JSON, site.hub.failures_json())
}

async fn tree_json(State(site): State<Arc<Site>>) -> Response {
    lent(&site, JSON, site.hub.trees_json())
}

async fn metrics(State(site): State<Arc<Site>>, request: Request) -> Response {
    let accept = request.headers().get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let format = Format::of(accept.unwrap_or_default());
    lent(
        &site,
        format.content_type(),
        site.hub.newest().metrics(format),
    )
}

async fn event_stream(State(site): State<Arc<Site>>, request: Request) -> Response {
    match every(request.uri().query().unwrap_or_default()) {
        Ok(every) => events::respond(&site, every),
        Err(text) => (StatusCode::BAD_REQUEST, text).into_response(),
    }
}

/// Returns the interval between snapshots that a client requests by `?every=`, in milliseconds.
/// Without this parameter, returns the default interval.
fn every(query: &str) -> Result<Duration, String> {
    let Some(asked) = guard::parameter(query, "every") else {
        return Ok(events::EVERY);
    };
    let (least, most) = events::EVERY_RANGE;
    let every = asked.parse().map(Duration::from_millis);
    match every {
        Ok(every) if (least..=most).contains(&every) => Ok(every),
        _ => Err(format!(
            "`every` must be a number of milliseconds from {} to {}\n",
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use tokio::sync::watch;

    use crate::hub::Hub;
    use crate::server::loans::PIECE_BYTES_MAX;
    use crate::server::{Loans, Options};
    use crate::snapshot::{Node, Snapshot};

    fn site() -> Arc<Site> {
        Arc::new(Site {
            hub: Arc::new(Hub::new(Snapshot::default(), Arc::default())),
            options: Options {
                token: None,
                connections_max: 1,
                head_timeout: Duration::from_secs(1),
                write_timeout: Duration::from_secs(1),
                heartbeat: Duration::from_secs(1),
                is_local: true,
            },
            loans: Loans::default(),
            ending: watch::channel(false).1,
        })
    }

    #[test]
    fn a_handler_that_panics_is_an_answer_with_all_headers() {
        let panics = Router::new().route("/", get(async || -> Response { panic!("on purpose") }));
        let service = TowerToHyperService::new(guarded(panics, &site()));
        let request = axum::http::Request::new(Body::empty());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let answer = runtime.expect("a runtime").block_on(service.call(request));
        std::panic::set_hook(hook);
        let answer = answer.unwrap_or_else(|never| match never {});
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            answer
                .headers()
                .contains_key(header::CONTENT_SECURITY_POLICY)
        );
    }

    /// Returns the whole body of the answer to `GET path`.
    async fn body(site: &Arc<Site>, path: &str, accept: &str) -> axum::body::Bytes {
        let request = axum::http::Request::get(path).header(header::ACCEPT, accept);
        let request = request.body(Body::empty()).expect("a request");
        let service = TowerToHyperService::new(routes(site));
        let answer = service.call(request).await;
        let answer = answer.unwrap_or_else(|never| match never {});
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
        body.expect("a whole body")
    }

    #[tokio::test]
    async fn requests_share_a_rendering_until_there_is_something_new() {
        let site = site();
        for (path, accept) in [
            ("/graph.json", ""),
            ("/graph.dot", ""),
            ("/history.json", ""),
            ("/failures.json", ""),
            ("/tree.json", ""),
            ("/metrics", ""),
            ("/metrics", "application/openmetrics-text"),
        ] {
            let first = body(&site, path, accept).await;
            let second = body(&site, path, accept).await;
            assert!(!first.is_empty(), "{path}");
            assert_eq!(first.as_ptr(), second.as_ptr(), "{path} {accept}");
        }
        let text = body(&site, "/metrics", "").await;
        let open = body(&site, "/metrics", "application/openmetrics-text").await;
        assert!(open.ends_with(b"# EOF\n") && !text.ends_with(b"# EOF\n"));
        // A new snapshot has new renderings.
        let newer = Snapshot {
            sequence: 7,
            ..Snapshot::default()
        };
        site.hub.publish(newer, &[]);
        let json = body(&site, "/graph.json", "").await;
        assert!(json.starts_with(b"{\"sequence\":7,"), "{json:?}");
        let newer = body(&site, "/metrics", "").await;
        assert_ne!(newer.as_ptr(), text.as_ptr());
    }

    #[tokio::test]
    async fn a_stream_ends_if_the_memory_of_its_event_is_needed() {
        let site = site();
        // An event of several pieces.
        let node = Node {
            name: "n".repeat(1_000_000),
            ..Node::default()
        };
        let snapshot = Snapshot {
            nodes: vec![node],
            ..Snapshot::default()
        };
        site.hub.publish(snapshot, &[]);
        let events = events::respond(&site, events::EVERY);
        let mut pieces = events.into_body().into_data_stream();
        for _ in 0..3 {
            let piece = pieces.next().await.expect("the stream goes on");
            assert!(piece.expect("nothing is recalled").len() <= PIECE_BYTES_MAX);
        }
        // Another rendering needs all the memory.
        let _other = site.loans.lend(vec![0; 64 << 20].into());
        let piece = pieces.next().await.expect("the stream says why it ends");
        assert!(piece.is_err());
    }

    #[test]
    fn a_pace_is_a_number_in_a_range() {
        assert_eq!(every("a=1"), Ok(events::EVERY));
        assert_eq!(every("every=250"), Ok(Duration::from_millis(250)));
        assert!(every("every=49").is_err() && every("every=99999999999999999999").is_err());
    }
}
