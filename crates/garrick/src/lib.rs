//! The facade (being written).
