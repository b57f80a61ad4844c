//! Events of the simulation itself: time passes, nodes crash and start, partitions begin and heal.

use garrick_sched::Choice;

/// A choice that the simulation itself offers, as [`Choice::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The clock advances until the next timer fires.
    Time,
    /// The node with this index crashes.
    Crash(usize),
    /// The node with this index starts again after a crash.
    Restart(usize),
    /// The partition with this index begins.
    Cut(usize),
    /// The partition with this index heals.
    Heal(usize),
}

impl Event {
    /// Returns the number that represents this event in [`Choice::Other`].
    pub(crate) fn number(self) -> u32 {
        let number = |kind, index: usize| 1 + 4 * index as u32 + kind;
        match self {
            Self::Time => 0,
            Self::Crash(node) => number(0, node),
            Self::Restart(node) => number(1, node),
            Self::Cut(partition) => number(2, partition),
            Self::Heal(partition) => number(3, partition),
        }
    }

    /// Returns the event that `number` represents in [`Choice::Other`].
    pub(crate) fn of_number(number: u32) -> Self {
        let Some(rest) = number.checked_sub(1) else {
            return Self::Time;
        };
        let index = (rest / 4) as usize;
        match rest % 4 {
            0 => Self::Crash(index),
            1 => Self::Restart(index),
            2 => Self::Cut(index),
            _ => Self::Heal(index),
        }
    }

    /// Returns the event that a choice represents, if it represents one.
    pub(crate) fn of(choice: Choice) -> Option<Self> {
        match choice {
            Choice::Other(number) => Some(Self::of_number(number)),
            _ => None,
        }
    }
}

/// Returns true if a choice begins a fault. A run need never take such a choice.
pub(crate) fn is_fault(choice: Choice) -> bool {
    matches!(Event::of(choice), Some(Event::Crash(_) | Event::Cut(_)))
}

/// Returns true if a choice ends a fault.
pub(crate) fn is_repair(choice: Choice) -> bool {
    matches!(Event::of(choice), Some(Event::Restart(_) | Event::Heal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_own_number() {
        let of_index = |index| {
            [
                Event::Crash(index),
                Event::Restart(index),
                Event::Cut(index),
                Event::Heal(index),
            ]
        };
        let events = (0..9).flat_map(of_index);
        for (number, event) in [Event::Time].into_iter().chain(events).enumerate() {
            assert_eq!(event.number() as usize, number);
            assert_eq!(Event::of_number(event.number()), event);
        }
    }
}
