//! Axes of pictures. An axis maps values to positions, and determines the values of its ticks.

use crate::units;

/// Minimum ratio of the largest to the smallest value for a logarithmic axis.
const LOG_FROM: f64 = 8.0;

/// Maximum number of ticks on an axis. The texts of more ticks would overlap.
const TICKS_MAX: usize = 8;

/// Approximate number of ticks on a linear axis.
const TICKS: f64 = 5.0;

/// An axis of a picture, which maps values to positions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    log: bool,
    /// Value at the beginning of the axis.
    from: f64,
    /// Value at the end of the axis.
    to: f64,
    /// Position of the beginning of the axis.
    begin: f64,
    /// Position of the end of the axis.
    end: f64,
}

impl Scale {
    /// Creates an axis that has room for all `values` between the positions `begin` and `end`. If
    /// `whole` is true, a linear axis starts at 0.
    pub(super) fn of(values: impl Iterator<Item = f64>, begin: f64, end: f64, whole: bool) -> Self {
        let (mut min, mut max) = (f64::MAX, f64::MIN);
        for value in values.filter(|value| value.is_finite()) {
            (min, max) = (min.min(value), max.max(value));
        }
        if min > max {
            (min, max) = (0.0, 1.0);
        }
        let log = min > 0.0 && max / min >= LOG_FROM;
        let (from, to) = if log {
            let room = (max / min).powf(0.06);
            (min / room, max * room)
        } else {
            let room = if max > min {
                0.06 * (max - min)
            } else {
                0.5 * max.abs().max(1.0)
            };
            (if whole { min.min(0.0) } else { min - room }, max + room)
        };
        Self {
            log,
            from,
            to,
            begin,
            end,
        }
    }

    /// Returns the position of `value` on the axis.
    pub(super) fn at(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.ln() } else { value };
        // The clamp also gives a position to values of 0 and below, which a logarithmic axis cannot
        // show.
        let value = value.clamp(self.from, self.to);
        let part = (of(value) - of(self.from)) / (of(self.to) - of(self.from));
        self.begin + part * (self.end - self.begin)
    }

    /// Returns true if the axis is logarithmic.
    pub(super) fn is_log(&self) -> bool {
        self.log
    }

    /// Returns the values of the axis's ticks, which are round numbers.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return self.even_ticks();
        }
        let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        for steps in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
            let ticks = decades.clone().flat_map(|decade| {
                let power = 10_f64.powi(decade);
                steps.iter().map(move |step| step * power)
            });
            let ticks: Vec<f64> = ticks.filter(|tick| self.shows(*tick)).collect();
            if ticks.len() <= TICKS_MAX {
                return ticks;
            }
        }
        let every = decades.count().div_ceil(TICKS_MAX);
        let first = self.from.log10().ceil() as i32;
        let powers = (first..).step_by(every).map(|decade| 10_f64.powi(decade));
        powers.take_while(|tick| self.shows(*tick)).collect()
    }

    fn shows(&self, value: f64) -> bool {
        self.from <= value && value <= self.to
    }

    fn even_ticks(&self) -> Vec<f64> {
        let rough = (self.to - self.from) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.from / step).ceil() as i64;
        let ticks = (first..).map(|count| count as f64 * step);
        ticks.take_while(|tick| *tick <= self.to).collect()
    }
}

/// Formats a time for a tick, without superfluous digits.
pub(super) fn time(ns: f64) -> String {
    let text = units::time(ns);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// Formats a parameter's value for a tick.
pub(super) fn count(value: f64) -> String {
    if value.fract() == 0.0 && value >= 0.0 {
        units::whole(value as u64)
    } else {
        format!("{value}")
    }
}
