//! The NATS streams that store journals. Messages are published and read one at a time.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use garrick_journal::JournalError;

use super::subject::Kind;
use crate::nats::builder::REQUEST_WITHIN;
use crate::nats::echo::Echoes;
use crate::nats::error::with_sources;
use crate::nats::publish::{Outgoing, Published, publish};

/// Maximum number of messages that wait for their acknowledgements.
const IN_FLIGHT_MAX: usize = 8_192;

/// Space that is reserved for the headers of a message, in bytes.
const HEADERS: usize = 1_024;

/// The two streams on the server that contain the journals of a cluster: one for events, and one
/// for saved states.
#[derive(Debug, Clone)]
pub(super) struct Store {
    client: Client,
    context: Context,
    events: Side,
    states: Side,
    _echoes: Arc<Echoes>,
}

/// One of the two streams: for events or for saved states.
#[derive(Debug, Clone)]
struct Side {
    stream: Stream<()>,
    prefix: String,
    name: String,
}

/// Settings that apply if this process creates the streams.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    pub(super) replicas: usize,
    /// Maximum total size of the events in bytes, or -1 for no maximum.
    pub(super) max_bytes: i64,
}

/// A message that was read from a stream.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) sequence: u64,
    pub(super) payload: Bytes,
}

impl Store {
    /// Opens the streams. Creates them if they do not exist.
    pub(super) async fn open(
        client: Client,
        cluster: &str,
        sizes: &Sizes,
        ack_within: Duration,
    ) -> Result<Self, JournalError> {
        let context = ContextBuilder::new()
            .timeout(REQUEST_WITHIN)
            .ack_timeout(ack_within)
            .max_ack_inflight(IN_FLIGHT_MAX)
            .backpressure_on_inflight(true)
            .build(client.clone());
        let events = Side::open(&context, cluster, Kind::Events, sizes).await?;
        let states = Side::open(&context, cluster, Kind::States, sizes).await?;
        Ok(Self {
            _echoes: Arc::new(Echoes::begin(&client)),
            client,
            context,
            events,
            states,
        })
    }

    fn side(&self, of: Kind) -> &Side {
        match of {
            Kind::Events => &self.events,
            Kind::States => &self.states,
        }
    }

    /// Returns the name of a stream.
    pub(super) fn name(&self, of: Kind) -> &str {
        &self.side(of).name
    }

    /// Returns the maximum size, in bytes, of a message's content.
    pub(super) fn message_max(&self) -> usize {
        self.client.max_payload().saturating_sub(HEADERS)
    }

    /// Checks that the server of the current connection is supported.
    pub(super) fn check(&self) -> Result<(), String> {
        let checked = crate::nats::connection::check(&self.client.server_info());
        checked.map_err(|error| error.to_string())
    }

    /// Publishes a message if the newest message of its subject has the sequence number `after`.
    pub(super) async fn publish(
        &self,
        of: Kind,
        tokens: &str,
        content: Bytes,
        after: u64,
    ) -> Published {
        let side = self.side(of);
        let message = Outgoing {
            stream: &side.name,
            subject: format!("{}{tokens}", side.prefix),
            headers: HeaderMap::new(),
            content,
            after,
        };
        publish(&self.context, message).await
    }

    /// Requests the newest message of a subject from the leader of the stream.
    pub(super) async fn last(&self, of: Kind, tokens: &str) -> Result<Option<Found>, String> {
        let side = self.side(of);
        let subject = format!("{}{tokens}", side.prefix);
        let found = side.stream.get_last_raw_message_by_subject(&subject).await;
        found_or_none(found)
    }

    /// Requests, from the leader of the stream, the first message of a subject whose sequence
    /// number is at least `sequence`.
    pub(super) async fn next(
        &self,
        of: Kind,
        tokens: &str,
        sequence: u64,
    ) -> Result<Option<Found>, String> {
        let side = self.side(of);
        let builder = side.stream.raw_message_builder();
        let builder = builder.sequence(sequence.max(1));
        let subject = format!("{}{tokens}", side.prefix);
        found_or_none(builder.next_by_subject(subject).send().await)
    }

    /// Removes the messages with events of a journal, up to the sequence number `sequence`.
    pub(super) async fn purge(&self, tokens: &str, sequence: u64) -> Result<(), String> {
        let side = &self.events;
        let subject = format!("{}{tokens}", side.prefix);
        let purge = side.stream.purge().sequence(sequence + 1).filter(subject);
        let purged = purge.await;
        purged.map(|_| ()).map_err(|error| with_sources(&error))
    }
}

fn found_or_none(
    found: Result<
        async_nats::jetstream::message::StreamMessage,
        async_nats::jetstream::stream::LastRawMessageError,
    >,
) -> Result<Option<Found>, String> {
    match found {
        Ok(message) => Ok(Some(Found {
            sequence: message.sequence,
            payload: message.payload,
        })),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(with_sources(&error)),
    }
}

impl Side {
    async fn open(
        context: &Context,
        cluster: &str,
        kind: Kind,
        sizes: &Sizes,
    ) -> Result<Self, JournalError> {
        let (name, prefix) = (kind.stream(cluster), kind.prefix(cluster));
        let mut created = Ok(());
        if context.get_stream(&name).await.is_err() {
            let config = config(&name, &prefix, cluster, kind, sizes);
            // Another process may be faster.
            created = context.create_stream(config).await.map(|_| ());
        }
        let opened = context.get_stream(&name).await;
        let stream = opened.map_err(|error| {
            let why = created.map_or_else(|error| with_sources(&error), |()| with_sources(&error));
            engine("open the stream", &name, why)
        })?;
        check_config(&stream.cached_info().config, &prefix, kind).map_err(|why| {
            JournalError::Foreign {
                file: name.clone(),
                why,
            }
        })?;
        let stream = context.get_stream_no_info(&name).await;
        let stream =
            stream.map_err(|error| engine("open the stream", &name, with_sources(&error)))?;
        Ok(Self {
            stream,
            prefix,
            name,
        })
    }
}

/// Returns the settings of a new stream.
fn config(name: &str, prefix: &str, cluster: &str, kind: Kind, sizes: &Sizes) -> Config {
    let what = match kind {
        Kind::Events => "events of the journals",
        Kind::States => "saved states of the journals",
    };
    Config {
        name: name.to_owned(),
        description: Some(format!("{what} of the Garrick cluster {cluster}")),
        subjects: vec![format!("{prefix}>")],
        max_bytes: match kind {
            Kind::Events => sizes.max_bytes,
            Kind::States => -1,
        },
        max_messages_per_subject: match kind {
            Kind::Events => -1,
            // The two newest states.
            Kind::States => 2,
        },
        num_replicas: sizes.replicas,
        discard: DiscardPolicy::New,
        deny_delete: true,
        // Reads are answered by the leader.
        allow_direct: false,
        ..Config::default()
    }
}

/// Checks that an existing stream is the right one, and that its settings drop no messages.
fn check_config(config: &Config, prefix: &str, kind: Kind) -> Result<(), String> {
    let per_subject = match kind {
        Kind::Events => config.max_messages_per_subject <= 0,
        Kind::States => config.max_messages_per_subject >= 2,
    };
    let rules = [
        (config.subjects == [format!("{prefix}>")], "its subjects"),
        (
            config.storage == StorageType::File,
            "its storage, which must be on disks",
        ),
        (
            config.discard == DiscardPolicy::New,
            "`discard`, which must be `new`",
        ),
        (config.retention == RetentionPolicy::Limits, "its retention"),
        (config.max_age.is_zero(), "its `max_age`, which must be 0"),
        (per_subject, "its maximum of messages per subject"),
    ];
    match rules.iter().find(|(is_right, _)| !is_right) {
        None => Ok(()),
        Some((_, what)) => Err(format!("the stream exists with other settings: {what}")),
    }
}

/// Returns the error for a failure that a server has reported.
pub(super) fn engine(doing: &'static str, stream: &str, why: impl Into<String>) -> JournalError {
    JournalError::Engine {
        doing,
        file: stream.to_owned(),
        source: why.into().into(),
    }
}
