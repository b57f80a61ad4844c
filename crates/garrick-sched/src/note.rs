//! Notes: facts that actors and stages record for a simulation. The simulation checks properties of
//! these facts.

use std::any::Any;
use std::fmt::Debug;

#[cfg(feature = "sim")]
pub use active::{Note, observe};

/// Records a fact. Does nothing unless the thread runs a simulation.
#[inline]
pub fn note<F: Any + Debug + Send>(fact: F) {
    #[cfg(feature = "sim")]
    active::note(fact);
    #[cfg(not(feature = "sim"))]
    drop(fact);
}

#[cfg(feature = "sim")]
mod active {
    use std::any::Any;
    use std::cell::RefCell;
    use std::fmt::Debug;

    use crate::runtime::address::Address;

    thread_local! {
        /// Task that receives the facts that this thread records during a simulation. `None` if
        /// there is no such task.
        static OBSERVER: RefCell<Option<Address<Note>>> = const { RefCell::new(None) };
    }

    /// A recorded fact, which is sent to the observer of a simulation.
    #[expect(missing_debug_implementations, reason = "only for the simulation")]
    pub struct Note {
        /// The recorded fact, a value of any type.
        pub fact: Box<dyn Any + Send>,
        /// A function that formats the fact.
        pub format: fn(&dyn Any) -> String,
    }

    impl Note {
        /// Creates a note that contains a fact.
        pub fn of<F: Any + Debug + Send>(fact: F) -> Self {
            Self {
                fact: Box::new(fact),
                format: |fact| match fact.downcast_ref::<F>() {
                    Some(fact) => format!("{fact:?}"),
                    None => String::new(),
                },
            }
        }
    }

    pub(super) fn note<F: Any + Debug + Send>(fact: F) {
        OBSERVER.with_borrow(|observer| {
            if let Some(observer) = observer {
                // In a turn, the note is staged like any message.
                let _ = observer.send(Note::of(fact));
            }
        });
    }

    /// Sets the task that receives the facts that this thread records from now on. If `observer` is
    /// `None`, these facts are dropped.
    pub fn observe(observer: Option<Address<Note>>) {
        OBSERVER.set(observer);
    }
}
