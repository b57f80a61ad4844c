//! Disks in runs: bad input, crashes within turns, destructors, and repetition.
