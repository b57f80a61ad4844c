//! The actor that requests trials of the contenders and passes on the results.

use std::rc::Rc;

use garrick_actor::{Actor, Address, Context, Next};

use crate::next::sent;
use crate::scenario::Measured;

use super::step::{Desk, Job, Step, Trial};

/// An actor that requests trials, and passes on their results. The actor puts each trial on the
/// [`Desk`], and the measuring thread takes the trial from there.
pub(super) struct Timer {
    desk: Rc<Desk>,
    /// Actor that waits for the result of the trial in progress.
    customer: Option<Address<Step>>,
}

/// Messages that a [`Timer`] handles.
pub(super) enum Timing {
    /// Requests a trial. The result is sent to the contained address.
    Try(Address<Step>, Trial),
    /// Result of the trial, in wall time and CPU time.
    Took(Measured),
}

impl Timer {
    pub(super) fn new(desk: Rc<Desk>) -> Self {
        Self {
            desk,
            customer: None,
        }
    }
}

impl Actor for Timer {
    type Msg = Timing;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, message: Timing, cx: &mut Context<'_, Timing>) -> Next {
        match message {
            Timing::Try(customer, trial) => {
                self.customer = Some(customer);
                self.desk.put(Job::Try(trial));
                Next::Continue
            }
            Timing::Took(measured) => match self.customer.take() {
                Some(customer) => sent(&cx.send(&customer, Step::Took(measured))),
                None => Next::Continue,
            },
        }
    }
}
