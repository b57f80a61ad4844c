//! Exact count of the values that arrive.

/// Number of bits of a value that number it. The bits above identify its sender.
const NUMBER_BITS: u32 = 40;

/// Returns the value with number `number`, from 0, of producer `producer`.
#[inline]
pub(super) fn value(producer: u64, number: u64) -> u64 {
    producer << NUMBER_BITS | number
}

/// Values that have arrived so far. The values of one producer must arrive in order, none lost and
/// none twice.
#[derive(Debug)]
pub(super) struct Tally {
    /// Number of each producer's next value.
    next: Vec<u64>,
    /// Number of values still to come, from all producers.
    left: u64,
}

impl Tally {
    /// Creates a tally that expects `each` values from each of `producers`.
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
    /// Panics if it is not the next value of its producer.
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

    /// Returns true if all values have arrived.
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
