//! Tests the export to `tracing` and to OpenTelemetry.

mod common;

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use common::{anywhere, pipeline, start};
use garrick_telemetry::{Moment, Sampler, Settings, observe_with, trace_events};
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A `tracing` subscriber that records every event as a line.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut line = Line(format!("{} {}", metadata.level(), metadata.target()));
        event.record(&mut line);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn tracing_hears_of_alerts_at_once_and_of_the_rest_now_and_then() {
    let recorder = Recorder::default();
    let mut observer = trace_events(Duration::from_secs(1));
    let mut sampler = Sampler::new(Settings::default()).expect("the usual settings are fine");
    sampler.watch(pipeline);
    tracing::subscriber::with_default(recorder.clone(), || {
        for ms in (0..2_000).step_by(500) {
            let uptime = Duration::from_millis(ms);
            let (snapshot, transitions) = sampler.tick(Moment {
                uptime,
                unix_ms: ms,
            });
            observer(&snapshot, &transitions);
        }
    });
    let lines = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert!(
        lines
            .iter()
            .all(|line| line.contains(" garrick::telemetry"))
    );
    assert!(lines[0].starts_with("ERROR"), "{lines:?}");
    assert!(lines[0].contains("probe=\"failed\""), "{lines:?}");
    assert_eq!(
        (count("ERROR"), count("message=summary")),
        (1, 2),
        "{lines:?}"
    );
    assert_eq!(
        (count("message=node"), count("message=channel")),
        (4, 4),
        "{lines:?}"
    );
}

#[test]
fn opentelemetry_collects_what_was_seen_last() {
    let telemetry = start(anywhere());
    telemetry.watch(pipeline);
    telemetry.look();
    let exporter = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(exporter.clone()).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    observe_with(&provider.meter("garrick"), &telemetry.view());
    provider.force_flush().expect("it collects");
    let finished = exporter.get_finished_metrics().expect("it exported");
    let metrics: Vec<_> = finished
        .iter()
        .flat_map(|resource| resource.scope_metrics())
        .flat_map(|scope| scope.metrics())
        .collect();
    let find = |name: &str| metrics.iter().find(|metric| metric.name() == name);
    let counter = find("garrick.channel.messages").expect("a counter");
    let AggregatedMetrics::F64(MetricData::Sum(sum)) = counter.data() else {
        panic!("not a sum: {counter:?}");
    };
    let values: Vec<f64> = sum.data_points().map(|point| point.value()).collect();
    assert!(sum.is_monotonic() && values.contains(&90.0), "{values:?}");
    let gauge = find("garrick.channel.fill.p80.ratio").expect("a gauge");
    let AggregatedMetrics::F64(MetricData::Gauge(gauge)) = gauge.data() else {
        panic!("not a gauge: {gauge:?}");
    };
    let point = gauge.data_points().find(|point| point.value() == 0.95);
    let point = point.expect("the channel that is nearly full");
    assert!(
        point
            .attributes()
            .any(|a| a.key.as_str() == "channel" && a.value.as_str() == "a \"name\" \\N")
    );
}
