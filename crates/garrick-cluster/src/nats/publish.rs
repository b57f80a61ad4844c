//! Publishing of messages that are stored only if the last message of their subject is the expected
//! one.

use async_nats::HeaderMap;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{Context, Error as ApiError, ErrorCode};
use bytes::Bytes;

use super::error::with_sources;

/// Result of an attempt to publish a message.
#[derive(Debug)]
pub(super) enum Published {
    /// The message was stored, with this sequence number.
    Stored(u64),
    /// The last message of the subject is not the expected one. Nothing was stored.
    Wrong,
    /// The stream has no space. Nothing was stored. Contains the reason.
    Full(String),
    /// Nothing was stored, and nothing will be stored later. Contains the reason.
    Absent(String),
    /// The message may have been stored, or may still be stored later. Contains the reason.
    Unknown(String),
}

/// A message that will be published in a stream.
#[derive(Debug)]
pub(super) struct Outgoing<'a> {
    pub(super) stream: &'a str,
    pub(super) subject: String,
    pub(super) headers: HeaderMap,
    pub(super) content: Bytes,
    /// Expected sequence number of the last message of the subject. 0 if the subject must have no
    /// message.
    pub(super) after: u64,
}

/// Publishes a message if the last message of its subject is the expected one.
pub(super) async fn publish(context: &Context, message: Outgoing<'_>) -> Published {
    let publish = PublishMessage::build()
        .headers(message.headers)
        .payload(message.content)
        .expected_stream(message.stream)
        .expected_last_subject_sequence(message.after);
    let ack = match context.send_publish(message.subject, publish).await {
        Ok(ack) => ack,
        Err(error) => return Published::Absent(with_sources(&error)),
    };
    match ack.await {
        Ok(ack) => Published::Stored(ack.sequence),
        Err(error) => refusal(&error),
    }
}

/// Returns the result of publishing a message that was not acknowledged.
fn refusal(error: &PublishError) -> Published {
    let why = with_sources(error);
    match error.kind() {
        PublishErrorKind::WrongLastSequence => Published::Wrong,
        // No server has a leader of the stream, or the stream does not exist.
        PublishErrorKind::StreamNotFound | PublishErrorKind::MaxPayloadExceeded => {
            Published::Absent(why)
        }
        _ if is_full(error, &why) => Published::Full(why),
        _ => Published::Unknown(why),
    }
}

fn is_full(error: &PublishError, why: &str) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<ApiError>());
    match source.map(ApiError::error_code) {
        Some(ErrorCode::STREAM_STORE_FAILED) => why.contains("maximum") || why.contains("no space"),
        Some(code) => [
            ErrorCode::INSUFFICIENT_RESOURCES,
            ErrorCode::STORAGE_RESOURCES_EXCEEDED,
            ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ]
        .contains(&code),
        None => false,
    }
}
