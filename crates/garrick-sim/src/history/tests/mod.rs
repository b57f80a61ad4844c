//! Tests of the check with whole histories.

mod oracle;

mod script;

mod sample;

mod execution;

mod known;

mod pending;

mod misuse;

mod explained;

mod bounds;

mod properties;
