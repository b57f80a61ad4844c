//! Sentences about values that are beyond a threshold.

use super::probe::Probe;
use crate::snapshot::Level;

/// Returns a sentence about `value`, which belongs to the item `name`. For a journal, `why` is a
/// clause that says what is wrong. `beyond` is the result of
/// [`Threshold::side`](super::Threshold::side).
pub(super) fn sentence(
    probe: Probe,
    (name, why): (&str, &str),
    value: f64,
    level: Level,
    (beyond, limit): (&str, f64),
) -> String {
    let (fact, limit) = (fact(probe, name, value), amount(probe, limit));
    if level == Level::Ok {
        return match probe {
            Probe::Failed => format!("{name} no longer counts as failed."),
            Probe::StalledSeconds => format!("Messages are taken from {name} again."),
            Probe::HeldSeconds => format!("No turn of {name} has held its worker for {limit}."),
            Probe::AwaySeconds => format!("No turn of {name} has been in cx.blocking for {limit}."),
            Probe::Lost => format!("No actor of {name} failed in the window without a restart."),
            Probe::RestartsOfOne => format!("No actor of {name} keeps failing."),
            Probe::FailingGroups => format!("The journal `{name}` writes again."),
            Probe::Broken => format!("The journal `{name}` is open again."),
            Probe::NewNotices => format!("The journal `{name}` has no new notice."),
            Probe::OldestWaitSeconds => {
                format!("No turn of the journal `{name}` has waited for {limit}.")
            }
            Probe::SilentSeconds => format!("The member `{name}` renews its membership again."),
            Probe::Removed => format!("The node `{name}` no longer counts as removed."),
            Probe::LeaseSeconds => format!("The node `{name}` renews its lease again."),
            Probe::LinkDown => format!("The link to the node `{name}` is no longer down."),
            Probe::NewLostMessages => format!("The link to the node `{name}` loses no messages."),
            Probe::UnownedShards => {
                format!("Each shard of the entities `{name}` has an owner again.")
            }
            _ => format!("{fact}, which is no longer {beyond} the limit of {limit}."),
        };
    }
    // The facts about these values need no limit.
    match probe {
        Probe::Failed
        | Probe::Lost
        | Probe::RestartsOfOne
        | Probe::Removed
        | Probe::LinkDown
        | Probe::NewLostMessages
        | Probe::UnownedShards => format!("{fact}."),
        Probe::LeaseSeconds if value <= 0.0 => format!("{fact}."),
        Probe::FailingGroups | Probe::Broken => format!("The journal `{name}` {why}."),
        Probe::NewNotices => format!("{fact}. Nothing is lost. The newest: {why}."),
        _ => format!("{fact}, {beyond} the limit of {limit}."),
    }
}

/// Returns a sentence about the end of an alert without a new value. `exists` is true if the item
/// still exists, but its value with the name `probe` is unknown now.
pub(super) fn gone(probe: &str, name: &str, exists: bool) -> String {
    if exists {
        format!("{name} still exists, but its value `{probe}` is unknown now.")
    } else {
        format!("{name} no longer exists.")
    }
}

/// Returns a sentence about the value, without a full stop.
fn fact(probe: Probe, of: &str, value: f64) -> String {
    let it = amount(probe, value);
    match probe {
        Probe::Fill => format!("{of} is {it} full"),
        Probe::FillP80 => format!("{of} was {it} full or more for a fifth of the window"),
        Probe::FillP95 => format!("{of} was {it} full or more for a twentieth of the window"),
        Probe::StalledSeconds => {
            format!("{of} is full, and its receiver has taken nothing from it for {it}")
        }
        Probe::Rate => format!("The rate of {of} is {it}"),
        Probe::TurnRate => format!("The turn rate of {of} is {it}"),
        Probe::Busy => format!("{of} is busy for {it} of the time of one core"),
        Probe::Idle => format!("The threads of {of} sleep for {it} of the time"),
        Probe::Waiting => format!("The mailboxes of {of} have {it}"),
        Probe::Longest => format!("A mailbox of {of} has {it}"),
        Probe::Growth => format!("The mailboxes of {of} grow by {it}"),
        Probe::Lost => {
            let were = if value == 1.0 { "was" } else { "were" };
            format!("{it} of {of} failed and {were} not restarted")
        }
        Probe::RestartsOfOne => {
            let times = counted(value, "time");
            format!("An actor of {of} keeps failing: it was restarted {times}")
        }
        Probe::Alive => format!("{of} has {it} alive"),
        Probe::Failures => format!("{of} has had {it}"),
        Probe::Restarts => format!("{of} has had {it}"),
        Probe::Slow => format!("{of} has had {it}"),
        Probe::HeldSeconds => format!("A turn of {of} has held its worker for {it}"),
        Probe::Away => format!("{of} has {it} in cx.blocking"),
        Probe::AwaySeconds => format!("A turn of {of} has been in cx.blocking for {it}"),
        Probe::Failed => format!("{of} has failed"),
        Probe::FailingGroups => format!("The journal `{of}` could not write {it}"),
        Probe::Broken => format!("The journal `{of}` counts as {it} for broken"),
        Probe::NewNotices => format!("The journal `{of}` has {it}"),
        Probe::WaitingTurns => format!("{it} of the journal `{of}` wait for the disk"),
        Probe::OldestWaitSeconds => {
            format!("A turn of the journal `{of}` has waited for the disk for {it}")
        }
        Probe::SilentSeconds => {
            format!("The member `{of}` has not renewed its membership for {it}")
        }
        Probe::Removed => {
            format!("The node `{of}` was removed from the cluster, because it was silent")
        }
        Probe::LeaseSeconds if value <= 0.0 => format!(
            "The lease of the node `{of}` has ended, so its entities hold the effects of their \
             turns back"
        ),
        Probe::LeaseSeconds => format!("The lease of the node `{of}` ends in {it}"),
        Probe::LinkDown => {
            format!("The link to the node `{of}` is down: nothing arrives from that node")
        }
        Probe::NewLostMessages => {
            format!("The link to the node `{of}` has lost {it} in the window")
        }
        Probe::UnownedShards => {
            let have = if value == 1.0 { "has" } else { "have" };
            format!("{it} of the entities `{of}` {have} no owner, so messages to them wait")
        }
        Probe::ResidentBytes => format!("{of} uses {it} of memory"),
        Probe::Cpu => format!("{of} uses {it}"),
    }
}

/// Formats a value of the kind `probe` with its unit.
fn amount(probe: Probe, value: f64) -> String {
    match probe {
        Probe::Fill | Probe::FillP80 | Probe::FillP95 | Probe::Busy | Probe::Idle => {
            format!("{} %", number(value * 100.0))
        }
        Probe::StalledSeconds
        | Probe::HeldSeconds
        | Probe::AwaySeconds
        | Probe::OldestWaitSeconds
        | Probe::SilentSeconds
        | Probe::LeaseSeconds => {
            format!("{} s", number(value))
        }
        Probe::Rate | Probe::Growth => format!("{} messages/s", number(value)),
        Probe::TurnRate => format!("{} turns/s", number(value)),
        Probe::Waiting | Probe::Longest | Probe::NewLostMessages => counted(value, "message"),
        Probe::UnownedShards => counted(value, "shard"),
        Probe::Alive | Probe::Lost => counted(value, "actor"),
        Probe::Failures => counted(value, "failure"),
        Probe::Restarts | Probe::RestartsOfOne => counted(value, "restart"),
        Probe::Slow => counted(value, "slow turn"),
        Probe::Away | Probe::WaitingTurns => counted(value, "turn"),
        Probe::FailingGroups => counted(value, "group"),
        Probe::NewNotices => counted(value, "new notice"),
        Probe::Failed | Probe::Broken | Probe::Removed | Probe::LinkDown => number(value),
        Probe::ResidentBytes => format!("{} MiB", number(value / f64::from(1 << 20))),
        Probe::Cpu => counted(value, "core"),
    }
}

fn counted(value: f64, word: &str) -> String {
    let plural = if value == 1.0 { "" } else { "s" };
    format!("{} {word}{plural}", number(value))
}

/// Formats a number with three significant digits, or more if the integer part has more digits.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0..100.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    if digits == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_sentences_with_units() {
        let (above, below) = ("above", "below");
        for (probe, value, limit, text) in [
            (
                Probe::Fill,
                0.974,
                (above, 0.9),
                "x is 97.4 % full, above the limit of 90 %.",
            ),
            (
                Probe::StalledSeconds,
                12.34,
                (above, 5.0),
                "x is full, and its receiver has taken nothing from it for 12.3 s, above the limit \
                 of 5 s.",
            ),
            (
                Probe::Rate,
                0.5,
                (below, 1000.0),
                "The rate of x is 0.5 messages/s, below the limit of 1000 messages/s.",
            ),
            (
                Probe::Restarts,
                1.0,
                (above, 0.0),
                "x has had 1 restart, above the limit of 0 restarts.",
            ),
            (Probe::Failed, 1.0, (above, 0.5), "x has failed."),
            (
                Probe::FailingGroups,
                3.0,
                (above, 0.5),
                "The journal `x` cannot write: no space is left.",
            ),
            (
                Probe::OldestWaitSeconds,
                6.0,
                (above, 5.0),
                "A turn of the journal `x` has waited for the disk for 6 s, above the limit of 5 s.",
            ),
            (
                Probe::HeldSeconds,
                2.3,
                (above, 1.0),
                "A turn of x has held its worker for 2.3 s, above the limit of 1 s.",
            ),
            (
                Probe::ResidentBytes,
                3.5e9,
                (above, 1_073_741_824.0),
                "x uses 3338 MiB of memory, above the limit of 1024 MiB.",
            ),
        ] {
            let why = "cannot write: no space is left";
            let found = sentence(probe, ("x", why), value, Level::Warning, limit);
            assert_eq!(found, text);
        }
        let ended = |probe, value| sentence(probe, ("x", ""), value, Level::Ok, (above, 0.9));
        assert_eq!(
            ended(Probe::Fill, 0.5),
            "x is 50 % full, which is no longer above the limit of 90 %."
        );
        assert_eq!(ended(Probe::Failed, 0.0), "x no longer counts as failed.");
    }

    #[test]
    fn alerts_about_clusters_say_what_follows() {
        let (above, below) = ("above", "below");
        for (probe, value, limit, text) in [
            (
                Probe::SilentSeconds,
                3.25,
                (above, 3.0),
                "The member `x` has not renewed its membership for 3.25 s, above the limit of 3 s.",
            ),
            (
                Probe::LeaseSeconds,
                1.2,
                (below, 1.5),
                "The lease of the node `x` ends in 1.2 s, below the limit of 1.5 s.",
            ),
            (
                Probe::LeaseSeconds,
                0.0,
                (below, 1.5),
                "The lease of the node `x` has ended, so its entities hold the effects of their \
                 turns back.",
            ),
            (
                Probe::NewLostMessages,
                1.0,
                (above, 0.5),
                "The link to the node `x` has lost 1 message in the window.",
            ),
            (
                Probe::UnownedShards,
                3.0,
                (above, 0.5),
                "3 shards of the entities `x` have no owner, so messages to them wait.",
            ),
        ] {
            let found = sentence(probe, ("x", ""), value, Level::Warning, limit);
            assert_eq!(found, text);
        }
    }

    #[test]
    fn numbers_have_three_digits_or_more() {
        for (value, text) in [
            (0.0, "0"),
            (100.0, "100"),
            (12_345.6, "12346"),
            (0.123, "0.12"),
            (-5.5, "-5.5"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
