//! Checks and adds up the received numbers.

/// The tally of the numbers received so far. The numbers must be 0, 1, 2 and so on.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Count of the received numbers, which is also the next expected number.
    count: u64,
    sum: u64,
    /// Bitwise OR of the differences (XOR) between each received number and the expected number.
    /// The result is 0 if all numbers were as expected.
    wrong: u64,
}

impl Tally {
    /// Checks one received number, and adds it to the tally.
    #[inline]
    pub(super) fn one(&mut self, number: u64) {
        self.wrong |= number ^ self.count;
        self.sum = self.sum.wrapping_add(number);
        self.count += 1;
    }

    /// Checks the received `numbers` in order, and adds them to the tally.
    #[inline]
    pub(super) fn all(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.one(*number);
        }
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Checks that the first `count` numbers were received, each once and in order.
    ///
    /// # Panics
    /// Panics if a number was lost, duplicated or out of order.
    pub(super) fn close(&self, count: u64) {
        assert_eq!(self.wrong, 0, "numbers come in order, once");
        assert_eq!(self.count, count, "all numbers have arrived");
        let pairs = u128::from(count) * u128::from(count.saturating_sub(1)) / 2;
        assert_eq!(self.sum, pairs as u64, "the sum is that of all numbers");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(numbers: &[u64], count: u64) {
        let mut tally = Tally::default();
        tally.all(numbers);
        tally.close(count);
    }

    #[test]
    fn numbers_in_order_are_right() {
        close(&[], 0);
        close(&[0], 1);
        close(&[0, 1, 2, 3], 4);
    }

    #[test]
    #[should_panic(expected = "in order, once")]
    fn a_lost_number_is_noticed() {
        close(&[0, 2], 2);
    }

    #[test]
    #[should_panic(expected = "in order, once")]
    fn exchanged_numbers_are_noticed() {
        close(&[0, 2, 1, 3], 4);
    }

    #[test]
    #[should_panic(expected = "all numbers have arrived")]
    fn a_missing_end_is_noticed() {
        close(&[0, 1], 3);
    }
}
