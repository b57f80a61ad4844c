//! A row of a table: how long a contender searches until it finds a bug.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::Duration;

use comfy_table::{Table, presets};

/// Number of searches with different seeds, for contenders whose searches are random.
const SEARCHES: u64 = 30;

/// Number of times that a search without a seed is repeated. Its median time counts.
const REPEATS: usize = 5;

/// Number of runs within which each search must find the bug.
pub(crate) const RUNS_MAX: u64 = 1000;

/// Messages of the panics with which programs report the planted bugs.
const PLANTED: &[&str] = &["both deposits count", "one decision", "not 3142"];

/// The program of a contender.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
}

impl Program {
    /// Returns the number of lines that are neither empty nor comments.
    fn lines(self) -> usize {
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
        self.source.lines().map(str::trim).filter(is_code).count()
    }
}

/// The end of a search that has found the bug.
pub(crate) struct Found {
    /// Number of runs or states, including the one with the bug.
    pub(crate) after: u64,
    pub(crate) time: Duration,
}

/// The searches of one contender for one bug.
pub(crate) struct Row {
    program: Program,
    contender: &'static str,
    search: &'static str,
    unit: &'static str,
    found: Vec<Found>,
}

impl Row {
    /// Searches several times. Each search is a call of `find` with the seed of its first run.
    ///
    /// # Panics
    /// Panics if one of the searches does not find the bug.
    pub(crate) fn random(
        program: Program,
        (contender, search, unit): (&'static str, &'static str, &'static str),
        mut find: impl FnMut(u64) -> Option<Found>,
    ) -> Self {
        let mut one = |index| {
            let seed = index * RUNS_MAX;
            let name = program.name;
            let found = find(seed);
            found
                .unwrap_or_else(|| panic!("{contender}, {search}: {name} is not found from {seed}"))
        };
        Self {
            program,
            contender,
            search,
            unit,
            found: (0..SEARCHES).map(&mut one).collect(),
        }
    }

    /// Repeats a search without a seed, and keeps the median time. The row is empty if the bug is
    /// not found.
    pub(crate) fn same(
        program: Program,
        (contender, search, unit): (&'static str, &'static str, &'static str),
        mut find: impl FnMut() -> Option<Found>,
    ) -> Self {
        let mut found: Vec<Found> = (0..REPEATS).map_while(|_| find()).collect();
        found.sort_by_key(|found| found.time);
        let median = found.into_iter().nth(REPEATS / 2);
        Self {
            program,
            contender,
            search,
            unit,
            found: median.into_iter().collect(),
        }
    }

    /// Returns this row unchanged, after a check that the bug was found.
    ///
    /// # Panics
    /// Panics if the bug was not found.
    pub(crate) fn found(self) -> Self {
        let Self {
            program,
            contender,
            search,
            ..
        } = &self;
        let name = program.name;
        assert!(
            !self.found.is_empty(),
            "{contender}, {search}: {name} is not found"
        );
        self
    }

    /// Returns a copy of this row with another name of the search, and with the given times instead
    /// of the measured ones.
    pub(crate) fn with_times(&self, search: &'static str, times: &[Duration]) -> Self {
        let with_time = |(found, time): (&Found, &Duration)| Found {
            after: found.after,
            time: *time,
        };
        Self {
            search,
            found: self.found.iter().zip(times).map(with_time).collect(),
            ..*self
        }
    }

    fn cells(&self) -> [String; 6] {
        let mut after: Vec<u64> = self.found.iter().map(|found| found.after).collect();
        let mut times: Vec<Duration> = self.found.iter().map(|found| found.time).collect();
        after.sort_unstable();
        times.sort_unstable();
        let (until, max, time) = match after[..] {
            [] => (format!("not in {RUNS_MAX} {}", self.unit), None, None),
            [only] => (format!("{only} {}", self.unit), Some(only), Some(times[0])),
            [.., max] => {
                let mean = after.iter().sum::<u64>() as f64 / after.len() as f64;
                let until = format!("{mean:.1} {}", self.unit);
                (until, Some(max), Some(times[times.len() / 2]))
            }
        };
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        [
            self.contender.to_owned(),
            self.search.to_owned(),
            self.program.lines().to_string(),
            until,
            or_dash(max.map(|max| max.to_string())),
            or_dash(time.map(|time| format!("{:.2} ms", time.as_secs_f64() * 1e3))),
        ]
    }
}

/// Returns the rows as a table.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        "contender",
        "search",
        "lines",
        "until found, mean",
        "max",
        "time, median",
    ]);
    for row in rows {
        table.add_row(row.cells());
    }
    let name = rows.first().map_or("", |row| row.program.name);
    format!("{name}\n{table}\n")
}

fn is_planted(panic: &dyn Any) -> bool {
    let text = panic.downcast_ref::<String>();
    PLANTED
        .iter()
        .any(|planted| text.is_some_and(|text| text.contains(planted)))
}

/// Returns true if the runs end with the panic of a planted bug. Passes other panics on to the
/// caller.
pub(crate) fn finds(runs: impl FnOnce()) -> bool {
    let Err(panic) = panic::catch_unwind(AssertUnwindSafe(runs)) else {
        return false;
    };
    if !is_planted(&*panic) {
        panic::resume_unwind(panic);
    }
    true
}

/// Prevents panics of planted bugs from being printed, because printing a backtrace takes longer
/// than finding the bug.
pub(crate) fn silence_planted() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The first run of shuttle sets a hook, which would print them all the same.
        shuttle::check_random(|| {}, 1);
        drop(panic::take_hook());
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_planted(info.payload()) {
                usual(info);
            }
        }));
    });
}
