//! Reading of a batch of values directly in the slots of a ring.
use std::{fmt, iter, slice};

use super::Consumer;

/// The available values of a ring, for reading in place. Created by [`Consumer::peek`].
///
/// [`advance`](Self::advance) drops the oldest values and frees their slots. When the `Peek` is
/// dropped or forgotten, the other values stay in the ring.
pub struct Peek<'a, T> {
    /// Consumer of the ring. All values that the consumer knows to be available are open for
    /// reading.
    consumer: &'a mut Consumer<T>,
}

/// Iterator over the values of a [`Peek`], oldest first.
pub type Iter<'a, T> = iter::Chain<slice::Iter<'a, T>, slice::Iter<'a, T>>;

impl<'a, T> Peek<'a, T> {
    #[inline]
    pub(super) fn new(consumer: &'a mut Consumer<T>) -> Self {
        Self { consumer }
    }

    /// Returns the values as two slices. The values of the first slice are older than the values of
    /// the second slice. The second slice is empty unless the values wrap around the end of the
    /// ring.
    #[inline]
    pub fn as_slices(&self) -> (&[T], &[T]) {
        self.consumer.slices(self.len())
    }

    /// Returns the value at `index`. The oldest value has the index 0. Returns `None` if `index` is
    /// not below [`len`](Self::len).
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (first, second) = self.as_slices();
        match index.checked_sub(first.len()) {
            None => first.get(index),
            Some(index) => second.get(index),
        }
    }

    /// Iterates over the values, oldest first.
    #[inline]
    pub fn iter(&self) -> Iter<'_, T> {
        let (first, second) = self.as_slices();
        first.iter().chain(second)
    }

    /// Returns the number of values that are open for reading.
    #[inline]
    pub fn len(&self) -> usize {
        self.consumer.readable_seen()
    }

    /// Returns true if no value is open for reading.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops the `count` oldest values in place and frees their slots, with one store.
    ///
    /// Even if the `Drop` of a value panics, all `count` values are dropped and their slots become
    /// free. If the `Drop` of another of these values panics, too, the process aborts, as it does
    /// for a [`Vec`].
    ///
    /// # Panics
    ///
    /// Panics if fewer than `count` values are open for reading.
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        assert!(
            count <= self.len(),
            "cannot advance by {count}: {} values are open",
            self.len()
        );
        self.consumer.skip(count);
    }
}

impl<'a, T> IntoIterator for &'a Peek<'_, T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Peek<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}
