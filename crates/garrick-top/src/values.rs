//! Values of the cells of a table. Values can be compared, and formatted briefly or in full.

use std::cmp::Ordering;

use garrick_measure::units;
use garrick_telemetry::{Level, State};

use crate::text;

/// A figure or a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// An unknown value.
    None,
    /// Text without characters that could control a terminal.
    Text(String),
    Count(u64),
    Bytes(u64),
    /// Events per second.
    Rate(f64),
    /// Share of a whole, usually from 0 to 1. It can also be greater than 1.
    Share(f64),
    /// Share of a whole, which is shown as a bar with a percentage.
    Bar(f64),
    /// A number to which no other variant applies.
    Number(f64),
    /// A duration in seconds, which is shown like a clock, such as `1:02:03`.
    Span(f64),
    /// A duration in seconds, which is shown with a unit, such as `12.5 ms`.
    Time(f64),
}

impl Value {
    pub(crate) fn count(count: Option<u64>) -> Self {
        count.map_or(Self::None, Self::Count)
    }

    pub(crate) fn share(share: Option<f64>) -> Self {
        share.map_or(Self::None, Self::Share)
    }

    pub(crate) fn bar(share: Option<f64>) -> Self {
        share.map_or(Self::None, Self::Bar)
    }

    pub(crate) fn time(seconds: Option<f64>) -> Self {
        seconds.map_or(Self::None, Self::Time)
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Formats the value for a screen. A count of at least 10,000 is shown with three significant
    /// digits.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Count(count) if *count < 10_000 => count.to_string(),
            Self::Count(count) => units::rate(*count as f64),
            Self::Bar(share) => format!("{} {}", bar(*share, BAR_COLUMNS), percent(*share)),
            _ => self.full(),
        }
    }

    /// Formats the value for plain text, with all digits of a count, and without bars.
    pub(crate) fn full(&self) -> String {
        match self {
            Self::None => "-".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Count(count) => units::whole(*count),
            Self::Bytes(bytes) => units::bytes(*bytes),
            Self::Rate(rate) => units::rate(*rate),
            Self::Share(share) | Self::Bar(share) => percent(*share).trim().to_owned(),
            Self::Number(number) => units::rate(*number),
            Self::Span(seconds) => span(*seconds),
            Self::Time(seconds) => units::time(seconds * 1e9),
        }
    }

    /// Compares two values of a column. Texts are compared alphabetically, without regard to case.
    /// An unknown value is less than any number.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(this), Self::Text(that)) => this.to_lowercase().cmp(&that.to_lowercase()),
            _ => self.number().total_cmp(&other.number()),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Self::None | Self::Text(_) => f64::NEG_INFINITY,
            Self::Count(count) | Self::Bytes(count) => *count as f64,
            Self::Rate(number)
            | Self::Share(number)
            | Self::Bar(number)
            | Self::Number(number)
            | Self::Span(number)
            | Self::Time(number) => *number,
        }
    }
}

/// Width of a bar in a table, in columns of the terminal, without the percentage.
const BAR_COLUMNS: usize = 5;

/// Width of a bar with its percentage, in columns of the terminal.
pub(crate) const BAR_WIDTH: usize = BAR_COLUMNS + 5;

/// Characters that fill a column of the terminal partially, from zero to seven eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Returns a bar with a width of `columns`, of which `share` is filled.
pub(crate) fn bar(share: f64, columns: usize) -> String {
    // NaN becomes 0.
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let full = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    let rest = columns - full.chars().count();
    full + &"·".repeat(rest)
}

/// Formats a share as a percentage with at least four characters.
pub(crate) fn percent(share: f64) -> String {
    format!("{:3.0}%", share * 100.0)
}

/// Formats a duration in seconds like a clock, such as `1:02:03`.
pub(crate) fn span(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, _) => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}d {hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Mark of a row. The variants are ordered from best to worst. Each mark has a different sign, so
/// no information depends on colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Ended,
    Ok,
    Warning,
    Critical,
    Failed,
}

impl Mark {
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Ended => "-",
            Self::Ok => " ",
            Self::Warning => "!",
            Self::Critical => "!!",
            Self::Failed => "x",
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Critical => "critical",
            Self::Failed => "failed",
        }
    }

    /// Returns the mark of an item in `state` with a value at `level`.
    pub(crate) fn of(state: State, level: Level) -> Self {
        match state {
            State::Failed => Self::Failed,
            State::Ended => Self::Ended,
            State::Running => Self::from(level),
        }
    }
}

impl From<Level> for Mark {
    fn from(level: Level) -> Self {
        match level {
            Level::Ok => Self::Ok,
            Level::Warning => Self::Warning,
            Level::Critical => Self::Critical,
        }
    }
}

/// Formats a figure that may be unknown.
pub(crate) fn known<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| text::UNKNOWN.to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_on_a_screen_and_whole_on_a_page() {
        for (value, short, full) in [
            (Value::Count(9_999), "9999", "9,999"),
            (Value::Count(9_650_000_000), "9.65 G", "9,650,000,000"),
            (Value::Rate(160.8e6), "161 M", "161 M"),
            (Value::Bar(0.5), "██▌··  50%", "50%"),
            (Value::Share(1.0), "100%", "100%"),
            (Value::None, "-", "-"),
            (Value::Span(3723.4), "1:02:03", "1:02:03"),
            (Value::Time(0.0125), "12.5 ms", "12.5 ms"),
        ] {
            assert_eq!(
                (&*value.short(), &*value.full()),
                (short, full),
                "{value:?}"
            );
        }
        assert_eq!(text::width(&Value::Bar(1.0).short()), BAR_WIDTH);
    }

    #[test]
    fn bars_take_any_number() {
        for share in [
            f64::NAN,
            -1.0,
            0.0,
            0.01,
            0.5,
            0.999,
            1.0,
            7.0,
            f64::INFINITY,
        ] {
            for columns in 0..12 {
                assert_eq!(
                    text::width(&bar(share, columns)),
                    columns,
                    "{share} {columns}"
                );
            }
        }
        assert_eq!(
            (bar(0.0, 3), bar(1.0, 3)),
            ("···".to_owned(), "███".to_owned())
        );
    }

    #[test]
    fn spans_grow_by_units() {
        for (seconds, text) in [
            (0.0, "0:00"),
            (61.9, "1:01"),
            (3600.0, "1:00:00"),
            (90_061.0, "1d 1:01:01"),
            (-5.0, "0:00"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn values_compare_by_what_they_mean() {
        assert!(Value::text("beta").compare(&Value::text("Alpha")).is_gt());
        assert!(Value::Count(10).compare(&Value::Count(9)).is_gt());
        assert!(Value::None.compare(&Value::Rate(-1.0)).is_lt());
        assert!(Value::Rate(f64::NAN).compare(&Value::Rate(1.0)).is_gt());
    }
}
