//! Exports snapshots and alerts as events of the crate `tracing`.

use std::time::Duration;

use crate::alert::Transition;
use crate::snapshot::{Level, Snapshot};

/// The `tracing` target of all events.
const TARGET: &str = "garrick::telemetry";

/// Creates an observer that sends events to `tracing`, with the target `garrick::telemetry`.
///
/// The observer sends an event for each change of an alert. The level is `WARN` for a warning,
/// `ERROR` for a critical alert, and `INFO` for the end of an alert. Once per `interval`, the
/// observer also sends a summary at level `INFO`, and an event for each node and channel at level
/// `DEBUG`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use garrick_telemetry::{Telemetry, trace_events};
///
/// let telemetry = Telemetry::builder()
///     .address(([127, 0, 0, 1], 0).into())
///     .observe(trace_events(Duration::from_secs(10)))
///     .start()?;
/// # Ok::<(), garrick_telemetry::StartError>(())
/// ```
pub fn trace_events(interval: Duration) -> impl FnMut(&Snapshot, &[Transition]) + Send + 'static {
    let mut due = 0.0;
    move |snapshot, transitions| {
        transitions.iter().for_each(report);
        if snapshot.uptime >= due {
            due = snapshot.uptime + interval.as_secs_f64();
            summarize(snapshot);
        }
    }
}

fn report(transition: &Transition) {
    let alert = &transition.alert;
    let (on, probe, value, threshold) = (&alert.on, &alert.probe, alert.value, alert.threshold);
    match alert.level {
        Level::Ok => tracing::info!(target: TARGET, on, probe, value, threshold, "{}", alert.text),
        Level::Warning => {
            tracing::warn!(target: TARGET, on, probe, value, threshold, "{}", alert.text);
        }
        Level::Critical => {
            tracing::error!(target: TARGET, on, probe, value, threshold, "{}", alert.text);
        }
    }
}

fn summarize(snapshot: &Snapshot) {
    tracing::info!(
        target: TARGET,
        uptime = snapshot.uptime,
        cpu = snapshot.process.cpu,
        resident_bytes = snapshot.process.resident_bytes,
        nodes = snapshot.nodes.len(),
        edges = snapshot.edges.len(),
        alerts = snapshot.alerts.len(),
        "summary"
    );
    for node in &snapshot.nodes {
        let (id, name, rate, busy) = (&node.id, &node.name, node.rate, node.busy);
        tracing::debug!(target: TARGET, id, name, messages = node.messages, rate, busy, "node");
    }
    for edge in &snapshot.edges {
        let (id, rate, fill_p80) = (&edge.id, edge.rate, edge.fill_p80);
        tracing::debug!(target: TARGET, id, total = edge.total, rate, fill_p80, "channel");
    }
}
