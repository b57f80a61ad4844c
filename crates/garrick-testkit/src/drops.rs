//! Values whose destructors are part of a test.

use std::fmt;
use std::thread;

use crate::panics::fail;

/// A value whose destructor panics on purpose, except during another panic.
#[derive(Debug)]
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            fail();
        }
    }
}

/// A value that calls its closure when dropped.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<F: FnMut()> fmt::Debug for OnDrop<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDrop").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::panics::{ON_PURPOSE, silence_panics};

    #[test]
    fn a_bomb_adds_no_panic_to_another() {
        silence_panics();
        let panic = catch_unwind(|| drop(Bomb)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&ON_PURPOSE));
        let panic = catch_unwind(|| {
            let _bomb = Bomb;
            std::panic::resume_unwind(Box::new(7));
        });
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&7));
    }
}
