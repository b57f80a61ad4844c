//! The table of the metrics that the process itself records: one row for each series.

use garrick_telemetry::{Metric, MetricKind, MetricSeries, Snapshot};

use super::{Column, Row, figure, text_column};
use crate::values::{Mark, Value};

pub(super) static COLUMNS: &[Column] = &[
    text_column("METRIC", 16, 0),
    text_column("LABELS", 20, 2),
    text_column("KIND", 10, 5),
    figure("VALUE", 8, 0),
    figure("RATE/S", 7, 1),
    figure("MEDIAN", 8, 3),
    figure("P99", 8, 4),
];

/// A series of values, with the metric to which it belongs.
pub(crate) type Own<'a> = (&'a Metric, &'a MetricSeries);

/// Returns all series of all metrics in `snapshot`.
pub(crate) fn all(snapshot: &Snapshot) -> impl Iterator<Item = Own<'_>> {
    let metrics = snapshot.metrics.iter();
    metrics.flat_map(|metric| metric.series.iter().map(move |series| (metric, series)))
}

pub(crate) fn id((metric, series): Own<'_>) -> String {
    format!("{} {:?}", metric.name, series.labels)
}

pub(super) fn row(own: Own<'_>) -> Row {
    let (metric, series) = own;
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    let histogram = series.histogram.as_ref();
    let percentile =
        |value: Option<f64>| value.map_or(Value::None, |value| measured(metric, value));
    Row {
        id: id(own),
        mark: Mark::Ok,
        values: vec![
            Value::text(&metric.name),
            Value::Text(labels(series)),
            Value::text(kind),
            match metric.kind {
                MetricKind::Gauge => measured(metric, series.value),
                MetricKind::Counter | MetricKind::Histogram => Value::Count(series.value as u64),
            },
            series.rate.map_or(Value::None, Value::Rate),
            percentile(histogram.and_then(|histogram| histogram.p50)),
            percentile(histogram.and_then(|histogram| histogram.p99)),
        ],
    }
}

fn labels(series: &MetricSeries) -> String {
    let labels = series.labels.iter();
    let labels: Vec<String> = labels
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    labels.join(", ")
}

/// Converts `value` into a cell of the table. If the metric's name ends in `_seconds`, the cell
/// shows a time.
fn measured(metric: &Metric, value: f64) -> Value {
    if metric.name.ends_with("_seconds") {
        Value::Time(value)
    } else {
        Value::Number(value)
    }
}
