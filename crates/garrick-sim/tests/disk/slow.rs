//! Slow disks, in the order of times.
