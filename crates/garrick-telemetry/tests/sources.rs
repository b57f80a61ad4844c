//! Pipelines and systems of actors, as they are seen.

mod common;

use std::sync::mpsc;

use common::{anywhere, start};
use garrick_actor::{Next, System};
use garrick_flow::{Graph, Slots, stages};
use garrick_telemetry::{NodeKind, State};

#[test]
fn a_pipeline_is_seen_with_its_stages_and_channels() {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph
        .channel(Slots::of(64).named("numbers"))
        .expect("slots");
    graph.source("count", stages::produce(numbers, 0..1000u32));
    graph.stage("read", stages::consume(numbers_in, |_| ()));
    let running = graph.start().expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(running.monitor());
    running.join();
    telemetry.look();
    let seen = telemetry.latest();
    let names: Vec<&str> = seen.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["count", "read"]);
    for node in &seen.nodes {
        assert_eq!(
            (node.kind, node.state, node.messages),
            (NodeKind::Stage, State::Ended, 1000)
        );
    }
    let edge = &seen.edges[0];
    assert_eq!(
        (edge.name.as_deref(), edge.message.as_str()),
        (Some("numbers"), "u32")
    );
    assert_eq!(
        (edge.capacity, edge.fill, edge.total, edge.closed),
        (64, 0, 1000, true)
    );
    assert_eq!(edge.from.as_ref(), Some(&seen.nodes[0].id));
    assert_eq!(edge.to.as_ref(), Some(&seen.nodes[1].id));
    assert!(edge.batches.counts.iter().sum::<u64>() > 0);
}

#[test]
fn a_stage_that_failed_says_so_and_is_an_alert() {
    let mut graph = Graph::new();
    let (numbers, numbers_in) = graph.channel::<u32>(64).expect("slots");
    graph.source("count", stages::produce(numbers, 0..1000));
    graph.stage("read", stages::consume(numbers_in, |_| panic!("no more")));
    let running = graph.start().expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(running.monitor());
    running.join();
    telemetry.look();
    let seen = telemetry.latest();
    assert_eq!(seen.nodes[1].state, State::Failed);
    assert_eq!(seen.nodes[1].note.as_deref(), Some("no more"));
    assert_eq!(
        (seen.alerts[0].probe.as_str(), &seen.alerts[0].on),
        ("failed", &seen.nodes[1].id)
    );
}

#[test]
fn a_system_is_seen_with_its_actors_by_type() {
    let system = System::builder().probes(true).start().expect("threads");
    let telemetry = start(anywhere());
    telemetry.watch(system.handle());
    let (done, is_done) = mpsc::channel();
    let sink = system
        .spawn_behavior(move |n: u32, _| {
            if n == 99 {
                let _ = done.send(());
            }
            Next::Continue
        })
        .expect("an actor");
    for n in 0..100 {
        sink.send(n).expect("it lives");
    }
    is_done.recv().expect("the last message is handled");
    telemetry.look();
    let seen = telemetry.latest();
    let (node, sponsor) = (&seen.nodes[0], &seen.sponsors[0]);
    assert_eq!((node.kind, node.alive), (NodeKind::Actors, Some(1)));
    assert_eq!(node.place, sponsor.name);
    assert!(!node.name.contains("::"), "{}", node.name);
    assert!(sponsor.workers >= 1);
    drop(sink);
    let handle = system.handle();
    system.shutdown();
    telemetry.look();
    let seen = telemetry.latest();
    assert_eq!(
        (seen.nodes[0].messages, seen.nodes[0].alive),
        (100, Some(0))
    );
    drop(handle);
}
