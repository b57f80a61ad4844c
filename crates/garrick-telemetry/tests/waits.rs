//! Tests that the times for which messages wait in mailboxes appear in the metrics.

use std::time::Instant;

use garrick_actor::{Actor, Context, System};
use garrick_telemetry::{Moment, Sampler, Settings, metrics_text};
use garrick_testkit::HANGS_AFTER;

struct Desk;

impl Actor for Desk {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, _: u32, _: &mut Context<'_, u32>) {}
}

#[test]
fn measured_waits_are_shown_by_type_and_by_sponsor() {
    let system = System::builder().workers(1).probes(true);
    let system = system.start().expect("threads");
    let mut sampler = Sampler::new(Settings::default()).expect("valid settings");
    sampler.watch(system.handle());
    let desk = system.spawn(Desk).expect("the system is running");
    let began = Instant::now();
    let mut is_enough = false;
    let seen = loop {
        assert!(began.elapsed() < HANGS_AFTER);
        // Without new messages, the numbers of the type and of the sponsor become equal. Before, a
        // wait can be measured after one of them was read, and before the other is read.
        if !is_enough {
            desk.send(0).expect("it is alive");
        }
        let uptime = began.elapsed();
        let (seen, _) = sampler.tick(Moment {
            uptime,
            unix_ms: uptime.as_millis() as u64,
        });
        let waits = seen
            .nodes
            .first()
            .and_then(|node| node.wait_seconds.as_ref());
        let count = waits.map_or(0, |waits| waits.counts.iter().sum::<u64>());
        if is_enough && waits == seen.sponsors[0].wait_seconds.as_ref() {
            break seen;
        }
        is_enough |= count > 2;
        std::thread::yield_now();
    };
    let waits = seen.nodes[0].wait_seconds.clone().expect("checked above");
    // Messages wait beside each other: each for less than the test took, all of them together for
    // longer. Percentiles lie in buckets of which each is twice as wide as the one before.
    let elapsed = began.elapsed().as_secs_f64();
    let measured = waits.counts.iter().sum::<u64>();
    assert!(
        waits.sum > 0.0 && waits.sum < elapsed * measured as f64,
        "{elapsed} {waits:?}"
    );
    assert!(
        waits.p50 <= waits.p99 && waits.p99 <= waits.max,
        "{elapsed} {waits:?}"
    );
    assert!(
        waits.p50.is_some_and(|median| median < 2.0 * elapsed),
        "{elapsed} {waits:?}"
    );
    let sponsor = &seen.sponsors[0];
    assert_eq!(
        sponsor.wait_seconds.as_ref(),
        Some(&waits),
        "one type of actor"
    );
    assert_eq!((sponsor.rescues, sponsor.ready.is_some()), (0, true));
    let text = metrics_text(&seen, "").text;
    for line in [
        format!("garrick_node_wait_seconds_count{{place=\"system\",node=\"Desk\"}} {measured}"),
        format!("garrick_sponsor_wait_seconds_count{{sponsor=\"system\"}} {measured}"),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
    system.shutdown();
}
