//! Implementations of `Wire` for types of the standard library.

mod numbers;

mod text;

mod pointers;

mod options;

mod lists;

mod maps;

mod tuples;

mod others;

#[cfg(feature = "bytes")]
mod shared_bytes;

#[cfg(feature = "serde")]
mod serde;

#[cfg(feature = "serde")]
pub use serde::Serde;
