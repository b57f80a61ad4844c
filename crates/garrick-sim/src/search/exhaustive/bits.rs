//! Sets of small numbers.

/// A set of small numbers, as a bitmap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number.
    pub(super) fn insert(&mut self, number: usize) {
        let word = number / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    /// Returns true if the set contains a number.
    pub(super) fn contains(&self, number: usize) -> bool {
        let word = self.0.get(number / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds all numbers of another set.
    pub(super) fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_what_was_added() {
        let (mut one, mut other) = (Bits::default(), Bits::default());
        one.insert(3);
        other.insert(200);
        one.add_all(&other);
        assert!(one.contains(3) && one.contains(200));
        assert!(!one.contains(4) && !one.contains(1000) && !other.contains(3));
    }
}
