//! Subcommand `garrick soak`.

use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use garrick_bench::Soak;
use garrick_measure::commands::{Ended, print};
use garrick_measure::{Result, Stop, provenance, resident_bytes, units};

/// Number of minutes after which all memory pools have reached their final size. The resident
/// memory at this time is compared with later values.
const SETTLED_MIN: u64 = 2;

/// Maximum number of minutes: a month.
const MINUTES_MAX: u64 = 31 * 24 * 60;

/// Maximum number of rounds. More rounds would take hundreds of years.
const ROUNDS_MAX: u64 = 1_000_000_000_000;

/// Maximum growth of resident memory, in percent, after the memory pools have reached their final
/// size.
const GROWN_PERCENT_MAX: f64 = 5.0;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of minutes to run. It is at least 3, because the memory at the end is compared with
    /// the memory after 2 minutes.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u64).range(SETTLED_MIN + 1..=MINUTES_MAX))]
    minutes: u64,

    /// Stop after this number of rounds, without a time limit, and do not check memory. A round is
    /// a fixed amount of work of each kind.
    #[arg(long, value_name = "N", conflicts_with = "minutes", value_parser = value_parser!(u64).range(1..=ROUNDS_MAX))]
    rounds: Option<u64>,

    /// Number of workers of the system. The default is one for each core.
    #[arg(long, value_name = "N", value_parser = workers)]
    workers: Option<usize>,
}

fn workers(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(workers @ 1..=64) => Ok(workers),
        _ => Err("not a number of workers from 1 to 64".to_owned()),
    }
}

/// Runs all kinds of work in a system. Prints the state of the process each minute, and a summary
/// at the end.
pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let stop = Stop::on_ctrl_c()?;
    let mut soak = Soak::start(arguments.workers)?;
    let (began, mut memory) = (Instant::now(), Memory::default());
    let mut next = 1;
    while !stop.is_wanted() && arguments.rounds.is_none_or(|rounds| soak.rounds() < rounds) {
        soak.round()?;
        let minute = began.elapsed().as_secs() / MINUTE.as_secs();
        if minute >= next {
            let resident = resident_bytes()?;
            print(&line(minute, resident, &soak));
            memory.note(minute, resident);
            next = minute + 1;
        }
        if arguments.rounds.is_none() && minute >= arguments.minutes {
            break;
        }
    }
    print(&summary(&soak));
    soak.end()?;
    print("the system was shut down in order: no actor is left, and no message was lost");
    if let Some(grown) = memory.grown() {
        print(&grown.told());
    }
    print(&provenance());
    if stop.is_wanted() {
        return Ok(Ended::Interrupted("all rounds were checked".to_owned()));
    }
    Ok(match memory.grown() {
        Some(grown) if grown.percent() > GROWN_PERCENT_MAX => Ended::Wrong(format!(
            "resident memory has grown by more than {GROWN_PERCENT_MAX} %"
        )),
        _ => Ended::Well,
    })
}

/// Returns the line that describes the process after `minute` minutes.
fn line(minute: u64, resident: u64, soak: &Soak) -> String {
    let operations = soak.operations().map(|(_, operations)| operations).sum();
    format!(
        "minute {minute:>3}  resident {:>9}  actors {:>4}  rounds {:>9}  operations {}",
        units::bytes(resident),
        units::whole(soak.actors()),
        units::whole(soak.rounds()),
        units::whole(operations),
    )
}

/// Returns a text that summarizes what each part of the soak has done.
fn summary(soak: &Soak) -> String {
    let mut lines = vec![format!(
        "{} rounds, all with correct results:",
        units::whole(soak.rounds())
    )];
    let parts = soak.operations();
    lines.extend(
        parts.map(|(name, operations)| format!("{name:18}{:>20}", units::whole(operations))),
    );
    lines.join("\n")
}

/// Resident memory at two times: when the memory pools had reached their final size, and at the
/// latest measurement. Each field is a pair: the time in minutes since the start, and the memory in
/// bytes.
#[derive(Debug, Default)]
struct Memory {
    settled: Option<(u64, u64)>,
    last: Option<(u64, u64)>,
}

impl Memory {
    fn note(&mut self, minute: u64, resident: u64) {
        if minute < SETTLED_MIN {
            return;
        }
        if self.settled.is_none() {
            self.settled = Some((minute, resident));
        } else {
            self.last = Some((minute, resident));
        }
    }

    fn grown(&self) -> Option<Grown> {
        let (settled, last) = (self.settled?, self.last?);
        Some(Grown { settled, last })
    }
}

/// Growth of the resident memory between two times of the run. Each field contains a time and the
/// memory at this time, as in [`Memory`].
#[derive(Debug, Clone, Copy)]
struct Grown {
    settled: (u64, u64),
    last: (u64, u64),
}

impl Grown {
    fn percent(self) -> f64 {
        100.0 * (self.last.1 as f64 / self.settled.1 as f64 - 1.0)
    }

    fn told(self) -> String {
        let Self { settled, last } = self;
        format!(
            "resident memory: {} after {} minutes, {} after {}: {:+.2} %",
            units::bytes(settled.1),
            settled.0,
            units::bytes(last.1),
            last.0,
            self.percent()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_compared_with_what_it_was_when_it_had_settled() {
        let mut memory = Memory::default();
        for (minute, resident) in [(1, 1 << 20), (2, 2 << 20)] {
            memory.note(minute, resident);
            assert!(memory.grown().is_none(), "{minute}");
        }
        for (resident, percent) in [(2 << 20, 0.0), (3 << 20, 50.0), (1 << 20, -50.0)] {
            memory.note(10, resident);
            let grown = memory.grown().unwrap();
            assert!((grown.percent() - percent).abs() < 1e-9, "{grown:?}");
        }
        let told = memory.grown().unwrap().told();
        let expected = "resident memory: 2.00 MiB after 2 minutes, 1.00 MiB after 10: -50.00 %";
        assert_eq!(told, expected);
    }

    #[test]
    fn workers_have_limits() {
        assert_eq!([workers("1"), workers("64")], [Ok(1), Ok(64)]);
        for text in ["0", "65", "-1", "two", ""] {
            assert!(workers(text).is_err(), "{text}");
        }
    }
}
