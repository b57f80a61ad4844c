//! Histories of operations, and the check that a history is linearizable.
