//! Renders a snapshot in the text formats of Prometheus.

use crate::metrics::{Exported, FAMILIES, Family, Kind, Labels, node_labels, sponsor_labels};
use crate::snapshot::{Edge, Histogram, Metric, MetricKind, Snapshot};

pub(crate) use super::exposition::Format;
use super::exposition::{Counts, Exposition, Type};

use super::trouble;

/// Name of the histogram of batch sizes. This histogram is exported only to Prometheus.
const BATCHES: &str = "garrick_channel_batch_messages";

/// Name of the histogram of the durations of turns. This histogram is exported only to Prometheus.
const TURNS: &str = "garrick_node_turn_seconds";
const WAITS: &str = "garrick_node_wait_seconds";
const SPONSOR_WAITS: &str = "garrick_sponsor_wait_seconds";

/// The metrics of a process as text, and the content type of the text. Returned by
/// [`metrics_text`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsText {
    /// Value of the `Content-Type` header for an HTTP response that contains the text.
    pub content_type: &'static str,
    /// The metrics: the body of the HTTP response.
    pub text: String,
}

/// Renders all metrics of `snapshot` as the text that telemetry's own server returns at `/metrics`.
/// Use this function to return the same text from another server.
///
/// `accept` is the `Accept` header of the request, or `""` if it has none. The format is
/// OpenMetrics 1.0.0 if the header prefers it, and otherwise the Prometheus text format 0.0.4.
///
/// # Examples
///
/// An axum handler, in a process without telemetry's own server:
///
/// ```
/// use axum::{Router, extract::State, http::HeaderMap, response::IntoResponse, routing::get};
/// use garrick_telemetry::{Telemetry, View, metrics_text};
///
/// async fn metrics(State(view): State<View>, headers: HeaderMap) -> impl IntoResponse {
///     let accept = headers.get("accept").and_then(|accept| accept.to_str().ok());
///     let metrics = metrics_text(&view.latest(), accept.unwrap_or_default());
///     ([("content-type", metrics.content_type)], metrics.text)
/// }
///
/// let telemetry = Telemetry::builder().without_server().start()?;
/// let app: Router = Router::new()
///     .route("/metrics", get(metrics))
///     .with_state(telemetry.view());
/// # Ok::<(), garrick_telemetry::StartError>(())
/// ```
pub fn metrics_text(snapshot: &Snapshot, accept: &str) -> MetricsText {
    let format = Format::of(accept);
    MetricsText {
        content_type: format.content_type(),
        text: render(snapshot, format),
    }
}

/// Renders all metrics of `snapshot` in the given format.
pub(crate) fn render(snapshot: &Snapshot, format: Format) -> String {
    let exported = Exported::new(snapshot);
    let mut to = Exposition::new(format);
    for family in FAMILIES {
        add_family(&mut to, family, &exported);
    }
    add_batches(&mut to, &exported);
    add_turns(&mut to, &exported);
    add_waits(&mut to, &exported);
    trouble::add(&mut to, snapshot);
    for metric in &snapshot.metrics {
        add_own(&mut to, metric);
    }
    to.end()
}

/// Adds a metric with all its values. Has no effect if the metric has no values.
fn add_family(to: &mut Exposition, family: &Family, exported: &Exported<'_>) {
    let mut has_head = false;
    family.each(exported, |labels, value| {
        let kind = match family.kind {
            Kind::Counter => Type::Counter,
            Kind::Gauge => Type::Gauge,
        };
        if !has_head {
            to.head(family.name, kind, family.help);
            has_head = true;
        }
        match family.kind {
            Kind::Counter => to.counter(family.name, labels, value),
            Kind::Gauge => to.gauge(family.name, labels, value),
        }
    });
}

fn add_batches(to: &mut Exposition, exported: &Exported<'_>) {
    let edges = &exported.snapshot.edges;
    if !edges.is_empty() {
        to.head(
            BATCHES,
            Type::Histogram,
            "Number of messages in a batch that the sender sent.",
        );
    }
    for edge in edges {
        add_batches_of(to, edge, &exported.edge_labels(edge));
    }
}

/// Adds the batch sizes of a channel. The buckets depend only on the capacity of the channel, so
/// that they are the same in each response.
fn add_batches_of(to: &mut Exposition, edge: &Edge, labels: &Labels<'_>) {
    let counts = &edge.batches.counts;
    let powers = (64 - edge.capacity.leading_zeros() as usize).max(counts.len());
    // Entry `k` counts the batches of `2^k` to `2^(k+1) - 1` messages.
    let limits = (1..=powers).map(|power| (power as f64).exp2() - 1.0);
    let limits: Vec<f64> = limits.collect();
    let values = Counts {
        limits: &limits,
        counts,
        // Every sent message has been taken, or is still in the channel.
        sum: (edge.total + edge.fill) as f64,
    };
    to.histogram(BATCHES, labels, values);
}

/// Adds a histogram of the durations of turns for each group of actors.
fn add_turns(to: &mut Exposition, exported: &Exported<'_>) {
    let help = "Durations of the turns of actors in seconds. Estimated, because only some turns are timed.";
    let nodes = exported.snapshot.nodes.iter();
    let turns = nodes.filter_map(|node| Some((node_labels(node), node.turn_seconds.as_ref()?)));
    add_histograms(to, TURNS, help, turns);
}

/// Adds histograms of the times that messages have waited: one for each group of actors, and one
/// for each sponsor (a set of threads that run actors).
fn add_waits(to: &mut Exposition, exported: &Exported<'_>) {
    let help = "Times that messages waited before actors of the type handled them, in seconds. Only some messages are measured.";
    let nodes = exported.snapshot.nodes.iter();
    let waits = nodes.filter_map(|node| Some((node_labels(node), node.wait_seconds.as_ref()?)));
    add_histograms(to, WAITS, help, waits);
    let help = "Times that messages waited before the workers of the sponsor handled them, in seconds. Only some messages are measured.";
    let sponsors = exported.snapshot.sponsors.iter();
    let waits = sponsors
        .filter_map(|sponsor| Some((sponsor_labels(sponsor), sponsor.wait_seconds.as_ref()?)));
    add_histograms(to, SPONSOR_WAITS, help, waits);
}

/// Adds all histograms that have the given name. Has no effect if there are none.
fn add_histograms<'a>(
    to: &mut Exposition,
    name: &str,
    help: &str,
    histograms: impl Iterator<Item = (Labels<'a>, &'a Histogram)>,
) {
    let mut has_head = false;
    for (labels, histogram) in histograms {
        if !has_head {
            to.head(name, Type::Histogram, help);
            has_head = true;
        }
        to.histogram(name, &labels, counts_of(histogram));
    }
}

/// Adds a metric that the program itself records.
fn add_own(to: &mut Exposition, metric: &Metric) {
    let name = &*metric.name;
    let (name, kind) = match metric.kind {
        MetricKind::Counter => (name.strip_suffix("_total").unwrap_or(name), Type::Counter),
        MetricKind::Gauge => (name, Type::Gauge),
        MetricKind::Histogram => (name, Type::Histogram),
    };
    to.head(name, kind, &metric.help);
    for series in &metric.series {
        let labels = series.labels.iter();
        let labels: Vec<(&str, &str)> = labels.map(|(name, value)| (&**name, &**value)).collect();
        match (metric.kind, &series.histogram) {
            (MetricKind::Counter, _) => to.counter(name, &labels, series.value),
            (MetricKind::Gauge, _) => to.gauge(name, &labels, series.value),
            (MetricKind::Histogram, Some(histogram)) => {
                to.histogram(name, &labels, counts_of(histogram));
            }
            (MetricKind::Histogram, None) => {}
        }
    }
}

fn counts_of(histogram: &Histogram) -> Counts<'_> {
    Counts {
        limits: &histogram.limits,
        counts: &histogram.counts,
        sum: histogram.sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two_less_one_up_to_the_capacity() {
        let mut to = Exposition::new(Format::Text);
        let edge = Edge {
            total: 9,
            capacity: 16,
            batches: crate::Batches {
                counts: vec![1, 0, 2],
            },
            ..Edge::default()
        };
        add_batches_of(&mut to, &edge, &Vec::new());
        let text = to.end();
        let lines: Vec<&str> = text.lines().collect();
        let buckets = [
            "1.0\"} 1",
            "3.0\"} 1",
            "7.0\"} 3",
            "15.0\"} 3",
            "31.0\"} 3",
            "+Inf\"} 3",
        ];
        for (line, bucket) in lines.iter().zip(buckets) {
            assert_eq!(*line, format!("{BATCHES}_bucket{{le=\"{bucket}"));
        }
        assert_eq!(lines[6], format!("{BATCHES}_sum 9"));
        assert_eq!(lines[7], format!("{BATCHES}_count 3"));
    }
}
