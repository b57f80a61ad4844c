//! Tests of the errors of Garrick's macros, which are in the folder `tests` of this package.
#![forbid(unsafe_code)]
