//! What one example shows better than a model: limits, panics, two threads.
use super::*;
