//! Logs that pass most calls on to another log.

/// Implements the methods of `Log` that a log of a test passes on to the log in its field `$log`:
/// all except `start`, `read`, `append`, `journal_bytes_max` and `forget`.
macro_rules! passed_on {
    ($log:tt) => {
        fn save(
            &self,
            journal: JournalId,
            number: u64,
            kind: EventKind,
            state: &[u8],
        ) -> Result<(), JournalError> {
            self.$log.save(journal, number, kind, state)
        }

        fn saved_before(
            &self,
            journal: JournalId,
            number: u64,
        ) -> Result<Option<garrick_journal::Snapshot>, JournalError> {
            self.$log.saved_before(journal, number)
        }

        fn tend(&self) {
            self.$log.tend();
        }

        fn is_broken(&self) -> bool {
            self.$log.is_broken()
        }

        fn sample(&self, waits: bool) -> Option<LogSample> {
            self.$log.sample(waits)
        }

        fn notice(&self, error: JournalError) {
            self.$log.notice(error);
        }

        fn take_notices(&self) -> Vec<JournalError> {
            self.$log.take_notices()
        }
    };
}
