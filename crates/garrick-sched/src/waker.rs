//! The waker of a plain thread. The waker unparks the thread.

use std::sync::Arc;
use std::task::{Wake, Waker};

use garrick_core::prim::thread::{self, Thread};

/// A waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(not(garrick_loom))]
thread_local! {
    /// Waker of this thread. Created once.
    static WAKER: Waker = make();
}

fn make() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

pub(crate) fn waker_of_thread() -> Waker {
    #[cfg(not(garrick_loom))]
    if let Ok(waker) = WAKER.try_with(Waker::clone) {
        return waker;
    }
    // A thread that is ending may still wait, in a destructor.
    make()
}
