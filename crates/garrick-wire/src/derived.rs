//! Items that the code of the derive macro uses.

pub use crate::name::join;
pub use crate::schema::{FieldSpec, VariantSpec};

#[cfg(feature = "serde")]
pub use crate::leaves::Serde;
