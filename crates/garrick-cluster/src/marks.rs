//! Sets of small numbers.

/// A set of numbers, with one bit for each number up to the largest one.
#[derive(Default)]
pub(crate) struct Marks {
    words: Vec<u64>,
    /// Number of words that were read or written.
    #[cfg(test)]
    steps: std::cell::Cell<usize>,
}

impl Marks {
    /// Removes all numbers. The memory is kept.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    /// Adds a number. Returns false if the set already contained the number.
    pub(crate) fn add(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.step();
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Returns the numbers below `end` that are not in the set, in ascending order.
    pub(crate) fn missing(&self, end: usize) -> impl Iterator<Item = usize> {
        let words = 0..end.div_ceil(64);
        let missing = words.flat_map(move |word| {
            self.step();
            let mut left = !self.words.get(word).copied().unwrap_or(0);
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(64 * word + bit)
            })
        });
        missing.take_while(move |number| *number < end)
    }

    #[inline]
    fn step(&self) {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Marks;

    proptest! {
        #[test]
        fn numbers_are_added_once_and_the_other_ones_are_missing(
            numbers in prop::collection::vec(0..200_usize, 0..300),
            end in 0..200_usize,
        ) {
            let (mut marks, mut known) = (Marks::default(), std::collections::HashSet::new());
            for number in numbers {
                prop_assert_eq!(marks.add(number), known.insert(number));
            }
            let missing = (0..end).filter(|number| !known.contains(number));
            prop_assert!(marks.missing(end).eq(missing));
            marks.clear();
            prop_assert!(marks.missing(end).eq(0..end));
        }
    }

    #[test]
    fn each_number_takes_one_step() {
        const COUNT: usize = 65_536;
        let mut marks = Marks::default();
        for number in (0..COUNT).rev() {
            assert!(marks.add(number));
        }
        assert_eq!(marks.missing(COUNT).count(), 0);
        let steps = marks.steps.get();
        assert!(steps <= 2 * COUNT, "{steps}");
    }
}
