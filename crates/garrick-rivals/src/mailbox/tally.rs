//! Counting what arrives, exactly.

/// Bits of a value that number it; those above say who sent it.
const NUMBER_BITS: u32 = 40;

/// A value that producer number `producer` sends as its `number`-th, from 0.
#[inline]
pub(super) fn value(producer: u64, number: u64) -> u64 {
    producer << NUMBER_BITS | number
}

/// What has arrived so far. Values of one producer are to come in their order, none lost and none twice.
#[derive(Debug)]
pub(super) struct Tally {
    /// The number of each producer's next value.
    next: Vec<u64>,
    /// Values still to come, from all of them.
    left: u64,
}

impl Tally {
    /// Expects `each` values from each of `producers`.
    pub(super) fn new(producers: u64, each: u64) -> Self {
        let next = (0..producers).map(|_| 0).collect();
        Self {
            next,
            left: producers * each,
        }
    }

    /// Counts a value.
    ///
    /// # Panics
    /// If it is not the next one of its producer.
    #[inline]
    pub(super) fn count(&mut self, value: u64) {
        let next = &mut self.next[(value >> NUMBER_BITS) as usize];
        assert_eq!(
            value & ((1 << NUMBER_BITS) - 1),
            *next,
            "values come in order, once"
        );
        *next += 1;
        self.left -= 1;
    }

    /// Whether all values have come.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn producers_are_counted_apart() {
        let mut tally = Tally::new(2, 2);
        for (producer, number) in [(0, 0), (1, 0), (1, 1)] {
            tally.count(value(producer, number));
            assert!(!tally.is_complete());
        }
        tally.count(value(0, 1));
        assert!(tally.is_complete());
    }

    #[test]
    #[should_panic(expected = "in order, once")]
    fn a_lost_value_is_noticed() {
        let mut tally = Tally::new(1, 3);
        tally.count(value(0, 0));
        tally.count(value(0, 2));
    }

    #[test]
    #[should_panic(expected = "in order, once")]
    fn a_doubled_value_is_noticed() {
        let mut tally = Tally::new(1, 3);
        tally.count(value(0, 0));
        tally.count(value(0, 0));
    }
}
