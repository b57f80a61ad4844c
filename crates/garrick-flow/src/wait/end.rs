//! Visits the channel ends that the conditions of a [`Wait`](super::Wait) refer to.
//!
//! Several conditions can refer to the same end of a channel: with different counts, or because one
//! of them is a condition on a bundle. But the stage at an end can only request one count at which
//! the channel wakes it. So all conditions on an end are handled together.

use std::sync::Arc;

use super::condition::Condition;
use crate::channel::{Line, Met, Side};
use crate::post::StageId;

/// A channel end, with the conditions that may refer to it.
pub(super) struct End<'a> {
    line: &'a Line,
    side: Side,
    /// Conditions of the [`Wait`](super::Wait). At least the first one refers to the end.
    conditions: &'a [Condition],
}

impl End<'_> {
    /// Calls `visit` once for each channel end that `conditions` refer to.
    pub(super) fn each(
        conditions: &[Condition],
        lines: &[Arc<Line>],
        mut visit: impl FnMut(End<'_>),
    ) {
        for (index, condition) in conditions.iter().enumerate() {
            let Condition::Ends { side, .. } = *condition else {
                continue;
            };
            let (before, rest) = conditions.split_at(index);
            // Usually, no two conditions refer to the same end. In this case, the other conditions
            // are not compared with each channel of a bundle.
            let overlaps = |other: &Condition| other.shares_ends_with(condition);
            let is_alone = !before.iter().chain(&rest[1..]).any(overlaps);
            let (before, rest) = match is_alone {
                true => (&[][..], &rest[..1]),
                false => (before, rest),
            };
            for line in condition.lines(lines) {
                let is_visited = |other: &Condition| other.count_at(side, line.id).is_some();
                if !before.iter().any(is_visited) {
                    visit(End {
                        line,
                        side,
                        conditions: rest,
                    });
                }
            }
        }
    }

    /// Registers `stage` to be woken when a further condition on this end may have become true.
    /// After the call, the caller must check all conditions again.
    pub(super) fn arm(&self, stage: StageId) {
        self.line.arm(self.side, self.counts(), stage);
    }

    /// Increments the stall counter of this end if the channel is not ready for one of the
    /// conditions.
    pub(super) fn count_stall(&self) {
        let is_missing = |count| self.line.look(self.side, count) == Met::No;
        if self.counts().any(is_missing) {
            self.line.stalled(self.side);
        }
    }

    /// Returns the numbers of values or free slots for which the conditions on this end wait.
    fn counts(&self) -> impl Iterator<Item = u64> {
        let counts = self.conditions.iter();
        counts.filter_map(|condition| condition.count_at(self.side, self.line.id))
    }
}
