//! The task that watches the records. The task starts a new watch after each connection, and then
//! receives all records.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::kv::{Entry, Store};
use futures_util::StreamExt;
use garrick_sched::{Nanos, RealWorld, World, nanos};
use tokio::sync::watch;
use tokio::time::{Instant, interval_at, sleep};

use super::Shared;
use super::mirror::Told;
use crate::nats::bucket::value_of;
use crate::nats::counts::Counts;
use crate::nats::error::with_sources;
use crate::placement::News;

/// Time before a failed watch is started again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Time after which a watch is started again if it has not reported a change that this node has
/// made.
const LATE_AFTER: Duration = Duration::from_secs(2);

/// The server keeps deletions for a time. If the watch has reported nothing for this part of the
/// time, for example because the process was paused, the watch may have missed deletions that the
/// server has forgotten. So the watch is started again, and reports all records.
const SILENT_PART: u32 = 4;

/// Watches the records until nobody uses the placement any more.
pub(super) async fn follow(
    store: Store,
    shared: Arc<Shared>,
    deleted_for: Duration,
    counts: Arc<Counts>,
    mut ends: watch::Receiver<()>,
) {
    let mut connects = counts.connects();
    let silence = Silence {
        // Its clock for leases also runs while the machine sleeps.
        world: RealWorld::shared(),
        max: nanos(deleted_for / SILENT_PART),
    };
    loop {
        connects.mark_unchanged();
        let why = tokio::select! {
            // The only sender is dropped in the end.
            _ = ends.changed() => return,
            Ok(()) = connects.changed() => continue,
            why = follow_once(&store, &shared, &silence) => why,
        };
        counts.tell(why);
        tokio::select! {
            _ = ends.changed() => return,
            () = sleep(AGAIN_AFTER) => {}
        }
    }
}

/// The maximum time for which a watch may report nothing before it is started again, and the clock
/// that measures this time.
struct Silence {
    world: Arc<dyn World>,
    max: Nanos,
}

/// Watches the records until an error occurs. Returns the error's text.
async fn follow_once(store: &Store, shared: &Shared, silence: &Silence) -> String {
    // Before the watch: what comes later is told by it.
    let state = match store.stream.get_info().await {
        Ok(info) => info.state,
        Err(error) => return with_sources(&error),
    };
    let mut news = match store.watch_with_history(">").await {
        Ok(news) => news,
        Err(error) => return with_sources(&error),
    };
    let mut heard = silence.world.lease_now();
    if state.messages > 0 {
        shared.mirror().begin();
    } else if shared.mirror().clear(state.last_sequence) {
        shared.advanced();
    } else {
        return "the server has an older state of the records".to_owned();
    }
    let first_look = Instant::now() + LATE_AFTER;
    let (mut looks, mut was_late) = (interval_at(first_look, LATE_AFTER), false);
    loop {
        let entry = tokio::select! {
            entry = news.next() => Some(entry),
            _ = looks.tick() => None,
        };
        let now = silence.world.lease_now();
        if now.saturating_sub(heard) > silence.max {
            return "the watch of the records has reported nothing for long".to_owned();
        }
        let Some(entry) = entry else {
            let is_late = shared.mirror().is_late();
            if is_late && was_late {
                return "the watch of the records is late".to_owned();
            }
            was_late = is_late;
            continue;
        };
        heard = now;
        match entry {
            Some(Ok(entry)) => {
                if shared.mirror().tell(told(entry)) {
                    shared.advanced();
                }
            }
            Some(Err(error)) => return with_sources(&error),
            None => return "the watch of the records has ended".to_owned(),
        }
    }
}

fn told(entry: Entry) -> Told {
    Told {
        value: value_of(&entry),
        key: entry.key.into(),
        revision: entry.revision,
        is_last: entry.delta == 0,
    }
}

impl Shared {
    /// Answers waiting requests for changes. Notifies the watchers, and the tasks that wait until
    /// the copy includes their own changes.
    fn advanced(&self) {
        let (answers, watchers) = {
            let mut mirror = self.mirror();
            mirror.watchers.retain(|watcher| !watcher.is_stopped());
            (mirror.answers(), mirror.watchers.clone())
        };
        self.advances.send_modify(|count| *count += 1);
        for (to, news) in answers {
            let _ = to.send(news);
        }
        for watcher in watchers {
            let _ = watcher.send(News::Hint);
        }
    }
}
