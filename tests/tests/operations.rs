//! The four programs of the example `operations`: telemetry shows their troubles, with the values
//! and metrics that `docs/operations.md` promises.

use std::sync::mpsc;

use garrick_examples::operations::Trouble;
use garrick_telemetry::{Effect, Level, Node, Snapshot, Telemetry, metrics_text};
use garrick_testkit::wait;
use serde_json::Value;

/// The guide.
const GUIDE: &str = include_str!("../../docs/operations.md");

/// Number of snapshots after which the mailbox of the long handler is too short for its alert. The
/// other troubles stay.
const LONG_HANDLER_LOOKS: usize = 60;

/// Runs a program again and again until `is_shown` is true for a snapshot in which telemetry has
/// found the trouble. Asserts that this snapshot has the metrics of the guide, and returns it.
fn seen(trouble: Trouble, is_shown: impl Fn(&Snapshot) -> bool) -> Snapshot {
    loop {
        if let Some(seen) = try_seen(trouble, &is_shown) {
            has_metrics_of_the_guide(trouble, &seen);
            return seen;
        }
    }
}

/// Runs a program for as many snapshots as its trouble lasts. Returns the one in which the trouble
/// is shown.
fn try_seen(trouble: Trouble, is_shown: &impl Fn(&Snapshot) -> bool) -> Option<Snapshot> {
    let (send, snapshots) = mpsc::channel();
    let telemetry = Telemetry::builder().without_server();
    let telemetry = telemetry.observe(move |snapshot, _| {
        // After the search, nobody listens.
        let _ = send.send(snapshot.clone());
    });
    let telemetry = telemetry.start().expect("it needs no port");
    let _program = trouble.start(&telemetry).expect("it starts");
    let looks = match trouble {
        Trouble::LongHandler => LONG_HANDLER_LOOKS,
        _ => usize::MAX,
    };
    let mut seen = (0..looks).map(|_| wait(&snapshots));
    seen.find(|seen| trouble.found(seen).is_some() && is_shown(seen))
}

/// Returns a line without the numbers of actors, such as `#12`.
fn unnumbered(line: &str) -> String {
    let mut parts = line.split('#');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|char: char| char.is_ascii_digit())
    })
}

/// Asserts that `/metrics` has each series that the guide shows for this trouble.
fn has_metrics_of_the_guide(trouble: Trouble, seen: &Snapshot) {
    let metrics = metrics_text(seen, "").text;
    let metrics: Vec<_> = metrics.lines().map(unnumbered).collect();
    let title = format!("\n## A {}\n", trouble.word().replace('-', " "));
    let (_, section) = GUIDE.split_once(&title).expect("the guide has a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let shown: Vec<_> = section
        .lines()
        .filter(|line| line.starts_with("garrick_"))
        .collect();
    assert!(shown.len() >= 4, "{shown:?}");
    for line in shown {
        let (series, _) = line.rsplit_once(' ').expect("a series and its value");
        let series = unnumbered(series) + " ";
        assert!(
            metrics.iter().any(|line| line.starts_with(&series)),
            "{series}: {metrics:#?}"
        );
    }
}

fn node<'a>(seen: &'a Snapshot, name: &str) -> &'a Node {
    let mut nodes = seen.nodes.iter();
    nodes.find(|node| node.name == name).expect("it is shown")
}

/// Asserts that there is exactly one alert, with this level and sentence. The sentence has one
/// number, which is left out.
fn one_alert(seen: &Snapshot, level: Level, sentence: [&str; 2]) {
    let [alert] = &seen.alerts[..] else {
        panic!("{:?}", seen.alerts);
    };
    assert_eq!(alert.level, level);
    let number = alert.text.strip_prefix(sentence[0]);
    let number = number.and_then(|text| text.strip_suffix(sentence[1]));
    let number = number.and_then(|number| number.parse::<u64>().ok());
    assert!(number.is_some(), "{}", alert.text);
}

#[test]
fn a_long_handler_is_the_first_of_the_actors_that_stand_out() {
    // At first, the orders of the opening wait for a session, which then has an alert. An actor
    // that the operating system has interrupted stands out, too, for one window.
    let busy = |busy: Option<f64>| busy.unwrap_or_default();
    let is_at_the_book = |seen: &Snapshot| {
        let book = node(seen, "OrderBook");
        let [first, others @ ..] = &seen.actors[..] else {
            return false;
        };
        let is_first = unnumbered(&first.name) == "/user/book-4711";
        let is_alone = others.iter().all(|other| busy(other.busy) < 0.5);
        // On a busy machine, the book's turns begin late in some windows.
        let is_busy = busy(book.busy) > 0.8;
        let has_alert = matches!(&seen.alerts[..], [alert] if alert.on == book.id);
        is_first && is_alone && is_busy && has_alert
    };
    let seen = seen(Trouble::LongHandler, is_at_the_book);
    let book = node(&seen, "OrderBook");
    let first = &seen.actors[0];
    assert_eq!(first.node, book.id);
    assert!((12_000..=12_500).contains(&first.waiting), "{first:?}");
    assert_eq!(book.alive, Some(10_000));
    assert_eq!(book.longest, Some(first.waiting));
    let turns = book.turn_seconds.as_ref().expect("turns were timed");
    assert!(turns.p50.is_some_and(|time| time < 0.01), "{turns:?}");
    assert!(turns.p99.is_some_and(|time| time > 0.01), "{turns:?}");
    let sentence = [
        "A mailbox of OrderBook has ",
        " messages, above the limit of 10000 messages.",
    ];
    one_alert(&seen, Level::Warning, sentence);
}

#[test]
fn a_crash_loop_is_critical_and_has_a_reason() {
    // A restart is counted when it is over, and reported when it is decided.
    let is_over = |seen: &Snapshot| node(seen, "Payment").restarts >= 5;
    let seen = seen(Trouble::CrashLoop, is_over);
    let payment = node(&seen, "Payment");
    assert!(payment.failures >= payment.restarts, "{payment:?}");
    assert!(payment.restarts_of_one >= 5, "{payment:?}");
    let last = &seen.recent_failures[0];
    assert_eq!(last.reason, "the certificate of bank.example has expired");
    assert_eq!(
        last.path.as_deref().map(unnumbered).as_deref(),
        Some("/user/shop/payment")
    );
    assert_eq!(last.effect, Effect::Restarted);
    let most = &seen.supervision.restarted[0];
    assert_eq!(unnumbered(&most.path), "/user/shop/payment");
    assert!(most.restarts >= 5, "{most:?}");
    assert_eq!(node(&seen, "Cart").failures, 0);
    let sentence = [
        "An actor of Payment keeps failing: it was restarted ",
        " times.",
    ];
    one_alert(&seen, Level::Critical, sentence);
}

#[test]
fn a_growing_mailbox_is_shown_with_its_growth_and_its_owner() {
    let seen = seen(Trouble::GrowingMailbox, |_| true);
    let log = node(&seen, "AuditLog");
    let growth = log.growth.expect("it was seen twice");
    assert!(growth > log.rate, "{log:?}");
    assert!(
        log.longest.is_some_and(|longest| longest > 10_000),
        "{log:?}"
    );
    assert_eq!(log.waiting, log.longest);
    assert_eq!(unnumbered(&seen.actors[0].name), "/user/audit-log");
    let sentence = [
        "A mailbox of AuditLog has ",
        " messages, above the limit of 10000 messages.",
    ];
    one_alert(&seen, Level::Warning, sentence);
}

#[test]
fn a_full_channel_names_the_stage_behind_it_without_an_alert() {
    let is_steady = |seen: &Snapshot| seen.edges[1].fill_p80 < 0.75 && seen.uptime > 1.0;
    let seen = seen(Trouble::FullChannel, is_steady);
    let json = serde_json::to_value(&seen).expect("a snapshot is JSON");
    let parser = node(&seen, "parser");
    assert_eq!(json["pipelines"][0]["bottleneck"], Value::from(&*parser.id));
    let text = json["pipelines"][0]["text"].as_str().expect("a sentence");
    assert!(text.starts_with("parser is the bottleneck: "), "{text}");
    assert!(
        text.ends_with(" % busy, its input is full, its output is not."),
        "{text}"
    );
    assert!(parser.busy.is_some_and(|busy| busy > 0.8), "{parser:?}");
    let waits = node(&seen, "reader").back_pressured;
    assert!(waits.is_some_and(|share| share > 0.8), "{waits:?}");
    let starves = node(&seen, "store").starved;
    assert!(starves.is_some_and(|share| share > 0.8), "{starves:?}");
    assert_eq!(seen.alerts, []);
}
