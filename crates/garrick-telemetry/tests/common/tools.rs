//! Runs other programs that check the output of telemetry.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Script that parses a page of metrics with the Prometheus project's own parser, and prints every
/// sample.
const PARSE: &str = "
import sys
from prometheus_client.parser import text_string_to_metric_families as text
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
parse = openmetrics if sys.argv[1] == 'openmetrics' else text
for family in parse(sys.stdin.read()):
    for sample in family.samples:
        print(family.name, family.type, sample.name, sorted(sample.labels.items()), float(sample.value))
";

/// Returns true if a tool is installed. CONTRIBUTING describes when a missing tool is an error.
pub fn is_there(program: &str, probe: &[&str]) -> bool {
    let there = Command::new(program).args(probe).output();
    let is_there = there.is_ok_and(|output| output.status.success());
    if !is_there {
        assert!(
            std::env::var_os("GARRICK_TOOLS").is_none(),
            "{program} is missing: run `cargo xtask tools`"
        );
        eprintln!("passed over: {program} is missing; `cargo xtask tools` installs it");
    }
    is_there
}

/// Runs a tool with `input`, and returns its output. Returns `None` if the tool is missing, and
/// this is not an error.
pub fn tool(program: &str, arguments: &[&str], probe: &[&str], input: &str) -> Option<Output> {
    if !is_there(program, probe) {
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

pub fn parse(format: &str, page: &str) -> Option<String> {
    let probe = ["-c", "import prometheus_client.openmetrics.parser"];
    let output = tool("/usr/bin/python3", &["-c", PARSE, format], &probe, page)?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}\n{page}");
    Some(String::from_utf8(output.stdout).expect("it prints text"))
}

/// Checks a page of metrics with the linter of Prometheus.
pub fn lint(page: &str) {
    let Some(output) = tool("promtool", &["check", "metrics"], &["--version"], page) else {
        return;
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.is_empty(), "{said}\n{page}");
}

/// Converts OpenMetrics to the text format, which is the only format that the linter reads. The
/// heads of counters get the suffix `_total`, quotes in descriptions are unescaped, and the mark at
/// the end is removed.
pub fn as_text_format(page: &str) -> String {
    let counters = page.lines().filter_map(|line| {
        let head = line.strip_prefix("# TYPE ")?;
        head.strip_suffix(" counter")
    });
    let counters: Vec<&str> = counters.collect();
    let lines = page.lines().filter(|line| *line != "# EOF").map(|line| {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let ["#", head, name, rest] = words[..] else {
            return format!("{line}\n");
        };
        let is_counter = counters.contains(&name);
        let total = if is_counter { "_total" } else { "" };
        let rest = rest.replace("\\\"", "\"");
        format!("# {head} {name}{total} {rest}\n")
    });
    lines.collect()
}
