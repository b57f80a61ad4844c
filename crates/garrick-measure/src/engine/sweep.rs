//! The actor that requests one set of contenders after another.

use std::rc::Rc;

use garrick_actor::{Actor, Context};

use super::step::{Desk, Job, Over};

/// An actor that requests one set of contenders after another. Each set belongs to a scenario, or
/// to a point of a sweep.
pub(super) struct Sweep {
    /// Number of plans, each of which describes one set of contenders.
    plans: usize,
    /// Index of the plan whose contenders are requested next.
    next: usize,
    desk: Rc<Desk>,
}

impl Sweep {
    pub(super) fn new(plans: usize, desk: Rc<Desk>) -> Self {
        Self {
            plans,
            next: 0,
            desk,
        }
    }
}

impl Actor for Sweep {
    type Msg = Over;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, _: Over, _: &mut Context<'_, Over>) {
        if self.next < self.plans {
            self.desk.put(Job::Lay(self.next));
            self.next += 1;
        }
    }
}
