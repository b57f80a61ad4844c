//! Key-value buckets of a cluster.

use std::time::Duration;

use async_nats::header::NATS_MESSAGE_TTL;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::kv::{Entry, Operation, Store};
use async_nats::jetstream::stream;
use async_nats::{Client, HeaderMap};
use bytes::Bytes;

use super::builder::REQUEST_WITHIN;
use super::error::{NatsError, with_sources};

/// Name of the header that marks a message as the deletion of a record. The header's value is
/// `DEL`.
pub(super) const OPERATION: &str = "KV-Operation";

/// Returns the headers of a message that deletes a record. The server forgets the message after
/// `time`, in whole seconds, if its bucket allows this. Buckets of earlier versions of Garrick do
/// not allow this. In these buckets, deletions are kept forever.
pub(super) fn deletion(store: &Store, time: Duration) -> HeaderMap {
    let mut headers = expiring(store, time);
    headers.insert(OPERATION, "DEL");
    headers
}

/// Returns the headers of a message that the server forgets after `time`, in whole seconds, if its
/// bucket allows this.
pub(super) fn expiring(store: &Store, time: Duration) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if store.stream.cached_info().config.allow_message_ttl {
        headers.insert(NATS_MESSAGE_TTL, time.as_secs().max(1).to_string());
    }
    headers
}

/// Returns a copy of the value of a record. Returns `None` if the record was deleted.
///
/// The value in `entry` is a part of the buffer into which the client has read, so keeping this
/// value would keep the whole buffer alive.
pub(super) fn value_of(entry: &Entry) -> Option<Bytes> {
    (entry.operation == Operation::Put).then(|| Bytes::copy_from_slice(&entry.value))
}

/// Settings of a key-value bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) name: String,
    pub(super) description: String,
    /// Maximum size of a record in bytes.
    pub(super) record_max: i32,
    pub(super) replicas: usize,
}

impl Bucket {
    /// Opens the bucket. Creates it if there is none.
    pub(super) async fn open(self, client: &Client) -> Result<Store, NatsError> {
        let context = ContextBuilder::new()
            .timeout(REQUEST_WITHIN)
            .build(client.clone());
        let bucket = self.name;
        if let Ok(store) = context.get_key_value(&bucket).await {
            return Ok(store);
        }
        let config = stream::Config {
            name: format!("KV_{bucket}"),
            description: Some(self.description),
            subjects: vec![format!("$KV.{bucket}.>")],
            max_messages_per_subject: 1,
            max_message_size: self.record_max,
            num_replicas: self.replicas,
            discard: stream::DiscardPolicy::New,
            deny_delete: true,
            // Reads are answered by the leader. Records do not expire (`lease`), but deletions do.
            allow_direct: false,
            allow_message_ttl: true,
            ..stream::Config::default()
        };
        let created = context.create_stream(config).await;
        // Another node may have been faster.
        match context.get_key_value(&bucket).await {
            Ok(store) => Ok(store),
            Err(found) => Err(NatsError::Bucket {
                bucket,
                why: created.map_or_else(|error| with_sources(&error), |_| with_sources(&found)),
            }),
        }
    }
}
