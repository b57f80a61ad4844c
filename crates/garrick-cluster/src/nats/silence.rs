//! The time for which a candidate (a node that waits for a name) has seen no change of the record
//! of the name's owner.

use std::time::Duration;

use garrick_sched::{Nanos, nanos};

use crate::looks::Looks;

/// Time for which another node's record must be unchanged before it is replaced.
const UNCHANGED_FOR: Duration = Duration::from_secs(5);

/// Time between two reads of the record of another node.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Time limit of one attempt by a candidate (a node that waits for a name) to get the name. A
/// slower attempt counts as failed.
pub(super) const LOOK_WITHIN: Duration = Duration::from_secs(1);

/// If a look at the record of another node begins this long after the look before it, the candidate
/// was paused: a look and the time until the next one explain 1.5 s, and a busy machine explains
/// some more. At most half of [`UNCHANGED_FOR`], so that the time consists of several looks.
const PAUSED_AFTER: Duration = Duration::from_millis(2_500);

const _: () = assert!(
    PAUSED_AFTER.as_millis() > LOOK_EVERY.as_millis() + LOOK_WITHIN.as_millis()
        && PAUSED_AFTER.as_millis() * 2 <= UNCHANGED_FOR.as_millis()
);

/// Result of a look at the record of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The record has changed since the candidate has first seen it.
    Changed,
    /// The record was unchanged for long enough.
    Silent,
    /// The record was unchanged, but not for long enough.
    NotYet,
}

/// The record of another node, as a candidate has seen it. All times are by the clock of the
/// candidate.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Revision of the record. `None` if the record was not seen since the latest failure.
    revision: Option<u64>,
    /// Start of the time for which the record has kept this revision, while all updates by the
    /// candidate have succeeded, and the candidate was not paused.
    since: Nanos,
    looks: Looks,
}

impl Silence {
    /// Records that a look at the record begins. If the candidate was paused before the look, the
    /// time starts again: the owner may have been paused together with the candidate, and then has
    /// not renewed its record either.
    pub(super) fn look(&mut self, now: Nanos) {
        if self.looks.after_pause(PAUSED_AFTER, now) {
            self.since = now;
        }
    }

    /// Records that an update by the candidate has failed, or that the record may have another
    /// revision. The time starts again with the next look.
    pub(super) fn is_unsure(&mut self) {
        self.revision = None;
    }

    /// Records the revision of the record, as a look that began at `began` has shown it at `now`.
    #[must_use]
    pub(super) fn saw(&mut self, revision: u64, began: Nanos, now: Nanos) -> Shown {
        match self.revision {
            Some(seen) if seen != revision => Shown::Changed,
            Some(_) if began.saturating_sub(self.since) >= nanos(UNCHANGED_FOR) => Shown::Silent,
            Some(_) => Shown::NotYet,
            None => {
                (self.revision, self.since) = (Some(revision), now);
                Shown::NotYet
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use garrick_sched::{Nanos, nanos};

    use super::{LOOK_EVERY, LOOK_WITHIN, PAUSED_AFTER, Shown, Silence, UNCHANGED_FOR};

    /// Lets a candidate look at a record at the given time. The look takes a moment.
    fn look(silence: &mut Silence, revision: u64, at: Nanos) -> Shown {
        silence.look(at);
        silence.saw(revision, at, at + 1)
    }

    /// Lets a candidate look from the time `at` on, at the slowest regular pace, until the record
    /// counts as silent. Returns the time of the last look.
    fn until_silent(silence: &mut Silence, mut at: Nanos) -> Nanos {
        loop {
            match look(silence, 1, at) {
                Shown::Silent => return at,
                shown => assert_eq!(shown, Shown::NotYet),
            }
            at += nanos(LOOK_EVERY + LOOK_WITHIN);
        }
    }

    #[test]
    fn a_record_is_silent_if_it_did_not_change_for_some_time() {
        let (mut silence, began) = (Silence::default(), 1_000);
        let took = until_silent(&mut silence, began) - began;
        let slowest = UNCHANGED_FOR + LOOK_EVERY + LOOK_WITHIN + Duration::from_secs(1);
        assert!(
            took > nanos(UNCHANGED_FOR) && took < nanos(slowest),
            "{took}"
        );
        assert_eq!(look(&mut silence, 2, began + took), Shown::Changed);
    }

    #[test]
    fn a_candidate_that_was_paused_does_not_count_the_pause_as_silence() {
        let unchanged = nanos(UNCHANGED_FOR);
        for pause in [nanos(PAUSED_AFTER), unchanged, 100 * unchanged] {
            let mut silence = Silence::default();
            assert_eq!(look(&mut silence, 1, 0), Shown::NotYet);
            let paused_at = nanos(LOOK_EVERY);
            assert_eq!(look(&mut silence, 1, paused_at), Shown::NotYet);
            // The owner was paused, too.
            let resumed = paused_at + pause;
            let silent = until_silent(&mut silence, resumed);
            assert!(silent - resumed >= unchanged, "after a pause of {pause}");
        }
    }

    #[test]
    fn an_owner_that_goes_on_during_the_pause_of_a_candidate_keeps_its_name() {
        let mut silence = Silence::default();
        assert_eq!(look(&mut silence, 1, 0), Shown::NotYet);
        let resumed = 10 * nanos(UNCHANGED_FOR);
        assert_eq!(look(&mut silence, 2, resumed), Shown::Changed);
    }

    #[test]
    fn the_time_starts_again_after_a_failure() {
        let mut silence = Silence::default();
        assert_eq!(look(&mut silence, 1, 0), Shown::NotYet);
        silence.is_unsure();
        let again = nanos(LOOK_EVERY);
        assert!(until_silent(&mut silence, again) - again >= nanos(UNCHANGED_FOR));
        silence.is_unsure();
        // Another node was faster.
        assert_eq!(look(&mut silence, 2, 10 * again), Shown::NotYet);
    }
}
