//! Serves the requests of one connection.

use std::sync::Arc;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

use crate::hub::Counted;

use super::Site;
use super::patient::Patient;

/// Maximum size of each of a client's two buffers: one for the head of a request, and one for
/// unread responses.
const BUFFER_BYTES_MAX: usize = 16 * 1024;

/// Maximum number of headers of a request.
const HEADERS_MAX: usize = 64;

/// Responds to the requests of one client until the client disconnects or is too slow, or until the
/// server stops.
pub(super) async fn serve(stream: TcpStream, routes: Router, site: Arc<Site>, counted: Counted) {
    // Without this option, small events would wait for more data.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(Patient::new(stream, site.options.write_timeout));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(site.options.head_timeout)
        .max_buf_size(BUFFER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(stream, TowerToHyperService::new(routes));
    let mut connection = std::pin::pin!(connection);
    // The result is ignored: the client has disconnected, was too slow, or sent an invalid request.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = site.ended() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
    drop(counted);
}
