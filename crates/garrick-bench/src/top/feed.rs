//! The stream of snapshots of a process, across lost connections.

use std::thread;
use std::time::Duration;

use garrick_telemetry::Snapshot;

use super::client::{Client, Fault};
use super::text;

/// The wait before the first new attempt; each further one waits twice as long.
const WAIT_MIN: Duration = Duration::from_millis(500);

/// The longest wait between two attempts.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// What becomes of a connection.
#[derive(Debug)]
pub(super) enum Word {
    /// What there is to see.
    Snapshot(Box<Snapshot>),
    /// There is none now.
    Lost {
        /// Why.
        why: String,
        /// The time until the next attempt.
        wait: Duration,
    },
}

/// Tells every snapshot of a process, at most one in `interval`, and every loss of the connection, for as long
/// as `tell` says that somebody listens. Waits on the network, and between attempts.
pub(super) fn run(client: &Client, interval: Duration, mut tell: impl FnMut(Word) -> bool) {
    let mut wait = WAIT_MIN;
    loop {
        let mut pace = Pace::new(interval);
        let mut tell_snapshot = |snapshot| tell(Word::Snapshot(Box::new(snapshot)));
        let followed = follow(client, &mut pace, &mut tell_snapshot);
        let Err(fault) = followed else { return };
        if pace.told > 1 {
            // The stream worked.
            wait = WAIT_MIN;
        }
        let why = fault.to_string();
        if !tell(Word::Lost { why, wait }) {
            return;
        }
        thread::sleep(wait);
        wait = (wait * 2).min(WAIT_MAX);
    }
}

/// Tells the snapshots of one connection until nobody listens.
fn follow(
    client: &Client,
    pace: &mut Pace,
    tell: &mut impl FnMut(Snapshot) -> bool,
) -> Result<(), Fault> {
    // The first event may take its time; what there is now need not.
    if !pace.admit(client.snapshot()?, tell) {
        return Ok(());
    }
    let mut events = client.events()?;
    loop {
        match events.next() {
            Ok(Some(event)) if event.name.is_empty() || event.name == "message" => {
                let snapshot = client.parse(event.data.as_bytes())?;
                if !pace.admit(snapshot, tell) {
                    return Ok(());
                }
            }
            // An alert is in the next snapshot as well.
            Ok(Some(_)) => {}
            Ok(None) => return Err(client.end(None)),
            Err(error) => return Err(client.end(Some(error))),
        }
    }
}

/// Lets through a snapshot that is newer than the last, by an interval at least.
struct Pace {
    /// In seconds.
    interval: f64,
    /// The sequence and uptime of the last one.
    last: Option<(u64, f64)>,
    /// How many there were.
    told: u64,
}

impl Pace {
    /// Snapshots taken once a second are not exactly a second apart.
    const SLACK: f64 = 0.05;

    fn new(interval: Duration) -> Self {
        Self {
            interval: interval.as_secs_f64() * (1.0 - Self::SLACK),
            last: None,
            told: 0,
        }
    }

    /// Tells `snapshot`, made safe to show, if its time has come; false if nobody listens.
    fn admit(&mut self, mut snapshot: Snapshot, tell: &mut impl FnMut(Snapshot) -> bool) -> bool {
        let (sequence, uptime) = (snapshot.sequence, snapshot.uptime);
        let is_due = self.last.is_none_or(|(last_sequence, last_uptime)| {
            sequence > last_sequence && uptime >= last_uptime + self.interval
        });
        if !is_due {
            return true;
        }
        self.last = Some((sequence, uptime));
        self.told += 1;
        text::clean(&mut snapshot);
        tell(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(interval_ms: u64, times: &[(u64, f64)]) -> Vec<u64> {
        let mut pace = Pace::new(Duration::from_millis(interval_ms));
        let mut seen = Vec::new();
        for &(sequence, uptime) in times {
            let snapshot = Snapshot {
                sequence,
                uptime,
                ..Snapshot::default()
            };
            assert!(pace.admit(snapshot, &mut |snapshot| {
                seen.push(snapshot.sequence);
                true
            }));
        }
        seen
    }

    #[test]
    fn snapshots_pass_in_order_and_not_too_often() {
        let times = [
            (3, 1.0),
            (3, 1.0),
            (2, 0.9),
            (4, 1.98),
            (5, 2.5),
            (6, 2.99),
            (9, 4.0),
        ];
        assert_eq!(admitted(0, &times), [3, 4, 5, 6, 9]);
        assert_eq!(admitted(1000, &times), [3, 4, 6, 9]);
        assert_eq!(admitted(2000, &times), [3, 6]);
    }
}
