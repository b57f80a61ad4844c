//! A rolling upgrade and its rollback in simulations. A third node joins two nodes. Each node
//! restarts with the next version of the program, and later with the first version. At the end, two
//! nodes remain. During the run, programs of both versions call durable entities. No call may be
//! refused.
#![forbid(unsafe_code)]

mod account;

mod callers;
mod lives;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::Handle;
use garrick_cluster::LocalNet;
use garrick_cluster::placement::LocalPlacement;
use garrick_journal::MemoryLog;
use garrick_sim::{Check, Facts, Sim};
use garrick_testkit::seeds;

use callers::{Answered, Plan};
use lives::Act::{self, End, Join, Leave};
use lives::Version::{Newer, Older};
use lives::{Life, SHARDS, Seen};

/// Number of seeds of each check in an optimized build. `GARRICK_CLUSTER_SEEDS` sets another
/// number.
const SEEDS: u64 = 25;

/// Maximum number of steps of a run.
const STEPS_MAX: u32 = 1_000_000;

/// Maximum 99th percentile of the durations of calls.
const P99_MAX: Duration = Duration::from_millis(200);

/// Network, placement and journals of the nodes.
#[derive(Clone)]
pub(crate) struct Shared {
    net: LocalNet,
    placement: LocalPlacement,
    log: MemoryLog,
}

impl Shared {
    fn new(store: &Handle) -> Self {
        Self {
            net: LocalNet::new(),
            placement: LocalPlacement::new(store).unwrap(),
            log: MemoryLog::new(),
        }
    }
}

fn number_of_seeds() -> u64 {
    seeds("GARRICK_CLUSTER_SEEDS", SEEDS)
}

/// Makes a node follow a plan: steps, with the seconds at which they take place.
fn live(sim: &mut Sim, shared: &Shared, name: &'static str, acts: &'static [(u64, Act)]) {
    let node = sim.node(name);
    let life = Life::new(node.handle().clone(), shared.clone(), name, acts);
    drop(node.spawn(life).unwrap());
}

fn no_call_is_refused(facts: &Facts) -> Result<(), String> {
    let mut answers = facts.seen::<Answered>();
    let refused = answers.find(|answered| answered.took.is_err());
    refused.map_or(Ok(()), |refused| Err(format!("{refused:?}")))
}

/// Durations of calls.
type Times = Arc<Mutex<Vec<Duration>>>;

/// Steps of the nodes in the rolling upgrade. A node leaves when its shards were handed over, and
/// gets its share of the shards 10 s after it has joined.
const NODES: [(&str, &[(u64, Act)]); 3] = [
    (
        "node-1",
        &[
            (0, Join(Older, 1..=1)),
            (40, Leave),
            (45, Join(Newer, 1..=1)),
            (110, Leave),
            (115, Join(Older, 1..=1)),
            (170, End),
        ],
    ),
    (
        "node-2",
        &[
            (0, Join(Older, 1..=1)),
            (60, Leave),
            (65, Join(Newer, 1..=1)),
            (130, Leave),
            (135, Join(Older, 1..=1)),
            (170, End),
        ],
    ),
    (
        "node-3",
        &[
            (20, Join(Older, 1..=1)),
            (80, Leave),
            (85, Join(Newer, 1..=1)),
            (150, Leave),
        ],
    ),
];

/// Period in which callers use the new variant. In this period, all nodes have the newer version.
const NEWS: Range<Duration> = Duration::from_secs(95)..Duration::from_secs(105);

fn rolling_upgrade(sim: &mut Sim, times: Times) {
    let shared = Shared::new(sim.node("store").handle());
    sim.latency(Duration::from_micros(100)..Duration::from_millis(1));
    for (name, acts) in NODES {
        live(sim, &shared, name, acts);
    }
    for (name, version) in [("caller-1", Older), ("caller-2", Newer)] {
        let node = sim.node(name);
        let news = (version == Newer).then_some(NEWS);
        let last = Duration::from_secs(160);
        let (handle, shared) = (node.handle().clone(), shared.clone());
        callers::spawn(
            &node,
            Plan {
                handle,
                shared,
                name,
                version,
                news,
                last,
            },
        );
    }
    sim.explained("no call is refused", no_call_is_refused);
    sim.at_end("calls have times", move |facts| {
        let took = facts
            .seen::<Answered>()
            .filter_map(|one| one.took.clone().ok());
        times.lock().unwrap().extend(took);
        true
    });
    sim.at_end("calls of all kinds are answered", |facts| {
        let of_kind = |is_new| {
            facts
                .seen::<Answered>()
                .filter(move |one| one.is_new == is_new)
        };
        of_kind(false).count() > 4_000 && of_kind(true).count() > 50
    });
    sim.at_end("nodes of both versions have run entities", |facts| {
        let owned = |version| {
            facts
                .seen::<Seen>()
                .any(|seen| seen.version == version && seen.owned > 0)
        };
        owned(Older) && owned(Newer)
    });
}

/// Plans of three nodes. The first node cannot read version 2. The second node can read version 2,
/// but does not write it. The third node writes version 2, leaves, and comes back without support
/// for version 1.
const VERSIONS: [(&str, &[(u64, Act)]); 3] = [
    ("node-1", &[(0, Join(Older, 1..=1)), (150, End)]),
    ("node-2", &[(0, Join(Older, 1..=2)), (150, End)]),
    (
        "node-3",
        &[
            (20, Join(Newer, 1..=2)),
            (80, Leave),
            (110, Join(Newer, 2..=2)),
            (150, End),
        ],
    ),
];

fn newer_journals(sim: &mut Sim) {
    let shared = Shared::new(sim.node("store").handle());
    sim.latency(Duration::from_micros(100)..Duration::from_millis(1));
    for (name, acts) in VERSIONS {
        live(sim, &shared, name, acts);
    }
    let node = sim.node("caller");
    let plan = Plan {
        handle: node.handle().clone(),
        shared,
        name: "caller",
        version: Older,
        news: None,
        last: Duration::from_secs(140),
    };
    callers::spawn(&node, plan);
    sim.explained("no call is refused", no_call_is_refused);
    sim.explained(
        "only nodes that can read a journal own it",
        owned_by_readers,
    );
    sim.at_end("a node tells why it owns nothing", |facts| {
        let mut seen = facts.seen::<Seen>();
        let seen = seen.rfind(|seen| seen.node == "node-1");
        let why = seen.and_then(|seen| seen.failure.clone());
        let text = "the kind account has the version 2, and this node can read the versions 1 to 1";
        why.as_deref() == Some(text)
    });
}

/// Checks how many shards the nodes own, at all times when 10 s have passed since the last change.
fn owned_by_readers(facts: &Facts) -> Result<(), String> {
    let mut seconds: BTreeMap<u64, BTreeMap<&str, usize>> = BTreeMap::new();
    for (at, seen) in facts.timed::<Seen>() {
        let owned = seconds.entry(at / 1_000_000_000).or_default();
        owned.insert(seen.node, seen.owned);
    }
    for (second, owned) in seconds {
        let of = |name| owned.get(name).copied().unwrap_or(0);
        let owned = [of("node-1"), of("node-2"), of("node-3")];
        let is_right = match (second, owned) {
            (15..=19, [one, two, 0]) => one + two == SHARDS && one > 0,
            (60..=79 | 130..=149, [0, two, three]) => two + three == SHARDS && three > 0,
            (95..=109, owned) => owned == [0, SHARDS, 0],
            (0..=14 | 20..=59 | 80..=94 | 110..=129 | 150.., _) => true,
            _ => false,
        };
        if !is_right {
            return Err(format!("{owned:?} after {second} s"));
        }
    }
    Ok(())
}

#[test]
fn journals_of_a_newer_version_are_not_given_to_older_nodes() {
    let check = Check::new("newer journals")
        .seeds(number_of_seeds())
        .steps(STEPS_MAX);
    match check.run(newer_journals) {
        Ok(report) => println!("{report}"),
        Err(failed) => panic!("{failed}"),
    }
}

#[test]
fn a_rolling_upgrade_and_its_way_back_refuse_no_call() {
    let times = Times::default();
    let check = Check::new("rolling upgrade")
        .seeds(number_of_seeds())
        .steps(STEPS_MAX);
    match check.run(|sim| rolling_upgrade(sim, times.clone())) {
        Ok(report) => println!("{report}"),
        Err(failed) => panic!("{failed}"),
    }
    let mut times = times.lock().unwrap();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 1_000];
    let (median, p99, longest) = (at(500), at(990), at(1_000));
    println!(
        "{} calls: median {median:?}, p99 {p99:?}, longest {longest:?}",
        times.len()
    );
    assert!(p99 < P99_MAX, "{p99:?}");
}
