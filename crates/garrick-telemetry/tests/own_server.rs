//! Tests metrics that the program serves by its own server.

mod common;

use std::net::SocketAddr;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Router, serve};
use common::pipeline;
use garrick_telemetry::{Builder, Telemetry, View, metrics_text};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::oneshot;

/// HTTP handler by which the program serves its metrics.
async fn metrics(State(view): State<View>, headers: HeaderMap) -> impl IntoResponse {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let metrics = metrics_text(&view.latest(), accept.unwrap_or_default());
    ([(header::CONTENT_TYPE, metrics.content_type)], metrics.text)
}

/// Runs the program's server until `ask`, which runs on another thread, has returned.
fn with_server(view: View, ask: impl FnOnce(SocketAddr) + Send + 'static) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has an address");
        let app = Router::new().route("/numbers", get(metrics));
        let app = app.with_state(view);
        let (done, is_done) = oneshot::channel::<()>();
        let asked = tokio::task::spawn_blocking(move || {
            ask(address);
            drop(done);
        });
        let end = async {
            let _ = is_done.await;
        };
        let served = serve(listener, app).with_graceful_shutdown(end);
        served.await.expect("it serves");
        asked.await.expect("all answers are as expected");
    });
}

fn without_server() -> Builder {
    Telemetry::builder().without_server()
}

#[test]
fn metrics_are_served_by_the_programs_own_server() {
    let telemetry = without_server().start().expect("it needs no port");
    telemetry.watch(pipeline);
    telemetry.look();
    with_server(telemetry.view(), |address| {
        let text = common::get(address, "/numbers");
        assert_eq!(
            text.header("content-type"),
            "text/plain; version=0.0.4; charset=utf-8"
        );
        let taken = "\ngarrick_channel_messages_total{channel=\"a \\\"name\\\" \\\\N\",";
        assert!(text.text().contains(taken), "{}", text.text());
        let accept = "Accept: application/openmetrics-text\r\n";
        let open = common::get_with(address, "/numbers", accept);
        assert!(
            open.header("content-type")
                .starts_with("application/openmetrics-text; version=1.0.0")
        );
        assert!(open.text().ends_with("\n# EOF\n"));
    });
}

#[test]
fn telemetry_without_a_server_opens_no_port_and_ignores_its_settings() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("it has an address");
    let telemetry = without_server().address(address).token("").start();
    let telemetry = telemetry.expect("the address in use and the bad token do not matter");
    telemetry.watch(pipeline);
    telemetry.look();
    assert_eq!(telemetry.latest().nodes.len(), 2);
}

#[test]
#[should_panic(expected = "started `without_server` has no address")]
fn telemetry_without_a_server_has_no_address() {
    let telemetry = without_server().start().expect("it needs no port");
    telemetry.address();
}
