//! Compares two implementations of the fork bomb of TActors, an actor library in Lisp: a program in
//! Lisp, and Garrick's actors. The implementations run alternately.
//!
//! TActors' author describes his fork bomb and his event loops, but does not publish the code.
//! `fork_bomb.lisp` follows this description for the compiler SBCL. The program is fast because it
//! has only one queue and one thread, and neither checks nor mailboxes. The program has two event
//! loops. The *staged* loop follows the description: it delays the effects of a behavior until the
//! behavior returns. The *unstaged* loop is faster: it applies the effects at once, and undoes them
//! after an error.
//!
//! All contenders grow the same trees of 65,535 actors. An inner actor creates two actors, sends a
//! message to each, changes its behavior twice, and answers. A leaf answers. SBCL's queue grows a
//! tree level by level, and Garrick grows its branches one by one. A round consists of many trees,
//! because SBCL's garbage collector has more work with some trees than with others. The work of the
//! garbage collector follows a pattern that repeats about every 48 trees.

mod sbcl;

use comfy_table::{Table, presets};
use garrick_measure::{Contender, Effort, Measured, Point, Result, Section, Study};

use sbcl::{Loop, Sbcl};

/// The subcommand `fork-bomb-lisp`, which compares Garrick with a fork bomb in Lisp.
pub(super) const FORK_BOMB_LISP: Study = Study {
    name: "fork-bomb-lisp",
    about: "A fork bomb of 65,535 actors, compared with the same fork bomb in Lisp; needs SBCL",
    sections: &[Section {
        name: "fork-bomb-lisp",
        run,
    }],
};

/// The depth of the trees, the number of trees per round, and the number of rounds.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Depth of each tree. A tree has 2^(depth+1)-1 actors.
    depth: u32,
    /// Minimum number of trees that each contender grows in a round.
    trees: u64,
    rounds: usize,
}

impl Sizes {
    const FULL: Self = Self {
        depth: 15,
        trees: 96,
        rounds: 15,
    };

    const QUICK: Self = Self {
        rounds: 5,
        ..Self::FULL
    };

    /// Returns the number of actors in `trees` trees, which is the minimum for a round.
    fn actors(self) -> u64 {
        self.trees * ((2 << self.depth) - 1)
    }
}

/// A contender that grows trees.
enum Grower {
    Lisp(Loop),
    Ours(Contender),
}

impl Grower {
    /// Runs a round of the contender, and returns its measurement.
    fn round(&mut self, sbcl: &mut Sbcl, sizes: Sizes) -> Result<Measured> {
        match self {
            Self::Lisp(by) => {
                let measured = sbcl.round(*by, sizes.depth, sizes.trees)?;
                if measured.ops != sizes.actors() {
                    return Err(format!("sbcl created {} actors", measured.ops).into());
                }
                Ok(measured)
            }
            Self::Ours(contender) => ours(contender, sizes),
        }
    }
}

/// Makes one of Garrick's contenders grow the trees of a round.
fn ours(contender: &mut Contender, sizes: Sizes) -> Result<Measured> {
    let mut sum = Measured {
        ops: 0,
        cpu_ns: 0.0,
        wall_ns: 0.0,
        bytes_per_actor: None,
    };
    while sum.ops < sizes.actors() {
        let part = (contender.measure)(sizes.actors())?;
        sum.ops += part.ops;
        sum.cpu_ns += part.cpu_ns;
        sum.wall_ns += part.wall_ns;
    }
    Ok(sum)
}

/// A contender that grows trees, with the results of its rounds.
struct Row {
    name: String,
    rounds: Vec<Measured>,
}

/// Returns all contenders that grow trees. The contenders in Lisp are the first ones.
fn growers(sizes: Sizes) -> Vec<(String, Grower)> {
    let mut growers: Vec<(String, Grower)> = Loop::ALL
        .map(|by| (format!("SBCL, {}", by.name()), Grower::Lisp(by)))
        .into();
    let effort = Effort {
        quick: false,
        seconds_per_row: 1.0,
    };
    for (workers, name) in [(1, "Garrick, one thread"), (2, "Garrick, two workers")] {
        let depth = Point::default().with("depth", sizes.depth.into());
        let point = depth.with("workers", workers);
        let contenders = garrick_bench::contenders("fork-bomb", &effort, &point);
        let ours = contenders.into_iter().map(Grower::Ours);
        growers.extend(ours.map(|ours| (name.to_owned(), ours)));
    }
    growers
}

/// Runs the rounds of all contenders alternately. The first round of each contender is not counted.
fn measure(sbcl: &mut Sbcl, sizes: Sizes) -> Result<Vec<Row>> {
    let (names, mut growers): (Vec<String>, Vec<Grower>) = growers(sizes).into_iter().unzip();
    let row = |name| Row {
        name,
        rounds: Vec::new(),
    };
    let mut rows: Vec<Row> = names.into_iter().map(row).collect();
    for grower in &mut growers {
        grower.round(sbcl, sizes)?;
    }
    for number in 0..sizes.rounds {
        for place in 0..growers.len() {
            // Rotate the order, so that a grower does not always follow the same other grower.
            let index = (place + number) % growers.len();
            rows[index].rounds.push(growers[index].round(sbcl, sizes)?);
        }
    }
    Ok(rows)
}

fn run(quick: bool) -> Result<String> {
    let sizes = if quick { Sizes::QUICK } else { Sizes::FULL };
    let mut sbcl = Sbcl::start()?;
    let rows = measure(&mut sbcl, sizes)?;
    Ok(format!(
        "{}: trees of {} actors, {} trees per round, {} alternating rounds; times per actor\n{}",
        sbcl.version(),
        sizes.actors() / sizes.trees,
        sizes.trees,
        sizes.rounds,
        table(&rows)
    ))
}

/// Returns the median, the minimum and the maximum of the values. There must be at least one value.
fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    [
        at(values.len() / 2),
        at(0),
        at(values.len().saturating_sub(1)),
    ]
}

/// Returns the median, over all rounds, of the CPU time of `one` divided by the CPU time of
/// `other`.
fn times(one: &Row, other: &Row) -> f64 {
    let rounds = one.rounds.iter().zip(&other.rounds);
    spread(rounds.map(|(one, other)| one.cpu_per_op() / other.cpu_per_op()))[0]
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "CPU", "min .. max", "wall", "min .. max", "CPU x ours"]);
    let ours = rows.iter().find(|row| row.name.starts_with("Garrick"));
    for row in rows {
        let mut cells = vec![row.name.clone()];
        let of: [fn(&Measured) -> f64; 2] = [Measured::cpu_per_op, Measured::wall_per_op];
        for each in of {
            let [median, least, most] = spread(row.rounds.iter().map(each));
            cells.extend([
                format!("{median:.1} ns"),
                format!("{least:.1} .. {most:.1} ns"),
            ]);
        }
        cells.extend(ours.map(|ours| format!("{:.2}", times(row, ours))));
        table.add_row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ops: u64, cpu_ns: f64) -> Measured {
        Measured {
            ops,
            cpu_ns,
            wall_ns: 2.0 * cpu_ns,
            bytes_per_actor: None,
        }
    }

    #[test]
    fn ours_grow_whole_rounds() {
        let sizes = Sizes {
            depth: 3,
            trees: 2,
            rounds: 1,
        };
        assert_eq!(sizes.actors(), 30);
        let mut seen = 0;
        for (_, grower) in growers(sizes) {
            if let Grower::Ours(mut contender) = grower {
                let measured = ours(&mut contender, sizes).expect("threads are to be had");
                assert!(measured.ops >= 30 && measured.cpu_ns > 0.0);
                assert_eq!(measured.ops % 15, 0, "whole trees");
                seen += 1;
            }
        }
        assert_eq!(seen, 2);
    }

    #[test]
    fn rows_show_medians_and_ratios_of_rounds() {
        let row = |name: &str, cpu_ns: [f64; 3]| Row {
            name: name.to_owned(),
            rounds: cpu_ns.map(|cpu_ns| round(10, cpu_ns)).into(),
        };
        let rows = [
            row("SBCL, staged", [300.0, 500.0, 900.0]),
            row("Garrick, one thread", [200.0, 200.0, 300.0]),
        ];
        assert_eq!(times(&rows[0], &rows[1]), 2.5);
        let shown = table(&rows).to_string();
        let line = shown.lines().nth(1).expect("a line for each");
        for figure in ["50.0 ns", "30.0 .. 90.0 ns", "100.0 ns", "2.50"] {
            assert!(line.contains(figure), "{figure} is missing: {line}");
        }
    }
}
