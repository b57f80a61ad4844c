//! A simulated disk without faults behaves like a folder of the operating system.
