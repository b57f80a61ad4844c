//! Validation of the output with other programs.

mod common;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use common::{anywhere, get, get_with, pipeline, start};
use garrick_telemetry::Telemetry;

/// Parses a page with the Prometheus project's own parser, and prints every sample.
const PARSE: &str = "
import sys
from prometheus_client.parser import text_string_to_metric_families as text
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
parse = openmetrics if sys.argv[1] == 'openmetrics' else text
for family in parse(sys.stdin.read()):
    for sample in family.samples:
        print(family.name, family.type, sample.name, sorted(sample.labels.items()), float(sample.value))
";

/// Runs a tool with `input`. Returns `None` if the tool is missing and optional, as CONTRIBUTING
/// describes.
fn tool(program: &str, arguments: &[&str], probe: &[&str], input: &str) -> Option<Output> {
    let there = Command::new(program).args(probe).output();
    if !there.is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("GARRICK_TOOLS").is_none(),
            "{program} is missing: run `cargo xtask tools`"
        );
        eprintln!("passed over: {program} is missing; `cargo xtask tools` installs it");
        return None;
    }
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was there a moment ago");
    // A tool that fails early does not read everything. Its output then contains the reason.
    let _ = child
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(input.as_bytes()));
    Some(child.wait_with_output().expect("it ends"))
}

fn parse(format: &str, page: &str) -> Option<String> {
    let probe = ["-c", "import prometheus_client.openmetrics.parser"];
    let output = tool("/usr/bin/python3", &["-c", PARSE, format], &probe, page)?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}\n{page}");
    Some(String::from_utf8(output.stdout).expect("it prints text"))
}

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
    let taken = of("garrick_channel_messages_total")[0];
    assert!(taken.ends_with(" 90.0"), "{taken}");
    assert!(of("garrick_channel_fill_p80_ratio")[0].contains("0.95"));
    assert!(of("garrick_channel_batch_messages_count")[0].ends_with(" 7.0"));
    assert!(of("garrick_channel_batch_messages_sum")[0].ends_with(" 185.0"));
    assert!(of("garrick_node_failed")[1].ends_with(" 1.0"));
    assert!(
        of("garrick_alert_level")
            .iter()
            .any(|line| line.ends_with(" 2.0"))
    );
    assert!(of("garrick_sponsor_workers")[0].ends_with(" 2.0"));
    let turns = of("garrick_worker_turn_seconds");
    assert_eq!(turns.len(), 1, "short turns have none: {turns:?}");
    for part in [
        "('actor', 'lo\"ng')",
        "('name', 'pool \"A\"')",
        "('worker', '1')",
        " 2.5",
    ] {
        assert!(turns[0].contains(part), "{part}: {}", turns[0]);
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
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
    let answer = get_with(telemetry.address(), "/metrics", accept);
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
