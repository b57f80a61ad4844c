//! What `#[garrick::actor]` says against what cannot be an actor, and what it must leave alone.
//!
//! What is said lies beside each case, in `.stderr`. After a change that is meant, run with `TRYBUILD=overwrite`
//! and read the difference.

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/actor_macro/fail/*.rs");
    cases.pass("tests/actor_macro/pass/*.rs");
}
