//! Tests of `garrick bench` from outside: every scenario runs, and its JSON has the promised shape.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Returns a subcommand of `garrick` with the flags for a short measurement.
fn quick(subcommand: &str, seconds_per: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_garrick"));
    command.args([subcommand, "--quick", "--seconds-per", seconds_per]);
    command
}

/// Returns a subcommand of `garrick` with the flags for the shortest measurement, which only shows
/// that it works.
fn trial(subcommand: &str) -> Command {
    quick(subcommand, "0.0005")
}

/// Returns `garrick bench` with the flags for the shortest measurement that can be compared with
/// another one.
fn command(arguments: &[&str]) -> Command {
    let mut command = quick("bench", "0.001");
    command.args(arguments);
    command
}

/// Runs a command, and asserts success.
fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output
}

/// Runs `garrick bench`, and asserts success.
fn bench(arguments: &[&str]) -> Output {
    succeed(&mut command(arguments))
}

/// Returns the scenarios' names, from `--list`.
fn listed() -> Vec<String> {
    let output = bench(&["--list"]);
    let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
    text.lines()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect()
}

fn temporary_file(name: &str) -> PathBuf {
    env::temp_dir().join(format!("garrick-{}-{name}", std::process::id()))
}

/// Runs `scenarios` and returns the contents of the JSON file.
fn json_of(scenarios: &[&str], file: &str) -> Value {
    json_by(command(scenarios), file)
}

/// Runs a command and returns the contents of its JSON file.
fn json_by(mut command: Command, file: &str) -> Value {
    let path = temporary_file(file);
    let text = path.to_str().expect("the path is UTF-8");
    succeed(command.args(["--json", text]));
    let json = fs::read(&path).expect("the file was written");
    fs::remove_file(&path).expect("the file was there just now");
    serde_json::from_slice(&json).expect("it is JSON")
}

#[track_caller]
fn assert_summary(summary: &Value) {
    let [min, median, max] = ["min", "median", "max"].map(|key| summary[key].as_f64().unwrap());
    assert!(0.0 <= min && min <= median && median <= max, "{summary}");
    assert_eq!(summary.as_object().unwrap().len(), 4);
    if let Some(interval) = summary["interval"].as_object() {
        let [low, high] = ["low", "high"].map(|key| interval[key].as_f64().unwrap());
        assert!(
            min <= low && low <= median && median <= high && high <= max,
            "{summary}"
        );
    }
}

#[track_caller]
fn assert_row(row: &Value) {
    assert_eq!(row["unit"], "ns");
    assert!(row["params"].is_object(), "{row}");
    assert!(row["contender"].is_string(), "{row}");
    assert!(row["ops_per_s"].as_f64().unwrap() > 0.0, "{row}");
    assert!(row["ratio_to_rmw"].is_f64(), "{row}");
    assert!(row["rounds"].as_u64().unwrap() >= 1, "{row}");
    assert!(row["doubts"].is_array(), "{row}");
    assert_summary(&row["to_rmw"]);
    assert_summary(&row["cpu"]);
    assert_summary(&row["wall"]);
    assert!(row["wall"]["min"].as_f64().unwrap() > 0.0, "{row}");
}

#[test]
fn every_scenario_runs() {
    let report = json_by(trial("bench"), "all.json");
    assert!(
        report["machine"]["compiler"]
            .as_str()
            .unwrap()
            .starts_with("rustc")
    );
    assert!(!report["commit"].as_str().unwrap().is_empty());
    let rows = report["rows"].as_array().unwrap();
    rows.iter().for_each(assert_row);
    for name in listed() {
        assert!(
            rows.iter().any(|row| row["scenario"] == name.as_str()),
            "{name} has no row"
        );
    }
}

/// Runs every suite. Each suite measures all of its scenarios, and shows the published figures next
/// to ours.
#[test]
fn every_suite_runs() {
    let folder = Folder::new("suites");
    let [json, html] = ["all.json", "all.html"].map(|name| folder.path(name));
    let output = succeed(trial("suite").args(["--json", &json, "--html", &html]));
    let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
    assert!(text.contains("ours / theirs"), "{text}");
    assert!(
        folder
            .read("all.html")
            .contains("<th class=\"figure\">ours / theirs</th>")
    );
    let report: Value = serde_json::from_str(&folder.read("all.json")).expect("it is JSON");
    report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .for_each(assert_row);
    let suites = report["suites"].as_array().unwrap();
    let lines = suites
        .iter()
        .flat_map(|suite| suite["lines"].as_array().unwrap());
    let compared = lines.filter(|line| line["ratio"].is_f64()).count();
    assert!(compared > 15, "{text}");
    let leaves = suites
        .iter()
        .find(|suite| suite["suite"] == "leaf-load")
        .unwrap();
    // A disturbed run leaves findings out, and says so.
    let findings = leaves["findings"].as_array().unwrap();
    let left_out = findings
        .last()
        .is_some_and(|last| last.as_str().unwrap().contains("left out"));
    assert!(findings.len() == 2 || left_out, "{leaves}");
}

#[test]
fn only_what_is_named_runs_and_our_own_contender_is_named_garrick() {
    let report = json_of(&["ring", "deque"], "two.json");
    let rows = report["rows"].as_array().unwrap();
    let names =
        |key: &str| -> Vec<&str> { rows.iter().map(|row| row[key].as_str().unwrap()).collect() };
    assert_eq!(
        names("scenario"),
        ["ring", "deque", "deque", "deque", "deque"]
    );
    assert_eq!(
        names("contender"),
        ["garrick", "garrick", "vecdeque", "garrick", "vecdeque"]
    );
    assert_eq!(rows[3]["params"]["depth"], 64);
}

#[test]
fn memory_is_told_for_actors_that_are_idle() {
    let report = json_of(&["idle-memory", "rmw"], "memory.json");
    let rows = report["rows"].as_array().unwrap();
    assert!(rows[0]["bytes_per_actor"].is_null());
    assert!(rows[1]["bytes_per_actor"].as_f64().unwrap() >= 8.0);
}

#[test]
fn a_file_of_before_is_replaced_as_a_whole() {
    let path = temporary_file("before.json");
    fs::write(&path, "x".repeat(100_000)).unwrap();
    bench(&["rmw", "--json", path.to_str().unwrap()]);
    let json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn the_list_states_one_operation_each() {
    let names = listed();
    for name in ["rmw", "tell", "ask", "fork-bomb", "queue", "blocked"] {
        assert!(names.iter().any(|listed| listed == name), "{name}");
    }
}

#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::new("dash");
    let mut command = command(&["ring", "--json", "-", "--reference", "garrick"]);
    let output = command
        .current_dir(folder.path(""))
        .output()
        .expect("the command runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("nothing but JSON");
    assert_eq!(report["rows"][0]["scenario"], "ring");
    let said = String::from_utf8(output.stderr).expect("it prints UTF-8");
    assert!(said.contains("ring"), "the table is there: {said}");
    assert!(
        !PathBuf::from(folder.path("-")).exists(),
        "no file has this name"
    );
}

#[test]
fn tables_go_to_standard_output_and_nothing_else_does() {
    let output = bench(&["rmw"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("scenario") && text.contains("atomic"),
        "{text}"
    );
    assert!(
        output.stderr.is_empty(),
        "no progress where there is no terminal"
    );
}

/// Folder of one test, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = temporary_file(name);
        fs::create_dir_all(&path).expect("temporary files can be made");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is UTF-8").to_owned()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("the file was written")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If removal fails, the system cleans up.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_sweep_is_written_in_every_form() {
    let folder = Folder::new("forms");
    let [csv, html, plots] = ["all.csv", "all.html", "plots"].map(|name| folder.path(name));
    let flags = ["--csv", &csv, "--html", &html, "--svg", &plots];
    let sweep = [
        "fork-bomb",
        "--sweep",
        "depth=2..4",
        "--reference",
        "recursion",
    ];
    let output = bench(&[&sweep[..], &flags].concat());
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("x recursion "), "{table}");
    // Garrick with one worker and two, recursion and continuations at three depths.
    assert_eq!(folder.read("all.csv").lines().count(), 1 + 3 * 4);
    let page = folder.read("all.html");
    assert!(page.contains("<svg") && page.contains("depth=4"), "{page}");
    let svg = folder.read("plots/fork-bomb.svg");
    assert!(svg.contains("recursion"), "{svg}");
}

#[test]
fn two_parameters_are_swept_together() {
    let two = [
        "fork-bomb",
        "--sweep",
        "depth=2,4",
        "--sweep",
        "workers=1..2",
    ];
    let report = json_of(&two, "two-parameters.json");
    let rows = report["rows"].as_array().unwrap();
    let at = |row: &Value| ["depth", "workers"].map(|name| row["params"][name].as_u64().unwrap());
    let points: Vec<_> = rows.iter().map(at).collect();
    assert_eq!(points, [[2, 1], [2, 2], [4, 1], [4, 2]]);
}

/// Multiplies the cost of every row in a JSON file by `factor`.
fn scaled(json: &str, factor: f64) -> String {
    let mut report: Value = serde_json::from_str(json).unwrap();
    for row in report["rows"].as_array_mut().unwrap() {
        row["doubts"] = Value::Array(Vec::new());
        row["ratio_to_rmw"] = (row["ratio_to_rmw"].as_f64().unwrap() * factor).into();
        for key in ["median", "min", "max"] {
            row["to_rmw"][key] = (row["to_rmw"][key].as_f64().unwrap() * factor).into();
        }
        for key in ["low", "high"] {
            let end = row["to_rmw"]["interval"][key].as_f64().unwrap();
            row["to_rmw"]["interval"][key] = (end * factor).into();
        }
    }
    report.to_string()
}

/// Compares a run with slower and faster copies of its own results. The verdict "doubtful" is
/// accepted, too, because the machine may be busy.
#[test]
fn a_run_is_compared_with_one_of_before() {
    let folder = Folder::new("compare");
    let now = folder.path("now.json");
    bench(&["ring", "--json", &now]);
    for (factor, verdicts) in [
        (1e3, &["faster", "doubtful"][..]),
        (1e-3, &["SLOWER", "doubtful"]),
    ] {
        let before = folder.path("before.json");
        fs::write(&before, scaled(&folder.read("now.json"), factor)).unwrap();
        let output = command(&["ring", "--compare", &before]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text
            .lines()
            .find(|line| line.contains("ring garrick actors=100") && line.contains("->"))
            .unwrap_or_else(|| panic!("{text}"));
        let verdict = verdicts.iter().find(|verdict| line.starts_with(*verdict));
        let verdict = verdict.unwrap_or_else(|| panic!("{line}"));
        let code = if *verdict == "SLOWER" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{line}");
    }
}

/// Interrupts the run as soon as the file exists. The command creates this file just before it
/// measures, when it already listens for signals.
#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    let folder = Folder::new("interrupted");
    let json = folder.path("kept.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_garrick"))
        .args([
            "bench",
            "rmw",
            "ring",
            "tell",
            "--seconds-per",
            "300",
            "--json",
            &json,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !fs::exists(&json).unwrap() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    let report: Value = serde_json::from_str(&folder.read("kept.json")).unwrap();
    assert!(report["rows"].as_array().unwrap().len() < 4, "{report}");
    assert!(report["machine"]["cpu"].is_string());
}
