//! The fork bomb of TActors: a binary tree of actors that grows, and reports back to its root. The
//! trees have from 63 to 33 million actors.

use garrick_measure::{
    Contender, Effort, Figure, Here, Point, Published, Rows, Scenario, Suite, Unit,
};

use super::{TACTORS, TACTORS_HERE};
use crate::scenarios::fork_bomb::{at, in_child};

/// Depths of the trees.
const DEPTHS: [u32; 10] = [5, 8, 10, 12, 14, 16, 18, 20, 22, 24];

/// Maximum depth in a quick run. A tree of this depth has 131,071 actors.
const DEPTH_QUICK: u32 = 16;

/// Minimum depth of a large tree, which takes so long to grow that it is measured only a few times.
const DEPTH_LARGE: u32 = 22;

/// Maximum number of measurements of a large tree. The published figures are medians of three
/// measurements, too.
const ROUNDS_LARGE: usize = 3;

const SIZES: Scenario = Scenario {
    name: "fork-bomb-sizes",
    operation: "one actor of binary trees of 2^(depth+1)-1 actors, grown one after the other until \
                there have been about 131,072 actors: the scenario fork-bomb of 'garrick bench', \
                at several depths",
    contenders: sizes,
};

const MEMORY: Scenario = Scenario {
    name: "fork-bomb-memory",
    operation: "one actor of one tree, on one worker, in a fresh process; bytes is the growth of \
                resident memory at its peak, divided by the number of all actors of the tree, \
                whether they were alive then or not",
    contenders: memory,
};

fn depth_max(effort: &Effort) -> u32 {
    effort.pick(DEPTHS[DEPTHS.len() - 1], DEPTH_QUICK)
}

fn sizes(effort: &Effort) -> Vec<Contender> {
    let max = depth_max(effort);
    let depths = DEPTHS.into_iter().filter(|depth| *depth <= max);
    let of = |depth: u32| {
        let contenders = at(effort, &Point::default().with("depth", depth.into()));
        contenders.into_iter().map(move |contender| {
            if depth < DEPTH_LARGE {
                contender
            } else {
                contender.rounds(ROUNDS_LARGE)
            }
        })
    };
    depths.flat_map(of).collect()
}

fn memory(effort: &Effort) -> Vec<Contender> {
    let depth = depth_max(effort);
    vec![
        Contender::fixed("garrick", move || in_child(depth))
            .with("depth", depth)
            .rounds(1),
    ]
}

/// Creates the report's line for the time per actor at one depth. On SBCL, a Lisp compiler, this
/// time was between `low` and `high`.
macro_rules! at_depth {
    ($depth:literal, $of:literal, $low:literal, $high:literal) => {
        Published {
            of: $of,
            here: Here::Noted(Figure::between($low, $high)),
            ours: |rows| cpu(rows, "garrick", &[("depth", $depth), ("workers", "1")]),
            ..Published::UNKNOWN
        }
    };
}

pub(super) const FORK_BOMB: Suite = Suite {
    name: "fork-bomb",
    about: "TActors: a fork bomb of up to 33 million actors, on one worker and on two",
    scenarios: &[SIZES, MEMORY],
    memory_bytes: |effort| effort.pick(256 << 20, 64 << 20),
    origin: TACTORS,
    here: TACTORS_HERE,
    published: &[
        at_depth!("5", "an actor of 63, one thread", 90.0, 138.0),
        at_depth!("10", "an actor of 2,047", 118.0, 133.0),
        at_depth!("16", "an actor of 131,071", 33.0, 68.0),
        at_depth!("20", "an actor of 2,097,151", 109.0, 186.0),
        at_depth!("22", "an actor of 8,388,607", 132.0, 132.0),
        at_depth!("24", "an actor of 33,554,431", 611.0, 611.0),
        Published {
            of: "cost at depth 24 / cost at depth 10",
            unit: Unit::TIMES_THE_COST,
            here: Here::Noted(Figure::between(4.6, 5.2)),
            ours: |rows| {
                let at = |depth| cpu(rows, "garrick", &[("depth", depth), ("workers", "1")]);
                Some(at("24")? / at("10")?)
            },
            ..Published::UNKNOWN
        },
        Published {
            of: "memory at its peak, 33,554,431 actors",
            unit: Unit::less("MB"),
            said: Some(Figure::of(500.0)),
            here: Here::Noted(Figure::of(6_000.0)),
            ours: |rows| {
                let row = rows.find("fork-bomb-memory", "garrick", &[("depth", "24")])?;
                Some(row.bytes_per_actor? * 33_554_431.0 / 1e6)
            },
        },
        Published {
            of: "several threads against one, largest tree",
            unit: Unit::TIMES_AS_FAST,
            said: Some(Figure::of(2.0)),
            ours: speed_up,
            ..Published::UNKNOWN
        },
        Published {
            of: "actors against plain calls, depth 16",
            unit: Unit::TIMES_THE_COST,
            said: Some(Figure::of(200.0)),
            here: Here::Noted(Figure::between(34.0, 134.0)),
            ours: |rows| {
                let one = cpu(rows, "garrick", &[("depth", "16"), ("workers", "1")])?;
                Some(one / cpu(rows, "recursion", &[("depth", "16")])?)
            },
        },
    ],
    note: "Times are CPU time of one thread. TActors has a single queue and grows the tree level \
           by level, so all actors are alive at the same time, at 16 bytes each as its author \
           counts them. Garrick runs the newest actor first, and drops a branch before it grows \
           the next one. The suite 'messages' measures idle actors that are all alive. Speed is \
           wall time: theirs on 4 cores, ours on two workers",
    ..Suite::PLAIN
};

fn cpu(rows: Rows<'_>, contender: &str, params: &[(&str, &str)]) -> Option<f64> {
    let row = rows.find("fork-bomb-sizes", contender, params)?;
    Some(row.cpu.median)
}

/// Returns the speed of two workers relative to one worker, for the largest tree.
fn speed_up(rows: Rows<'_>) -> Option<f64> {
    let wall = |workers| {
        let rows = rows.all("fork-bomb-sizes", "garrick", workers);
        rows.last().map(|row| row.wall.median)
    };
    Some(wall(&[("workers", "1")])? / wall(&[("workers", "2")])?)
}
