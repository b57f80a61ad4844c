//! Snapshots of telemetry for tests.

use std::sync::Arc;

use garrick_telemetry::{
    Alert, Batches, Edge, Held, Histogram, JournalStatus, KindStatus, Level, LinkState, LinkStatus,
    MemberState, MemberStatus, Metric, MetricKind, MetricSeries, Node, NodeKind, OwnMember,
    Pipeline, Process, Snapshot, SponsorStatus, State,
};

/// Returns a snapshot of a process with the FizzBuzz pipeline and a group of actors.
pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        sequence: 7,
        unix_ms: 1_790_000_000_000,
        uptime: 3723.4,
        window: 10.0,
        process: Process {
            name: "garrick".to_owned(),
            pid: 4242,
            resident_bytes: Some(12 << 20),
            cpu: Some(1.52),
            threads: Some(5),
            ..Process::default()
        },
        nodes: nodes(),
        edges: vec![
            edge("e0", "n0", "n1", "u64", 65_536, 0.5),
            Edge {
                level: Level::Critical,
                name: Some("messages".to_owned()),
                ..edge("e1", "n1", "n2", "Message", 65_536, 0.97)
            },
        ],
        sponsors: vec![SponsorStatus {
            id: "s0".to_owned(),
            name: "pipeline".to_owned(),
            workers: 2,
            idle: Some(0.25),
            turns: 5_000,
            turn_rate: 50.0,
            published: 3,
            claimed: 2,
            parks: 40,
            dead_letters: 7,
            held: vec![
                held(0, "n3", "Counter", 0.0),
                held(3, "n1", "worker", 0.02),
                held(1, "n3", "Counter", 2.3),
            ],
            ..SponsorStatus::default()
        }],
        alerts: vec![Alert {
            on: "e1".to_owned(),
            probe: "fill_p80".to_owned(),
            level: Level::Critical,
            threshold: 0.9,
            value: 0.97,
            since_unix_ms: 1_790_000_000_000 - 65_000,
            text: "messages is 97 % full, 90 % is critical".to_owned(),
        }],
        pipelines: vec![Pipeline {
            id: "n0".to_owned(),
            name: "generator \u{2192} logger".to_owned(),
            stages: 3,
            bottleneck: Some("n1".to_owned()),
            text: "worker is the bottleneck: 93 % busy, its output is full.".to_owned(),
        }],
        ..Snapshot::default()
    }
}

/// Returns the same snapshot as [`snapshot`], with added metrics that the process itself records.
pub(crate) fn with_metrics() -> Snapshot {
    let metric = |name: &str, kind, help: &str, series| Metric {
        name: name.into(),
        kind,
        help: help.into(),
        series: vec![series],
    };
    let orders = MetricSeries {
        labels: Arc::new([("shop".to_owned(), "north".to_owned())].into()),
        value: 12_345.0,
        rate: Some(40.0),
        histogram: None,
    };
    let level = MetricSeries {
        value: 0.25,
        ..MetricSeries::default()
    };
    let seconds = MetricSeries {
        value: 100.0,
        rate: Some(2.0),
        histogram: Some(Histogram {
            p50: Some(0.003),
            p99: Some(0.25),
            ..Histogram::default()
        }),
        ..MetricSeries::default()
    };
    let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
    let histogram = MetricKind::Histogram;
    Snapshot {
        metrics: vec![
            metric("orders_total", counter, "Accepted orders.", orders),
            metric("level", gauge, "A level.", level),
            metric(
                "order_seconds",
                histogram,
                "Time that an order took.",
                seconds,
            ),
        ],
        ..snapshot()
    }
}

/// Returns the same snapshot as [`with_metrics`], with an added node of a cluster. Another member
/// of the cluster was removed, and the link to this member is down.
fn with_cluster() -> Snapshot {
    let member = |name: &str| MemberStatus {
        id: format!("m {name}"),
        local: "bank-1".to_owned(),
        name: name.to_owned(),
        incarnation: "1234567".to_owned(),
        epoch: 17,
        ..MemberStatus::default()
    };
    Snapshot {
        members: vec![
            MemberStatus {
                silent_seconds: Some(0.25),
                owned_shards: 9,
                shards: [("account".to_owned(), 9)].into(),
                own: Some(OwnMember {
                    lease_seconds: Some(4.25),
                    joined: 1,
                    ..OwnMember::default()
                }),
                ..member("bank-1")
            },
            MemberStatus {
                state: MemberState::Removed,
                level: Level::Critical,
                ..member("bank-2")
            },
        ],
        links: vec![LinkStatus {
            id: "l".to_owned(),
            local: "bank-1".to_owned(),
            name: "bank-2".to_owned(),
            state: LinkState::Down,
            level: Level::Critical,
            state_seconds: 12.0,
            silent_seconds: Some(17.0),
            connects: 2,
            sent_frames: 400,
            sent_bytes: 1 << 20,
            sent_messages: 5_000,
            received_frames: 300,
            received_bytes: 512 << 10,
            received_messages: 4_000,
            lost_messages: 17,
            unconfirmed_messages: 3,
            waiting_frames: 2,
            waiting_bytes: 4 << 10,
            questions: 1,
            ..LinkStatus::default()
        }],
        kinds: vec![KindStatus {
            id: "k".to_owned(),
            local: "bank-1".to_owned(),
            name: "account".to_owned(),
            level: Level::Critical,
            is_hosted: true,
            entities: 1_234,
            created: 1_300,
            passivated: 60,
            refused_messages: 4,
            shards: 16,
            owned_shards: 9,
            unowned_shards: 7,
            handing_over_shards: 1,
            moving_shards: 2,
            ..KindStatus::default()
        }],
        ..with_metrics()
    }
}

/// Returns the same snapshot as [`with_metrics`], with an added journal and an added node of a
/// cluster.
pub(crate) fn with_all() -> Snapshot {
    Snapshot {
        journals: vec![JournalStatus {
            id: "j0".to_owned(),
            name: "bank".to_owned(),
            level: Level::Critical,
            failure: Some("no space is left".to_owned()),
            groups: 4_000,
            group_rate: 80.0,
            group_seconds: Some(0.004),
            turns: 50_000,
            turn_rate: 1_000.0,
            group_turns: Some(12.5),
            events: 60_000,
            failed_groups: 2,
            failing_groups: 2,
            waiting_turns: 17,
            oldest_wait_seconds: 0.25,
            syncs: 4_020,
            written_bytes: 16 << 20,
            written_rate: 200_000.0,
            writing: Some(0.32),
            longest_group_seconds: 0.03,
            entities: 900,
            segments: 3,
            size_bytes: 12 << 20,
            compactions: 1,
            saved_states: 7,
            notices: 1,
            recoveries: 20,
            recovery_seconds: 0.015,
            ..JournalStatus::default()
        }],
        ..with_cluster()
    }
}

fn held(worker: u64, node: &str, name: &str, seconds: f64) -> Held {
    Held {
        worker,
        node: node.to_owned(),
        name: name.to_owned(),
        seconds,
    }
}

fn nodes() -> Vec<Node> {
    let node = |id: &str, name: &str, rate: f64, busy: f64| Node {
        id: id.to_owned(),
        name: name.to_owned(),
        place: "pipeline".to_owned(),
        messages: (rate * 60.0) as u64,
        rate,
        turns: 1_234_567,
        turn_rate: 4_890.0,
        busy: Some(busy),
        ..Node::default()
    };
    vec![
        node("n0", "generator", 160.8e6, 0.62),
        Node {
            level: Level::Warning,
            slow: 3,
            starved: Some(0.02),
            back_pressured: Some(0.05),
            ..node("n1", "worker", 160.8e6, 0.93)
        },
        Node {
            state: State::Failed,
            note: Some("index out of bounds".to_owned()),
            restarts: 2,
            ..node("n2", "logger", 0.0, 0.0)
        },
        Node {
            kind: NodeKind::Actors,
            alive: Some(1_000_000),
            waiting: Some(17),
            longest: Some(5),
            held_seconds: Some(2.3),
            away: Some(2),
            away_seconds: Some(4.5),
            place: "sponsor-0".to_owned(),
            ..node("n3", "Counter", 50.0, 0.01)
        },
    ]
}

fn edge(id: &str, from: &str, to: &str, message: &str, capacity: u64, fill: f64) -> Edge {
    Edge {
        id: id.to_owned(),
        from: Some(from.to_owned()),
        to: Some(to.to_owned()),
        message: message.to_owned(),
        capacity,
        fill: (capacity as f64 * fill) as u64,
        fill_p80: fill,
        fill_p95: fill,
        rate: 160.8e6,
        total: 9_650_000_000,
        batches: Batches {
            counts: vec![1, 0, 0, 5, 20],
        },
        sender_stalls: 1_000,
        receiver_stalls: 20,
        ..Edge::default()
    }
}
