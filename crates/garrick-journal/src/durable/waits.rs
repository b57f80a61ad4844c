//! Measurement of how long turns wait until their events are written.

use std::collections::VecDeque;

/// A time of the system's clock, in nanoseconds.
pub(super) type Nanos = u64;

/// The number of turns that wait, and an upper bound of how long they have waited. The clock is
/// read once for each group, not for each turn.
#[derive(Default)]
pub(super) struct Waits {
    /// Number of turns that were appended so far to the queue of turns that wait to be written.
    appended: u64,
    taken: u64,
    /// Entries for some turns: for the very first turn, and for each turn that was the first one
    /// appended after a call of `take`. An entry contains the index of its turn among all turns so
    /// far, and the time at which its turn was appended. The turns up to the next entry were not
    /// appended before this time.
    marks: VecDeque<(u64, Nanos)>,
    /// True if a turn was appended to the queue after the latest call of `take`.
    is_marked: bool,
    /// Number of turns in the group that is being written, and a lower bound for the times at which
    /// the turns were appended.
    writing: Option<(u64, Nanos)>,
}

impl Waits {
    /// Records that a turn was appended to the queue of turns that wait to be written.
    pub(super) fn append(&mut self, now: impl FnOnce() -> Nanos) {
        if !self.is_marked {
            self.marks.push_back((self.appended, now()));
            self.is_marked = true;
        }
        self.appended += 1;
    }

    /// Records that the oldest `count` turns were taken, to be written as a group.
    pub(super) fn take(&mut self, count: usize) {
        let oldest = self.marks.front().map(|(_, at)| *at);
        let count = count as u64;
        self.writing = oldest.map(|at| (count, at)).filter(|_| count > 0);
        self.taken += count;
        while (self.marks.get(1)).is_some_and(|(number, _)| *number <= self.taken) {
            self.marks.pop_front();
        }
        if self.taken == self.appended {
            self.marks.clear();
        }
        self.is_marked = false;
    }

    /// Records that the group that was being written is finished, so that its turns no longer wait.
    pub(super) fn decide(&mut self) {
        self.writing = None;
    }

    /// Returns the number of waiting turns, and a lower bound for the times at which the turns were
    /// appended.
    pub(super) fn oldest(&self) -> (usize, Option<Nanos>) {
        let queued = self.appended - self.taken;
        let (writing, at) = self.writing.unzip();
        let at = at.or_else(|| self.marks.front().map(|(_, at)| *at));
        let count = usize::try_from(queued + writing.unwrap_or(0));
        (count.unwrap_or(usize::MAX), at)
    }
}

#[cfg(test)]
mod tests {
    use super::Waits;

    #[test]
    fn the_clock_is_read_once_for_each_group_and_bounds_the_oldest_wait() {
        let mut waits = Waits::default();
        let unread = || panic!("the clock was read for this group already");
        assert_eq!(waits.oldest(), (0, None));
        waits.append(|| 10);
        waits.append(unread);
        assert_eq!(waits.oldest(), (2, Some(10)));
        waits.take(2);
        assert_eq!(waits.oldest(), (2, Some(10)), "they are being written");
        // These turns have ended during the write.
        waits.append(|| 20);
        (0..4).for_each(|_| waits.append(unread));
        assert_eq!(waits.oldest(), (7, Some(10)));
        waits.decide();
        assert_eq!(waits.oldest(), (5, Some(20)));
        // A group has not room for all.
        waits.take(3);
        waits.append(|| 30);
        waits.decide();
        assert_eq!(waits.oldest(), (3, Some(20)));
        waits.take(2);
        assert_eq!(waits.oldest(), (3, Some(20)));
        waits.decide();
        assert_eq!(waits.oldest(), (1, Some(30)));
        waits.take(1);
        waits.take(0);
        assert_eq!(waits.oldest(), (0, None));
    }
}
