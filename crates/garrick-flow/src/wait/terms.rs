//! Combines the conditions of a [`Wait`](super::Wait).

use super::CONDITIONS_MAX;
use super::condition::Condition;

/// A combination of conditions: the terms are combined by "or", and the conditions of a term by
/// "and".
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// The conditions of all terms, one term after another. Only the first `len` are used.
    conditions: [Condition; CONDITIONS_MAX],
    /// Bit `i` is set if the condition with the index `i` is the first one of a term.
    firsts: u8,
    len: u8,
}

impl Terms {
    pub(super) const NONE: Self = Self {
        conditions: [Condition::Until(0); CONDITIONS_MAX],
        firsts: 0,
        len: 0,
    };

    pub(super) fn used(&self) -> &[Condition] {
        &self.conditions[..self.len.into()]
    }

    pub(super) fn used_mut(&mut self) -> &mut [Condition] {
        &mut self.conditions[..self.len.into()]
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = &[Condition]> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let used = self.used();
            if start == used.len() {
                return None;
            }
            let next = (start + 1..used.len()).find(|index| self.firsts >> index & 1 == 1);
            let end = next.unwrap_or(used.len());
            let term = &used[start..end];
            start = end;
            Some(term)
        })
    }

    #[track_caller]
    pub(super) fn push_term<'a>(&mut self, term: impl Iterator<Item = &'a Condition>) {
        self.firsts |= 1 << self.len;
        for condition in term {
            let index = usize::from(self.len);
            assert!(
                index < CONDITIONS_MAX,
                "a `Wait` can combine at most {CONDITIONS_MAX} conditions"
            );
            self.conditions[index] = *condition;
            self.len += 1;
        }
    }
}
