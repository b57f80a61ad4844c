//! A NATS client without Garrick.

use async_nats::{Client, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;

/// Subscribes to a subject. Returns when the server knows the subscription, so that no later
/// message is missed.
pub(crate) async fn subscribe(client: &Client, subject: &str) -> Subscriber {
    let subscriber = client.subscribe(subject.to_owned()).await.unwrap();
    // `Client::flush` waits only until the command is written. A server handles the commands of a
    // connection in order, so it knows the subscription when a later message has come back.
    let inbox = client.new_inbox();
    let mut echo = client.subscribe(inbox.clone()).await.unwrap();
    client.publish(inbox, Bytes::new()).await.unwrap();
    echo.next().await.unwrap();
    subscriber
}
