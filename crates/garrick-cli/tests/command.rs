//! Tests of the `garrick` command from outside: its output and its exit code.

use std::process::{Command, Output};

/// Runs the command that was built with this test.
fn garrick(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_garrick"))
        .args(arguments)
        .output()
        .expect("the command runs")
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).expect("it prints UTF-8")
}

/// Asserts that the command rejected its arguments: exit code 2, nothing on standard output, and
/// one line on standard error that contains all of `words`.
#[track_caller]
fn assert_refused(arguments: &[&str], words: &[&str]) {
    let output = garrick(arguments);
    let said = str::from_utf8(&output.stderr).expect("it prints UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(
        output.stdout.is_empty(),
        "{arguments:?}: {}",
        stdout(&output)
    );
    assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    for word in words {
        assert!(
            said.contains(word),
            "{arguments:?}: {word} is missing: {said}"
        );
    }
}

#[test]
fn a_command_with_a_slip_is_recognized() {
    for (typed, meant) in [
        ("tpo", "top"),
        ("pipelin", "pipeline"),
        ("bnech", "bench"),
        ("sutie", "suite"),
    ] {
        assert_refused(
            &[typed],
            &[&format!("'{typed}'"), &format!("did you mean '{meant}'?")],
        );
    }
}

#[test]
fn wrong_words_are_refused() {
    assert_refused(&["--no-such-flag"], &["--no-such-flag"]);
    assert_refused(&["bensh"], &["bensh", "did you mean 'bench'?"]);
    assert_refused(&["bench", "--quik"], &["--quik", "did you mean '--quick'?"]);
    assert_refused(&["bench", "--seconds-per"], &["--seconds-per"]);
}

#[test]
fn unknown_scenarios_are_refused_and_the_known_ones_named() {
    assert_refused(
        &["bench", "tell", "tel"],
        &["'tel'", "tell-cross", "fork-bomb", "idle-memory"],
    );
    assert_refused(
        &["bench", "--list", "tel"],
        &["'tel' (did you mean 'tell'?)"],
    );
}

#[test]
fn impossible_times_are_refused() {
    for seconds in ["0", "-1", "nan", "inf", "1e9", "soon"] {
        let flag = format!("--seconds-per={seconds}");
        assert_refused(&["bench", &flag], &["--seconds-per", seconds]);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_any_work() {
    assert_refused(
        &["bench", "--json", "/no/such/folder/out.json"],
        &["/no/such/folder/out.json"],
    );
}

#[test]
fn files_that_cannot_be_written_or_compared_with_are_refused_before_any_work() {
    for flag in ["--csv", "--html"] {
        assert_refused(
            &["bench", flag, "/no/such/folder/out"],
            &["/no/such/folder/out"],
        );
    }
    assert_refused(&["bench", "--svg", "/proc/no/such"], &["/proc/no/such"]);
    assert_refused(
        &["bench", "--compare", "/no/such/file"],
        &["compare", "/no/such/file"],
    );
    assert_refused(
        &["bench", "--compare", "Cargo.toml"],
        &["compare", "Cargo.toml"],
    );
}

#[test]
fn an_unknown_reference_is_refused_and_the_known_ones_named() {
    let words = ["'nonsense'", "--reference", "garrick"];
    assert_refused(&["bench", "ring", "--reference", "nonsense"], &words);
    assert_refused(
        &["suite", "messages", "--quick", "--reference", "nonsense"],
        &words,
    );
    let guess = ["'garick'", "did you mean 'garrick'?"];
    assert_refused(&["bench", "ring", "--reference", "garick"], &guess);
    let sweep = [
        "bench",
        "ring",
        "--sweep",
        "actors=2..4",
        "--reference",
        "nonsense",
    ];
    assert_refused(&sweep, &words);
}

#[test]
fn standard_output_takes_one_kind_of_results() {
    assert_refused(
        &["bench", "--json", "-", "--csv", "-"],
        &["standard output", "one kind"],
    );
}

#[test]
fn impossible_sweeps_are_refused_and_the_possible_ones_named() {
    let refused = |scenarios: &[&str], sweep: &str, words: &[&str]| {
        assert_refused(
            &[&["bench"], scenarios, &["--sweep", sweep]].concat(),
            words,
        );
    };
    refused(&["ring"], "actors", &["NAME=VALUES"]);
    refused(&["ring"], "actors=9..2", &["no values"]);
    refused(&["ring"], "actors=1..5", &["actors=1", "from 2 to 1000000"]);
    refused(
        &["ring"],
        "depth=1..5",
        &["'ring'", "'depth'", "ring actors"],
    );
    refused(
        &["ask"],
        "depth=1..5",
        &["'ask'", "fork-bomb depth (0 to 24)"],
    );
    refused(&[], "colour=1", &["tell burst", "fork-bomb workers"]);
    let three = [
        "bench", "--sweep", "a=1", "--sweep", "b=1", "--sweep", "c=1",
    ];
    assert_refused(&three, &["more than 2"]);
}

#[test]
fn unknown_suites_are_refused_and_the_known_ones_named() {
    let known = ["fork-bomb", "leaf-load", "event-queue", "messages"];
    assert_refused(
        &["suite", "fork-bomb", "fork"],
        &[&["'fork'"], &known[..]].concat(),
    );
    assert_refused(&["suite", "--list", "bomb"], &["'bomb'"]);
    assert_refused(&["suite", "--sweep", "depth=1..2"], &["--sweep"]);
    assert_refused(
        &["suite", "--json", "/no/such/folder/out.json", "--quick"],
        &["/no/such/folder/out.json"],
    );
}

#[test]
fn suites_are_listed_with_their_scenarios_and_named_in_the_help() {
    let listed = garrick(&["suite", "--list", "event-queue"]);
    assert!(listed.status.success());
    let names: Vec<&str> = stdout(&listed)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let expected = ["event-queue", "event-queue-light", "event-queue-heavy"];
    assert_eq!(names, expected);
    let help = garrick(&["suite", "--help"]);
    assert!(
        stdout(&help).contains("garrick suite --list"),
        "{}",
        stdout(&help)
    );
    let bench = garrick(&["bench", "--list"]);
    assert!(!stdout(&bench).contains("event-queue-light"));
}

#[test]
fn benchmarks_for_actor_libraries_are_measured_only_if_they_are_named() {
    let listed = |names: &[&str]| {
        let output = garrick(&[&["bench", "--list"], names].concat());
        assert!(output.status.success(), "{names:?}");
        let lines = stdout(&output).lines();
        let of_savina = lines.filter(|line| line.starts_with("savina-"));
        of_savina.count()
    };
    assert_eq!(listed(&[]), 0);
    assert_eq!(listed(&["savina"]), 15);
    assert_eq!(listed(&["savina-big", "ring"]), 1);
    let help = garrick(&["bench", "--help"]);
    let named = "Measured only if they are named: savina-ping-pong, ";
    assert!(stdout(&help).contains(named), "{}", stdout(&help));
}

#[test]
fn impossible_soaks_are_refused() {
    for minutes in ["2", "0", "-1", "1.5", "99999999", "long"] {
        let flag = format!("--minutes={minutes}");
        assert_refused(&["soak", &flag], &["--minutes", minutes]);
    }
    for rounds in ["0", "-1", "some"] {
        let flag = format!("--rounds={rounds}");
        assert_refused(&["soak", &flag], &["--rounds", rounds]);
    }
    assert_refused(
        &["soak", "--workers=0"],
        &["--workers", "workers from 1 to 64"],
    );
    assert_refused(
        &["soak", "--minutes", "3", "--rounds", "1"],
        &["--minutes", "--rounds"],
    );
}

#[test]
fn a_soak_of_some_rounds_says_what_was_done_and_ends_in_order() {
    let output = garrick(&["soak", "--rounds", "3", "--workers", "2"]);
    let said = str::from_utf8(&output.stderr).expect("it prints UTF-8");
    assert!(output.status.success(), "{said}");
    let text = stdout(&output);
    let timers = text.lines().find(|line| line.starts_with("timers"));
    assert!(
        timers.is_some_and(|line| line.ends_with(" 7,209")),
        "{text}"
    );
    for words in ["3 rounds, all with correct results", "shut down in order"] {
        assert!(text.contains(words), "{words} is missing: {text}");
    }
}

#[test]
fn help_names_scenarios_and_version_names_the_commit() {
    let help = garrick(&["bench", "--help"]);
    assert!(help.status.success());
    assert!(stdout(&help).contains("rmw, tell, "), "{}", stdout(&help));
    let version = garrick(&["--version"]);
    assert!(version.status.success());
    assert!(stdout(&version).contains('('), "{}", stdout(&version));
}
