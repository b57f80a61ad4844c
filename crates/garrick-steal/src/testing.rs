//! Helpers that the tests of several modules share.

#[cfg(not(garrick_loom))]
use std::{cell::Cell, rc::Rc};

/// A value that counts how many values of its type are alive.
#[cfg(not(garrick_loom))]
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: u32,
    alive: Rc<Cell<usize>>,
}

#[cfg(not(garrick_loom))]
impl Counted {
    pub(crate) fn new(number: u32, alive: &Rc<Cell<usize>>) -> Self {
        alive.set(alive.get() + 1);
        Self {
            number,
            alive: alive.clone(),
        }
    }
}

#[cfg(not(garrick_loom))]
impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
    }
}

/// Returns the maximum number of preemptions for a model with very many interleavings. If the
/// environment variable `GARRICK_LONG_MODELS` is set, the maximum is `preemptions_max`, and the
/// model runs for minutes. Otherwise the maximum is one less.
#[cfg(garrick_loom)]
pub(crate) fn long(preemptions_max: usize) -> usize {
    let is_long = std::env::var_os("GARRICK_LONG_MODELS").is_some();
    preemptions_max - usize::from(!is_long)
}

/// Asserts that every value below `count` was seen once.
#[cfg(garrick_loom)]
pub(crate) fn assert_each_once(parts: impl IntoIterator<Item = Vec<u32>>, count: u32) {
    let mut all: Vec<u32> = parts.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(
        all,
        Vec::from_iter(0..count),
        "every value must be seen once"
    );
}
