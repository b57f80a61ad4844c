//! Measures the memory and the time that metrics of the program take.

use std::hint::black_box;
use std::time::{Duration, Instant};

use garrick_telemetry::{Moment, Recorder, Sampler, Settings};
use garrick_testkit::resident_bytes;
use metrics::{counter, histogram, with_local_recorder};

/// Number of series of each kind of metric.
const SERIES: usize = 1000;

/// Number of samples that fill a window of 10 s, and some more.
const SAMPLES: u32 = 150;

/// Number of repetitions when the time of one operation is measured.
const TIMES: u32 = 100_000;

fn tick(sampler: &mut Sampler, count: &mut u32) {
    *count += 1;
    let uptime = Duration::from_millis(100) * *count;
    black_box(sampler.tick(Moment { uptime, unix_ms: 0 }));
}

/// Returns the average time of a sample.
fn sample(sampler: &mut Sampler, count: &mut u32) -> Duration {
    let began = Instant::now();
    (0..SAMPLES).for_each(|_| tick(sampler, count));
    began.elapsed() / SAMPLES
}

/// Uses each series of one kind of metric. Returns the average time of a use.
fn use_all(recorder: &Recorder, record: impl Fn(String), rounds: usize) -> Duration {
    let began = Instant::now();
    with_local_recorder(recorder, || {
        for n in 0..SERIES * rounds {
            record(format!("route {n}"));
        }
    });
    began.elapsed() / (SERIES * rounds) as u32
}

#[test]
fn a_thousand_series_take_a_few_megabytes_and_more_are_not_kept() {
    let recorder = Recorder::builder().series_max(2 * SERIES).build();
    let recorder = recorder.expect("no buckets are set");
    let mut sampler = Sampler::new(Settings::default()).expect("the usual settings are fine");
    sampler.watch_recorder(&recorder);
    let count = &mut 0;
    let empty = sample(&mut sampler, count);
    let before = resident_bytes();
    use_all(
        &recorder,
        |route| counter!("a", "route" => route).increment(1),
        1,
    );
    let counters = sample(&mut sampler, count);
    let with_counters = resident_bytes().saturating_sub(before);
    let record = |route| histogram!("b_seconds", "route" => route).record(0.1);
    use_all(&recorder, record, 1);
    let histograms = sample(&mut sampler, count);
    let with_both = resident_bytes().saturating_sub(before);
    println!(
        "{SERIES} counters: {counters:?} a sample instead of {empty:?}, {with_counters} bytes"
    );
    println!("and {SERIES} histograms: {histograms:?} a sample, {with_both} bytes");
    assert!(with_both < 16 << 20, "{with_both}");
    let refused = use_all(
        &recorder,
        |route| counter!("c", "route" => route).increment(1),
        20,
    );
    sample(&mut sampler, count);
    let more = resident_bytes().saturating_sub(before + with_both);
    println!("a refused use: {refused:?}; {more} bytes more");
    assert!(more < 2 << 20, "{more}");
}

#[test]
fn handles_are_quick() {
    let recorder = Recorder::default();
    with_local_recorder(&recorder, || {
        let (kept, kept_seconds) = (counter!("a"), histogram!("b_seconds"));
        let time = |what: &str, step: &dyn Fn()| {
            let began = Instant::now();
            (0..TIMES).for_each(|_| step());
            println!("{what}: {:?}", began.elapsed() / TIMES);
        };
        time("a kept counter", &|| kept.increment(1));
        time("a kept histogram", &|| kept_seconds.record(0.1));
        time("a macro", &|| counter!("c", "shop" => "north").increment(1));
    });
    let mut sampler = Sampler::new(Settings::default()).expect("the usual settings are fine");
    sampler.watch_recorder(&recorder);
    let seen = sampler.tick(Moment::default()).0;
    let values = seen.metrics.iter().map(|metric| metric.series[0].value);
    assert_eq!(values.collect::<Vec<_>>(), [f64::from(TIMES); 3]);
}
