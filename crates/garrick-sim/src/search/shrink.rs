//! Making a failing list smaller: delta debugging.
//!
//! The algorithm is the part of `ddmin` that leaves out pieces (Zeller and Hildebrandt,
//! "Simplifying and isolating failure-inducing input", 2002). Pieces of half the list are tried
//! first, then of a quarter, and so on. At the end, single items are tried until none can be left
//! out. The remaining list is 1-minimal: if any single item is left out, the list no longer fails.

/// A list that has been made smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk<T> {
    /// The smallest failing list that was found.
    pub list: Vec<T>,
    /// Number of runs that were made to find this list.
    pub runs: u64,
    /// True if no item of the list can be left out. False if a bound has ended the search early.
    pub is_minimal: bool,
}

/// Makes a failing list smaller, as long as it fails in the same way.
///
/// `fails` executes a run that follows the given list. If the run still fails in the same way,
/// `fails` returns the part of the list that could be followed, and otherwise `None`. A returned
/// list that is not shorter than the previous list is rejected. There are at most `runs_max` runs,
/// and no more runs after `is_late` has returned true.
///
/// # Examples
/// ```
/// use garrick_sim::search::shrink;
///
/// let list: Vec<u32> = (0..100).collect();
/// let fails = |list: &[u32]| (list.contains(&17) && list.contains(&71)).then(|| list.to_vec());
/// let shrunk = shrink(list, 1_000, || false, fails);
/// assert_eq!(shrunk.list, [17, 71]);
/// assert!(shrunk.is_minimal && shrunk.runs < 60);
/// ```
pub fn shrink<T, L, F>(list: Vec<T>, runs_max: u64, is_late: L, fails: F) -> Shrunk<T>
where
    T: Clone,
    L: FnMut() -> bool,
    F: FnMut(&[T]) -> Option<Vec<T>>,
{
    let mut shrinker = Shrinker {
        list,
        shorter: Vec::new(),
        runs: 0,
        runs_max,
        is_late,
        fails,
    };
    let is_minimal = shrinker.shrink().is_some();
    Shrunk {
        list: shrinker.list,
        runs: shrinker.runs,
        is_minimal,
    }
}

struct Shrinker<T, L, F> {
    list: Vec<T>,
    /// The list that is being tried. It is kept between runs, so that its memory is reused.
    shorter: Vec<T>,
    runs: u64,
    runs_max: u64,
    is_late: L,
    fails: F,
}

impl<T: Clone, L: FnMut() -> bool, F: FnMut(&[T]) -> Option<Vec<T>>> Shrinker<T, L, F> {
    /// Shortens the list by leaving out pieces, first large ones and then smaller ones. Returns
    /// `None` if a limit is reached.
    fn shrink(&mut self) -> Option<()> {
        let mut size = self.list.len().div_ceil(2);
        while size > 1 {
            self.pass(size)?;
            size = size.min(self.list.len()).div_ceil(2);
        }
        while self.pass(1)? {}
        Some(())
    }

    /// Tries to leave out each piece of the given size. Returns true if a piece could be left out.
    /// Returns `None` if a limit is reached.
    fn pass(&mut self, size: usize) -> Option<bool> {
        let mut at = 0;
        let mut is_shorter = false;
        while at < self.list.len() {
            if self.leave_out(at, size)? {
                is_shorter = true;
            } else {
                at += size;
            }
        }
        Some(is_shorter)
    }

    fn leave_out(&mut self, at: usize, size: usize) -> Option<bool> {
        if self.runs >= self.runs_max || (self.is_late)() {
            return None;
        }
        self.runs += 1;
        let end = (at + size).min(self.list.len());
        self.shorter.clear();
        self.shorter.extend_from_slice(&self.list[..at]);
        self.shorter.extend_from_slice(&self.list[end..]);
        let taken = (self.fails)(&self.shorter);
        let shorter = taken.filter(|taken| taken.len() < self.list.len());
        let is_shorter = shorter.is_some();
        if let Some(shorter) = shorter {
            self.list = shorter;
        }
        Some(is_shorter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a copy of the list if it contains the numbers 90, 7 and 40 in this order. Otherwise,
    /// returns `None`.
    fn in_order(list: &[u32]) -> Option<Vec<u32>> {
        let mut wanted = [90, 7, 40].iter().peekable();
        for number in list {
            wanted.next_if_eq(&number);
        }
        wanted.peek().is_none().then(|| list.to_vec())
    }

    fn shuffled() -> Vec<u32> {
        let mut list: Vec<u32> = (0..100).collect();
        list.retain(|number| ![90, 7, 40].contains(number));
        list.extend([90, 7, 40]);
        list
    }

    #[test]
    fn three_items_of_a_hundred_remain_in_their_order() {
        let shrunk = shrink(shuffled(), 1_000, || false, in_order);
        assert_eq!(shrunk.list, [90, 7, 40]);
        assert!(shrunk.is_minimal);
    }

    #[test]
    fn a_bound_of_runs_keeps_a_list_that_fails() {
        for runs_max in 0..20 {
            let shrunk = shrink(shuffled(), runs_max, || false, in_order);
            assert!(in_order(&shrunk.list).is_some());
            assert!(shrunk.runs <= runs_max);
            assert!(!shrunk.is_minimal || shrunk.list.len() == 3);
        }
    }

    #[test]
    fn no_run_begins_after_the_deadline() {
        let mut left = 3;
        let is_late = || {
            left -= 1;
            left < 0
        };
        let shrunk = shrink(shuffled(), 1_000, is_late, in_order);
        assert_eq!((shrunk.runs, shrunk.is_minimal), (3, false));
    }

    #[test]
    fn what_was_not_taken_is_left_out_at_once() {
        // A run takes only even numbers, and fails if it takes 4.
        let fails = |list: &[u32]| {
            let taken: Vec<u32> = list.iter().copied().filter(|n| n % 2 == 0).collect();
            taken.contains(&4).then_some(taken)
        };
        let shrunk = shrink((0..10).collect(), 100, || false, fails);
        assert_eq!(shrunk.list, [4]);
    }

    #[test]
    fn an_item_that_only_a_later_one_needs_is_tried_again() {
        let fails = |list: &[u32]| {
            let has = |item| list.contains(&item);
            let is_failing = has(3) && has(5) && (has(1) || !has(2));
            is_failing.then(|| list.to_vec())
        };
        let shrunk = shrink(vec![1, 3, 5, 2], 100, || false, fails);
        assert_eq!(shrunk.list, [3, 5]);
    }

    #[test]
    fn a_list_that_does_not_get_shorter_ends() {
        let list = vec![1, 2, 3];
        let shrunk = shrink(list.clone(), 100, || false, |_| Some(vec![1, 2, 3]));
        assert_eq!(shrunk.list, list);
        let empty = shrink(Vec::<u32>::new(), 100, || false, |_| Some(Vec::new()));
        assert_eq!((empty.runs, empty.is_minimal), (0, true));
    }

    #[test]
    fn a_list_that_always_fails_becomes_empty() {
        let shrunk = shrink(
            (0..64).collect(),
            100,
            || false,
            |list: &[u32]| Some(list.to_vec()),
        );
        assert_eq!((shrunk.list.len(), shrunk.runs), (0, 2));
    }
}
