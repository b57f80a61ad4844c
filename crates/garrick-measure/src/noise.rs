//! Noise: the activity of the machine besides the measurement. Noise makes figures unreliable.
//!
//! Noise is computed from two sources. `/proc/stat` counts the time of all programs, and the time
//! that the host of a virtual machine took away. The time of other programs is the time of all
//! programs minus the time of this process and its children. The second source is the yardstick,
//! which runs on one thread and waits for nothing. So if its wall time exceeds its CPU time, its
//! thread was interrupted.

use std::fs;

use crate::clock::Span;
use crate::statistics::Summary;
use crate::units;

/// Minimum number of clock ticks for a meaningful result. A tick is 10 ms.
const TICKS_MIN: u64 = 20;

/// Maximum share of all cores that other programs may use without making the figures doubtful.
const OTHERS_MAX: f64 = 0.25;

/// Maximum share of all cores that the host may take away without making the figures doubtful.
const STOLEN_MAX: f64 = 0.05;

/// Maximum ratio of wall time to CPU time with which the yardstick, a loop of atomic additions,
/// counts as undisturbed.
const HELD_UP_MAX: f64 = 1.25;

/// Maximum factor by which the time of an atomic addition may change during a scenario without
/// making the scenario's figures doubtful.
const PACE_CHANGE_MAX: f64 = 1.5;

/// Maximum width of the confidence interval of a reliable row, relative to the median.
const SPREAD_MAX: f64 = 0.3;

/// CPU time of all cores since the machine was started, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    /// Ticks in which programs ran.
    busy: u64,
    /// Ticks in which the host of this virtual machine ran something else.
    stolen: u64,
    /// Ticks in which no program ran.
    idle: u64,
}

impl Ticks {
    /// Parses the first line of `/proc/stat`. Returns `None` if the line does not have the expected
    /// form.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = line
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        let [user, nice, system, idle, waiting, irq, soft_irq, stolen, ..] = fields[..] else {
            return None;
        };
        Some(Self {
            busy: user + nice + system + irq + soft_irq,
            stolen,
            idle: idle + waiting,
        })
    }
}

/// Returns the ticks of a process and its children from the text of `/proc/self/stat`. Returns
/// `None` if the text has too few fields.
fn own_ticks(stat: &str) -> Option<u64> {
    // Fields 14 to 17 are these ticks. Field 2 is a name in parentheses, which may contain any
    // characters.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields = fields.split(' ').skip(11).take(4);
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum())
}

/// State of the machine at one moment. The fields are `None` if the operating system does not
/// report them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Used and idle CPU time of all cores.
    ticks: Option<Ticks>,
    /// CPU time that this process and its exited children have used, in clock ticks. `None` if it
    /// is not known.
    own: Option<u64>,
}

/// CPU time that the measurement could not use between two moments, as shares of the CPU time of
/// all cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    /// Share of the CPU time that other programs used.
    others: f64,
    /// Share of the CPU time that the host of this virtual machine took away.
    stolen: f64,
}

impl Moment {
    /// Reads the current state of the machine.
    pub(crate) fn now() -> Self {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        Self {
            ticks: Ticks::parse(&read("/proc/stat")),
            own: own_ticks(&read("/proc/self/stat")),
        }
    }

    /// Returns the noise between this moment and `end`, or `None` if the time between them was too
    /// short.
    pub(crate) fn until(&self, end: &Self) -> Option<Noise> {
        let (before, after) = (self.ticks?, end.ticks?);
        let busy = after.busy.saturating_sub(before.busy);
        let stolen = after.stolen.saturating_sub(before.stolen);
        let all = busy + stolen + after.idle.saturating_sub(before.idle);
        let own = end.own?.saturating_sub(self.own?);
        (all >= TICKS_MIN).then(|| Noise {
            others: busy.saturating_sub(own) as f64 / all as f64,
            stolen: stolen as f64 / all as f64,
        })
    }
}

/// Returns the reasons to doubt a scenario's figures, in words. Each reason consists of a kind, a
/// colon, and an amount. Returns an empty list if the machine was quiet. `yardsticks` contains all
/// trials of the scenario's yardstick (a loop of atomic additions), each as a time and a number of
/// additions.
pub(crate) fn doubts(noise: Option<Noise>, yardsticks: &[(Span, u64)]) -> Vec<String> {
    let mut doubts = Vec::new();
    let percent = |part: f64| (100.0 * part).round();
    if let Some(Noise { others, stolen }) = noise {
        if others > OTHERS_MAX {
            doubts.push(format!(
                "other programs used CPU time: {} % of the machine",
                percent(others)
            ));
        }
        if stolen > STOLEN_MAX {
            doubts.push(format!(
                "the host took CPU time away: {} % of the machine",
                percent(stolen)
            ));
        }
    }
    let mut whole = Span::default();
    yardsticks.iter().for_each(|(span, _)| whole += *span);
    let held_up = whole.wall.as_secs_f64() / whole.cpu.as_secs_f64();
    if held_up > HELD_UP_MAX {
        doubts.push(format!(
            "the yardstick was interrupted: its wall time was {held_up:.1} times its CPU time"
        ));
    }
    let paces = yardsticks
        .iter()
        .map(|(span, ops)| span.cpu.as_nanos() as f64 / *ops as f64);
    let slowest = paces.clone().fold(f64::MIN, f64::max);
    let change = slowest / paces.fold(f64::MAX, f64::min);
    if change > PACE_CHANGE_MAX {
        doubts.push(format!(
            "the machine's speed changed: by a factor of {change:.1}"
        ));
    }
    doubts
}

/// Returns a reason to doubt a row if the confidence interval of its median is too wide. Otherwise
/// returns `None`.
pub(crate) fn spread(cpu: &Summary) -> Option<String> {
    let interval = cpu.interval?;
    let wide = interval.high - interval.low > SPREAD_MAX * cpu.median;
    wide.then(|| {
        let (low, high) = (units::time(interval.low), units::time(interval.high));
        format!("the median is uncertain: {low} to {high}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn moment(stat: &str, own: u64) -> Moment {
        Moment {
            ticks: Ticks::parse(stat),
            own: Some(own),
        }
    }

    fn span(cpu_us: u64, wall_us: u64) -> Span {
        Span {
            cpu: Duration::from_micros(cpu_us),
            wall: Duration::from_micros(wall_us),
        }
    }

    #[test]
    fn what_others_used_is_told_from_ones_own() {
        let before = moment("cpu  100 0 50 1000 0 0 0 10 0 0\ncpu0 1 2 3\n", 50);
        let after = moment("cpu  180 10 60 1070 10 0 0 30 0 0\n", 150);
        // 100 ticks were busy, all of them from this process.
        let noise = before.until(&after).unwrap();
        assert_eq!(noise.others, 0.0);
        assert_eq!(noise.stolen, 0.1);
        let others = moment("cpu  100 0 50 1000 0 0 0 10 0 0\n", 150)
            .until(&after)
            .unwrap();
        assert_eq!(others.others, 0.5);
    }

    #[test]
    fn children_count_as_ones_own() {
        let stat = "12 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 1 0";
        assert_eq!(own_ticks(stat), Some(127));
        assert_eq!(own_ticks("12 (a) S 1 2"), None);
        assert!(Moment::now().own.is_some());
    }

    #[test]
    fn a_moment_too_short_says_nothing() {
        let now = moment("cpu  100 0 50 1000 0 0 0 10 0 0\n", 0);
        assert_eq!(now.until(&now), None);
        assert_eq!(Ticks::parse("cpu  1 2 3"), None);
        assert_eq!(Ticks::parse(""), None);
    }

    #[test]
    fn a_quiet_machine_is_believed() {
        let quiet = Noise {
            others: 0.1,
            stolen: 0.0,
        };
        let even = [(span(100, 101), 1000), (span(104, 105), 1000)];
        assert_eq!(doubts(Some(quiet), &even), Vec::<String>::new());
        assert_eq!(doubts(None, &[]), Vec::<String>::new());
    }

    #[test]
    fn each_kind_of_trouble_is_named() {
        let busy = Noise {
            others: 0.4,
            stolen: 0.07,
        };
        let said = doubts(
            Some(busy),
            &[(span(100, 200), 1000), (span(200, 400), 1000)],
        );
        for (said, expected) in
            said.iter()
                .zip(["40 %", "7 %", "2.0 times its CPU", "factor of 2.0"])
        {
            assert!(said.contains(expected), "{said}");
        }
        assert_eq!(said.len(), 4);
    }

    #[test]
    fn figures_that_spread_are_named() {
        assert_eq!(spread(&Summary::of((0..15).map(|_| 5.0))), None);
        assert_eq!(spread(&Summary::of([1.0, 9.0])), None);
        let said = spread(&Summary::of((1..=15).map(f64::from))).unwrap();
        assert!(said.ends_with(": 4.00 ns to 12.0 ns"), "{said}");
    }
}
