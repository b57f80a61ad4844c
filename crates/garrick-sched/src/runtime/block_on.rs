//! Futures that the thread of a [`Here`] runs together with its tasks.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::runtime::address::Address;
use crate::runtime::current::Resting;
use crate::runtime::sponsor::Here;
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;

impl Here {
    /// Runs the tasks until `future` is ready, and returns the output of `future`. The thread
    /// sleeps while no task has messages. Use this method to wait for answers on a thread that runs
    /// tasks.
    ///
    /// # Panics
    /// Panics if called by a task or by code that a task calls. Code in `future` is an exception:
    /// it may call this method.
    ///
    /// # Examples
    /// The example of [`Ask::wait`](crate::Ask::wait) uses this method.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let waker = Waker::from(Arc::new(Nudge(self.spawn(Nudged))));
        let future = pin!(future);
        let future = RefCell::new(future);
        let output = Cell::new(None);
        self.run_until(|| {
            let _resting = Resting::new(self.worker());
            let polled = future
                .borrow_mut()
                .as_mut()
                .poll(&mut Context::from_waker(&waker));
            match polled {
                Poll::Ready(ready) => output.set(Some(ready)),
                Poll::Pending => return false,
            }
            true
        });
        output
            .into_inner()
            .expect("it runs until the output is there")
    }
}

/// Waker that makes the thread of a [`Here`] check for work again.
struct Nudge(Address<()>);

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A sponsor that has ended does not look for work again.
        let _ = self.0.send(());
    }
}

/// Task that receives a nudge when the future is woken, and ignores it. The nudge only makes the
/// thread check for work.
struct Nudged;

impl Task for Nudged {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Continue
    }

    // A nudge that comes after the future is done, or after the last run, is not needed.
    const INTERNAL: bool = true;

    fn is_letter((): &()) -> bool {
        false
    }
}
