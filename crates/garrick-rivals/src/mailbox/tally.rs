//! Exact counting of the values that arrive.

/// Number of low bits of a value that contain the value's number. The higher bits identify the
/// producer.
const NUMBER_BITS: u32 = 40;

/// Returns a value that contains the index of its producer and its own number. The numbers of each
/// producer start at 0.
#[inline]
pub(super) fn value(producer: u64, number: u64) -> u64 {
    producer << NUMBER_BITS | number
}

/// The count of the values that have arrived so far. The values of each producer must arrive in
/// order, and each exactly once.
#[derive(Debug)]
pub(super) struct Tally {
    /// For each producer, the number that its next value must contain.
    next: Vec<u64>,
    /// Number of values that have not arrived yet, from all producers.
    left: u64,
}

impl Tally {
    /// Creates a tally that expects `each` values from each of `producers` producers.
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
    /// Panics if `value` is not the next value of its producer.
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
