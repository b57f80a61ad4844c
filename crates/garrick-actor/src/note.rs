//! Notes, which are facts that actors record for a simulation. The simulation checks properties of
//! these facts.

pub(crate) use garrick_sched::note;

#[cfg(feature = "sim")]
pub use {active::Observing, garrick_sched::Note};

#[cfg(feature = "sim")]
mod active {
    use garrick_sched::{Address, Note, observe};

    use crate::failure::path::simulated;

    /// A guard. While the guard exists, the notes (recorded facts) of the thread that created the
    /// guard are sent to a simulation.
    #[expect(missing_debug_implementations, reason = "only for the simulation")]
    pub struct Observing(());

    impl Observing {
        /// Sends the notes (recorded facts) of this thread to `observer`, until the returned guard
        /// is dropped.
        #[must_use]
        pub fn begin(observer: Address<Note>) -> Self {
            observe(Some(observer));
            simulated::set_running(true);
            Self(())
        }
    }

    impl Drop for Observing {
        fn drop(&mut self) {
            observe(None);
            simulated::set_running(false);
        }
    }
}
