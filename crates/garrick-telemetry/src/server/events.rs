//! Server-sent events: the newest snapshot, again and again.
//!
//! ```text
//!   retry: 2000                       how long to wait before coming back
//!   id: 17 \n data: {snapshot}        at once, then when there is a newer one and it is time again
//!   event: alert \n data: {..}        before the snapshot that it belongs to
//!   :                                 when there was nothing to say for a while
//! ```
//!
//! A stream has no queue. It waits until its time has come, then sends what is newest; what came and went meanwhile it
//! never sees. With many streams each has its turn less often, so that all together cost no more than some
//! hundred messages a second.

use std::collections::VecDeque;
use std::convert::Infallible;
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

/// How often a stream sends, unless its client asks for something else.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// What a client may ask for.
pub(super) const EVERY_RANGE: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_secs(60));

/// What all streams together send in a second at most.
const EVENTS_PER_SECOND_MAX: u64 = 500;

/// Tells browsers how long to wait before they come back.
const RETRY: Bytes = Bytes::from_static(b"retry: 2000\n\n");

/// A comment.
const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// One client's stream.
struct Events {
    site: Arc<Site>,
    newest: watch::Receiver<Arc<Frame>>,
    /// The number of the next transition to tell of.
    transition: u64,
    /// The least time between two snapshots.
    every: Duration,
    /// When the last snapshot was sent.
    sent: Option<Instant>,
    /// What is to be sent before anything else; at most as many as the hub keeps transitions.
    ready: VecDeque<Bytes>,
    /// Counts this stream for as long as it lives.
    _counted: Counted,
}

/// What a stream waits for.
enum Woken {
    Ending,
    Silence,
    News,
}

/// Answers with a stream that sends a snapshot every `every`.
pub(super) fn respond(site: &Arc<Site>, every: Duration) -> Response {
    let events = Events {
        newest: site.hub.subscribe(),
        transition: site.hub.transitions(),
        every,
        sent: None,
        ready: VecDeque::from([RETRY]),
        _counted: Counted::new(&site.hub, |counts| &counts.streams),
        site: Arc::clone(site),
    };
    let mut response = Response::new(Body::from_stream(events.stream()));
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl Events {
    fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(self, |mut events| async move {
            let bytes = events.next().await?;
            Some((Ok(bytes), events))
        })
    }

    /// The next piece of the stream; none at its end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            match self.wait().await {
                Woken::Ending => return None,
                Woken::Silence => return Some(HEARTBEAT),
                Woken::News => self.gather(),
            }
        }
    }

    /// Waits until there is something to say and it is time to.
    async fn wait(&mut self) -> Woken {
        let Some(sent) = self.sent else {
            return Woken::News;
        };
        let due = sent + self.pace();
        let news = async {
            sleep_until(due).await;
            // The hub lives as long as the site does, so this is never an error.
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

    /// The least time between two snapshots, given how many streams there are.
    fn pace(&self) -> Duration {
        let streams = self.site.hub.counts.streams.load(Relaxed);
        let fair = Duration::from_millis(streams * 1000 / EVENTS_PER_SECOND_MAX);
        self.every.max(fair)
    }

    fn gather(&mut self) {
        let (transitions, end) = self.site.hub.transitions_since(self.transition);
        self.transition = end;
        self.ready.extend(transitions);
        self.ready
            .push_back(self.newest.borrow_and_update().event());
        self.sent = Some(Instant::now());
    }
}
