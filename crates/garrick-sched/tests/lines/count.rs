//! The counts of cache line transfers in one scenario, and the text that shows them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::panic::Location;
use std::path::Path;
use std::time::{Duration, Instant};

use garrick_core::prim::counting::{self, Line};

/// Minimum number of transfers per operation for which a word is listed.
const MOVES_MIN: f64 = 0.1;

/// The writes to cache lines that more than one thread has written, during a number of operations.
pub(crate) struct Count {
    name: &'static str,
    operations: f64,
    lines: Vec<Line>,
}

/// The writes in one part of a scenario.
struct Part {
    time: Duration,
    operations: u64,
    lines: Vec<Line>,
}

impl Part {
    /// Counts the writes of `act`, which returns the number of its operations.
    fn of(act: impl FnOnce() -> u64) -> Self {
        counting::begin();
        let start = Instant::now();
        let operations = act();
        Self {
            time: start.elapsed(),
            operations,
            lines: counting::lines(),
        }
    }
}

/// The writes to one word, over all operations.
#[derive(Default)]
struct Word {
    writes: u64,
    moves: u64,
    /// The largest number of threads that wrote to one cache line with this word.
    threads: usize,
}

impl Count {
    pub(crate) const HEAD: &str = "\
| operation | lines | writes | moves | words, with moves an operation (writes; threads) |
| --- | --- | --- | --- | --- |";

    /// Counts the writes of `act`, which performs `operations` operations.
    pub(crate) fn of(name: &'static str, operations: u64, act: impl FnOnce()) -> Self {
        Self::of_all(
            name,
            vec![Part::of(|| {
                act();
                operations
            })],
        )
    }

    /// Counts the writes of `act` in a number of rounds. Each round returns the number of its
    /// operations. Only the faster half of the rounds counts. In the slower rounds, the operating
    /// system has made threads wait, so timed work, such as the checks for long turns, had more to
    /// do.
    pub(crate) fn of_faster(
        name: &'static str,
        times: usize,
        mut act: impl FnMut() -> u64,
    ) -> Self {
        let mut parts: Vec<_> = (0..times).map(|_| Part::of(&mut act)).collect();
        parts.sort_by_key(|part| part.time / part.operations.max(1) as u32);
        parts.truncate(times.div_ceil(2));
        Self::of_all(name, parts)
    }

    fn of_all(name: &'static str, parts: Vec<Part>) -> Self {
        let operations = parts.iter().map(|part| part.operations).sum::<u64>() as f64;
        let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
        for line in parts.into_iter().flat_map(|part| part.lines) {
            let all = lines.entry(line.number).or_default();
            all.writers.extend(line.writers);
            for (place, writes) in line.words {
                let word = all.words.entry(place).or_default();
                word.all += writes.all;
                word.moves += writes.moves;
            }
        }
        let lines = lines.into_values().filter(|line| line.writers.len() > 1);
        Self {
            name,
            operations,
            lines: lines.collect(),
        }
    }

    /// Returns how often an operation moves a cache line from one thread to another, on average.
    pub(crate) fn moves(&self) -> f64 {
        let words = self.lines.iter().flat_map(|line| line.words.values());
        words.map(|writes| writes.moves).sum::<u64>() as f64 / self.operations
    }

    /// Returns how often an operation writes to a cache line that other threads write, too.
    fn writes(&self) -> f64 {
        self.lines.iter().map(writes).sum::<u64>() as f64 / self.operations
    }

    /// Returns the number of cache lines that an operation writes and that other threads write,
    /// too.
    fn lines(&self) -> f64 {
        let share = |line: &Line| (writes(line) as f64 / self.operations).min(1.0);
        // A sum of nothing would be -0.
        0.0 + self.lines.iter().map(share).sum::<f64>()
    }

    fn words(&self) -> Vec<(String, Word)> {
        let mut words: BTreeMap<String, Word> = BTreeMap::new();
        for line in &self.lines {
            for (place, writes) in &line.words {
                let word = words.entry(name(place)).or_default();
                word.writes += writes.all;
                word.moves += writes.moves;
                word.threads = word.threads.max(line.writers.len());
            }
        }
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_by_key(|(_, word)| std::cmp::Reverse(word.moves));
        words
    }
}

fn writes(line: &Line) -> u64 {
    line.words.values().map(|writes| writes.all).sum()
}

/// Returns the name of the written word: the file, and the name of the field on which the method is
/// called.
fn name(place: &Location<'_>) -> String {
    let file = Path::new(place.file());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(file)).expect("the sources are there");
    let lines: Vec<&str> = text.lines().collect();
    let line = lines[place.line() as usize - 1];
    let method = &line[place.column() as usize - 1..];
    let module = match file.file_stem() {
        Some(stem) if stem == "mod" => file.parent().and_then(Path::file_name),
        stem => stem,
    };
    let module = module.expect("a file has a name").to_string_lossy();
    let called = method.split('(').next().unwrap_or_default();
    if called.contains("thread::park") || called == "unpark" {
        return "park".to_owned();
    }
    let mut before = lines[..place.line() as usize - 1].concat();
    before.push_str(&line[..place.column() as usize - 1]);
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || ".)".contains(c));
    let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_');
    let field = &before[start.map_or(0, |start| start + 1)..];
    if field.parse::<u32>().is_ok() || field.is_empty() {
        return module.into_owned();
    }
    format!("{module}.{field}")
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lines, writes, moves) = (self.lines(), self.writes(), self.moves());
        write!(
            f,
            "| {} | {lines:.1} | {writes:.1} | {moves:.1} |",
            self.name
        )?;
        let mut rest = (0, 0);
        let mut comma = "";
        for (name, word) in self.words() {
            let moves = word.moves as f64 / self.operations;
            if moves < MOVES_MIN {
                rest = (rest.0 + 1, rest.1 + word.moves);
                continue;
            }
            let writes = word.writes as f64 / self.operations;
            write!(
                f,
                "{comma} `{name}` {moves:.1} ({writes:.1}; {})",
                word.threads
            )?;
            comma = ",";
        }
        write!(f, " |")
    }
}
