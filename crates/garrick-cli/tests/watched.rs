//! Tests of a pipeline that is watched while it runs: its announced address, and its snapshots.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use garrick_telemetry::Snapshot;

/// Time limit of a test. A test that takes longer is considered to hang.
const GUARD: Duration = Duration::from_secs(60);

fn garrick(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_garrick"));
    command.args(arguments);
    command.env_remove("RUST_LOG").env_remove("GARRICK_TOKEN");
    command
}

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    (status.code(), text(stdout), text(stderr))
}

/// Pipeline that runs until it is dropped or ended.
struct Pipeline {
    child: Child,
    output: BufReader<ChildStdout>,
    /// First line of the output.
    announcement: String,
}

impl Pipeline {
    fn start(flags: &[&str]) -> Self {
        let mut command = garrick(&["pipeline", "--seconds", "300"]);
        let mut child = command.args(flags).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut announcement = String::new();
        output.read_line(&mut announcement).unwrap();
        Self {
            child,
            output,
            announcement,
        }
    }

    /// Returns the announced address, for `garrick top`.
    fn address(&self) -> &str {
        let (_, rest) = self
            .announcement
            .split_once("(garrick top ")
            .expect("an address");
        rest.trim_end().trim_end_matches(')')
    }

    /// Ends the pipeline by `signal` as a user does, and returns its exit code and the rest of its
    /// output.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }
}

/// Kills the process, because it must not outlive a failed test.
impl Drop for Pipeline {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the snapshot of `garrick top` at `address`, after messages have passed through all
/// stages.
#[track_caller]
fn look(address: &str) -> Snapshot {
    let began = Instant::now();
    loop {
        let (code, json, said) = run(&mut garrick(&["top", address, "--json"]));
        assert_eq!(code, Some(0), "{said}");
        let snapshot: Snapshot = serde_json::from_str(&json).unwrap();
        if snapshot.edges.len() == 3 && snapshot.edges.iter().all(|edge| edge.total > 0) {
            return snapshot;
        }
        assert!(began.elapsed() < GUARD, "nothing moves: {json}");
    }
}

#[test]
fn a_running_pipeline_shows_its_stages_and_channels() {
    let pipeline = Pipeline::start(&["--telemetry", ":0"]);
    let snapshot = look(pipeline.address());
    assert_eq!(snapshot.process.name, "garrick pipeline");
    assert_eq!(snapshot.process.pid, pipeline.child.id());
    let stages: Vec<_> = snapshot.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(stages, ["generator", "heartbeat", "worker", "logger"]);
    let channels: Vec<_> = snapshot
        .edges
        .iter()
        .map(|edge| {
            (
                edge.name.as_deref().unwrap_or_default(),
                &*edge.message,
                edge.capacity,
            )
        })
        .collect();
    let expected = [
        ("numbers", "u64", 1 << 16),
        ("beats", "u64", 1024),
        ("messages", "Message", 1 << 16),
    ];
    assert_eq!(channels, expected);
    let (code, page, said) = run(&mut garrick(&["top", pipeline.address(), "--once"]));
    assert_eq!(code, Some(0), "{said}");
    for begin in [
        "garrick pipeline (pid ",
        "generator ",
        "worker ",
        "logger ",
        "numbers  ",
        "messages ",
    ] {
        assert!(
            page.lines().any(|line| line.starts_with(begin)),
            "{begin}: {page}"
        );
    }
    let (code, text) = pipeline.end("-INT");
    assert_eq!(code, Some(0), "{text}");
    for begin in ["channel ", "numbers  ", "beats ", "messages "] {
        assert!(
            text.lines().any(|line| line.starts_with(begin)),
            "{begin}: {text}"
        );
    }
}

#[test]
fn a_healthy_pipeline_has_a_bottleneck_and_no_alerts() {
    // The channels have room for the messages of a tenth of a second. With smaller ones, the worker
    // would mostly wait until the logger gets a core, if other programs take most of the cores.
    let pipeline = Pipeline::start(&["--telemetry", ":0", "--capacity", "4194304"]);
    let began = Instant::now();
    // Longer than the time after which a channel that is full causes an alert.
    let snapshot = loop {
        let snapshot = look(pipeline.address());
        assert!(snapshot.alerts.is_empty(), "{:?}", snapshot.alerts);
        let is_named = snapshot
            .pipelines
            .iter()
            .any(|each| each.bottleneck.is_some());
        if snapshot.uptime > 7.0 && is_named {
            break snapshot;
        }
        assert!(began.elapsed() < GUARD, "{:?}", snapshot.pipelines);
    };
    let [line] = &*snapshot.pipelines else {
        panic!("one pipeline: {:?}", snapshot.pipelines);
    };
    assert_eq!((line.stages, &*line.name), (4, "generator \u{2192} logger"));
    assert!(line.text.contains(" is the bottleneck: "), "{}", line.text);
    let full = snapshot.edges.iter().any(|edge| edge.fill_p80 > 0.9);
    assert!(
        full,
        "a channel before the bottleneck is full: {:?}",
        snapshot.edges
    );
    let (_, page, _) = run(&mut garrick(&["top", pipeline.address(), "--once"]));
    assert!(page.contains(" is the bottleneck: "), "{page}");
}

#[test]
fn a_pipeline_that_is_told_to_end_ends_in_order() {
    let pipeline = Pipeline::start(&["--telemetry", ":0"]);
    let (code, text) = pipeline.end("-TERM");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("messages/s"), "{text}");
}

#[test]
fn a_usual_port_in_use_is_told_and_the_next_taken() {
    // If another process already has the port, that is fine too.
    let _held = TcpListener::bind("127.0.0.1:9900");
    let pipeline = Pipeline::start(&[]);
    assert!(
        pipeline
            .announcement
            .starts_with("port 9900 is in use, so telemetry is at http://127.0.0.1:99"),
        "{}",
        pipeline.announcement
    );
    assert!(!pipeline.announcement.contains("9900/"));
    look(pipeline.address());
}

#[test]
fn a_named_port_in_use_is_an_error() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    let (code, output, said) = run(&mut garrick(&["pipeline", "--telemetry", &address]));
    assert_eq!((code, &*output), (Some(2), ""), "{said}");
    let port = address.rsplit(':').next().unwrap();
    assert!(said.contains(port) && said.contains("in use"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_token_keeps_others_out() {
    let pipeline = Pipeline::start(&["--telemetry=:0", "--telemetry-token", "s3cret"]);
    let address = pipeline.address();
    let (code, _, said) = run(&mut garrick(&["top", address, "--once"]));
    assert_eq!(code, Some(1));
    assert!(said.contains("use --token"), "{said}");
    let (code, page, said) = run(&mut garrick(&[
        "top", address, "--once", "--token", "s3cret",
    ]));
    assert_eq!(code, Some(0), "{said}");
    assert!(page.contains("generator"), "{page}");
}

#[test]
fn without_telemetry_nothing_is_said_of_it() {
    let (code, output, said) = run(&mut garrick(&[
        "pipeline",
        "--no-telemetry",
        "--seconds",
        "0.05",
    ]));
    assert_eq!((code, &*said), (Some(0), ""));
    assert!(!output.contains("telemetry"), "{output}");
}

#[test]
fn impossible_flags_are_refused_in_one_line() {
    for (flags, word) in [
        (&["--telemetry", "nowhere"][..], "--telemetry"),
        (&["--telemetry", "127.0.0.1:99999"], "--telemetry"),
        // An address of the range that is reserved for documentation.
        (
            &["--telemetry", "192.0.2.1:9"],
            "cannot listen at 192.0.2.1:9",
        ),
        (&["--telemetry-token", "two words"], "--telemetry-token"),
        (
            &["--telemetry", ":0", "--telemetry-token", "plus+"],
            "token",
        ),
        (
            &["--no-telemetry", "--telemetry", ":0"],
            "cannot be used with",
        ),
    ] {
        let (code, output, said) = run(garrick(&["pipeline", "--seconds", "0.05"]).args(flags));
        assert_eq!((code, &*output), (Some(2), ""), "{flags:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{flags:?}: {said}");
        assert!(said.contains(word), "{flags:?}: {word} is missing: {said}");
    }
}

#[test]
fn rust_log_is_obeyed() {
    let mut command = garrick(&["pipeline", "--no-telemetry", "--seconds", "0.05"]);
    let (code, _, said) = run(command.env("RUST_LOG", "info"));
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("INFO garrick") && said.contains("the pipeline has ended"),
        "{said}"
    );
    let (code, output, said) = run(command.env("RUST_LOG", "garrick=loud"));
    assert_eq!((code, &*output), (Some(2), ""), "{said}");
    assert!(
        said.contains("RUST_LOG") && said.contains("garrick=loud"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}
