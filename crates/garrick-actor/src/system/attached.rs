//! Values that a system attaches to its sponsor (the threads that run its actors).

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::failure::office::Office;
use crate::system::workload::Workload;

/// Values that a system attaches to its sponsor (the threads that run its actors). Code that has a
/// handle to the sponsor can read the values.
pub(crate) struct Attached {
    pub(crate) workload: Workload,
    /// Destination of the failure reports of the system.
    pub(crate) office: Arc<Office>,
    /// A value that another module stores here. Only that module knows the type of the value.
    /// Created when it is first requested.
    above: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Attached {
    pub(crate) fn new(workload: Workload, office: Arc<Office>) -> Self {
        Self {
            workload,
            office,
            above: OnceLock::new(),
        }
    }

    /// Returns the values that a system has attached to its threads. Returns `None` if the threads
    /// of `sponsor` do not belong to a system.
    pub(crate) fn of(sponsor: &garrick_sched::Handle) -> Option<&Self> {
        sponsor.attachment()
    }

    /// Returns the value that another module stores here. The first call creates the value. Returns
    /// `None` if the value does not have the type `T`.
    pub(crate) fn above<T: Any + Send + Sync + Default>(&self) -> Option<Arc<T>> {
        let above = self.above.get_or_init(|| Arc::new(T::default()));
        above.clone().downcast().ok()
    }
}
