//! Changes of records.

use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bytes::Bytes;
use tokio::time::timeout;

use super::Shared;
use super::mirror::Expected;
use crate::nats::bucket::{OPERATION, deletion};
use crate::nats::builder::REQUEST_WITHIN;
use crate::nats::connection;
use crate::nats::echo::Echoes;
use crate::nats::error::with_sources;
use crate::nats::publish::{Outgoing, Published, publish};
use crate::placement::{Change, Outcome};

/// Number of attempts to create a record that was deleted earlier.
const ATTEMPTS: u32 = 3;

/// Time limit of a change.
const CHANGE_WITHIN: Duration = Duration::from_secs(4);

/// Changes records in a bucket.
pub(super) struct Changes {
    pub(super) store: Store,
    pub(super) context: Context,
    pub(super) shared: Arc<Shared>,
    /// Time for which the server remembers that a record was deleted.
    pub(super) deleted_for: Duration,
    pub(super) _echoes: Echoes,
}

impl Changes {
    /// Makes a change of a record, and returns the result.
    pub(super) async fn change(&self, change: Change) -> Outcome {
        if let Err(error) = change.check() {
            return Outcome::Invalid(error);
        }
        let outcome = match timeout(CHANGE_WITHIN, self.try_change(&change)).await {
            Ok(outcome) => outcome,
            Err(_) => unknown("no answer within the time limit"),
        };
        if let Outcome::Changed(revision) = &outcome {
            let is_there = change.value.is_some();
            self.shared
                .mirror()
                .changed(&change.key, *revision, is_there);
        }
        outcome
    }

    async fn try_change(&self, change: &Change) -> Outcome {
        let server = self.context.client().server_info();
        if let Err(error) = connection::check(&server) {
            return unknown(&error.to_string());
        }
        match (change.expected, &change.value) {
            // Nothing is deleted.
            (0, None) => Outcome::Refused,
            (0, Some(value)) => self.create(&change.key, value).await,
            (expected, _) => self.replace(change, expected).await,
        }
    }

    /// Creates a record that does not exist.
    async fn create(&self, key: &Arc<str>, value: &Bytes) -> Outcome {
        let mut after = self.shared.mirror().deletion(key);
        for _ in 0..ATTEMPTS {
            match self.put(key, Some(value.clone()), after).await {
                Published::Wrong => {}
                published => return outcome(published),
            }
            // A deletion is a message, too.
            after = match self.last(key).await {
                Ok(Some((_, true))) => return Outcome::Refused,
                Ok(Some((revision, false))) => revision,
                Ok(None) => 0,
                Err(why) => return unknown(&why),
            };
        }
        unknown("the record is made and deleted again and again")
    }

    /// Changes a record that already exists.
    async fn replace(&self, change: &Change, expected: u64) -> Outcome {
        let mut advances = self.shared.advances.subscribe();
        loop {
            advances.mark_unchanged();
            // A deletion has a revision, too.
            match self.shared.mirror().expected(&change.key, expected) {
                Expected::Gone => return Outcome::Refused,
                Expected::Perhaps => break,
                Expected::Unknown => {}
            }
            match timeout(REQUEST_WITHIN, advances.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return unknown("the record is not known yet"),
            }
        }
        outcome(self.put(&change.key, change.value.clone(), expected).await)
    }

    /// Stores the new content of a record, or deletes the record if `value` is `None`. The server
    /// refuses the change if the latest revision of the record is not `after`.
    async fn put(&self, key: &str, value: Option<Bytes>, after: u64) -> Published {
        let headers = match value {
            Some(_) => HeaderMap::new(),
            None => deletion(&self.store, self.deleted_for),
        };
        let message = Outgoing {
            stream: &self.store.stream_name,
            subject: format!("{}{key}", self.store.prefix),
            headers,
            content: value.unwrap_or_default(),
            after,
        };
        publish(&self.context, message).await
    }

    /// Returns the latest revision of a record, and true if the record exists at this revision.
    /// Returns `None` if the server knows no revision of the record.
    async fn last(&self, key: &str) -> Result<Option<(u64, bool)>, String> {
        let subject = format!("{}{key}", self.store.prefix);
        let stream = &self.store.stream;
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => {
                let is_there = message.headers.get(OPERATION).is_none();
                Ok(Some((message.sequence, is_there)))
            }
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(with_sources(&error)),
        }
    }
}

fn outcome(published: Published) -> Outcome {
    match published {
        Published::Stored(revision) => Outcome::Changed(revision),
        Published::Wrong => Outcome::Refused,
        Published::Full(why) | Published::Absent(why) | Published::Unknown(why) => unknown(&why),
    }
}

fn unknown(why: &str) -> Outcome {
    Outcome::Unknown(why.into())
}
