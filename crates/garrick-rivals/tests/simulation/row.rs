//! A row of a table: how long a contender searches until it finds a bug.

use std::panic;
use std::sync::Once;
use std::time::Duration;

use comfy_table::{Table, presets};

/// Number of searches with different seeds, for contenders whose searches are random.
pub(crate) const SEARCHES: u64 = 100;

/// Number of runs within which each search must find the bug.
pub(crate) const RUNS_MAX: u64 = 1000;

/// Messages of the panics with which programs report the planted bugs.
const PLANTED: &[&str] = &["both deposits count", "one decision"];

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
    /// Makes `searches` searches. `find` gets the first seed of a search.
    ///
    /// # Panics
    /// Panics if one of the searches does not find the bug.
    pub(crate) fn new(
        program: Program,
        (contender, search, unit): (&'static str, &'static str, &'static str),
        searches: u64,
        mut find: impl FnMut(u64) -> Option<Found>,
    ) -> Self {
        let mut one = |index| {
            let seed = index * RUNS_MAX;
            let name = program.name;
            let found = find(seed);
            found.unwrap_or_else(|| panic!("{contender}, {search}: {name} is not found, {seed}"))
        };
        Self {
            program,
            contender,
            search,
            unit,
            found: (0..searches).map(&mut one).collect(),
        }
    }

    fn cells(&self) -> [String; 6] {
        let mut after: Vec<u64> = self.found.iter().map(|found| found.after).collect();
        let mut times: Vec<Duration> = self.found.iter().map(|found| found.time).collect();
        after.sort_unstable();
        times.sort_unstable();
        let middle = self.found.len() / 2;
        let mean = after.iter().sum::<u64>() as f64 / after.len() as f64;
        let until = match self.found.len() {
            1 => format!("{} {}", after[0], self.unit),
            _ => format!("{mean:.1} {}", self.unit),
        };
        [
            self.contender.to_owned(),
            self.search.to_owned(),
            self.program.lines().to_string(),
            until,
            after.last().map_or_else(String::new, u64::to_string),
            format!("{:.2} ms", times[middle].as_secs_f64() * 1e3),
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

/// Keeps panics of planted bugs from being printed. To print a backtrace takes longer than to find
/// the bug.
pub(crate) fn silence_planted() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The first run of shuttle sets a hook, which would print them all the same.
        shuttle::check_random(|| {}, 1);
        drop(panic::take_hook());
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = info.payload_as_str().unwrap_or_default();
            if !PLANTED.iter().any(|planted| text.contains(planted)) {
                usual(info);
            }
        }));
    });
}
