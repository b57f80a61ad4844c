//! Tests of the rules of [`Log`], for all implementations. Needs the feature `conformance`.
//!
//! A [`Store`] opens the log. The macro [`log_conformance`](crate::log_conformance) defines a
//! module with the tests.

#[doc(hidden)]
pub mod model;

#[doc(hidden)]
pub mod sum;

#[doc(hidden)]
pub mod cases;
#[doc(hidden)]
pub mod optional;
#[doc(hidden)]
pub mod random;

use crate::log::Log;

/// A place where a test stores its log. At first, the place contains no log.
pub trait Store {
    /// Opens the log. Called again only after the previously returned value has been dropped.
    fn open(&mut self) -> Box<dyn Log>;

    /// Removes the log. Called only after the value that [`Store::open`] returned has been dropped.
    fn clear(&mut self);

    /// Returns true if the log implements [`Log::saved_before`], which is the default. If not, the
    /// tests of this method are left out.
    fn reads_older_states(&self) -> bool {
        true
    }

    /// Returns true if the log implements [`Log::forget`], which is the default. If not, only the
    /// rules that the default of [`Log::forget`] follows, too, are tested.
    fn forgets(&self) -> bool {
        true
    }
}

/// Defines a module with a test of each rule of [`Log`]. The expression after the name of the
/// module returns the [`Store`] for a test, or `None` to skip the test. Each test evaluates the
/// expression, and so has its own store. Needs the feature `conformance`.
///
/// ```text
/// garrick_journal::log_conformance! {
///     mod my_log: Some(MyStore::new());
/// }
/// ```
#[macro_export]
macro_rules! log_conformance {
    ($(mod $module:ident: $store:expr;)*) => {
        $($crate::log_conformance! { @tests $module, $store,
            cases::events_are_read_as_they_were_appended,
            cases::a_read_ends_after_some_bytes,
            cases::a_read_of_events_without_payload_ends,
            cases::journals_are_apart,
            cases::a_journal_exists_from_its_first_event_on,
            cases::a_journal_without_events_is_forgotten,
            cases::a_conflict_refuses_one_journal,
            cases::an_unknown_journal_is_refused,
            cases::a_whole_event_replaces_those_before,
            cases::two_snapshots_are_kept,
            cases::a_wrong_snapshot_is_refused,
            cases::snapshots_and_whole_events,
            cases::a_start_that_does_not_wait,
            cases::wrong_names_are_refused,
            cases::an_empty_group_changes_nothing,
            cases::large_events,
            cases::a_log_has_numbers,
            cases::threads_read_meanwhile,
            optional::the_older_snapshot_is_read,
            optional::a_forgotten_journal_gets_another_number,
            random::random_operations,
        })*
    };
    (@tests $module:ident, $store:expr, $($file:ident::$test:ident,)*) => {
        mod $module {
            $(
                #[test]
                fn $test() {
                    if let Some(mut store) = $store {
                        $crate::conformance::$file::$test(&mut store);
                    }
                }
            )*
        }
    };
}
