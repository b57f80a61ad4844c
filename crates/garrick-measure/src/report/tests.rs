//! Tests of reports in all their formats.

use serde_json::Value;

use super::*;
use crate::row::Relative;
use crate::row::tests::{at, row};
use crate::statistics::Summary;
use crate::suite::{Figure, Here, Published, Suite, Unit};

/// Creates a row of fifteen rounds with similar times and the median `ns`.
fn steady(scenario: &str, contender: &str, ns: f64) -> Row {
    let times: Vec<f64> = (0..15)
        .map(|n| ns * (1.0 + 0.001 * f64::from(n - 7)))
        .collect();
    row(scenario, contender, &times)
}

fn idle() -> Row {
    let mut row = at(
        row("idle-memory", "garrick", &[10.0, 12.0, 11.0]),
        "actors",
        1_000_000,
    );
    row.bytes_per_actor = Some(48.5);
    row
}

/// Returns the names in an object, sorted. Sorting is needed because `serde_json` keeps the
/// original order only with a feature, which any crate may enable.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().collect();
    keys.sort();
    keys.into_iter().map(String::as_str).collect()
}

#[test]
fn json_has_the_promised_shape() {
    let json = Report::new(vec![idle(), row("tell", "garrick", &[1.0])]).json();
    let parsed: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(keys(&parsed), ["commit", "machine", "rows"]);
    assert!(parsed["commit"].is_string());
    assert!(parsed["machine"]["cpu"].is_string());
    assert!(parsed["machine"]["cores"].is_u64());
    let rows = parsed["rows"].as_array().unwrap();
    let expected = [
        "bytes_per_actor",
        "contender",
        "cpu",
        "doubts",
        "ops_per_s",
        "outliers",
        "params",
        "ratio_to_rmw",
        "rounds",
        "scenario",
        "to_reference",
        "to_rmw",
        "unit",
        "wall",
    ];
    assert_eq!(keys(&rows[0]), expected);
    assert_eq!(keys(&rows[0]["cpu"]), ["interval", "max", "median", "min"]);
    assert_eq!(keys(&rows[0]["wall"]), ["interval", "max", "median", "min"]);
    assert_eq!(rows[0]["unit"], "ns");
    assert_eq!(rows[0]["cpu"]["median"], 11.0);
    assert_eq!(rows[0]["params"]["actors"], 1_000_000);
    assert_eq!(rows[0]["bytes_per_actor"], 48.5);
    assert!(rows[1]["bytes_per_actor"].is_null());
}

#[test]
fn the_table_shows_figures_machine_and_commit() {
    let table = Report::new(vec![idle()]).table();
    for text in [
        "idle-memory",
        "actors=1,000,000",
        "11.0 ns",
        "1.10",
        "48.5",
        COMMIT,
        "rustc",
    ] {
        assert!(table.contains(text), "{text} is missing from\n{table}");
    }
    assert!(!table.contains('~'), "nothing speaks against it");
}

#[test]
fn the_table_says_what_speaks_against_its_figures_once() {
    let mut rows = vec![
        steady("s", "a", 1.0),
        steady("s", "b", 2.0),
        steady("t", "c", 3.0),
    ];
    rows[0].doubts = vec!["busy: 40 %".to_owned(), "spread: 1 to 3".to_owned()];
    rows[1].doubts = vec!["busy: 30 %".to_owned()];
    let table = Report::new(rows).table();
    let expected = "~ s, 2 of 2 rows: busy: 40 %\n~ s a: spread: 1 to 3\n";
    assert!(table.contains(expected), "{table}");
    assert!(table.contains(" b~ ") && !table.contains(" c~ "), "{table}");
}

#[test]
fn the_reference_has_a_column_where_there_is_one() {
    let mut relative = steady("s", "b", 40.0);
    relative.to_reference = Some(Relative {
        contender: "a".to_owned(),
        ratio: Summary::of([4.0]),
    });
    let table = Report::new(vec![steady("s", "a", 10.0), relative]).table();
    assert!(
        table.contains("x a ") && table.contains(" 4.00 "),
        "{table}"
    );
}

#[test]
fn csv_has_a_column_for_each_parameter_and_quotes_what_must_be() {
    let mut second = at(row("s", "b, \"c\"", &[2.0]), "n", 7);
    second.doubts = vec!["busy".to_owned()];
    let csv = Report::new(vec![idle(), second]).csv();
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert!(lines[0].starts_with("scenario,contender,actors,n,cpu_ns_median,cpu_ns_low,"));
    assert!(
        lines[1].starts_with("idle-memory,garrick,1000000,,11,,,10,12,"),
        "{csv}"
    );
    assert!(
        lines[2].starts_with("s,\"b, \"\"c\"\"\",,7,2,,,2,2,"),
        "{csv}"
    );
    assert!(lines[2].contains(",busy,"), "{csv}");
    assert!(lines[2].ends_with(COMMIT), "{csv}");
}

/// Compares a row whose time was `before` with a row whose time is `now`.
fn verdict(before: Row, now: Row) -> Verdict {
    let comparison = Report::new(vec![now]).compare(&Report::new(vec![before]));
    comparison.changes[0].verdict
}

#[test]
fn what_became_faster_or_slower_is_told() {
    let of = |ns| steady("s", "a", ns);
    assert_eq!(verdict(of(10.0), of(10.3)), Verdict::Same);
    assert_eq!(
        verdict(of(10.0), of(10.8)),
        Verdict::Same,
        "sure, but little"
    );
    assert_eq!(verdict(of(10.0), of(12.0)), Verdict::Slower);
    assert_eq!(verdict(of(12.0), of(10.0)), Verdict::Faster);
    let spread = row("s", "a", &[9.0, 9.0, 9.0, 12.0, 14.0, 15.0, 16.0]);
    assert_eq!(verdict(of(10.0), spread), Verdict::Same, "not sure");
}

#[test]
fn a_disturbed_run_accuses_nobody() {
    let mut disturbed = steady("s", "a", 20.0);
    disturbed.doubts = vec!["busy".to_owned()];
    assert_eq!(
        verdict(steady("s", "a", 10.0), disturbed.clone()),
        Verdict::Doubtful
    );
    assert_eq!(
        verdict(disturbed.clone(), steady("s", "a", 40.0)),
        Verdict::Doubtful
    );
    // A disturbed run does not praise anybody either.
    assert_eq!(
        verdict(steady("s", "a", 40.0), disturbed.clone()),
        Verdict::Doubtful
    );
    assert_eq!(
        verdict(disturbed, steady("s", "a", 10.0)),
        Verdict::Doubtful
    );
}

#[test]
fn memory_is_compared_where_it_was_measured() {
    let mut fat = idle();
    fat.bytes_per_actor = Some(64.0);
    assert_eq!(verdict(idle(), fat.clone()), Verdict::Slower);
    assert_eq!(verdict(fat, idle()), Verdict::Faster);
    assert_eq!(verdict(idle(), idle()), Verdict::Same);
}

#[test]
fn memory_is_not_compared_with_a_time() {
    let mut timed = idle();
    timed.bytes_per_actor = None;
    // Far more bytes than units of one atomic addition.
    assert_eq!(verdict(timed.clone(), idle()), Verdict::Same);
    assert_eq!(verdict(idle(), timed.clone()), Verdict::Same);
    let before = Report::new(vec![timed]);
    let change = &Report::new(vec![idle()]).compare(&before).changes[0];
    assert_eq!((change.before, change.now), (Some(1.1), Some(1.1)));
}

#[test]
fn files_of_before_have_wider_bounds() {
    let old = |ns: f64| {
        let mut row = steady("s", "a", ns);
        row.to_rmw = None;
        row.cpu.interval = None;
        row
    };
    assert_eq!(verdict(old(10.0), steady("s", "a", 12.0)), Verdict::Same);
    assert_eq!(verdict(old(10.0), steady("s", "a", 14.0)), Verdict::Slower);
}

#[test]
fn rows_without_a_partner_are_named() {
    let now = Report::new(vec![
        steady("s", "a", 1.0),
        at(steady("s", "b", 1.0), "n", 2),
    ]);
    let before = Report::new(vec![
        steady("s", "a", 1.0),
        at(steady("s", "b", 1.0), "n", 1),
        steady("other", "c", 1.0),
    ]);
    let comparison = now.compare(&before);
    let changes = comparison.changes.iter();
    let seen: Vec<_> = changes
        .map(|change| (&*change.name, change.verdict))
        .collect();
    let expected = [
        ("s a", Verdict::Same),
        ("s b n=2", Verdict::New),
        ("s b n=1", Verdict::Gone),
    ];
    assert_eq!(seen, expected);
    assert_eq!(comparison.slower().count(), 0);
    assert!(
        comparison.table().contains("gone"),
        "{}",
        comparison.table()
    );
}

#[test]
fn the_page_has_the_tables_figures_and_asks_nobody() {
    let report = Report::new(vec![steady("<s>", "a", 10.0), steady("<s>", "b", 40.0)]);
    let before = Report::new(vec![steady("<s>", "a", 5.0)]);
    let page = report.html("A & B", Some(&report.compare(&before)));
    for text in [
        "<h1>A &amp; B</h1>",
        "<h2>&lt;s&gt;</h2>",
        "10.0 ns",
        "40.0 ns",
        "SLOWER",
        "rustc",
    ] {
        assert!(page.contains(text), "{text} is missing from\n{page}");
    }
    assert!(!page.contains("<s>") && !page.contains("<script"));
    for word in ["src=", "url(", "@import", "href=\"http"] {
        assert!(!page.contains(word), "{word}");
    }
}

/// Creates a suite with a line whose figures are all known, a line whose figures are all unknown,
/// and a finding.
fn beside() -> Beside {
    static SUITE: Suite = Suite {
        name: "trees",
        about: "Trees & leaves of a paper",
        origin: "a paper, on a machine of 1999",
        here: "its program, elsewhere",
        note: "A tree has leaves.",
        published: &[
            Published {
                of: "a leaf",
                said: Some(Figure::of(900.0)),
                here: Here::Noted(Figure::between(50.0, 80.0)),
                ours: |rows| Some(rows.find("s", "a", &[])?.cpu.median),
                ..Published::UNKNOWN
            },
            Published {
                of: "a root",
                unit: Unit::BYTES,
                ..Published::UNKNOWN
            },
        ],
        findings: |_| vec!["Trees pay from 7 leaves on.".to_owned()],
        ..Suite::PLAIN
    };
    Beside::of(&SUITE, &[steady("s", "a", 10.0)]).unwrap()
}

#[test]
fn what_was_published_stands_beside_the_rows_in_every_form() {
    let report = Report::new(vec![steady("s", "a", 10.0)]).with_suites(vec![beside()]);
    let table = report.table();
    for text in [
        "trees: Trees & leaves of a paper",
        "50.0 .. 80.0",
        "ours, 5.00 x",
        "Trees pay from 7 leaves on.",
        "Published: a paper, on a machine of 1999.",
        "Here: its program, elsewhere.",
        "Note: A tree has leaves.\n",
    ] {
        assert!(table.contains(text), "{text} is missing from\n{table}");
    }
    let root = table.lines().find(|line| line.contains("a root")).unwrap();
    let cells: Vec<&str> = root.split_whitespace().collect();
    assert_eq!(cells, ["a", "root", "-", "-", "-", "bytes", "-", "-"]);
    let page = report.html("A", None);
    for text in ["trees: Trees &amp; leaves", "<td class=\"figure\">900</td>"] {
        assert!(page.contains(text), "{text} is missing from\n{page}");
    }
    let json = report.json();
    let parsed: Value = serde_json::from_str(&json).unwrap();
    let line = &parsed["suites"][0]["lines"][0];
    assert_eq!(line["ratio"], 0.2);
    assert_eq!(line["standing"], "ours");
    assert_eq!(line["published"]["low"], 900.0);
    assert!(parsed["suites"][0]["lines"][1]["ours"].is_null());
    assert_eq!(Report::parse(&json).unwrap(), report);
}

#[test]
fn pictures_are_files_by_the_names_of_their_scenarios() {
    let folder = std::env::temp_dir().join(format!("garrick-plots-{}", std::process::id()));
    let report = Report::new(vec![steady("s", "a", 10.0), steady("t", "b", 40.0)]);
    report.write_svg(&folder).unwrap();
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(names, ["s.svg", "t.svg"]);
}

#[test]
fn what_is_no_report_is_refused() {
    assert!(Report::parse("{}").is_err());
    assert!(Report::parse("rows").is_err());
    assert!(Report::load(Path::new("/no/such/file.json")).is_err());
}
