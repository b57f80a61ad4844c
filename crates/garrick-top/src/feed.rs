//! Reads snapshots from a process, and reconnects when the connection is lost.

use std::thread;
use std::time::Duration;

use garrick_telemetry::{HistoryReport, Snapshot};

use crate::client::{Client, Fault};
use crate::text;

/// Delay before the first attempt to reconnect. The delay doubles with each further attempt.
const WAIT_MIN: Duration = Duration::from_millis(500);

/// Maximum delay between two attempts to connect.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// A notification about a connection.
#[derive(Debug)]
pub(crate) enum Word {
    Snapshot(Box<Snapshot>),
    /// The history of the last ten minutes. Sent once for each connection.
    History(HistoryReport),
    /// The connection is lost.
    Lost {
        /// Reason why the connection was lost.
        why: String,
        /// Time until the next attempt to connect.
        wait: Duration,
    },
}

/// Calls `tell` with a snapshot of a process every `interval`, with the history once for each
/// connection, and with a notification whenever the connection is lost. Stops when `tell` returns
/// false. Blocks during reads from the network, and between two attempts to connect.
pub(crate) fn run(client: &Client, interval: Duration, mut tell: impl FnMut(Word) -> bool) {
    let mut wait = WAIT_MIN;
    loop {
        let mut told = Told::default();
        let followed = follow(client, interval, &mut told, &mut tell);
        let Err(fault) = followed else { return };
        if told.count > 1 {
            // The stream worked.
            wait = WAIT_MIN;
        }
        let why = fault.why();
        if !tell(Word::Lost { why, wait }) {
            return;
        }
        thread::sleep(wait);
        wait = (wait * 2).min(WAIT_MAX);
    }
}

/// Passes the snapshots and the history of one connection to `tell`. Returns an error when the
/// connection is lost. Returns `Ok` when `tell` returns false.
fn follow(
    client: &Client,
    interval: Duration,
    told: &mut Told,
    tell: &mut impl FnMut(Word) -> bool,
) -> Result<(), Fault> {
    // The first event may take some time. The current snapshot is available at once.
    let mut goes_on = told.tell(client.snapshot()?, tell);
    // A process with another version of Garrick may serve no history. Then the screen begins
    // without one.
    if goes_on && let Ok(history) = client.history() {
        goes_on = tell(Word::History(history));
    }
    let mut events = client.events(interval)?;
    while goes_on {
        match events.next() {
            Ok(Some(event)) if event.name.is_empty() || event.name == "message" => {
                let snapshot = client.parse(event.data.as_bytes())?;
                goes_on = told.tell(snapshot, tell);
            }
            // An alert is also part of the next snapshot.
            Ok(Some(_)) => {}
            Ok(None) => return Err(client.end(None)),
            Err(error) => return Err(client.end(Some(error))),
        }
    }
    Ok(())
}

/// Number of snapshots that were passed on for one connection, and sequence number of the last one.
#[derive(Debug, Default)]
struct Told {
    /// Number of snapshots that were passed on.
    count: u64,
    /// Sequence number of the last snapshot that was passed on.
    sequence: u64,
}

impl Told {
    /// Makes the texts of `snapshot` safe to show, passes the snapshot to `tell`, and returns the
    /// result of `tell`. If this snapshot or a later one was already passed to `tell`, does nothing
    /// and returns true.
    fn tell(&mut self, mut snapshot: Snapshot, tell: &mut impl FnMut(Word) -> bool) -> bool {
        if self.count > 0 && snapshot.sequence <= self.sequence {
            return true;
        }
        self.count += 1;
        self.sequence = snapshot.sequence;
        text::clean(&mut snapshot);
        tell(Word::Snapshot(Box::new(snapshot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_snapshot_is_told_once_and_in_order() {
        let (mut told, mut seen) = (Told::default(), Vec::new());
        for sequence in [0, 0, 3, 3, 2, 4] {
            let snapshot = Snapshot {
                sequence,
                ..Snapshot::default()
            };
            let mut tell = |word| {
                let Word::Snapshot(snapshot) = word else {
                    unreachable!("only snapshots are told here")
                };
                seen.push(snapshot.sequence);
                true
            };
            assert!(told.tell(snapshot, &mut tell));
        }
        assert_eq!(seen, [0, 3, 4]);
        assert!(!told.tell(
            Snapshot {
                sequence: 5,
                ..Snapshot::default()
            },
            &mut |_| false
        ));
    }
}
