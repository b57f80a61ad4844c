//! The lock file: a text file next to `Cargo.toml` that lists all messages of a package. A test
//! compares the file with the program, and finds changes that older or newer nodes would not
//! understand.
//!
//! [`lock!`](crate::lock!) generates the test. In this crate, only this module reads and writes
//! files.

mod text;

mod compare;

mod check;

pub use check::check;

use crate::schema::{Schema, Use};
use crate::wire::Wire;

/// Adds the message `T`, and all types within it, to `schema`.
///
/// # Panics
/// Panics if `T` is a type without a description, such as `u64`.
#[doc(hidden)]
pub fn root<C: ?Sized, T: Wire<C>>(schema: &mut Schema) {
    T::describe(schema);
    let Some(described) = schema.types.get_mut(T::NAME) else {
        panic!(
            "`{}` has no fields to lock: list types with `#[derive(Wire)]`",
            T::NAME
        );
    };
    described.used = Use::Root;
}

/// Generates a test that compares the messages of a package with its `wire.lock`.
///
/// List all types that are sent as messages. The types of their fields are found automatically. A
/// package has one lock file, so use the macro once in each package. The name of the test is
/// `wire_lock`.
///
/// - `GARRICK_WIRE_LOCK=write cargo test wire_lock` writes the file, but refuses changes that
///   other versions of the program would not understand.
/// - `GARRICK_WIRE_LOCK_BASE=main cargo test wire_lock` also compares the file with its version at
///   the commit `main`. So the test detects a file that was deleted and written again.
///
/// The guide `docs/wire.md` describes the rules.
///
/// # Examples
/// ```
/// use garrick_wire::Wire;
///
/// #[derive(Wire)]
/// enum Command {
///     Deposit { cents: u64 },
///     Close,
/// }
///
/// #[derive(Wire)]
/// struct Page<T> {
///     items: Vec<T>,
/// }
///
/// garrick_wire::lock! {
///     Command,
///     Page<Command>;
///     // A message that nobody sends any more.
///     ended "bank.Withdraw"
/// }
/// # fn main() {}
/// ```
///
/// If the messages need a context, name its type first:
///
/// ```
/// # struct Node;
/// # #[derive(garrick_wire::Wire)]
/// # struct Command;
/// garrick_wire::lock! { context = Node; Command }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! lock {
    (context = $context:ty; $($root:ty),+ $(,)? $(; ended $($ended:literal),+ $(,)?)?) => {
        #[cfg(test)]
        #[test]
        fn wire_lock() {
            $crate::lock::check(
                ::core::env!("CARGO_MANIFEST_DIR"),
                |schema| {
                    $($crate::lock::root::<$context, $root>(schema);)+
                },
                &[$($($ended),+)?],
            );
        }
    };
    ($($root:ty),+ $(,)? $(; ended $($ended:literal),+ $(,)?)?) => {
        $crate::lock! { context = (); $($root),+ $(; ended $($ended),+)? }
    };
}
