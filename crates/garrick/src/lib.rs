//! The facade (being written).
#![forbid(unsafe_code)]
