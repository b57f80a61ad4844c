//! Tests of the `garrick-rivals` command from outside: its output and its exit code.

use std::env;
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the command that was built with this test.
fn rivals(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_garrick-rivals"))
        .args(arguments)
        .output()
        .expect("the command runs")
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).expect("it prints UTF-8")
}

/// Asserts that the command rejected its arguments: exit code 2, nothing on standard output, and
/// one line on standard error that contains `words`.
#[track_caller]
fn assert_refused(arguments: &[&str], words: &[&str]) {
    let output = rivals(arguments);
    let said = str::from_utf8(&output.stderr).expect("it prints UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(stdout(&output), "");
    assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    for word in words {
        assert!(
            said.contains(word),
            "{arguments:?}: {word} is missing: {said}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    assert_refused(
        &["mailbux"],
        &["'mailbux'", "mailbox-offer", "tasks-single", "fork-bomb"],
    );
    assert_refused(&["--quik"], &["--quik"]);
    assert_refused(&["async", "--quik"], &["--quik"]);
    assert_refused(&["--quick", "async"], &["async"]);
    assert_refused(
        &["latency", "--only", "tail,pear"],
        &[
            "'pear'",
            "tail, blocking, starve, equal, spread, pair, radix, asks",
        ],
    );
    assert_refused(&["async", "--only", "async"], &["--only"]);
    assert_refused(
        &["suite", "pipelin"],
        &["'pipelin'", "pipeline, cajun, work-stealing, async"],
    );
    assert_refused(&["--seconds-per", "0"], &["--seconds-per"]);
    assert_refused(
        &["--json", "/no/such/folder/out.json"],
        &["/no/such/folder/out.json"],
    );
}

#[test]
fn the_list_and_the_help_name_scenarios() {
    let listed = rivals(&["--list", "tasks"]);
    assert!(listed.status.success());
    let names: Vec<&str> = stdout(&listed)
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, ["tasks-created", "tasks-reused", "tasks-single"]);
    let help = rivals(&["--help"]);
    assert!(help.status.success());
    assert!(
        stdout(&help).contains("garrick-rivals --list"),
        "{}",
        stdout(&help)
    );
}

#[cfg(not(feature = "journal"))]
#[test]
fn who_built_without_the_journal_is_told_how_to_have_it() {
    assert_refused(
        &["journal", "--quick", "--only", "garrick"],
        &["feature `journal`", "cargo rivals journal"],
    );
}

#[cfg(feature = "journal")]
#[test]
fn the_journal_refuses_what_it_cannot_measure() {
    assert_refused(
        &["journal", "--only", "sqlite-grop"],
        &[
            "'sqlite-grop'",
            "fjall-each",
            "did you mean 'sqlite-group'?",
        ],
    );
    assert_refused(
        &["journal", "--folder", "/no/such/folder"],
        &["--folder", "'/no/such/folder'", "exists"],
    );
    // A file is not a folder.
    assert_refused(
        &["journal", "--folder", env!("CARGO_BIN_EXE_garrick-rivals")],
        &["--folder", "exists"],
    );
    assert_refused(
        &["journal", "--json", "/no/such/folder/out.json"],
        &["/no/such/folder/out.json"],
    );
    assert_refused(&["journal", "--quik"], &["--quik"]);
}

#[cfg(feature = "journal")]
#[test]
fn who_has_no_strace_is_told_how_to_have_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_garrick-rivals"))
        .args(["journal", "--quick", "--strace"])
        .env("PATH", "")
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("apt-get install strace"), "{said}");
}

#[cfg(feature = "journal")]
#[test]
fn the_journal_measures_beside_the_raw_disk_and_counts_what_is_stored() {
    let path = env::temp_dir().join(format!("garrick-journal-{}.json", std::process::id()));
    let file = path.to_str().expect("the path is UTF-8");
    let only = "garrick,file-group";
    let output = rivals(&["journal", "--quick", "--only", only, "--json", file]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(stdout(&output).contains("commands / raw sync"));
    let json = fs::read(&path).expect("the file was written");
    let json: Value = serde_json::from_slice(&json).expect("it is JSON");
    fs::remove_file(&path).expect("the file was there just now");
    let rows = json["rows"].as_array().expect("there are rows");
    assert_eq!(rows.len(), 2 * 3, "each with three numbers of entities");
    for row in rows {
        let round = &row["rounds"][0];
        assert_eq!(round["stored"], round["acknowledged"], "{row}");
        assert!(round["commands_per_raw_sync"].as_f64() > Some(0.0), "{row}");
    }
}

#[cfg(not(feature = "far"))]
#[test]
fn who_built_without_far_messages_is_told_how_to_have_them() {
    assert_refused(
        &["far", "--quick", "--only", "garrick"],
        &["feature `far`", "cargo far"],
    );
}

#[cfg(feature = "far")]
#[test]
fn far_refuses_what_it_cannot_measure() {
    assert_refused(
        &["far", "--only", "peko"],
        &["'peko'", "nats-by-hand", "did you mean 'pekko'?"],
    );
    assert_refused(&["far", "--rounds", "0"], &["--rounds"]);
    assert_refused(
        &["far", "--json", "/no/such/folder/out.json"],
        &["/no/such/folder/out.json"],
    );
    assert_refused(&["far", "--quik"], &["--quik"]);
}

/// Runs the command from another folder, without the variable `PATH`, so that it finds no tools.
#[cfg(feature = "far")]
fn without_tools(arguments: &[&str]) -> Output {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("without-tools-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder for temporary files is there");
    let program = folder.join("garrick-rivals");
    if !program.exists() {
        let built = env!("CARGO_BIN_EXE_garrick-rivals");
        fs::hard_link(built, &program).expect("both folders are on one disk");
    }
    let output = Command::new(&program)
        .args(arguments)
        .env("PATH", "")
        .env_remove("JAVA_HOME")
        .output()
        .expect("the command runs");
    fs::remove_dir_all(&folder).expect("the folder was there just now");
    output
}

#[cfg(feature = "far")]
#[test]
fn who_has_no_nats_server_for_far_is_told_how_to_have_it() {
    let output = without_tools(&["far", "--quick"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for words in ["nats-server 2.12", "cargo xtask tools", "--only"] {
        assert!(said.contains(words), "{words} is missing: {said}");
    }
}

#[cfg(feature = "far")]
#[test]
fn far_measures_who_needs_no_java_and_loses_nothing() {
    let path = env::temp_dir().join(format!("garrick-far-{}.json", std::process::id()));
    let file = path.to_str().expect("the path is UTF-8");
    // Whoever has no server measures the others. `cargo xtask ci` requires the server.
    let mut only = vec!["tcp-by-hand", "ractor"];
    let server = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/nats-server");
    if server.exists() {
        only.extend(["garrick", "nats-by-hand"]);
    } else {
        assert!(
            env::var_os("GARRICK_TOOLS").is_none(),
            "nats-server is missing: run `cargo xtask tools`"
        );
    }
    let names = only.join(",");
    let output = rivals(&["far", "--quick", "--only", &names, "--json", file]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(stdout(&output).contains("Garrick / it"));
    let json = fs::read(&path).expect("the file was written");
    let json: Value = serde_json::from_slice(&json).expect("it is JSON");
    fs::remove_file(&path).expect("the file was there just now");
    let rows = json["rows"].as_array().expect("there are rows");
    assert_eq!(rows.len(), only.len() * 5, "each with five kinds of work");
    for row in rows {
        let round = &row["rounds"][0];
        assert_eq!(round["lost"], 0, "{row}");
        assert!(round["seconds"].as_f64() > Some(0.0), "{row}");
        let is_ask = row["work"]
            .as_str()
            .is_some_and(|work| work.starts_with("ask"));
        assert_eq!(round["median_us"].is_f64(), is_ask, "{row}");
    }
}

#[test]
fn suites_are_listed_with_their_scenarios() {
    let listed = rivals(&["suite", "--list", "work-stealing"]);
    assert!(listed.status.success());
    let names: Vec<&str> = stdout(&listed)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let expected = [
        "work-stealing",
        "steal-roles",
        "steal-both",
        "steal-batches",
        "steal-imbalanced",
    ];
    assert_eq!(names, expected);
    let help = rivals(&["--help"]);
    assert!(stdout(&help).contains("suite "), "{}", stdout(&help));
}

#[test]
fn rows_name_us_and_the_others() {
    let path = env::temp_dir().join(format!("garrick-rivals-{}.json", std::process::id()));
    let file = path.to_str().expect("the path is UTF-8");
    let output = rivals(&[
        "mailbox-take",
        "--quick",
        "--seconds-per",
        "0.001",
        "--json",
        file,
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let json: Value = serde_json::from_slice(&fs::read(&path).expect("the file was written"))
        .expect("it is JSON");
    fs::remove_file(&path).expect("the file was there just now");
    let rows = json["rows"].as_array().expect("there are rows");
    for (contender, queue) in [
        ("garrick", "banker"),
        ("garrick", "chunked"),
        ("garrick", "locked"),
        ("garrick", "actor"),
        ("crossbeam", "SegQueue"),
        ("crossbeam", "channel"),
        ("std", "mpsc"),
        ("flume", "unbounded"),
    ] {
        let row = rows
            .iter()
            .find(|row| row["contender"] == contender && row["params"]["queue"] == queue);
        let row = row.unwrap_or_else(|| panic!("{contender} {queue} is missing"));
        assert_eq!(row["scenario"], "mailbox-take");
        assert!(
            row["wall"]["median"].as_f64().expect("a figure") > 0.0,
            "{row}"
        );
    }
}

#[test]
fn a_crowd_of_idle_actors_is_made_in_a_process_of_its_own() {
    for name in [
        "garrick", "actix", "ractor", "kameo", "xtra", "tokio", "threads",
    ] {
        let output = rivals(&["measure-idle-memory", name, "256"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        let measured: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!(measured["ops"], 256, "{name}");
    }
    assert!(
        !rivals(&["measure-idle-memory", "nobody", "1"])
            .status
            .success()
    );
}

#[test]
fn who_has_no_lisp_is_told_how_to_have_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_garrick-rivals"))
        .args(["fork-bomb-lisp", "--quick"])
        .env("PATH", "")
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert_eq!(stdout(&output), "");
    assert!(said.contains("apt-get install sbcl"), "{said}");
}
