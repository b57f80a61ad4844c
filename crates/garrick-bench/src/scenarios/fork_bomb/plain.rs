//! The same tree without actors: as plain calls, and as continuations in boxes.

use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;

use super::nodes;
use crate::clock::{Clock, Stopwatch};
use crate::scenario::Measured;

/// Two calls for each inner node; each node counts itself.
pub(super) fn recursion(depth: u32) -> Measured {
    let seen = Cell::new(0);
    let watch = Stopwatch::start(Clock::Thread);
    recurse(&seen, depth);
    let measured = Measured::new(nodes(depth), watch.stop());
    assert_eq!(seen.get(), nodes(depth), "the tree is complete");
    measured
}

/// Not inlined into itself, for that would make fewer calls than there are nodes.
#[inline(never)]
fn recurse(seen: &Cell<u64>, depth: u32) {
    seen.set(seen.get() + 1);
    if black_box(depth) > 0 {
        recurse(seen, depth - 1);
        recurse(seen, depth - 1);
    }
}

/// The rest of the work: called once, it does a part and returns what then remains of it.
struct Continuation(Box<dyn FnOnce() -> Option<Continuation>>);

/// A boxed closure for each inner node, which is called when the node's left half is complete, and then
/// grows the right one. Continuations are returned to the loop here, not called in one another: Rust
/// promises no tail calls, and a chain of two million frames would not fit the stack.
pub(super) fn continuations(depth: u32) -> Measured {
    let seen = Rc::new(Cell::new(0));
    let watch = Stopwatch::start(Clock::Thread);
    let mut next = Some(grow(seen.clone(), depth, Continuation(Box::new(|| None))));
    while let Some(Continuation(call)) = next {
        next = call();
    }
    let measured = Measured::new(nodes(depth), watch.stop());
    assert_eq!(seen.get(), nodes(depth), "the tree is complete");
    measured
}

/// Grows a tree down to its first leaf, and returns what is to be done then.
fn grow(seen: Rc<Cell<u64>>, depth: u32, then: Continuation) -> Continuation {
    seen.set(seen.get() + 1);
    if black_box(depth) == 0 {
        return then;
    }
    let again = seen.clone();
    let right = Box::new(move || Some(grow(again, depth - 1, then)));
    grow(seen, depth - 1, Continuation(right))
}
