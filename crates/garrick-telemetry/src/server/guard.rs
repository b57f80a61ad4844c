//! Middleware that checks the access to routes, and adds headers to every response.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::Site;

/// Headers of every response. They restrict the dashboard's page to content from this server,
/// prevent other sites from embedding the page, and forbid caching.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Adds the security headers to every response.
pub(super) async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        let (name, value) = (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        response.headers_mut().insert(name, value);
    }
    response
}

/// Converts a panic of a handler into a response.
pub(super) async fn panics(request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answer.unwrap_or_else(|_| {
        let text = "an internal error occurred while handling this request\n";
        (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
    })
}

/// Rejects requests that may come from the page of another site.
///
/// By DNS rebinding, a page from another site can make its own host name resolve to this machine.
/// Without this check, the page could read everything that a browser on this machine can reach.
/// However, the requests of the page still contain the name of its own host. So if there is no
/// token and only this machine can connect, the requested host must be an IP address, `localhost`,
/// or a name that ends in `.localhost`.
pub(super) async fn host(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    if site.options.is_local && site.options.token.is_none() && !names_this_machine(&request) {
        let text = "the Host header must be an IP address or localhost\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    next.run(request).await
}

fn names_this_machine(request: &Request) -> bool {
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    let header = request.headers().get(header::HOST);
    let host = authority.or_else(|| header.and_then(|host| host.to_str().ok()));
    // A client of HTTP/1.0 may omit the header. A browser never does.
    match host {
        Some(host) => is_here(host),
        None => header.is_none(),
    }
}

/// Returns true if `host`, with or without a port, is an IP address, `localhost`, or a name that
/// ends in `.localhost`.
fn is_here(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    let is_local =
        name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost");
    is_local || name.parse::<IpAddr>().is_ok()
}

/// Passes on requests that contain the token, and rejects all others.
pub(super) async fn token(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let knows = match &site.options.token {
        None => true,
        Some(token) => given_token(&request).is_some_and(|word| token.is(word)),
    };
    if knows {
        return next.run(request).await;
    }
    let text = "a token is required: send `Authorization: Bearer TOKEN`, or add `?token=TOKEN` to the URL\n";
    let ask = [(header::WWW_AUTHENTICATE, "Bearer realm=\"garrick\"")];
    (StatusCode::UNAUTHORIZED, ask, text).into_response()
}

/// Returns the token from the `Authorization` header. If there is no such header, returns the token
/// from the query.
fn given_token(request: &Request) -> Option<&str> {
    let header = request.headers().get(header::AUTHORIZATION);
    if let Some(value) = header {
        let (scheme, word) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then_some(word.trim());
    }
    parameter(request.uri().query()?, "token")
}

/// Returns the value of the parameter `name` in a query. The value is not unescaped, because no
/// value of this server needs escaping.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .into_iter()
        .find_map(|(key, value)| (key == name).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_told_from_others() {
        for host in [
            "localhost",
            "LocalHost:9900",
            "127.0.0.1:9900",
            "[::1]:80",
            "10.0.0.1",
        ] {
            assert!(is_here(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org:9900",
            "[evil]",
            "127.0.0.1.example.org",
        ] {
            assert!(!is_here(host), "{host}");
        }
    }

    #[test]
    fn parameters_are_found_by_their_names() {
        assert_eq!(parameter("a=1&token=x&b=", "token"), Some("x"));
        assert_eq!(parameter("atoken=x&token", "token"), None);
    }
}
