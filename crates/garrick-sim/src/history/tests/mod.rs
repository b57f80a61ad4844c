//! Tests that check whether whole histories are linearizable.

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
