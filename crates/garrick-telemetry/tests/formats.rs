//! Validates the output of telemetry with other programs.

mod common;

use std::net::SocketAddr;

use common::busy::Busy;
use common::tools::{as_text_format, lint, parse, tool};
use common::{Answer, anywhere, get, get_with, pipeline, start};
use garrick_telemetry::{
    JournalPhase, JournalReading, KindReading, LinkReading, LinkState, MemberReading, MemberState,
    OwnMemberReading, Reading, Telemetry,
};

fn telemetry() -> Telemetry {
    let telemetry = start(anywhere());
    telemetry.watch(pipeline);
    telemetry.look();
    telemetry
}

fn check_samples(samples: &str) {
    let lines: Vec<&str> = samples.lines().collect();
    let of = |name: &str| {
        let found: Vec<_> = lines
            .iter()
            .filter(|l| l.split(' ').nth(2) == Some(name))
            .collect();
        assert!(!found.is_empty(), "no {name} in {samples}");
        found
    };
    assert_eq!(of("garrick_node_messages_total").len(), 2);
    assert!(of("garrick_node_messages_total")[0].contains("gen\"erator\\\\"));
    assert!(of("garrick_node_messages_total")[1].contains("line\\nbreak"));
    assert!(of("garrick_node_busy_seconds_total")[0].ends_with(" 1e-06"));
    let taken = of("garrick_channel_messages_total")[0];
    assert!(taken.ends_with(" 90.0"), "{taken}");
    assert!(of("garrick_channel_fill_p80_ratio")[0].contains("0.95"));
    assert!(of("garrick_channel_batch_messages_count")[0].ends_with(" 7.0"));
    assert!(of("garrick_channel_batch_messages_sum")[0].ends_with(" 185.0"));
    assert!(of("garrick_node_failed")[1].ends_with(" 1.0"));
    assert!(
        of("garrick_alert_level")
            .iter()
            .any(|line| line.ends_with(" 2.0") && line.contains("('kind', 'node')"))
    );
    assert!(of("garrick_sponsor_workers")[0].ends_with(" 2.0"));
    assert!(of("garrick_sponsor_idle_seconds_total")[0].ends_with(" 1e-06"));
    let turns = of("garrick_worker_turn_seconds");
    assert_eq!(turns.len(), 1, "short turns have none: {turns:?}");
    for part in [
        "('node', 'lo\"ng')",
        "('sponsor', 'pool \"A\"')",
        "('worker', '1')",
        " 2.5",
    ] {
        assert!(turns[0].contains(part), "{part}: {}", turns[0]);
    }
    let build = of("garrick_build_info")[0];
    let version = format!("('version', '{}')", env!("CARGO_PKG_VERSION"));
    assert!(
        build.contains(&version) && build.ends_with(" 1.0"),
        "{build}"
    );
    #[cfg(all(target_os = "linux", not(garrick_portable)))]
    for name in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_start_time_seconds",
        "process_threads",
    ] {
        assert!(!of(name)[0].ends_with(" 0.0"), "{}", of(name)[0]);
    }
}

#[test]
fn prometheus_reads_the_text_format() {
    let telemetry = telemetry();
    let answer = get(telemetry.address(), "/metrics");
    assert_eq!(
        answer.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    if let Some(samples) = parse("text", answer.text()) {
        check_samples(&samples);
    }
}

#[test]
fn prometheus_reads_openmetrics() {
    let telemetry = telemetry();
    let answer = get_with(telemetry.address(), "/metrics", OPENMETRICS);
    assert!(
        answer
            .header("content-type")
            .starts_with("application/openmetrics-text; version=1.0.0")
    );
    assert!(answer.text().ends_with("# EOF\n"));
    if let Some(samples) = parse("openmetrics", answer.text()) {
        check_samples(&samples);
    }
}

#[test]
fn prometheus_reads_a_process_in_which_nothing_is_watched() {
    let telemetry = start(anywhere());
    let page = get(telemetry.address(), "/metrics");
    if let Some(samples) = parse("text", page.text()) {
        assert!(samples.contains("garrick_uptime_seconds"));
    }
}

/// Accept header of a client that prefers OpenMetrics.
const OPENMETRICS: &str = "Accept: application/openmetrics-text; version=1.0.0\r\n";

/// Returns the metrics of a process as text. Asserts that the parser and the linter of Prometheus
/// accept this text, and also the text in the other format.
fn linted(address: SocketAddr) -> Answer {
    let text = get(address, "/metrics");
    lint(text.text());
    parse("text", text.text());
    let openmetrics = get_with(address, "/metrics", OPENMETRICS);
    lint(&as_text_format(openmetrics.text()));
    parse("openmetrics", openmetrics.text());
    text
}

#[test]
fn the_linter_of_prometheus_has_no_complaint_about_a_process_in_which_all_happens() {
    garrick_testkit::silence_panics();
    let busy = Busy::start(anywhere());
    busy.wait_for_alerts();
    let address = busy.telemetry.address();
    let text = linted(address);
    for name in [
        "garrick_node_failures_total",
        "garrick_node_restarts_total",
        "garrick_node_message_turns_total",
        "garrick_node_message_busy_seconds_total",
        "garrick_sponsor_dead_letters_total",
        "garrick_worker_turn_seconds",
        "garrick_alert_level",
    ] {
        let mut lines = text.text().lines();
        let is_above_0 = |line: &str| line.starts_with(name) && !line.ends_with(" 0");
        assert!(lines.any(is_above_0), "{name}\n{}", text.text());
    }
}

/// A source with two journals of the same name. The disk of one journal is full, and the other one
/// is being opened.
fn journals(reading: &mut Reading) {
    reading.journals.push(JournalReading {
        id: "a".to_owned(),
        name: "ba\"nk".to_owned(),
        groups: 40,
        turns: 500,
        syncs: 42,
        written_bytes: 4_096,
        writing_nanos: 1_500_000_000,
        failing_groups: 3,
        waiting_turns: 17,
        oldest_wait_nanos: 250_000_000,
        failure: Some("no space is left".to_owned()),
        ..JournalReading::default()
    });
    reading.journals.push(JournalReading {
        id: "b".to_owned(),
        name: "ba\"nk".to_owned(),
        phase: JournalPhase::Opening,
        opening_read_bytes: 3,
        opening_bytes: 12,
        ..JournalReading::default()
    });
}

#[test]
fn prometheus_reads_the_numbers_of_journals_and_its_linter_has_no_complaint() {
    let telemetry = start(anywhere());
    telemetry.watch(journals);
    telemetry.look();
    let address = telemetry.address();
    let text = linted(address);
    let (one, two) = (r#"{journal="ba\"nk"}"#, r#"{journal="ba\"nk#2"}"#);
    for (name, labels, value) in [
        ("groups_total", one, "40"),
        ("turns_total", one, "500"),
        ("syncs_total", one, "42"),
        ("written_bytes_total", one, "4096"),
        ("writing_seconds_total", one, "1.5"),
        ("waiting_turns", one, "17"),
        ("oldest_wait_seconds", one, "0.25"),
        ("open", one, "1"),
        ("open", two, "0"),
        ("opening_read_bytes", two, "3"),
        ("opening_bytes", two, "12"),
    ] {
        let line = format!("garrick_journal_{name}{labels} {value}\n");
        assert!(text.text().contains(&line), "{line}\n{}", text.text());
    }
    assert!(!text.text().contains(&format!("opening_bytes{one}")));
    let alert = r#"{kind="journal",place="",on="ba\"nk",probe="failing_groups"} 2"#;
    assert!(text.text().contains(alert), "{}", text.text());
}

/// A source with a node of a cluster. Another member was removed, and the link to this member is
/// down.
fn cluster(reading: &mut Reading) {
    let local = || "bank-1".to_owned();
    let other = || "ba\"nk".to_owned();
    reading.members.push(MemberReading {
        id: "m1".to_owned(),
        local: local(),
        name: local(),
        silent_nanos: Some(250_000_000),
        shards: vec![("account".to_owned(), 7), ("book".to_owned(), 2)],
        own: Some(OwnMemberReading {
            lease_nanos: Some(1_250_000_000),
            held_turns: 3,
            joined: 1,
            ..OwnMemberReading::default()
        }),
        ..MemberReading::default()
    });
    reading.members.push(MemberReading {
        id: "m2".to_owned(),
        local: local(),
        name: other(),
        state: MemberState::Removed,
        ..MemberReading::default()
    });
    reading.links.push(LinkReading {
        id: "l".to_owned(),
        local: local(),
        peer: other(),
        state: LinkState::Down,
        silent_nanos: Some(7_500_000_000),
        connects: 2,
        sent_messages: 500,
        sent_bytes: 4_096,
        lost_messages: 4,
        credit_bytes: 1_000,
        questions: 2,
        ..LinkReading::default()
    });
    reading.kinds.push(KindReading {
        id: "k".to_owned(),
        local: local(),
        name: "account".to_owned(),
        is_hosted: true,
        entities: 12,
        created: 40,
        shards: 16,
        owned_shards: 7,
        unowned_shards: 9,
        ..KindReading::default()
    });
}

#[test]
fn prometheus_reads_the_numbers_of_clusters_and_its_linter_has_no_complaint() {
    let telemetry = start(anywhere());
    telemetry.watch(cluster);
    telemetry.look();
    let address = telemetry.address();
    let text = linted(address);
    let (own, other) = (
        r#"{local="bank-1",peer="bank-1"}"#,
        r#"{local="bank-1",peer="ba\"nk"}"#,
    );
    let (node, kind) = (r#"{local="bank-1"}"#, r#"{local="bank-1",kind="account"}"#);
    for (name, labels, value) in [
        ("member_up", own, "1"),
        ("member_up", other, "0"),
        ("member_removed", other, "1"),
        ("member_silent_seconds", own, "0.25"),
        ("member_shards", own, "9"),
        ("lease_seconds", node, "1.25"),
        ("held_turns", node, "3"),
        ("joins_total", node, "1"),
        ("link_up", other, "0"),
        ("link_down", other, "1"),
        ("link_silent_seconds", other, "7.5"),
        ("link_connects_total", other, "2"),
        ("link_sent_messages_total", other, "500"),
        ("link_sent_bytes_total", other, "4096"),
        ("link_lost_messages_total", other, "4"),
        ("link_credit_bytes", other, "1000"),
        ("link_questions", other, "2"),
        ("kind_entities", kind, "12"),
        ("kind_created_entities_total", kind, "40"),
        ("kind_owned_shards", kind, "7"),
        ("kind_unowned_shards", kind, "9"),
    ] {
        let line = format!("garrick_cluster_{name}{labels} {value}\n");
        assert!(text.text().contains(&line), "{line}\n{}", text.text());
    }
    let silent = format!("garrick_cluster_member_silent_seconds{other}");
    assert!(!text.text().contains(&silent), "the member is gone");
    for alert in [
        r#"{kind="link",place="bank-1",on="ba\"nk",probe="link_down"} 2"#,
        r#"{kind="member",place="bank-1",on="ba\"nk",probe="removed"} 2"#,
        r#"{kind="member",place="bank-1",on="bank-1",probe="lease_seconds"} 1"#,
    ] {
        assert!(text.text().contains(alert), "{alert}\n{}", text.text());
    }
}

#[test]
fn labels_are_short_names_and_no_series_occurs_twice() {
    garrick_testkit::silence_panics();
    let busy = Busy::start(anywhere());
    let answer = get(busy.telemetry.address(), "/metrics");
    let samples = answer.text().lines().filter(|line| !line.starts_with('#'));
    let mut series: Vec<&str> = samples
        .filter_map(|line| Some(line.rsplit_once(' ')?.0))
        .collect();
    let before = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), before, "a series occurs twice");
    let nodes: Vec<&str> = series
        .iter()
        .filter_map(|series| series.strip_prefix("garrick_node_messages_total"))
        .collect();
    for series in &series {
        assert!(!series.contains("{{") && !series.contains("::"), "{series}");
        assert!(series.len() < 200, "{series}");
    }
    // The two types `first::Twin` and `second::Twin`.
    for twin in ["\"Twin<u8>\"", "\"Twin<u8>#2\""] {
        let found = nodes.iter().filter(|labels| labels.contains(twin));
        assert_eq!(found.count(), 1, "{twin}: {nodes:#?}");
    }
}

#[test]
fn graphviz_draws_the_graph() {
    let telemetry = telemetry();
    let graph = get(telemetry.address(), "/graph.dot");
    let Some(output) = tool("dot", &["-Tsvg"], &["-V"], graph.text()) else {
        return;
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}\n{}", graph.text());
    assert!(!complaint.contains("syntax error"), "{complaint}");
    let svg = String::from_utf8_lossy(&output.stdout);
    for text in [
        "gen&quot;erator\\",
        "&lt;b&gt;&amp;amp;&lt;/b&gt;",
        "a &quot;name&quot; \\N",
        "Capacity: 100 Total: 90",
    ] {
        assert!(svg.contains(text), "no {text} in {svg}");
    }
    assert_eq!(svg.matches("class=\"edge\"").count(), 2);
}

#[test]
fn graphviz_draws_nothing_where_nothing_is() {
    let telemetry = start(anywhere());
    let graph = get(telemetry.address(), "/graph.dot");
    if let Some(output) = tool("dot", &["-Tsvg"], &["-V"], graph.text()) {
        assert!(output.status.success());
    }
}
