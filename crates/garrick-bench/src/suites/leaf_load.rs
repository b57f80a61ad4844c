//! TActors: the fork bomb whose leaves have work to do, compared with direct calls.

use garrick_measure::{
    Contender, Effort, Figure, Here, Measured, Published, Result, Rows, Scenario, Suite, Unit,
};

use super::break_even::{BreakEven, Times, break_even};
use super::{TACTORS, TACTORS_HERE};
use crate::scenarios::fork_bomb::{Erfc, Load, Randoms, Wood};

/// Depth of the trees whose leaves compute random numbers. The measurements on SBCL, a Lisp
/// compiler, used the same depth.
const DEPTH: u32 = 16;

/// Depth of the trees whose leaves compute random numbers, in a quick run.
const DEPTH_QUICK: u32 = 14;

/// Depth of the trees whose leaves compute erfc, the complementary error function. The published
/// measurements used depths of up to 12.
const DEPTH_ERFC: u32 = 10;

/// Depth of the trees whose leaves compute erfc (the complementary error function), in a quick run.
const DEPTH_ERFC_QUICK: u32 = 8;

/// Measured loads: how many random numbers each leaf computes.
const RANDOMS: [u32; 9] = [0, 1, 4, 10, 16, 64, 100, 256, 1000];

/// Measured loads: how many values of erfc, the complementary error function, each leaf computes.
const ERFCS: [u32; 2] = [1, 1000];

const OF_RANDOMS: Scenario = Scenario {
    name: "leaf-load",
    operation: "one leaf of a binary tree of 2^depth leaves, with its share of the inner nodes; \
                each leaf computes a number of random numbers (randoms, by SplitMix64); the nodes \
                are actors, on the calling thread or on two workers, or direct calls on one \
                thread: plain recursion, or a boxed continuation for each inner node",
    contenders: |effort: &Effort| {
        let depth = effort.pick(DEPTH, DEPTH_QUICK);
        let at = |randoms| contenders(depth, Randoms(randoms), "randoms", randoms);
        RANDOMS.into_iter().flat_map(at).collect()
    },
};

const OF_ERFC: Scenario = Scenario {
    name: "leaf-load-erfc",
    operation: "one leaf as in 'leaf-load', but each leaf computes the complementary error \
                function of a number of random numbers (erfc)",
    contenders: |effort: &Effort| {
        let depth = effort.pick(DEPTH_ERFC, DEPTH_ERFC_QUICK);
        let at = |values| contenders(depth, Erfc(values), "erfc", values);
        ERFCS.into_iter().flat_map(at).collect()
    },
};

/// Returns the contenders for one load: actors on one worker, actors on two workers, plain
/// recursion, and boxed continuations.
fn contenders<L: Load>(depth: u32, load: L, name: &str, count: u32) -> [Contender; 4] {
    let wood = Wood::tree(depth, load);
    let leaves = move |measured: Measured| Measured {
        ops: wood.leaves(),
        ..measured
    };
    let actors = move |workers| -> Result<Measured> { Ok(leaves(wood.by_actors(workers)?)) };
    [
        Contender::fixed("garrick", move || actors(1)).with("workers", 1),
        Contender::fixed("garrick", move || actors(2)).with("workers", 2),
        Contender::fixed("recursion", move || Ok(leaves(wood.by_recursion()))),
        Contender::fixed("boxed-continuations", move || {
            Ok(leaves(wood.by_continuations()))
        }),
    ]
    .map(|contender| contender.with(name, count).with("depth", depth))
}

/// Creates the report's line for one load: the time that actors take, divided by the time that
/// plain recursion takes. On SBCL, a Lisp compiler, this ratio was between `low` and `high`.
macro_rules! under {
    ($randoms:literal, $of:literal, $said:expr, $low:literal, $high:literal) => {
        Published {
            of: $of,
            unit: Unit::TIMES_THE_COST,
            said: $said,
            here: Here::Noted(Figure::between($low, $high)),
            ours: |rows| over_recursion(rows, "leaf-load", &[("randoms", $randoms)]),
        }
    };
}

pub(super) const LEAF_LOAD: Suite = Suite {
    name: "leaf-load",
    about: "TActors: trees whose leaves have work to do, compared with direct calls, and the \
            minimum work for which actors are faster",
    scenarios: &[OF_RANDOMS, OF_ERFC],
    memory_bytes: |_| 256 << 20,
    origin: TACTORS,
    here: TACTORS_HERE,
    published: &[
        under!(
            "0",
            "actors / calls, no load",
            Some(Figure::of(200.0)),
            58.0,
            82.0
        ),
        under!("1", "actors / calls, 1 random a leaf", None, 10.5, 12.6),
        under!("4", "actors / calls, 4 randoms", None, 5.0, 5.0),
        under!("16", "actors / calls, 16 randoms", None, 1.4, 1.4),
        under!(
            "64",
            "actors / calls, 64 randoms",
            Some(Figure::of(1.0)),
            1.1,
            1.3
        ),
        under!("256", "actors / calls, 256 randoms", None, 0.9, 0.9),
        under!("1000", "actors / calls, 1000 randoms", None, 0.6, 1.03),
        Published {
            of: "actors / calls, 1 erfc a leaf",
            unit: Unit::TIMES_THE_COST,
            said: Some(Figure::of(1.0)),
            here: Here::Noted(Figure::between(0.85, 1.4)),
            ours: |rows| over_recursion(rows, "leaf-load-erfc", &[("erfc", "1")]),
        },
        Published {
            of: "actors / calls, 1000 erfc a leaf",
            unit: Unit::TIMES_THE_COST,
            said: Some(Figure::of(1.0)),
            ours: |rows| over_recursion(rows, "leaf-load-erfc", &[("erfc", "1000")]),
            ..Published::UNKNOWN
        },
        Published {
            of: "several threads against one, 1000 erfc",
            unit: Unit::TIMES_AS_FAST,
            said: Some(Figure::of(2.0)),
            ours: |rows| {
                let wall = |workers| {
                    let params = [("erfc", "1000"), ("workers", workers)];
                    Some(rows.find("leaf-load-erfc", "garrick", &params)?.wall.median)
                };
                Some(wall("1")? / wall("2")?)
            },
            ..Published::UNKNOWN
        },
    ],
    note: "actors / calls is the CPU time of actors on one thread divided by that of plain \
           recursion, which the source calls direct continuation calls. SBCL's random numbers come \
           from a Mersenne twister, ours from SplitMix64, which takes far less time, so the same \
           count is a smaller load here. Speed is wall time: theirs on 4 cores, ours on two \
           workers",
    findings,
};

/// Returns the CPU time of actors on one thread, divided by the CPU time of plain recursion.
fn over_recursion(rows: Rows<'_>, scenario: &str, load: &[(&str, &str)]) -> Option<f64> {
    let params = [load, &[("workers", "1")]].concat();
    let actors = rows.find(scenario, "garrick", &params)?.cpu.median;
    Some(actors / rows.find(scenario, "recursion", load)?.cpu.median)
}

/// Reports the minimum loads for which actors on two workers are no slower than direct calls.
fn findings(rows: Rows<'_>) -> Vec<String> {
    let of = |contender| {
        let found = break_even(&times(rows, contender))?;
        Some(said(found, contender, random_ns(rows)?))
    };
    ["boxed-continuations", "recursion"]
        .into_iter()
        .filter_map(of)
        .collect()
}

/// Returns the wall times of actors on two workers and of `contender`, at each load.
fn times(rows: Rows<'_>, contender: &str) -> Vec<Times> {
    let at = |randoms: u32| {
        let load = randoms.to_string();
        let two = [("randoms", load.as_str()), ("workers", "2")];
        let wall = |name, params: &[(&str, &str)]| {
            let row = rows.find("leaf-load", name, params)?;
            Some(row.wall.median)
        };
        Some(Times {
            load: randoms.into(),
            one: wall("garrick", &two)?,
            other: wall(contender, &two[..1])?,
        })
    };
    RANDOMS.into_iter().filter_map(at).collect()
}

/// Returns how long the computation of one random number takes. The time is derived from the
/// measurements of plain recursion without load and with the largest load.
fn random_ns(rows: Rows<'_>) -> Option<f64> {
    let at = |randoms| {
        let row = rows.find("leaf-load", "recursion", &[("randoms", randoms)])?;
        Some(row.cpu.median)
    };
    Some((at("1000")? - at("0")?) / 1000.0)
}

fn said(found: BreakEven, contender: &str, random_ns: f64) -> String {
    let when = match found {
        BreakEven::Always => "for all of the loads".to_owned(),
        BreakEven::Never => "for none of the loads".to_owned(),
        BreakEven::From(randoms) => format!(
            "from {randoms:.0} random numbers per leaf on, which take {:.0} ns",
            randoms * random_ns
        ),
    };
    format!("Actors on two workers are no slower than {contender} on one thread {when}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{at, row};
    use garrick_measure::Row;

    /// Creates rows in which a leaf of `contender` takes `base` nanoseconds, plus `each`
    /// nanoseconds for each random number.
    fn curve(contender: &'static str, workers: Option<u64>, base: f64, each: f64) -> Vec<Row> {
        let one = |randoms: u32| {
            let ns = base + each * f64::from(randoms);
            let row = at(row("leaf-load", contender, ns), "randoms", randoms.into());
            match workers {
                Some(workers) => at(row, "workers", workers),
                None => row,
            }
        };
        RANDOMS.into_iter().map(one).collect()
    }

    /// Returns the findings for actors on two workers. Each leaf takes `base` nanoseconds, plus
    /// `each` nanoseconds for each random number.
    fn found(base: f64, each: f64) -> Vec<String> {
        let rows = [
            curve("garrick", Some(1), 100.0, 2.0),
            curve("garrick", Some(2), base, each),
            curve("recursion", None, 10.0, 2.0),
            curve("boxed-continuations", None, 30.0, 2.0),
        ];
        findings(Rows::new(&rows.concat()))
    }

    #[test]
    fn the_break_even_is_told_in_numbers_and_in_time() {
        let found = found(60.0, 1.0);
        assert!(found[0].contains("boxed-continuations"), "{found:?}");
        assert!(found[0].contains("from 30 random"), "{found:?}");
        assert!(found[0].contains("60 ns"), "{found:?}");
        assert!(
            found[1].contains("recursion on one thread from 50"),
            "{found:?}"
        );
    }

    #[test]
    fn it_is_told_if_there_is_none() {
        assert!(found(5.0, 2.0)[1].contains("for all"));
        assert!(found(500.0, 2.0)[0].contains("for none"));
        assert!(findings(Rows::new(&[])).is_empty());
    }

    #[test]
    fn a_ratio_is_of_the_same_load() {
        let rows = [
            curve("garrick", Some(2), 1.0, 1.0),
            curve("garrick", Some(1), 40.0, 2.0),
            curve("recursion", None, 10.0, 2.0),
        ]
        .concat();
        let ratio =
            |randoms| over_recursion(Rows::new(&rows), "leaf-load", &[("randoms", randoms)]);
        assert_eq!(ratio("0"), Some(4.0));
        assert_eq!(ratio("10"), Some(2.0));
        assert_eq!(ratio("11"), None);
    }
}
