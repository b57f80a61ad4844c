//! Makes a failing list of choices shorter.
//!
//! The algorithm is delta debugging (Zeller and Hildebrandt, "Simplifying and isolating
//! failure-inducing input", 2002), on a list whose items name what happens. An item that cannot
//! happen is skipped, so a shorter list still means the same as before.

/// Makes a failing list shorter, as long as it fails in the same way. Returns the list, and the
/// number of calls of `fails`.
///
/// `fails` returns `None` if the list does not fail, and otherwise the items that had an effect.
/// Stops after `runs_max` calls, or when `is_late` returns true.
pub fn shrink<T: Clone>(
    list: Vec<T>,
    runs_max: u32,
    is_late: impl Fn() -> bool,
    mut fails: impl FnMut(&[T]) -> Option<Vec<T>>,
) -> (Vec<T>, u32) {
    let mut shrinking = Shrinking {
        list,
        runs: 0,
        runs_max,
        is_late: &is_late,
        fails: &mut fails,
    };
    // The list as it is may have items without an effect.
    shrinking.try_list(shrinking.list.clone());
    while shrinking.round() {}
    (shrinking.list, shrinking.runs)
}

/// State of [`shrink`].
struct Shrinking<'f, T> {
    list: Vec<T>,
    runs: u32,
    runs_max: u32,
    is_late: &'f dyn Fn() -> bool,
    fails: &'f mut dyn FnMut(&[T]) -> Option<Vec<T>>,
}

impl<T: Clone> Shrinking<'_, T> {
    /// Removes pieces of all sizes, the largest first. Returns true if the list became shorter.
    fn round(&mut self) -> bool {
        let before = self.list.len();
        let mut size = before.div_ceil(2).max(1);
        loop {
            self.remove_pieces(size);
            if size == 1 {
                return self.list.len() < before && !self.is_over();
            }
            size = size.div_ceil(2);
        }
    }

    /// Removes each piece of `size` items that is not needed, the last first: what a later item
    /// needs is easier to remove when the later item is gone.
    fn remove_pieces(&mut self, size: usize) {
        let mut end = self.list.len();
        while end > 0 && !self.is_over() {
            let start = end.saturating_sub(size);
            let mut shorter = self.list.clone();
            shorter.drain(start..end);
            self.try_list(shorter);
            end = start.min(self.list.len());
        }
    }

    /// Takes a list over if it fails and is not longer.
    fn try_list(&mut self, list: Vec<T>) {
        self.runs += 1;
        if let Some(made) = (self.fails)(&list) {
            self.list = if made.len() <= list.len() { made } else { list };
        }
    }

    fn is_over(&self) -> bool {
        self.runs >= self.runs_max || (self.is_late)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the list if it contains 3, 7 and 90 in this order.
    fn fails(list: &[u32]) -> Option<Vec<u32>> {
        let mut wanted = [3, 7, 90].into_iter().peekable();
        for item in list {
            wanted.next_if_eq(item);
        }
        wanted.peek().is_none().then(|| list.to_vec())
    }

    #[test]
    fn only_what_is_needed_is_left() {
        let (small, runs) = shrink((0..100).collect(), 1000, || false, fails);
        assert_eq!(small, [3, 7, 90]);
        assert!(runs < 100, "{runs}");
    }

    #[test]
    fn items_without_an_effect_are_left_out_at_once() {
        let of_even = |list: &[u32]| {
            let even: Vec<u32> = list.iter().copied().filter(|n| n % 2 == 0).collect();
            even.contains(&4).then_some(even)
        };
        let (small, runs) = shrink(vec![1, 3, 5, 7, 4, 9], 1, || false, of_even);
        assert_eq!((small, runs), (vec![4], 1));
    }

    #[test]
    fn it_ends_in_time() {
        let (small, runs) = shrink((0..1000).collect(), 5, || false, fails);
        assert_eq!(runs, 5);
        assert!(fails(&small).is_some());
        let (_, runs) = shrink((0..1000).collect(), 1000, || true, fails);
        assert_eq!(runs, 1);
    }

    #[test]
    fn a_list_that_always_fails_becomes_empty() {
        let (small, _) = shrink(vec![1, 2, 3], 100, || false, |list| Some(list.to_vec()));
        assert!(small.is_empty());
        let (small, _) = shrink(Vec::<u32>::new(), 100, || false, |list| Some(list.to_vec()));
        assert!(small.is_empty());
    }
}
