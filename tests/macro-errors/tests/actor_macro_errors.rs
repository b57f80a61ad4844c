//! Tests of the errors of `#[garrick::actor]`.
//!
//! The expected messages are beside each case, in `.stderr`. After an intended change, run with
//! `TRYBUILD=overwrite` and read the difference.

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/errors/*.rs");
}
