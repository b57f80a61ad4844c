//! Items for the code that the derive macro generates.

pub use crate::name::join;
pub use crate::schema::{FieldSpec, VariantSpec};

#[cfg(feature = "serde")]
pub use crate::leaves::Serde;
