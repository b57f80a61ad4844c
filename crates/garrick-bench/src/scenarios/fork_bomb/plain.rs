//! The tree of the fork bomb without actors: as plain calls, and as boxed continuations.

use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;

use garrick_measure::{Clock, Measured, Stopwatch};

use super::{Load, Wood};

/// Grows the trees with two recursive calls for each inner node, and counts the nodes.
pub(super) fn recursion<L: Load>(wood: Wood<L>) -> Measured {
    let seen = Cell::new(0);
    let watch = Stopwatch::start(Clock::Thread);
    for _ in 0..wood.trees {
        recurse(&seen, wood.depth, wood.load);
    }
    let measured = Measured::new(wood.nodes(), watch.stop());
    assert_eq!(seen.get(), wood.nodes(), "the trees are complete");
    measured
}

/// Grows a tree, and calls itself for both children of an inner node. The function is never
/// inlined, so that there is one call for each node.
#[inline(never)]
fn recurse<L: Load>(seen: &Cell<u64>, depth: u32, load: L) {
    seen.set(seen.get() + 1);
    if black_box(depth) == 0 {
        return load.bear();
    }
    recurse(seen, depth - 1, load);
    recurse(seen, depth - 1, load);
}

/// The remaining work. A call of the closure performs a part of this work and returns the rest, or
/// `None` if no work is left.
struct Continuation(Box<dyn FnOnce() -> Option<Continuation>>);

/// Grows the trees with a boxed closure for each inner node. The closure is called when the left
/// half of the node's tree is complete, and grows the right half. Each closure returns the next one
/// to a loop, which calls it. If the closures called one another, a chain of two million calls
/// would overflow the stack, because Rust guarantees no tail calls.
pub(super) fn continuations<L: Load>(wood: Wood<L>) -> Measured {
    let seen = Rc::new(Cell::new(0));
    let watch = Stopwatch::start(Clock::Thread);
    for _ in 0..wood.trees {
        let root = grow(
            seen.clone(),
            wood.depth,
            wood.load,
            Continuation(Box::new(|| None)),
        );
        let mut next = Some(root);
        while let Some(Continuation(call)) = next {
            next = call();
        }
    }
    let measured = Measured::new(wood.nodes(), watch.stop());
    assert_eq!(seen.get(), wood.nodes(), "the trees are complete");
    measured
}

/// Grows a tree down to its first leaf, and returns the remaining work.
fn grow<L: Load>(seen: Rc<Cell<u64>>, depth: u32, load: L, then: Continuation) -> Continuation {
    seen.set(seen.get() + 1);
    if black_box(depth) == 0 {
        load.bear();
        return then;
    }
    let again = seen.clone();
    let right = Box::new(move || Some(grow(again, depth - 1, load, then)));
    grow(seen, depth - 1, load, Continuation(right))
}
