//! Tests the metrics that the program itself records.

mod common;

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::tools::{as_text_format, lint, parse};
use common::{Events, anywhere, get, get_with, start};
use garrick_actor::{Actor, Context, Reply, System};
use garrick_flow::{Graph, stages};
use garrick_telemetry::{
    Metric, MetricKind, MetricSeries, Moment, Recorder, Sampler, Settings, Snapshot, Telemetry,
    metrics_text,
};
use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    with_local_recorder,
};

/// Returns the recorder of this process.
fn installed() -> Recorder {
    static INSTALLED: OnceLock<Recorder> = OnceLock::new();
    let recorder = INSTALLED.get_or_init(|| {
        let recorder = Recorder::default();
        recorder.install().expect("nothing else installs one");
        recorder
    });
    recorder.clone()
}

/// Returns a snapshot with the metrics of a recorder.
fn look(recorder: &Recorder) -> Snapshot {
    let mut sampler = Sampler::new(Settings::default()).expect("the usual settings are fine");
    sampler.watch_recorder(recorder);
    sampler.tick(Moment::default()).0
}

fn find<'a>(seen: &'a Snapshot, name: &str) -> &'a Metric {
    let metric = seen.metrics.iter().find(|metric| &*metric.name == name);
    metric.unwrap_or_else(|| panic!("no {name} in {:?}", seen.metrics))
}

fn only<'a>(seen: &'a Snapshot, name: &str) -> &'a MetricSeries {
    let [series] = &find(seen, name).series[..] else {
        panic!("{name} has one series: {:?}", seen.metrics);
    };
    series
}

/// An actor that adds the numbers it receives to a counter.
struct Till {
    taken: metrics::Counter,
}

impl Actor for Till {
    type Msg = (u64, Reply<()>);
    type Outcome = ();

    fn receive(&mut self, (cents, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
        self.taken.increment(cents);
        histogram!("till_sale_cents").record(cents as f64);
        gauge!("till_last_cents").set(cents as f64);
        reply.send(());
    }
}

fn sell(telemetry: &Telemetry) {
    let system = System::new().expect("threads");
    telemetry.watch(system.handle());
    for shop in ["north", "south"] {
        let taken = counter!("till_cents", "shop" => shop);
        let till = system.spawn(Till { taken }).expect("an actor");
        for cents in [1, 5, 300] {
            let done = till.ask(|reply| (cents, reply)).wait();
            done.expect("it answers");
        }
    }
}

fn run_a_pipeline() {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel::<u64>(64).expect("slots");
    graph.source("count", stages::produce(numbers, 0..1000));
    let seen = counter!("stage_numbers");
    let read = stages::consume(numbers_in, move |numbers: &[u64]| {
        seen.increment(numbers.len() as u64);
    });
    graph.stage("read", read);
    graph.start().expect("threads").join();
}

#[test]
fn actors_and_stages_record_values_that_telemetry_shows() {
    let telemetry = start(anywhere().recorder(&installed()));
    describe_histogram!("till_sale_cents", "Price of a sale.");
    sell(&telemetry);
    run_a_pipeline();
    telemetry.look();
    let seen = telemetry.latest();
    let taken = find(&seen, "till_cents_total");
    assert_eq!(taken.kind, MetricKind::Counter);
    let by_shop: Vec<(&str, f64)> = taken
        .series
        .iter()
        .map(|series| (&*series.labels["shop"], series.value))
        .collect();
    assert_eq!(by_shop, [("north", 306.0), ("south", 306.0)]);
    assert_eq!(only(&seen, "till_last_cents").value, 300.0);
    let sales = only(&seen, "till_sale_cents");
    let distribution = sales.histogram.as_ref().expect("it is a histogram");
    assert_eq!((sales.value, distribution.sum), (6.0, 612.0));
    assert_eq!(distribution.counts[..5], [2, 0, 2, 0, 0]);
    assert_eq!(distribution.counts[5], 2, "up to 1024");
    assert_eq!(&*find(&seen, "till_sale_cents").help, "Price of a sale.");
    assert_eq!(only(&seen, "stage_numbers_total").value, 1000.0);
    let json: Snapshot = serde_json::from_slice(&get(telemetry.address(), "/graph.json").body)
        .expect("the same structure in JSON");
    assert_eq!(only(&json, "till_sale_cents").histogram, sales.histogram);
    let page = get(telemetry.address(), "/metrics");
    for line in [
        "till_cents_total{shop=\"south\"} 306",
        "# HELP till_sale_cents Price of a sale.",
        "till_sale_cents_bucket{le=\"16.0\"} 4",
        "till_sale_cents_bucket{le=\"+Inf\"} 6",
        "till_sale_cents_sum 612",
        "till_last_cents 300",
    ] {
        assert!(
            page.text().lines().any(|l| l == line),
            "no {line} in {}",
            page.text()
        );
    }
}

#[test]
fn a_process_has_one_recorder() {
    installed();
    let error = Recorder::default().install().expect_err("there is one");
    assert!(error.to_string().contains("already has a recorder"));
}

#[test]
fn no_value_is_lost_when_many_threads_record() {
    const THREADS: usize = 4;
    const EACH: u64 = 10_000;
    let recorder = Recorder::default();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let recorder = &recorder;
            scope.spawn(move || {
                with_local_recorder(recorder, || {
                    for n in 0..EACH {
                        counter!("a", "of" => (n % 7).to_string()).increment(1);
                        histogram!("b").record(2.0);
                        gauge!("c").increment(if number % 2 == 0 { 1.0 } else { -1.0 });
                    }
                });
            });
        }
    });
    let seen = look(&recorder);
    let counted = find(&seen, "a_total");
    let total: f64 = counted.series.iter().map(|series| series.value).sum();
    let all = THREADS as f64 * EACH as f64;
    assert_eq!((counted.series.len(), total), (7, all));
    let b = only(&seen, "b");
    assert_eq!(
        (b.value, b.histogram.as_ref().map(|h| h.sum)),
        (all, Some(2.0 * all))
    );
    assert_eq!(only(&seen, "c").value, 0.0);
}

#[test]
fn rates_are_those_of_the_window() {
    let recorder = Recorder::default();
    let mut sampler = Sampler::new(Settings::default()).expect("the usual settings are fine");
    sampler.watch_recorder(&recorder);
    let mut tick = |ms| {
        with_local_recorder(&recorder, || {
            counter!("a").increment(5);
            histogram!("b").record(0.1);
            gauge!("c").set(7.0);
        });
        let uptime = Duration::from_millis(ms);
        sampler
            .tick(Moment {
                uptime,
                unix_ms: ms,
            })
            .0
    };
    assert_eq!(only(&tick(0), "a_total").rate, None);
    let seen = tick(100);
    assert_eq!(only(&seen, "a_total").rate, Some(50.0));
    assert_eq!(only(&seen, "b").rate, Some(10.0));
    assert_eq!(only(&seen, "c").rate, None);
}

#[test]
fn spellings_of_one_name_are_one_series() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        counter!("orders.taken", "a.b" => "1", "c" => "2").increment(1);
        counter!("orders_taken", "c" => "2", "a_b" => "1").increment(10);
        counter!("orders_taken_total", "a-b" => "1", "c" => "2").increment(100);
    });
    assert_eq!(only(&look(&recorder), "orders_taken_total").value, 111.0);
}

#[test]
fn names_of_other_kinds_are_refused() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        counter!("a").increment(1);
        gauge!("a").set(2.0);
        gauge!("a_total").set(2.0);
        gauge!("b_sum").set(3.0);
        histogram!("b").record(4.0);
        counter!("garrick_node_turns").increment(5);
        gauge!("process_cpu_seconds_total").set(6.0);
        counter!("c", "" => "x").increment(7);
    });
    let seen = look(&recorder);
    let names: Vec<&str> = seen.metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(names, ["a_total", "b_sum"]);
    assert_eq!(only(&seen, "a_total").value, 1.0);
    let refused = |reason: &str| seen.metrics_refused[reason];
    assert_eq!(
        (
            refused("kind"),
            refused("name"),
            refused("labels"),
            refused("series")
        ),
        (3, 2, 1, 0)
    );
}

/// A `tracing` subscriber that records every event as a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl tracing::field::Visit for Line {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_counter_that_is_named_by_its_suffix_alone_has_a_name_in_both_formats() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        describe_counter!("_total", "Everything.");
        counter!("_total").increment(3);
        counter!("__total").increment(4);
    });
    let seen = look(&recorder);
    assert_eq!(only(&seen, "__total").value, 7.0);
    for (accept, family) in [("", "__total"), ("application/openmetrics-text", "_")] {
        let text = metrics_text(&seen, accept).text;
        let lines = format!("# HELP {family} Everything.\n# TYPE {family} counter\n__total 7\n");
        assert!(text.contains(&lines), "{text}");
    }
}

#[test]
fn series_beyond_the_maximum_are_counted_and_told_once() {
    let recorder = Recorder::builder().series_max(10).build();
    let recorder = recorder.expect("no buckets are set");
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        with_local_recorder(&recorder, || {
            for user in 0..1000 {
                counter!("visits", "user" => user.to_string()).increment(1);
            }
            // A series that is there still works, in each of its spellings.
            counter!("visits", "user" => "3").increment(1);
            counter!("visits_total", "user" => "3").increment(1);
        });
    });
    let seen = look(&recorder);
    let visits = find(&seen, "visits_total");
    assert_eq!((visits.series.len(), visits.series[3].value), (10, 3.0));
    assert_eq!(seen.metrics_refused["series"], 990);
    let text = metrics_text(&seen, "").text;
    let line = "\ngarrick_metrics_refused_total{reason=\"series\"} 990\n";
    assert!(text.contains(line), "{text}");
    let lines = lines.0.lock().unwrap_or_else(PoisonError::into_inner);
    let [line] = &lines[..] else {
        panic!("it is told once: {lines:?}");
    };
    assert!(line.starts_with("WARN"), "{line}");
    assert!(
        line.contains("\\\"visits\\\"") || line.contains("\"visits\""),
        "{line}"
    );
    assert!(line.contains("10 series"), "{line}");
}

/// A `tracing` subscriber that panics when it receives an event.
struct Faulty;

impl tracing::Subscriber for Faulty {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        garrick_testkit::fail();
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_subscriber_that_panics_does_not_disturb_who_records() {
    garrick_testkit::silence_panics();
    let recorder = Recorder::default();
    tracing::subscriber::with_default(Faulty, || {
        with_local_recorder(&recorder, || counter!("garrick_x").increment(1));
    });
    assert_eq!(look(&recorder).metrics_refused["name"], 1);
}

#[test]
fn values_are_shown_soon_even_if_nothing_else_is_watched() {
    let recorder = Recorder::default();
    let telemetry = start(anywhere().recorder(&recorder));
    let mut events = Events::open(telemetry.address(), "/events?every=50");
    with_local_recorder(&recorder, || counter!("late").increment(1));
    let began = Instant::now();
    let is_shown = |event: common::Event| event.data.contains("late_total");
    while !events.next().is_some_and(is_shown) {}
    assert!(began.elapsed() < Duration::from_secs(8), "it slept");
}

#[test]
fn buckets_are_set_by_name_by_unit_and_by_suffix() {
    let recorder = Recorder::builder().buckets("own", &[1.0, 10.0]).build();
    let recorder = recorder.expect("the limits ascend");
    with_local_recorder(&recorder, || {
        describe_histogram!("lag", Unit::Seconds, "Time between two things.");
        for name in ["own", "lag", "wait_seconds", "size"] {
            for value in [f64::NAN, 10.0, 1e9] {
                histogram!(name).record(value);
            }
        }
    });
    let seen = look(&recorder);
    let of = |name| only(&seen, name).histogram.as_ref().expect("a histogram");
    assert_eq!(*of("own").limits, [1.0, 10.0]);
    assert_eq!(of("own").counts, [0, 1, 1], "a limit belongs to its bucket");
    assert_eq!(of("lag").limits, of("wait_seconds").limits);
    assert_eq!((of("lag").limits[0], of("size").limits[0]), (1e-6, 1.0));
    for limits in [
        &[][..],
        &[1.0, 1.0],
        &[2.0, 1.0],
        &[f64::INFINITY],
        &[0.5; 65],
    ] {
        let error = Recorder::builder().buckets("x", limits).build();
        let error = error.expect_err("these limits are not allowed").to_string();
        assert!(
            error.contains("\"x\"") && error.contains("1 to 64"),
            "{error}"
        );
    }
    let reserved = Recorder::builder().buckets("garrick_x", &[1.0]).build();
    assert!(reserved.is_err());
}

#[test]
fn what_is_no_number_survives_json() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        gauge!("a").set(f64::INFINITY);
        gauge!("b").set(f64::NAN);
    });
    let seen = look(&recorder);
    let text = metrics_text(&seen, "").text;
    assert!(
        text.contains("\na +Inf\n") && text.contains("\nb NaN\n"),
        "{text}"
    );
    let json = serde_json::to_string(&seen).expect("it is rendered");
    let read: Snapshot = serde_json::from_str(&json).expect("it is read");
    assert!(only(&read, "a").value.is_nan() && only(&read, "b").value.is_nan());
}

#[test]
fn prometheus_reads_whatever_the_program_records() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        describe_counter!("odd", "It has \"quotes\", a \\ and\ntwo lines.");
        describe_gauge!("level.now", "A level.");
        counter!("odd", "who" => "a\"b\\c\nd", "größe" => "\u{1F3AD}").increment(1);
        counter!("odd", "le" => "1").increment(2);
        gauge!("level.now", "__x" => "").set(-0.5);
        histogram!("took_seconds", "quantile" => "0.5").record(0.003);
        histogram!("empty_bytes").record(f64::NAN);
    });
    let telemetry = start(anywhere().recorder(&recorder));
    let text = get(telemetry.address(), "/metrics");
    lint(text.text());
    let accept = "Accept: application/openmetrics-text; version=1.0.0\r\n";
    let open = get_with(telemetry.address(), "/metrics", accept);
    lint(&as_text_format(open.text()));
    for (format, page) in [("text", text), ("openmetrics", open)] {
        let Some(samples) = parse(format, page.text()) else {
            return;
        };
        for sample in [
            "odd_total [('gr__e', '\u{1F3AD}'), ('who', 'a\"b\\\\c\\nd')] 1.0",
            "odd_total [('le_', '1')] 2.0",
            "level_now gauge level_now [] -0.5",
            "took_seconds_count [('quantile_', '0.5')] 1.0",
            "empty_bytes_count [] 0.0",
        ] {
            assert!(samples.contains(sample), "no {sample} in {samples}");
        }
    }
}
