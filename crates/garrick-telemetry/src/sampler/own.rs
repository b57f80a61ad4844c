//! Metrics that the program itself records, and their rates.

use crate::recorder::Recorder;
use crate::snapshot::{Metric, MetricKind, Snapshot};
use crate::window::{At, Meter, Nanos, Pace, Spread};

/// A recorder, and the past values of its series.
#[derive(Debug)]
pub(super) struct Own {
    recorder: Recorder,
    /// Past values of each series of each metric, except for gauges. A recorder only appends
    /// metrics and series, so their indices do not change.
    past: Vec<Vec<Past>>,
}

/// Past values of one series.
#[derive(Debug, Default)]
struct Past {
    values: Meter,
    /// Recent counts of a histogram.
    counts: Spread,
}

impl Own {
    /// Creates a reader of the metrics of `recorder`, without past values.
    pub(super) fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            past: Vec::new(),
        }
    }

    /// Adds the current values and rates of the program's own metrics to `snapshot`.
    pub(super) fn read(&mut self, snapshot: &mut Snapshot, pace: Pace, now: Nanos) {
        snapshot.metrics = self.recorder.read();
        snapshot.metrics_refused = self.recorder.refused();
        self.past.resize_with(snapshot.metrics.len(), Vec::new);
        for (metric, past) in snapshot.metrics.iter_mut().zip(&mut self.past) {
            if metric.kind != MetricKind::Gauge {
                add_rates(metric, past, At { pace, now });
            }
        }
    }
}

fn add_rates(metric: &mut Metric, past: &mut Vec<Past>, at: At) {
    past.resize_with(metric.series.len(), Past::default);
    for (series, past) in metric.series.iter_mut().zip(past) {
        past.values.push(at.pace, at.now, series.value as u64);
        series.rate = past.values.rate();
        if let Some(histogram) = &mut series.histogram {
            histogram.estimate(&mut past.counts, at);
        }
    }
}
