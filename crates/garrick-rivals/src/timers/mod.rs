//! Compares the lateness of Garrick's timers with the lateness of tokio's timers. Garrick's timers
//! are measured on ordinary workers, and on workers that sleep in tokio's driver.
//!
//! A sleeper sleeps repeatedly, and reports by how much each sleep was too long. The sleeper is
//! alone on its thread, or shares the thread with other actors or tasks that are always busy:
//!
//! ```text
//!   idle      nothing else; the thread sleeps too
//!   crowded   64 others, each of which works for 1 us, and then lets the rest run
//!   flooded   one other, whose mailbox is never empty, and which works for 1 us for each message
//! ```

mod garrick;
mod tokio;

use std::time::{Duration, Instant};

use comfy_table::{Table, presets::UTF8_FULL};
use garrick_measure::{Clock, Result, Section, Span, Stopwatch, Study};

/// Additional load on the thread of the sleeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Idle,
    Crowded,
    Flooded,
}

impl Load {
    const ALL: [Self; 3] = [Self::Idle, Self::Crowded, Self::Flooded];

    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Crowded => "crowded",
            Self::Flooded => "flooded",
        }
    }
}

/// The number and duration of the sleeps, and the additional load on the thread.
#[derive(Debug, Clone, Copy)]
struct Plan {
    delay: Duration,
    sleeps: usize,
    load: Load,
}

/// Number of busy actors or tasks that share the thread with the sleeper.
const CROWD: usize = 64;
/// Number of messages that are sent at a time to the flooded mailbox.
const FLOOD: usize = 1_024;
/// Time for which a busy actor works in each turn, and on each message of the flood.
const WORK: Duration = Duration::from_micros(1);

/// Measured durations of a sleep.
const DELAYS: [Duration; 2] = [Duration::from_micros(10), Duration::from_micros(500)];
/// Number of sleeps of each duration.
const SLEEPS: usize = 2_000;
const SLEEPS_QUICK: usize = 300;

struct Contender {
    name: &'static str,
    /// Function that sleeps, and returns the lateness of each sleep.
    sleep: fn(Plan) -> Vec<Duration>,
}

const CONTENDERS: [Contender; 5] = [
    Contender {
        name: "async actor",
        sleep: garrick::async_actor,
    },
    Contender {
        name: "actor, send_after",
        sleep: garrick::send_after,
    },
    Contender {
        name: "async actor in tokio's driver",
        sleep: garrick::driven,
    },
    Contender {
        name: "async actor in the driver, tokio::time::sleep",
        sleep: garrick::driven_by_tokio_s_time,
    },
    Contender {
        name: "tokio task, tokio::time::sleep",
        sleep: tokio::task,
    },
];

/// Keeps the thread busy for [`WORK`].
fn work() {
    let end = Instant::now() + WORK;
    while Instant::now() < end {}
}

/// The lateness of the sleeps of one contender, and the measured time span.
struct Measured {
    name: &'static str,
    plan: Plan,
    /// Lateness of the sleeps, sorted.
    late: Vec<Duration>,
    span: Span,
}

fn measure(contender: &Contender, plan: Plan) -> Measured {
    let watch = Stopwatch::start(Clock::Process);
    let mut late = (contender.sleep)(plan);
    let span = watch.stop();
    late.sort_unstable();
    Measured {
        name: contender.name,
        plan,
        late,
        span,
    }
}

/// Returns the quantile of the sorted `times` at `share`: the median for 0.5, and the maximum for
/// 1.
fn quantile(times: &[Duration], share: f64) -> Duration {
    let place = (times.len().saturating_sub(1) as f64 * share).round() as usize;
    times.get(place).copied().unwrap_or_default()
}

fn table(measured: &[Measured]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL).set_header([
        "beside",
        "sleep",
        "sleeper",
        "late: min",
        "median",
        "p90",
        "p99",
        "max",
        "CPU used",
    ]);
    for one in measured {
        let late = [0.0, 0.5, 0.9, 0.99, 1.0].map(|share| quantile(&one.late, share));
        let busy = one.span.cpu.as_secs_f64() / one.span.wall.as_secs_f64();
        let mut row = vec![
            one.plan.load.name().to_owned(),
            format!("{:?}", one.plan.delay),
            one.name.to_owned(),
        ];
        row.extend(late.map(|late| format!("{late:.1?}")));
        row.push(format!("{:.0} %", 100.0 * busy));
        table.add_row(row);
    }
    table
}

/// The study of timers, which is run by the subcommand `timers`.
pub(super) const TIMERS: Study = Study {
    name: "timers",
    about: "How late sleepers wake: Garrick's timers and tokio's, on threads with other work and without",
    sections: &[Section {
        name: "timers",
        run,
    }],
};

/// Runs all measurements, and returns the table.
fn run(quick: bool) -> Result<String> {
    let sleeps = if quick { SLEEPS_QUICK } else { SLEEPS };
    let plans = Load::ALL.into_iter().flat_map(|load| {
        DELAYS.map(|delay| Plan {
            delay,
            sleeps,
            load,
        })
    });
    let measured: Vec<Measured> = plans
        .flat_map(|plan| CONTENDERS.iter().map(move |one| measure(one, plan)))
        .collect();
    Ok(format!(
        "{sleeps} sleeps of each kind, one after the other, on a separate thread\n{}",
        table(&measured)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sleeper_sleeps_as_often_as_it_should_and_never_too_short() {
        for load in Load::ALL {
            let plan = Plan {
                delay: Duration::from_micros(10),
                sleeps: 20,
                load,
            };
            for contender in &CONTENDERS {
                // A sleep that is too short panics.
                assert_eq!((contender.sleep)(plan).len(), 20, "{}", contender.name);
            }
        }
    }

    #[test]
    fn quantiles_are_places_in_order() {
        let times: Vec<_> = (0..=100).map(Duration::from_secs).collect();
        assert_eq!(quantile(&times, 0.5), Duration::from_secs(50));
        assert_eq!(quantile(&times, 0.99), Duration::from_secs(99));
        assert_eq!(quantile(&times, 1.0), Duration::from_secs(100));
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }
}
