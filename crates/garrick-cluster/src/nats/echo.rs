//! Echoes: messages that a client sends to itself. They show that a connection works in both
//! directions.
//!
//! The NATS client pings the server only when it has received nothing for some time. So while this
//! client receives messages of other clients, it does not notice if its own data no longer reaches
//! the server.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Subject};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Time between two messages of a client to itself.
const EVERY: Duration = Duration::from_secs(2);

/// Number of successive echoes (messages of the client to itself) that must be missing before the
/// client reconnects.
const MISSING_MAX: u32 = 3;

/// A running check of the connection: the client sends messages to itself, and reconnects when they
/// no longer arrive. Dropping this value stops the check.
#[derive(Debug)]
pub(super) struct Echoes(AbortHandle);

impl Echoes {
    /// Begins to send messages to a subject of this client. Must be called in a task.
    pub(super) fn begin(client: &Client) -> Self {
        let (client, subject) = (client.clone(), client.new_inbox().into());
        Self(tokio::spawn(listen(client, subject)).abort_handle())
    }
}

impl Drop for Echoes {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends messages to a subject of this client, and reconnects if the messages do not arrive.
async fn listen(client: Client, subject: Subject) {
    let Ok(mut echoes) = client.subscribe(subject.clone()).await else {
        return;
    };
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Without permission, there is never an echo.
    let (mut has_come, mut missing) = (false, 0);
    loop {
        tokio::select! {
            echo = echoes.next() => match echo {
                Some(_) => (has_come, missing) = (true, 0),
                None => return,
            },
            _ = ticks.tick() => {
                if client.connection_state() != State::Connected {
                    missing = 0;
                } else if has_come && missing >= MISSING_MAX {
                    missing = 0;
                    // Waits if the client has many commands. If its buffer is full and the server
                    // takes no data, it handles none, so this attempt and the next ones fail. Then
                    // the connection ends when the operating system gives it up.
                    let _ = timeout(EVERY, client.force_reconnect()).await;
                } else {
                    missing += 1;
                    let echo = client.publish(subject.clone(), Bytes::new());
                    let _ = timeout(EVERY, echo).await;
                }
            }
        }
    }
}
