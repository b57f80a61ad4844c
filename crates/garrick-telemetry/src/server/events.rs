//! Server-sent events: a stream of the newest snapshots.
//!
//! ```text
//!   retry: 2000                       time to wait before reconnecting
//!   id: 17 \n data: {snapshot}        at once, then whenever there is a newer snapshot and the interval is over
//!   event: alert \n data: {..}        before the snapshot that it belongs to
//!   :                                 after a while without data
//! ```
//!
//! A stream has no queue. The stream waits for its interval, then sends the newest snapshot, and
//! skips earlier ones. If there are many streams, the interval of each stream grows, so that all
//! streams together send at most a few hundred messages per second.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::hub::{Bytes, Counted, Frame};

use super::Site;
use super::loans::{Reading, Recalled};

/// Default time between two snapshots of a stream.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// Minimum and maximum interval between two snapshots of a stream. A client may request an interval
/// in this range.
pub(super) const EVERY_RANGE: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_secs(60));

/// Maximum number of events per second of all streams together.
const EVENTS_PER_SECOND_MAX: u64 = 500;

/// Message that makes browsers wait for 2 s before they reconnect.
const RETRY: Bytes = Bytes::from_static(b"retry: 2000\n\n");

/// Comment line that keeps a silent stream alive.
const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// Event stream of one client.
struct Events {
    site: Arc<Site>,
    newest: watch::Receiver<Arc<Frame>>,
    /// Sequence number of the next alert change to send.
    transition: u64,
    /// Minimum time between two snapshots.
    every: Duration,
    /// Time at which the latest snapshot was sent.
    sent: Option<Instant>,
    /// Messages to send before the stream waits again: first [`RETRY`], and later the new alert
    /// changes and the newest snapshot.
    ready: VecDeque<Reading>,
    /// Counts this stream as open until this value is dropped.
    _counted: Counted,
}

/// Reason why a stream is woken.
enum Woken {
    Ending,
    Silence,
    News,
}

/// Returns a response that sends snapshots. The time between two snapshots is at least `every`.
pub(super) fn respond(site: &Arc<Site>, every: Duration) -> Response {
    let events = Events {
        newest: site.hub.subscribe(),
        transition: site.hub.transitions(),
        every,
        sent: None,
        ready: VecDeque::from([Reading::Small(RETRY)]),
        _counted: Counted::new(&site.hub, |counts| &counts.streams),
        site: Arc::clone(site),
    };
    let mut response = Response::new(Body::from_stream(events.stream()));
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl Events {
    fn stream(self) -> impl Stream<Item = Result<Bytes, Recalled>> {
        stream::unfold(self, |mut events| async move {
            let piece = events.next().await?;
            Some((piece, events))
        })
    }

    /// Returns the next part of the stream, or `None` at its end. Returns an error if the client is
    /// too slow to read an event.
    async fn next(&mut self) -> Option<Result<Bytes, Recalled>> {
        loop {
            while let Some(first) = self.ready.front_mut() {
                if let Some(piece) = first.next() {
                    return Some(piece);
                }
                self.ready.pop_front();
            }
            match self.wait().await {
                Woken::Ending => return None,
                Woken::Silence => return Some(Ok(HEARTBEAT)),
                Woken::News => self.gather(),
            }
        }
    }

    /// Waits for one of three events: the server stops, a heartbeat is due, or there is a new
    /// snapshot and the time between two snapshots has passed. Returns at once if no snapshot has
    /// been sent yet.
    async fn wait(&mut self) -> Woken {
        let Some(sent) = self.sent else {
            return Woken::News;
        };
        let due = sent + self.pace();
        let news = async {
            sleep_until(due).await;
            // The hub lives as long as the site, so the result is never an error.
            let _ = self.newest.changed().await;
        };
        tokio::select! {
            () = self.site.ended() => Woken::Ending,
            news = timeout(self.site.options.heartbeat, news) => match news {
                Ok(()) => Woken::News,
                Err(_) => Woken::Silence,
            },
        }
    }

    /// Returns the minimum time between two snapshots for the current number of streams.
    fn pace(&self) -> Duration {
        let streams = self.site.hub.counts.streams.load(Relaxed);
        let fair = Duration::from_millis(streams * 1000 / EVENTS_PER_SECOND_MAX);
        self.every.max(fair)
    }

    fn gather(&mut self) {
        let (transitions, end) = self.site.hub.transitions_since(self.transition);
        self.transition = end;
        self.ready
            .extend(transitions.into_iter().map(Reading::Small));
        // The frame is not borrowed while it is rendered, so the sampler can publish the next one.
        let frame = Arc::clone(&self.newest.borrow_and_update());
        self.ready.push_back(self.site.loans.lend(frame.event()));
        self.sent = Some(Instant::now());
    }
}
