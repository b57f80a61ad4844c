//! A list from which elements are taken and put back in constant time (Knuth, "Dancing links",
//! 2000).

/// A doubly linked ring of the numbers `0..nodes` and of an anchor, which is the number `nodes`.
///
/// A removed element still knows its neighbors. Elements must be put back in the reverse order of
/// their removal, so that these neighbors are correct.
pub(super) struct Links {
    next: Vec<usize>,
    previous: Vec<usize>,
}

impl Links {
    /// Returns a list of the numbers in `order`, which must contain each of the numbers
    /// `0..order.len()` once.
    pub(super) fn new(order: &[usize]) -> Self {
        let anchor = order.len();
        let mut links = Self {
            next: vec![anchor; anchor + 1],
            previous: vec![anchor; anchor + 1],
        };
        let mut last = anchor;
        for &node in order {
            links.join(last, node);
            last = node;
        }
        links.join(last, anchor);
        links
    }

    fn anchor(&self) -> usize {
        self.next.len() - 1
    }

    fn join(&mut self, left: usize, right: usize) {
        self.next[left] = right;
        self.previous[right] = left;
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.after(self.anchor())
    }

    /// Returns the element after the given one.
    pub(super) fn after(&self, node: usize) -> Option<usize> {
        let next = self.next[node];
        (next != self.anchor()).then_some(next)
    }

    pub(super) fn contains(&self, node: usize) -> bool {
        self.next[self.previous[node]] == node
    }

    /// Takes an element out of the list.
    pub(super) fn take(&mut self, node: usize) {
        self.join(self.previous[node], self.next[node]);
    }

    /// Puts back the element that was taken last.
    pub(super) fn put_back(&mut self, node: usize) {
        let (previous, next) = (self.previous[node], self.next[node]);
        self.join(previous, node);
        self.join(node, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(links: &Links) -> Vec<usize> {
        std::iter::successors(links.first(), |node| links.after(*node)).collect()
    }

    #[test]
    fn what_is_taken_can_be_put_back() {
        let mut links = Links::new(&[2, 0, 3, 1]);
        assert_eq!(elements(&links), [2, 0, 3, 1]);
        for node in [0, 3, 2] {
            links.take(node);
            assert!(!links.contains(node));
        }
        assert_eq!(elements(&links), [1]);
        for node in [2, 3, 0] {
            links.put_back(node);
            assert!(links.contains(node));
        }
        assert_eq!(elements(&links), [2, 0, 3, 1]);
    }

    #[test]
    fn a_list_may_be_empty() {
        assert_eq!(elements(&Links::new(&[])), []);
    }
}
