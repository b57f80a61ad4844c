//! The rules of logs, checked for each log of this crate. A test is written once, against
//! `dyn Log`. To check another log, implement [`Store`] for it and add it to [`conformance`].
#![forbid(unsafe_code)]

mod model;
mod store;

mod cases;
mod random;

use store::Store;

/// Has each test run for each log.
macro_rules! conformance {
    ($($test:path => $name:ident),* $(,)?) => {
        mod folder {
            $(#[test] fn $name() { $test(&mut crate::store::Folders::new()); })*
        }
        mod simulated_disk {
            $(#[test] fn $name() { $test(&mut crate::store::Simulated::new()); })*
        }
        mod memory {
            $(#[test] fn $name() { $test(&mut crate::store::Memory::default()); })*
        }
        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[test] fn $name() { $test(&mut crate::store::Databases::new()); })*
        }
    };
}

conformance! {
    crate::cases::events_are_read_as_they_were_appended => events_are_read_as_they_were_appended,
    crate::cases::a_read_ends_after_some_bytes => a_read_ends_after_some_bytes,
    crate::cases::a_read_of_events_without_payload_ends => a_read_of_events_without_payload_ends,
    crate::cases::journals_are_apart => journals_are_apart,
    crate::cases::a_journal_exists_from_its_first_event_on => a_journal_exists_from_its_first_event_on,
    crate::cases::a_conflict_refuses_one_journal => a_conflict_refuses_one_journal,
    crate::cases::an_unknown_journal_is_refused => an_unknown_journal_is_refused,
    crate::cases::a_whole_event_replaces_those_before => a_whole_event_replaces_those_before,
    crate::cases::two_snapshots_are_kept => two_snapshots_are_kept,
    crate::cases::a_wrong_snapshot_is_refused => a_wrong_snapshot_is_refused,
    crate::cases::snapshots_and_whole_events => snapshots_and_whole_events,
    crate::cases::a_start_that_does_not_wait => a_start_that_does_not_wait,
    crate::cases::wrong_names_are_refused => wrong_names_are_refused,
    crate::cases::an_empty_group_changes_nothing => an_empty_group_changes_nothing,
    crate::cases::large_events => large_events,
    crate::cases::a_log_has_numbers => a_log_has_numbers,
    crate::cases::threads_read_meanwhile => threads_read_meanwhile,
    crate::random::random_operations => random_operations,
}
