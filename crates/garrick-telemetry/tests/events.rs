//! Tests event streams: their contents, their order, and the access to them.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use common::{Event, Events, anywhere, get, start};
use garrick_telemetry::{ChannelReading, Level, Probe, Reading, Snapshot, Threshold, Transition};

fn snapshot(event: &Event) -> Snapshot {
    assert_eq!(event.kind, "", "{event:?}");
    serde_json::from_str(&event.data).expect("a snapshot")
}

#[test]
fn a_stream_begins_at_once_and_goes_on() {
    let telemetry = start(anywhere());
    telemetry.watch(common::pipeline);
    telemetry.look();
    let mut events = Events::open(telemetry.address(), "/events?every=50");
    assert_eq!(events.next().expect("a first event").retry, Some(2000));
    let mut last = None;
    for _ in 0..5 {
        let event = events.next().expect("the stream goes on");
        let snapshot = snapshot(&event);
        assert_eq!(event.id, Some(snapshot.sequence));
        assert!(last < event.id, "{last:?} {event:?}");
        assert_eq!(snapshot.edges.len(), 2);
        last = event.id;
    }
}

#[test]
fn a_silent_stream_is_kept_alive() {
    let telemetry = start(anywhere().heartbeat(Duration::from_millis(20)));
    let mut events = Events::open(telemetry.address(), "/events");
    assert!(events.next().is_some_and(|event| event.retry.is_some()));
    assert!(events.next().is_some_and(|event| event.id.is_some()));
    // Nothing is watched, so no event occurs.
    assert!(events.next().is_some_and(|event| event.heartbeat));
    assert!(events.next().is_some_and(|event| event.heartbeat));
}

#[test]
fn an_alert_is_an_event_of_its_own_and_a_metric() {
    let fill = Arc::new(AtomicU64::new(0));
    let level = Arc::clone(&fill);
    let threshold = Threshold::above(Probe::Fill, 0.5).for_at_least(Duration::ZERO);
    let telemetry = start(anywhere().without_thresholds().threshold(threshold));
    telemetry.watch(move |reading: &mut Reading| {
        reading.channels.push(ChannelReading {
            id: "c".to_owned(),
            capacity: 100,
            fill: level.load(Relaxed),
            ..ChannelReading::default()
        });
    });
    telemetry.look();
    let mut events = Events::open(telemetry.address(), "/events?every=50");
    let mut next_alert = || loop {
        let event = events.next().expect("the stream goes on");
        if event.kind == "alert" {
            let next = snapshot(&events.next().expect("the snapshot that it belongs to"));
            let transition: Transition = serde_json::from_str(&event.data).expect("a transition");
            return (transition, next);
        }
    };
    fill.store(60, Relaxed);
    let (raised, snapshot) = next_alert();
    assert_eq!(
        (raised.was, raised.alert.level),
        (Level::Ok, Level::Warning)
    );
    assert_eq!((raised.alert.value, raised.alert.threshold), (0.6, 0.5));
    assert_eq!(snapshot.edges[0].level, Level::Warning);
    assert_eq!(snapshot.alerts, [raised.alert]);
    let metrics = get(telemetry.address(), "/metrics");
    let line = "garrick_alert_level{kind=\"channel\",place=\"\",on=\"channel\",probe=\"fill\"} 1\n";
    assert!(metrics.text().contains(line), "{}", metrics.text());
    fill.store(0, Relaxed);
    let (ended, snapshot) = next_alert();
    assert_eq!((ended.was, ended.alert.level), (Level::Warning, Level::Ok));
    assert!(snapshot.alerts.is_empty());
}

#[test]
fn an_observer_sees_what_a_stream_sees_and_may_panic() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let telemetry = start(anywhere().observe(move |snapshot, transitions| {
        let _ = sender.send((snapshot.sequence, transitions.len()));
        std::panic::resume_unwind(Box::new("enough"));
    }));
    telemetry.watch(common::pipeline);
    telemetry.look();
    telemetry.look();
    let seen: Vec<_> = receiver.iter().collect();
    assert_eq!(seen.len(), 1, "it is called no more");
    assert_eq!(get(telemetry.address(), "/health").status, 200);
}
