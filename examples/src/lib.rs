//! The parts of Garrick's examples that the tests use. The examples themselves are in the folder
//! `examples`.
#![forbid(unsafe_code)]

pub mod operations;

pub mod sessions;

pub mod traces;
