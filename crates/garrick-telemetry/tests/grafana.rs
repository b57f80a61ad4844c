//! Checks the dashboard for Grafana by means of Prometheus.
//!
//! Prometheus scrapes a busy process. Then each query of the dashboard must have an answer.

mod common;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use common::busy::Busy;
use common::tools::is_there;
use common::{Events, PATIENCE, anywhere, try_get};
use garrick_actor::{Reply, System, behavior};
use garrick_telemetry::{
    JournalPhase, JournalReading, KindReading, LinkReading, LinkState, MemberReading,
    OwnMemberReading, Reading, Recorder,
};
use serde_json::Value;

/// A Prometheus server that scrapes one process. It is stopped when it is dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Prometheus {
    fn start(target: SocketAddr) -> Self {
        let folder = format!("garrick-prometheus-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).expect("a folder for its data");
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 200ms, scrape_timeout: 200ms }}\n\
             scrape_configs:\n  - job_name: garrick\n    static_configs: [{{ targets: ['{target}'] }}]\n"
        );
        fs::write(&config, text).expect("a file");
        // The port is free again when the listener is dropped.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("a free port");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .spawn()
            .expect("it was there a moment ago");
        Self {
            child,
            address,
            folder,
        }
    }

    /// Returns the series that a query finds. Returns `None` if Prometheus does not answer yet.
    fn ask(&self, query: &str) -> Option<Vec<Value>> {
        let path = format!("/api/v1/query?query={}", encoded(query));
        let (status, body) = try_get(self.address, &path)?;
        if status == 503 {
            return None;
        }
        let json: Value = serde_json::from_str(&body).expect("the answer is JSON");
        assert_eq!(json["status"], "success", "{query}: {json}");
        json["data"]["result"].as_array().cloned()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // Nothing more can be done about a process that cannot be stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Encodes each byte that is not a letter or a digit, as in a URL.
fn encoded(query: &str) -> String {
    let bytes = query.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
}

/// Returns the dashboard, which is the file `docs/grafana.json`.
fn dashboard() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana.json");
    let text = fs::read_to_string(file).expect("the file is there");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Returns the queries of all panels, with the variables of Grafana replaced by their values.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let queries = targets.flatten().map(|target| {
        let query = target["expr"].as_str().expect("each target is a query");
        query
            .replace("$__rate_interval", "10s")
            .replace("$instance", ".*")
    });
    queries.collect()
}

/// Returns true if an answer has at least one series, and the value of each series is a number.
fn is_answered(series: &[Value]) -> bool {
    let is_number = |series: &Value| {
        let value = series["value"][1].as_str();
        value.is_some_and(|value| value.parse().is_ok_and(f64::is_finite))
    };
    !series.is_empty() && series.iter().all(is_number)
}

/// Adds a node of a cluster, with a member, a link and a kind of entities.
fn cluster(reading: &mut Reading, count: u64) {
    let local = || "bank-1".to_owned();
    reading.members.push(MemberReading {
        id: "member".to_owned(),
        local: local(),
        name: local(),
        own: Some(OwnMemberReading {
            lease_nanos: Some(4_000_000_000),
            ..OwnMemberReading::default()
        }),
        ..MemberReading::default()
    });
    reading.links.push(LinkReading {
        id: "link".to_owned(),
        local: local(),
        peer: "bank-2".to_owned(),
        state: LinkState::Up,
        sent_messages: count,
        ..LinkReading::default()
    });
    reading.kinds.push(KindReading {
        id: "kind".to_owned(),
        local: local(),
        name: "account".to_owned(),
        entities: count,
        ..KindReading::default()
    });
}

#[test]
fn each_query_of_the_dashboard_has_an_answer() {
    if !is_there("prometheus", &["--version"]) {
        return;
    }
    garrick_testkit::silence_panics();
    let busy = Busy::start(anywhere().recorder(&Recorder::default()));
    let target = busy.telemetry.address();
    // Some actor must have turns all the time, or they take no time.
    let system = System::builder().probes(true).start().expect("threads");
    busy.telemetry.watch(system.handle());
    let echo = system.spawn(behavior(|reply: Reply<u8>, _| reply.send(3)));
    let echo = echo.expect("the system is there");
    let mut written = 0;
    busy.telemetry.watch(move |reading: &mut Reading| {
        written += 1;
        reading.journals.push(JournalReading {
            id: "bank".to_owned(),
            name: "bank".to_owned(),
            openings: 1,
            phase: JournalPhase::Open,
            groups: written,
            turns: 10 * written,
            ..JournalReading::default()
        });
        cluster(reading, written);
    });
    let prometheus = Prometheus::start(target);
    let mut open = queries(&dashboard());
    assert!(open.len() > 20, "{open:?}");
    // The variable `instance` of the dashboard selects processes by this metric.
    let variable = &dashboard()["templating"]["list"][1]["definition"];
    assert_eq!(variable, "label_values(garrick_build_info, instance)");
    open.push(format!("garrick_build_info{{instance=\"{target}\"}}"));
    // Each event is a snapshot that Prometheus can scrape.
    let mut events = Events::open(target, "/events?every=200");
    let began = Instant::now();
    while !open.is_empty() {
        (0..100).for_each(|n| busy.numbers.send(n).expect("the pipeline runs"));
        for _ in 0..100 {
            assert_eq!(echo.ask(|reply| reply).wait().ok(), Some(3));
        }
        events.next().expect("the telemetry runs");
        open.retain(|query| {
            let answer = prometheus.ask(query);
            !answer.is_some_and(|series| is_answered(&series))
        });
        assert!(began.elapsed() < PATIENCE, "no answers: {open:#?}");
    }
}

#[test]
fn panels_do_not_overlap_and_are_numbered_once() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels");
    let area = |panel: &Value| {
        let of = |name: &str| panel["gridPos"][name].as_u64().expect("a number");
        (of("x")..of("x") + of("w"), of("y")..of("y") + of("h"))
    };
    for (number, panel) in panels.iter().enumerate() {
        let (columns, rows) = area(panel);
        assert!(columns.end <= 24, "{panel}");
        for other in &panels[..number] {
            let (xs, ys) = area(other);
            let apart_x = xs.end <= columns.start || columns.end <= xs.start;
            let apart_y = ys.end <= rows.start || rows.end <= ys.start;
            assert!(apart_x || apart_y, "{panel} covers {other}");
            assert_ne!(panel["id"], other["id"]);
        }
    }
}
