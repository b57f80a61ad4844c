//! Rows with journals on a NATS server. Compares groups of a log with the NATS client without
//! Garrick, in the same run. Both append events of 128 bytes to the same number of journals at the
//! same time, each with the expected last sequence.

use std::time::Instant;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Config;
use bytes::Bytes;
use futures_util::future::join_all;
use garrick_cluster::nats::{NatsLog, NatsNet};
use garrick_journal::{Event, EventKind, Group, JournalId, Log};

use crate::median;
use crate::nats::server::Server;
use crate::nats::{client, runtime};

/// Shapes of the measurements: number of journals, number of events of each journal in a group, and
/// number of groups.
const SHAPES: [(u64, u64, u64); 4] = [(1, 1, 2_000), (16, 1, 1_000), (256, 1, 200), (256, 16, 100)];

/// Size of an event in bytes.
const BYTES: usize = 128;

/// Prints the rows.
pub(crate) fn rows(divisor: u64, rounds: usize) {
    let Some(server) = &Server::start("max_payload: 8MB") else {
        return;
    };
    println!(
        "\n{:<28}{:>14}{:>14}{:>10}",
        "journals on NATS", "events/s", "raw appends/s", "ratio"
    );
    for (shape, (journals, events, groups)) in SHAPES.into_iter().enumerate() {
        let groups = (groups / divisor).max(2);
        // Alternately, because other programs may use the machine.
        let both = (0..rounds).map(|round| {
            let own = appends(
                server,
                &format!("own-{shape}-{round}"),
                journals,
                events,
                groups,
            );
            let raw = raw_appends(server, &format!("raw-{shape}-{round}"), journals, groups);
            (own, raw)
        });
        let (own, raw): (Vec<_>, Vec<_>) = both.unzip();
        let middle = |rates: Vec<f64>| median(rates.into_iter().map(|rate| [rate; 3]).collect())[0];
        let (own, raw) = (middle(own), middle(raw));
        let row = format!("{journals} at once, {events} each");
        println!("{row:<28}{own:>14.0}{raw:>14.0}{:>10.2}", own / raw);
    }
}

/// Returns events per second.
fn appends(server: &Server, cluster: &str, journals: u64, events: u64, groups: u64) -> f64 {
    let log = NatsLog::open(NatsNet::builder(server.address()), cluster, "bench").unwrap();
    let name = |number| format!("account/{number}");
    let start = |number| log.start(&name(number), true).unwrap().unwrap().journal;
    let all: Vec<JournalId> = (0..journals).map(start).collect();
    let (mut group, payload) = (Group::new(), [7; BYTES]);
    let began = Instant::now();
    for number in 0..groups {
        group.clear();
        for journal in &all {
            for event in 1..=events {
                let event = Event {
                    number: number * events + event,
                    kind: EventKind { tag: 1, version: 1 },
                    is_whole: false,
                    payload: &payload,
                };
                group.add(*journal, event).unwrap();
            }
        }
        assert!(log.append(&group).unwrap().is_empty());
    }
    (groups * journals * events) as f64 / began.elapsed().as_secs_f64()
}

/// Returns messages per second if each journal has one message under way.
fn raw_appends(server: &Server, stream: &str, journals: u64, rounds: u64) -> f64 {
    runtime().block_on(async {
        let context = ContextBuilder::new().build(client(server).await);
        let config = Config {
            name: stream.to_owned(),
            subjects: vec![format!("{stream}.>")],
            ..Config::default()
        };
        context.create_stream(config).await.unwrap();
        let content = Bytes::from_static(&[7; BYTES]);
        let mut last = vec![0; journals as usize];
        let began = Instant::now();
        for _ in 0..rounds {
            let publish = |(number, last): (usize, &u64)| {
                let message = PublishMessage::build()
                    .payload(content.clone())
                    .expected_last_subject_sequence(*last);
                let (context, subject) = (&context, format!("{stream}.{number}"));
                async move {
                    let ack = context.send_publish(subject, message).await.unwrap();
                    ack.await.unwrap().sequence
                }
            };
            last = join_all(last.iter().enumerate().map(publish)).await;
        }
        (rounds * journals) as f64 / began.elapsed().as_secs_f64()
    })
}
