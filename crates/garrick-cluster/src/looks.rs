//! Regular looks at other nodes, which show if this process was paused.

use std::time::Duration;

use garrick_sched::{Nanos, nanos};

/// The time of the latest of many looks at other nodes, by the clock of this process.
///
/// A process that was paused, for example because its virtual machine was suspended, has seen
/// nothing in the meantime, and the other nodes may have been paused together with it. So the pause
/// says nothing about them, and it must not count as a time for which they were silent.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// Time of the latest look. `None` before the first look.
    latest: Option<Nanos>,
}

impl Looks {
    /// Records a look. Returns true if the look before it was `within` ago or longer, so that this
    /// process may have been paused.
    #[must_use]
    pub(crate) fn after_pause(&mut self, within: Duration, now: Nanos) -> bool {
        let before = self.latest.replace(now);
        before.is_some_and(|before| now.saturating_sub(before) >= nanos(within))
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Looks, nanos};

    #[test]
    fn a_look_comes_after_a_pause_if_the_one_before_it_was_long_ago() {
        let (within, step) = (Duration::from_secs(1), nanos(Duration::from_secs(1)));
        let mut looks = Looks::default();
        // The clock is not zero at the start, and the first look is no pause.
        assert!(!looks.after_pause(within, 7 * step));
        assert!(!looks.after_pause(within, 8 * step - 1));
        assert!(looks.after_pause(within, 9 * step - 1));
        assert!(!looks.after_pause(within, 9 * step));
        // A clock that goes back is no pause.
        assert!(!looks.after_pause(within, step));
        assert!(looks.after_pause(within, 2 * step));
    }
}
