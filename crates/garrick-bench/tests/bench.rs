//! `garrick bench` from outside: every scenario runs, and its JSON has the promised shape.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `garrick bench` with the least effort that there is.
fn bench(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_garrick"))
        .args(["bench", "--quick", "--seconds-per", "0.001"])
        .args(arguments)
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    output
}

/// The scenarios' names, from `--list`.
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

/// Runs `scenarios` and returns what is in the JSON file.
fn json_of(scenarios: &[&str], file: &str) -> Value {
    let path = temporary_file(file);
    let text = path.to_str().expect("the path is UTF-8");
    bench(&[scenarios, &["--json", text]].concat());
    let json = fs::read(&path).expect("the file was written");
    fs::remove_file(&path).expect("the file was there just now");
    serde_json::from_slice(&json).expect("it is JSON")
}

#[track_caller]
fn assert_summary(summary: &Value) {
    let [min, median, max] = ["min", "median", "max"].map(|key| summary[key].as_f64().unwrap());
    assert!(0.0 <= min && min <= median && median <= max, "{summary}");
    assert_eq!(summary.as_object().unwrap().len(), 3);
}

#[track_caller]
fn assert_row(row: &Value) {
    assert_eq!(row["unit"], "ns");
    assert!(row["params"].is_object(), "{row}");
    assert!(row["contender"].is_string(), "{row}");
    assert!(row["ops_per_s"].as_f64().unwrap() > 0.0, "{row}");
    assert!(row["ratio_to_rmw"].is_f64(), "{row}");
    assert_summary(&row["cpu"]);
    assert_summary(&row["wall"]);
    assert!(row["wall"]["min"].as_f64().unwrap() > 0.0, "{row}");
}

#[test]
fn every_scenario_runs() {
    let report = json_of(&[], "all.json");
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
