//! Tests the snapshots of a sampler, with simulated time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use garrick_telemetry::{
    ActorsReading, Alert, ChannelReading, Edge, HeldReading, Level, Moment, Probe, Reading,
    Sampler, Settings, Snapshot, SponsorReading, StageReading, Threshold, metrics_text,
};

/// Returns the moment `ms` milliseconds after the start.
fn at(ms: u64) -> Moment {
    Moment {
        uptime: Duration::from_millis(ms),
        unix_ms: 1_000_000 + ms,
    }
}

fn sampler() -> Sampler {
    Sampler::new(Settings::default()).expect("the usual settings are fine")
}

/// Creates a source with one channel. The test sets the number of messages and the fill of the
/// channel.
fn channel(
    count: &Arc<AtomicU64>,
    fill: &Arc<AtomicU64>,
) -> impl FnMut(&mut Reading) + Send + use<> {
    let (count, fill) = (Arc::clone(count), Arc::clone(fill));
    move |reading: &mut Reading| {
        reading.channels.push(ChannelReading {
            id: "c".to_owned(),
            capacity: 100,
            fill: fill.load(Relaxed),
            taken: count.load(Relaxed),
            ..ChannelReading::default()
        });
    }
}

fn tick(sampler: &mut Sampler, ms: u64) -> Snapshot {
    sampler.tick(at(ms)).0
}

#[test]
fn rates_are_right_from_the_first_second_on() {
    let (count, fill) = (Arc::new(AtomicU64::new(7_000_000)), Arc::default());
    let mut sampler = sampler();
    sampler.watch(channel(&count, &fill));
    assert_eq!(tick(&mut sampler, 0).edges[0].rate, 0.0);
    for ms in (100..30_000).step_by(100) {
        count.fetch_add(25, Relaxed);
        let snapshot = tick(&mut sampler, ms);
        assert!(
            (snapshot.edges[0].rate - 250.0).abs() < 1e-6,
            "after {ms} ms"
        );
        assert_eq!(snapshot.window, (ms as f64 / 1000.0).min(10.0));
    }
}

#[test]
fn percentiles_are_of_the_window_alone() {
    let (count, fill) = (Arc::default(), Arc::new(AtomicU64::new(100)));
    let mut sampler = sampler();
    sampler.watch(channel(&count, &fill));
    for ms in (0..20_000).step_by(100) {
        tick(&mut sampler, ms);
    }
    // The channel is emptier for 1.5 s of 10 s: the 80th percentile stays, then it falls.
    fill.store(10, Relaxed);
    for ms in (20_000..27_500).step_by(100) {
        tick(&mut sampler, ms);
    }
    let snapshot = tick(&mut sampler, 27_500);
    assert_eq!(
        (snapshot.edges[0].fill_p80, snapshot.edges[0].fill_p95),
        (1.0, 1.0)
    );
    for ms in (27_600..29_000).step_by(100) {
        tick(&mut sampler, ms);
    }
    let snapshot = tick(&mut sampler, 29_000);
    assert_eq!(
        (snapshot.edges[0].fill_p80, snapshot.edges[0].fill_p95),
        (0.1, 1.0)
    );
}

#[test]
fn what_is_shown_never_goes_back() {
    let (count, fill) = (Arc::new(AtomicU64::new(50)), Arc::new(AtomicU64::new(700)));
    let mut sampler = sampler();
    sampler.watch(channel(&count, &fill));
    let before = tick(&mut sampler, 0);
    assert_eq!(before.edges[0].fill, 100, "no more than the capacity");
    count.store(40, Relaxed);
    let after = tick(&mut sampler, 100);
    assert_eq!((after.edges[0].total, after.edges[0].rate), (50, 0.0));
    assert_eq!(after.sequence, before.sequence + 1);
    // A clock that stands still or goes back causes no division by zero.
    count.store(60, Relaxed);
    assert!(tick(&mut sampler, 100).edges[0].rate.is_finite());
    assert!(tick(&mut sampler, 50).edges[0].rate.is_finite());
}

#[test]
fn shares_are_of_a_core_and_of_all_workers() {
    let mut sampler = sampler();
    let mut nanos = 0;
    sampler.watch(move |reading: &mut Reading| {
        nanos += 50_000_000;
        reading.stages.push(StageReading {
            id: "s".to_owned(),
            busy_nanos: Some(nanos),
            ..StageReading::default()
        });
        reading.actors.push(ActorsReading {
            id: "a".to_owned(),
            busy_nanos: Some(3 * nanos),
            ..ActorsReading::default()
        });
        reading.sponsors.push(SponsorReading {
            id: "p".to_owned(),
            workers: 4,
            idle_nanos: Some(2 * nanos),
            ..SponsorReading::default()
        });
    });
    assert_eq!(tick(&mut sampler, 0).nodes[0].busy, None, "not known yet");
    let snapshot = tick(&mut sampler, 100);
    let busy: Vec<_> = snapshot.nodes.iter().map(|node| node.busy).collect();
    assert_eq!(busy, [Some(0.5), Some(1.5)]);
    assert_eq!(snapshot.sponsors[0].idle, Some(0.25));
}

#[test]
fn two_sources_with_the_same_ids_are_two() {
    let counts = [Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(2))];
    let mut sampler = sampler();
    let ids = counts
        .each_ref()
        .map(|count| sampler.watch(channel(count, &Arc::default())));
    let snapshot = tick(&mut sampler, 0);
    let totals: Vec<u64> = snapshot.edges.iter().map(|edge| edge.total).collect();
    assert_eq!(totals, [1, 2]);
    assert_ne!(snapshot.edges[0].id, snapshot.edges[1].id);
    sampler.forget(ids[0]);
    let after = tick(&mut sampler, 100);
    assert_eq!(
        (after.edges.len(), &after.edges[0].id),
        (1, &snapshot.edges[1].id)
    );
}

#[test]
fn a_source_that_panics_is_asked_no_more_and_the_others_are() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut sampler = sampler();
    let mut asked = 0;
    sampler.watch(move |reading: &mut Reading| {
        reading.stages.push(StageReading::default());
        asked += 1;
        assert!(asked < 2, "as it was told");
    });
    sampler.watch(channel(&Arc::default(), &Arc::default()));
    assert_eq!(tick(&mut sampler, 0).nodes.len(), 1);
    let after = tick(&mut sampler, 100);
    std::panic::set_hook(hook);
    assert_eq!((after.nodes.len(), after.edges.len()), (0, 1));
    assert_eq!((sampler.watched(), sampler.failed()), (1, 1));
}

/// A value whose destructor panics with another such value as the payload.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            std::panic::panic_any(Bomb(self.0 - 1));
        }
    }
}

#[test]
fn a_source_that_goes_takes_no_other_one_along() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut sampler = sampler();
    let bombs = [1, 2, 3].map(Bomb);
    for (number, bomb) in (0..).zip(bombs) {
        let id = sampler.watch(move |_: &mut Reading| {
            let _kept = &bomb;
            if number == 0 {
                std::panic::panic_any(Bomb(2));
            }
        });
        if number == 1 {
            sampler.forget(id);
        }
    }
    sampler.watch(channel(&Arc::default(), &Arc::default()));
    let seen = tick(&mut sampler, 0);
    assert_eq!(
        (seen.edges.len(), sampler.watched(), sampler.failed()),
        (1, 2, 1)
    );
    drop(sampler);
    std::panic::set_hook(hook);
}

#[test]
fn an_alert_comes_after_a_while_and_goes() {
    let fill = Arc::new(AtomicU64::new(95));
    let threshold = Threshold::above(Probe::Fill, 0.9).for_at_least(Duration::from_secs(1));
    let settings = Settings {
        thresholds: vec![threshold],
        ..Settings::default()
    };
    let mut sampler = Sampler::new(settings).expect("fine settings");
    sampler.watch(channel(&Arc::default(), &fill));
    let mut changes = Vec::new();
    for ms in (0..3_000).step_by(100) {
        if ms == 2_000 {
            fill.store(20, Relaxed);
        }
        let (snapshot, transitions) = sampler.tick(at(ms));
        let is_raised = snapshot.edges[0].level == Level::Warning;
        assert_eq!(is_raised, snapshot.alerts.len() == 1);
        changes.extend(transitions.into_iter().map(|t| (ms, t.was, t.alert.level)));
    }
    let expected = [
        (1_000, Level::Ok, Level::Warning),
        (2_000, Level::Warning, Level::Ok),
    ];
    assert_eq!(changes, expected);
}

#[test]
fn a_full_channel_is_trouble_only_if_nothing_is_taken_from_it() {
    let (count, fill) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(100)));
    let mut sampler = sampler();
    sampler.watch(channel(&count, &fill));
    for ms in (0..30_000).step_by(100) {
        count.fetch_add(1, Relaxed);
        let (snapshot, changes) = sampler.tick(at(ms));
        assert_eq!(
            (changes.len(), snapshot.alerts.len()),
            (0, 0),
            "after {ms} ms"
        );
        assert_eq!(snapshot.edges[0].stalled_seconds, 0.0);
    }
    // Nothing is taken any more, from 30.0 s on.
    let mut changes = Vec::new();
    for ms in (30_000..38_000).step_by(100) {
        if ms == 37_000 {
            count.fetch_add(1, Relaxed);
        }
        let (snapshot, transitions) = sampler.tick(at(ms));
        let stalled = snapshot.edges[0].stalled_seconds;
        let since = if ms < 37_000 { 30_000.0 } else { 37_100.0 };
        let expected = (ms as f64 - since) / 1e3;
        assert!(
            (stalled - expected.max(0.0)).abs() < 1e-9,
            "{stalled} after {ms} ms"
        );
        changes.extend(
            transitions
                .into_iter()
                .map(|t| (ms, t.alert.level, t.alert.text)),
        );
    }
    let text = "? -> ? is full, and its receiver has taken nothing from it for 5.1 s, above the limit \
                of 5 s.";
    assert_eq!(changes[0], (35_100, Level::Warning, text.to_owned()));
    assert_eq!(
        (changes.len(), changes[1].0, changes[1].1),
        (2, 37_000, Level::Ok)
    );
}

#[test]
fn a_pause_of_the_process_is_no_part_of_the_next_window() {
    let (count, fill) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut sampler = sampler();
    sampler.watch(channel(&count, &fill));
    for ms in (0..20_000).step_by(100) {
        count.fetch_add(25, Relaxed);
        tick(&mut sampler, ms);
    }
    fill.store(100, Relaxed);
    assert_eq!(tick(&mut sampler, 20_000).edges[0].stalled_seconds, 0.0);
    // The process was stopped for an hour, for example by SIGSTOP.
    let woken = 3_620_000;
    let stalled = tick(&mut sampler, woken).edges[0].stalled_seconds;
    assert!(stalled < 0.001, "{stalled}");
    for ms in (100..30_000).step_by(100) {
        count.fetch_add(25, Relaxed);
        let rate = tick(&mut sampler, woken + ms).edges[0].rate;
        assert!((rate - 250.0).abs() < 1e-6, "{rate} after {ms} ms");
    }
}

#[test]
fn the_shares_of_a_stage_and_the_bottleneck_are_of_the_window() {
    let mut beat = 0;
    let mut sampler = sampler();
    sampler.watch(move |reading: &mut Reading| {
        beat += 1;
        // Each look is 100 ms after the one before.
        let stage = |id: &str, [busy, starved, back_pressured]: [u64; 3]| StageReading {
            id: id.to_owned(),
            name: id.to_owned(),
            messages: beat,
            busy_nanos: Some(beat * busy * 1_000_000),
            starved_nanos: Some(beat * starved * 1_000_000),
            back_pressured_nanos: Some(beat * back_pressured * 1_000_000),
            ..StageReading::default()
        };
        reading.stages.push(stage("fast", [25, 0, 75]));
        reading.stages.push(stage("slow", [99, 1, 0]));
        reading.channels.push(ChannelReading {
            id: "c".to_owned(),
            from: Some("fast".to_owned()),
            to: Some("slow".to_owned()),
            capacity: 10,
            fill: 10,
            taken: beat,
            ..ChannelReading::default()
        });
    });
    let first = tick(&mut sampler, 0);
    assert_eq!(
        first.nodes[0].starved, None,
        "unknown before the second look"
    );
    let snapshot = (100..2_000)
        .step_by(100)
        .map(|ms| tick(&mut sampler, ms))
        .last();
    let snapshot = snapshot.expect("many looks");
    let shares = snapshot.nodes.iter().map(|node| {
        let shares = [node.busy, node.starved, node.back_pressured];
        shares.map(|share| (share.unwrap_or(-1.0) * 100.0).round())
    });
    assert_eq!(
        shares.collect::<Vec<_>>(),
        [[25.0, 0.0, 75.0], [99.0, 1.0, 0.0]]
    );
    // 20 looks so far.
    let fast = &snapshot.nodes[0];
    let totals = [fast.starved_seconds, fast.back_pressured_seconds];
    assert_eq!(totals, [Some(0.0), Some(1.5)]);
    let text = metrics_text(&snapshot, "").text;
    for line in [
        "garrick_node_back_pressured_seconds_total{place=\"\",node=\"fast\"} 1.5",
        "garrick_node_starved_seconds_total{place=\"\",node=\"slow\"} 0.02",
        "garrick_node_busy_seconds_total{place=\"\",node=\"slow\"} 1.98",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert_eq!(snapshot.pipelines.len(), 1);
    let pipeline = &snapshot.pipelines[0];
    assert_eq!(pipeline.bottleneck.as_deref(), Some("0.slow"));
    assert_eq!(
        pipeline.text,
        "slow is the bottleneck: 99 % busy, its input is full."
    );
    assert!(snapshot.alerts.is_empty(), "{:?}", snapshot.alerts);
}

#[test]
fn turns_that_hold_their_worker_are_one_warning_until_none_was_long_for_ten_seconds() {
    let nanos = Arc::new(AtomicU64::new(0));
    let held = Arc::clone(&nanos);
    let mut sampler = sampler();
    sampler.watch(move |reading: &mut Reading| {
        let nanos = held.load(Relaxed);
        reading.actors.push(ActorsReading {
            id: "app::Slow".to_owned(),
            name: "Slow".to_owned(),
            held_nanos: Some(nanos),
            away: Some(2),
            away_nanos: Some(3_000_000_000),
            ..ActorsReading::default()
        });
        let turn = HeldReading {
            worker: 1,
            actors: "app::Slow".to_owned(),
            name: "Slow".to_owned(),
            nanos,
        };
        reading.sponsors.push(SponsorReading {
            id: "p".to_owned(),
            held: (nanos > 0).then_some(turn).into_iter().collect(),
            ..SponsorReading::default()
        });
    });
    let mut changes = Vec::new();
    for (ms, held_ms) in [
        (0, 0),
        (100, 999),
        (200, 1_500),
        (300, 1_600),
        (400, 0),
        (9_000, 1_100),
        (9_100, 0),
        (19_000, 0),
        (19_100, 0),
    ] {
        nanos.store(held_ms * 1_000_000, Relaxed);
        let (snapshot, transitions) = sampler.tick(at(ms));
        let (node, sponsor) = (&snapshot.nodes[0], &snapshot.sponsors[0]);
        assert_eq!(node.held_seconds, Some(held_ms as f64 / 1e3));
        assert_eq!((node.away, node.away_seconds), (Some(2), Some(3.0)));
        if let Some(held) = sponsor.held.first() {
            assert_eq!(
                (held.worker, &held.node, &*held.name),
                (1, &node.id, "Slow")
            );
            assert_eq!(Some(held.seconds), node.held_seconds);
        }
        assert_eq!(node.level == Level::Warning, (200..19_100).contains(&ms));
        changes.extend(transitions.into_iter().map(|t| (ms, t.alert)));
    }
    let texts: Vec<_> = changes
        .iter()
        .map(|(ms, alert)| (*ms, &*alert.text))
        .collect();
    assert_eq!(
        texts,
        [
            (
                200,
                "A turn of Slow has held its worker for 1.5 s, above the limit of 1 s."
            ),
            (19_100, "No turn of Slow has held its worker for 1 s."),
        ]
    );
    assert_eq!(changes[0].1.probe, "held_seconds");
}

#[test]
fn the_past_has_a_point_a_second() {
    let count = Arc::new(AtomicU64::new(0));
    let mut sampler = sampler();
    sampler.watch(channel(&count, &Arc::default()));
    for ms in (0..=5_000).step_by(100) {
        tick(&mut sampler, ms);
        count.fetch_add(10, Relaxed);
    }
    let history = sampler.history();
    assert_eq!(
        history.unix_ms,
        [0, 1, 2, 3, 4, 5].map(|s| 1_000_000 + s * 1000)
    );
    let rate = history
        .series
        .iter()
        .find(|s| s.probe == "rate")
        .expect("a rate");
    assert_eq!(rate.values[0], None);
    assert!(
        rate.values[1..].iter().all(|value| *value == Some(100.0)),
        "{rate:?}"
    );
}

#[test]
fn items_with_one_identifier_do_not_break_the_history() {
    let mut sampler = sampler();
    sampler.watch(|reading: &mut Reading| {
        for messages in [1, 100] {
            reading.stages.push(StageReading {
                id: "same".to_owned(),
                messages,
                ..StageReading::default()
            });
        }
    });
    for second in 0..5 {
        tick(&mut sampler, second * 1000);
    }
    let history = sampler.history();
    assert_eq!(history.unix_ms.len(), 5);
    for series in &history.series {
        assert_eq!(series.values.len(), 5, "{series:?}");
    }
}

/// Returns the shortest duration of a sample in which `count` channels without names are stalled.
fn shortest_sample_with_alerts(count: usize) -> Duration {
    let mut sampler = sampler();
    let stage = |id: String| StageReading {
        name: id.clone(),
        id,
        ..StageReading::default()
    };
    sampler.watch(move |reading: &mut Reading| {
        for number in 0..count {
            let [from, to] = ["from", "to"].map(|end| format!("{end} {number}"));
            reading.stages.extend([from.clone(), to.clone()].map(stage));
            reading.channels.push(ChannelReading {
                id: format!("c{number}"),
                from: Some(from),
                to: Some(to),
                capacity: 10,
                fill: 10,
                ..ChannelReading::default()
            });
        }
    });
    let sample = |second: u64| {
        let began = Instant::now();
        let seen = tick(&mut sampler, second * 1000);
        let lasted = began.elapsed();
        (seen, lasted)
    };
    let samples: Vec<_> = (0..6).map(|number| number * 4).map(sample).collect();
    let raised = samples
        .iter()
        .filter(|(seen, _)| seen.alerts.len() == count);
    let (seen, _) = samples.last().expect("a sample");
    assert!(seen.edges.iter().all(|edge| edge.level == Level::Warning));
    let text = &seen.alerts[0].text;
    assert!(text.starts_with("from 0 -> to 0 is full"), "{text}");
    raised.map(|(_, lasted)| *lasted).min().expect("alerts")
}

#[test]
fn a_sample_with_many_alerts_takes_time_in_proportion_to_their_number() {
    let [few, many] = [500, 8 * 500].map(shortest_sample_with_alerts);
    assert!(
        many < 32 * few,
        "{few:?} for 500 alerts, {many:?} for 4,000"
    );
}

/// Returns the shortest duration of an export of `count` channels and as many alerts.
fn shortest_export_with_alerts(count: usize) -> Duration {
    let mut snapshot = Snapshot::default();
    for number in 0..count {
        snapshot.edges.push(Edge {
            id: format!("c{number}"),
            ..Edge::default()
        });
        snapshot.alerts.push(Alert {
            // Not the identifier of a channel.
            on: format!("x{number}"),
            probe: "busy".to_owned(),
            level: Level::Warning,
            ..Alert::default()
        });
    }
    let export = |_| {
        let began = Instant::now();
        let text = metrics_text(&snapshot, "").text;
        let lasted = began.elapsed();
        let alerts = text.matches("garrick_alert_level{").count();
        assert_eq!(alerts, count);
        lasted
    };
    (0..5).map(export).min().expect("an export")
}

#[test]
fn an_export_with_many_alerts_takes_time_in_proportion_to_their_number() {
    let [few, many] = [2_000, 8 * 2_000].map(shortest_export_with_alerts);
    // Far more than 8 times the shorter time, because the longer text fits into no cache. If each
    // alert is compared with each channel, it is more than 100 times the shorter time.
    assert!(
        many < 64 * few,
        "{few:?} for 2,000 alerts, {many:?} for 16,000"
    );
}
