//! A single condition of a [`Wait`](super::Wait).

use std::sync::Arc;
use std::time::Duration;

use garrick_sched::Nanos;

use crate::channel::{Line, Met, Side};
use crate::post::StageId;

/// The kind of thing that a sleeping stage waits for. If the stage waits for several kinds of
/// things, the kind that this enum declares last counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lack {
    /// Something other than a channel, such as a timer or a future.
    Other,
    /// Messages in a channel.
    Messages,
    /// Free slots in a channel. This kind takes precedence over messages, because a stage without
    /// free slots could not use more messages.
    Room,
}

/// A single condition of a [`Wait`](super::Wait).
#[derive(Debug, Clone, Copy)]
pub(super) enum Condition {
    /// A condition on `len` channels with consecutive indices, beginning with the index `first`.
    /// The condition is met if at least `need` of these channels are ready. A channel is ready if
    /// the end on `side` can take `count` values or fill `count` slots.
    Ends {
        side: Side,
        /// Short form of the id of the graph that the channels belong to.
        graph: u16,
        first: u32,
        len: u32,
        need: u32,
        count: u64,
    },
    /// The bell (the wake-up flag) on `side` of the channel has been rung.
    Rung { side: Side, channel: u32 },
    /// The contained time has passed since the step returned.
    After(Duration),
    /// The clock shows at least the contained time.
    Until(Nanos),
}

impl Condition {
    /// Returns true if all channels of the condition belong to the graph whose id has the short
    /// form `of`.
    pub(super) fn is_of(&self, of: u16) -> bool {
        match *self {
            Self::Ends { graph, len, .. } => graph == of || len == 0,
            Self::Rung { .. } | Self::After(_) | Self::Until(_) => true,
        }
    }

    pub(super) fn look(&self, lines: &[Arc<Line>], now: &impl Fn() -> Nanos) -> Met {
        let met = match *self {
            Self::Ends {
                side, need, count, ..
            } => return look_at_all(self.lines(lines), side, need, count),
            Self::Rung { side, channel } => lines[channel as usize].is_rung(side),
            Self::After(_) => false,
            Self::Until(deadline) => now() >= deadline,
        };
        if met { Met::Yes } else { Met::No }
    }

    /// If this condition waits for a bell (a wake-up flag), registers `stage` to be woken by the
    /// bell. Does nothing for other conditions. [`End::arm`](super::end::End::arm) registers the
    /// channel ends of a condition on counts.
    pub(super) fn arm_bell(&self, lines: &[Arc<Line>], stage: StageId) {
        if let Self::Rung { side, channel } = *self {
            lines[channel as usize].arm_bell(side, stage);
        }
    }

    /// Returns the count that the condition waits for at the end on side `at` of the channel with
    /// the index `channel`. Returns `None` if the condition does not refer to this end.
    #[inline]
    pub(super) fn count_at(&self, at: Side, channel: u32) -> Option<u64> {
        match *self {
            Self::Ends {
                side,
                first,
                len,
                count,
                ..
            } => (side == at && (first..first + len).contains(&channel)).then_some(count),
            Self::Rung { .. } | Self::After(_) | Self::Until(_) => None,
        }
    }

    /// Returns true if there is a channel end that both conditions refer to.
    #[inline]
    pub(super) fn shares_ends_with(&self, other: &Self) -> bool {
        let (
            Self::Ends {
                side, first, len, ..
            },
            Self::Ends {
                side: other_side,
                first: other_first,
                len: other_len,
                ..
            },
        ) = (*self, *other)
        else {
            return false;
        };
        side == other_side && first < other_first + other_len && other_first < first + len
    }

    /// Returns true if this condition waits for channels and is not met, and all channels that are
    /// not ready satisfy `is_inside`.
    pub(super) fn is_up_to(&self, lines: &[Arc<Line>], is_inside: &dyn Fn(u32) -> bool) -> bool {
        let Self::Ends { side, count, .. } = *self else {
            return false;
        };
        let mut each = self.lines(lines).iter();
        self.look(lines, &|| 0) == Met::No
            && each.all(|line| is_inside(line.id) || line.look(side, count) != Met::No)
    }

    /// Returns the kind of thing that the condition waits for, or `None` if the condition is met.
    pub(super) fn lack(&self, lines: &[Arc<Line>]) -> Option<Lack> {
        // The time passed here has no effect: a condition on time never counts as a lack of
        // messages or room.
        let unmet = self.look(lines, &|| 0) == Met::No;
        unmet.then_some(match self {
            Self::Ends {
                side: Side::Sender, ..
            } => Lack::Room,
            Self::Ends {
                side: Side::Receiver,
                ..
            } => Lack::Messages,
            Self::Rung { .. } | Self::After(_) | Self::Until(_) => Lack::Other,
        })
    }

    /// Returns the earlier of two times: `earliest`, and the time that the condition waits for, if
    /// any.
    pub(super) fn sooner(&self, earliest: Option<Nanos>) -> Option<Nanos> {
        match *self {
            Self::Until(deadline) => Some(earliest.map_or(deadline, |time| time.min(deadline))),
            _ => earliest,
        }
    }

    /// Returns the channels of an [`Ends`](Self::Ends) condition.
    pub(super) fn lines<'a>(&self, lines: &'a [Arc<Line>]) -> &'a [Arc<Line>] {
        match *self {
            Self::Ends { first, len, .. } => &lines[first as usize..][..len as usize],
            _ => &[],
        }
    }
}

/// Checks whether `need` of the channels are ready. A channel from which nothing more can be taken,
/// or to which nothing more can be sent, does not count. If fewer than `need` channels remain, all
/// of them must be ready.
#[inline]
fn look_at_all(lines: &[Arc<Line>], side: Side, need: u32, count: u64) -> Met {
    let (mut ready, mut open) = (0, 0);
    for line in lines {
        match line.look(side, count) {
            Met::Over => continue,
            Met::Yes => ready += 1,
            Met::No => {}
        }
        open += 1;
    }
    match open {
        0 => Met::Over,
        _ if ready >= need.min(open) => Met::Yes,
        _ => Met::No,
    }
}
