//! Thresholds that a user sets.

use std::time::Duration;

use crate::snapshot::Level;

use super::glob;
use super::probe::{Found, Of, Probe};

/// Default distance from the threshold, as a share of the threshold. An alert ends when its value
/// is on the good side of the threshold by at least this distance.
const HYSTERESIS: f64 = 0.05;

/// Default time that a value must stay beyond a threshold before an alert begins.
const HELD: Duration = Duration::from_secs(2);

/// Default limit for the number of messages in one mailbox. More messages cause a warning.
const LONG_MAILBOX: f64 = 10_000.0;

/// Time in seconds for which a turn may hold its worker. A turn that holds its worker for longer
/// causes a warning, and is exported as a metric.
pub(crate) const LONG_TURN_SECONDS: f64 = 1.0;

/// Time without a long turn after which a warning of long turns ends. Turns that are long again and
/// again cause one warning, and not one each.
const NO_LONG_TURN: Duration = Duration::from_secs(10);

/// Default limit for the number of restarts of one actor in the window. An actor with more restarts
/// is in a crash loop. If the restarts are fast, a supervisor with its default limit (3 restarts
/// within 5 s) gives up before an actor reaches this limit. If the restarts are spread over more
/// than 5 s, the supervisor does not give up.
const CRASH_LOOP: f64 = 4.5;

/// Time in seconds for which the receiver of a full channel may take no message. If the receiver
/// pauses for longer, the channel causes a warning. Receivers that collect messages usually pause
/// for a shorter time.
const STALLED_SECONDS: f64 = 5.0;

/// Time in seconds for which a turn may wait for the disk. A turn that waits for longer causes a
/// warning. A working disk writes many groups of turns in this time.
const OLDEST_WAIT_SECONDS: f64 = 5.0;

/// Time in seconds for which a member of a cluster may fail to renew its membership. After this
/// time, the member causes a warning. Members renew their memberships each second, and are removed
/// after 5 s without a renewal.
const SILENT_SECONDS: f64 = 3.0;

/// Remaining time in seconds below which a lease causes a warning. A lease is the time up to which
/// a node may act as the owner of its shards. If a node renews its lease in time, at least 3.5 s
/// remain.
const LEASE_SECONDS: f64 = 1.5;

/// Time without an owner after which a shard causes an alert. After the loss of a node, the other
/// nodes take its shards over within about 6 s.
const UNOWNED: Duration = Duration::from_secs(10);

/// An upper or lower limit for a kind of value. An alert begins when a value has been beyond the
/// limit for 2 s, or for the time that [`for_at_least`](Self::for_at_least) has set.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use garrick_telemetry::{Of, Probe, Threshold};
///
/// let full = Threshold::above(Probe::FillP80, 0.9).critical(0.99);
/// let stuck = Threshold::below(Probe::Rate, 1.0)
///     .of(Of::Nodes)
///     .named("log*")
///     .for_at_least(Duration::from_secs(5));
/// # let _ = (full, stuck);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    probe: Probe,
    /// True if the threshold is a lower limit, so that low values are bad.
    below: bool,
    /// Limit beyond which a value causes a warning.
    warning: f64,
    /// Limit beyond which a value causes a critical alert, if there is one.
    critical: Option<f64>,
    of: Of,
    /// Pattern for the names and identifiers of the items to check.
    named: String,
    held: Duration,
    ends_after: Duration,
    hysteresis: f64,
}

impl Threshold {
    /// Creates a threshold that warns of values above `limit`.
    pub fn above(probe: Probe, limit: f64) -> Self {
        Self {
            probe,
            below: false,
            warning: limit,
            critical: None,
            of: Of::Anything,
            named: "*".to_owned(),
            held: HELD,
            ends_after: Duration::ZERO,
            hysteresis: HYSTERESIS,
        }
    }

    /// Creates a threshold that warns of values below `limit`.
    pub fn below(probe: Probe, limit: f64) -> Self {
        Self {
            below: true,
            ..Self::above(probe, limit)
        }
    }

    /// Sets a second limit, at or beyond the first one. Values beyond the second limit cause a
    /// critical alert instead of a warning.
    #[must_use]
    pub fn critical(self, limit: f64) -> Self {
        Self {
            critical: Some(limit),
            ..self
        }
    }

    /// Restricts the threshold to items of one kind, for example to nodes.
    #[must_use]
    pub fn of(self, of: Of) -> Self {
        Self { of, ..self }
    }

    /// Restricts the threshold to the items whose name or identifier matches `pattern`. In a
    /// pattern, `*` matches any sequence of characters, and `?` matches any single character. A
    /// channel without a name is called `SENDER -> RECEIVER`, after its two nodes.
    #[must_use]
    pub fn named(self, pattern: &str) -> Self {
        Self {
            named: pattern.to_owned(),
            ..self
        }
    }

    /// Sets how long a value must stay beyond the threshold before an alert begins. The default is
    /// 2 s.
    #[must_use]
    pub fn for_at_least(self, held: Duration) -> Self {
        Self { held, ..self }
    }

    /// Sets how long a value must stay on the good side of the threshold before an alert ends, or
    /// before a critical alert becomes a warning. Until then, the alert keeps its text and the last
    /// value that was beyond the threshold. The default is 0 s.
    ///
    /// Use this for values that return to 0 again and again, such as [`Probe::HeldSeconds`].
    /// Otherwise, each return ends one alert, and the next one begins soon after.
    #[must_use]
    pub fn ends_after(self, ends_after: Duration) -> Self {
        Self { ends_after, ..self }
    }

    /// Sets how far a value must be on the good side of the limit before the alert ends, as a share
    /// of the limit. The default is 0.05: an alert for values above 100 ends when the value is at
    /// most 95. The share is clamped to the range 0 to 1.
    #[must_use]
    pub fn hysteresis(self, share: f64) -> Self {
        // NaN counts as 0.
        let share = if share.is_nan() { 0.0 } else { share };
        Self {
            hysteresis: share.clamp(0.0, 1.0),
            ..self
        }
    }

    /// Returns the default thresholds:
    ///
    /// - A channel that has been at least three quarters full for more than 5 s, while its receiver
    ///   took nothing from it, causes a warning. A full channel alone causes no alert: in a
    ///   pipeline at full speed, at least one channel is always full, because its receiver is
    ///   slower than its sender.
    /// - A failed stage causes a critical alert.
    /// - A mailbox that has had more than 10,000 messages for 2 s causes a warning.
    /// - A turn that has held its worker for more than a second causes a warning. The warning ends
    ///   when no turn of the group of actors was that long for 10 s.
    /// - An actor that failed in the window and was not restarted causes a warning.
    /// - An actor that was restarted at least 5 times in the window causes a critical alert.
    /// - A journal that could not write its last group, that is broken, or that could not be opened
    ///   causes a critical alert.
    /// - A journal with a notice in the window causes a warning.
    /// - A turn that has waited for the disk for more than 5 s causes a warning.
    /// - A member of a cluster that has not renewed its membership for more than 3 s causes a
    ///   warning. A member that was removed, because it was silent, causes a critical alert.
    /// - A node of this process whose lease ends in less than 1.5 s causes a warning. If the lease
    ///   has ended, or the membership is lost, the node causes a critical alert.
    /// - A link to another node that is down causes a critical alert.
    /// - A link that has lost messages in the window causes a warning.
    /// - A kind of entities with shards that have had no owner for 10 s causes a critical alert.
    pub fn defaults() -> Vec<Self> {
        vec![
            // The value is itself a duration.
            Self::above(Probe::StalledSeconds, STALLED_SECONDS).for_at_least(Duration::ZERO),
            Self::above(Probe::Failed, 0.5)
                .critical(0.5)
                .for_at_least(Duration::ZERO),
            Self::above(Probe::Longest, LONG_MAILBOX),
            // This value is a duration as well. It begins at 0 with each turn.
            Self::above(Probe::HeldSeconds, LONG_TURN_SECONDS)
                .for_at_least(Duration::ZERO)
                .ends_after(NO_LONG_TURN),
            // The values already cover the window.
            Self::above(Probe::Lost, 0.5).for_at_least(Duration::ZERO),
            Self::above(Probe::RestartsOfOne, CRASH_LOOP)
                .critical(CRASH_LOOP)
                .for_at_least(Duration::ZERO),
            Self::above(Probe::FailingGroups, 0.5)
                .critical(0.5)
                .for_at_least(Duration::ZERO),
            Self::above(Probe::Broken, 0.5)
                .critical(0.5)
                .for_at_least(Duration::ZERO),
            Self::above(Probe::NewNotices, 0.5).for_at_least(Duration::ZERO),
            Self::above(Probe::OldestWaitSeconds, OLDEST_WAIT_SECONDS).for_at_least(Duration::ZERO),
            Self::above(Probe::SilentSeconds, SILENT_SECONDS).for_at_least(Duration::ZERO),
            Self::above(Probe::Removed, 0.5)
                .critical(0.5)
                .for_at_least(Duration::ZERO),
            Self::below(Probe::LeaseSeconds, LEASE_SECONDS)
                .critical(f64::MIN_POSITIVE)
                .for_at_least(Duration::ZERO),
            Self::above(Probe::LinkDown, 0.5)
                .critical(0.5)
                .for_at_least(Duration::ZERO),
            Self::above(Probe::NewLostMessages, 0.5).for_at_least(Duration::ZERO),
            Self::above(Probe::UnownedShards, 0.5)
                .critical(0.5)
                .for_at_least(UNOWNED),
        ]
    }

    pub(super) fn probe(&self) -> Probe {
        self.probe
    }

    /// Returns how long a value must stay at a level that is worse than before, or (if `is_worse`
    /// is false) better than before, until this level applies.
    pub(super) fn lasts(&self, is_worse: bool) -> Duration {
        if is_worse { self.held } else { self.ends_after }
    }

    /// Returns the word for the side of the limit of `level` on which values are bad: `above` or
    /// `below`. Returns `near` if `value` is on the good side, but too close to the limit to end
    /// the alert. Returns `recently above` or `recently below` if the alert lasts only because the
    /// value was bad a short time ago.
    pub(super) fn side(&self, value: f64, level: Level) -> &'static str {
        let limit = self.limit(level);
        let is_bad = level == Level::Ok || self.is_beyond(value, limit, false);
        match (is_bad, self.below) {
            (true, true) => "below",
            (true, false) => "above",
            (false, _) if self.is_beyond(value, limit, true) => "near",
            (false, true) => "recently below",
            (false, false) => "recently above",
        }
    }

    pub(super) fn is_for(&self, found: &Found<'_>) -> bool {
        let is_named = |name: &str| glob::matches(&self.named, name);
        (self.of == Of::Anything || self.of == found.of)
            && (self.named == "*" || is_named(&found.name.text()) || is_named(found.id))
    }

    /// Returns the alert level of `value`. The result depends on the previous level, because an
    /// alert ends only when the value is on the good side of the threshold, at some distance from
    /// it.
    pub(super) fn judge(&self, value: f64, was: Level) -> Level {
        let beyond = |limit: f64, level| self.is_beyond(value, limit, was >= level);
        if self
            .critical
            .is_some_and(|limit| beyond(limit, Level::Critical))
        {
            Level::Critical
        } else if beyond(self.warning, Level::Warning) {
            Level::Warning
        } else {
            Level::Ok
        }
    }

    /// Returns true if `value` is beyond `limit`. A value that was beyond the limit before (`was`)
    /// still counts as beyond until it is on the good side by some distance.
    fn is_beyond(&self, value: f64, limit: f64, was: bool) -> bool {
        let slack = if was {
            limit.abs() * self.hysteresis
        } else {
            0.0
        };
        if self.below {
            value < limit + slack
        } else {
            value > limit - slack
        }
    }

    /// Returns the limit beyond which a value has the level `level`.
    pub(super) fn limit(&self, level: Level) -> f64 {
        match level {
            Level::Critical => self.critical.unwrap_or(self.warning),
            Level::Ok | Level::Warning => self.warning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_trembles_keeps_its_level() {
        let full = Threshold::above(Probe::Fill, 0.8).critical(0.95);
        assert_eq!(full.judge(0.79, Level::Ok), Level::Ok);
        assert_eq!(full.judge(0.81, Level::Ok), Level::Warning);
        assert_eq!(full.judge(0.79, Level::Warning), Level::Warning);
        assert_eq!(full.judge(0.75, Level::Warning), Level::Ok);
        assert_eq!(full.judge(0.96, Level::Ok), Level::Critical);
        assert_eq!(full.judge(0.94, Level::Critical), Level::Critical);
        assert_eq!(full.judge(0.89, Level::Critical), Level::Warning);
    }

    #[test]
    fn low_values_can_be_the_bad_ones() {
        let stuck = Threshold::below(Probe::Rate, 10.0).hysteresis(0.5);
        assert_eq!(stuck.judge(10.0, Level::Ok), Level::Ok);
        assert_eq!(stuck.judge(9.0, Level::Ok), Level::Warning);
        assert_eq!(stuck.judge(14.0, Level::Warning), Level::Warning);
        assert_eq!(stuck.judge(15.0, Level::Warning), Level::Ok);
    }

    #[test]
    fn what_is_no_number_is_not_beyond() {
        let full = Threshold::above(Probe::Fill, 0.8).hysteresis(f64::NAN);
        assert_eq!(full.judge(f64::NAN, Level::Critical), Level::Ok);
        assert_eq!(full.judge(0.9, Level::Ok), Level::Warning);
    }
}
