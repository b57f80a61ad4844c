//! Garrick's simulation, compared with other libraries that search for bugs. All libraries search
//! the same programs, in which bugs were planted, and each library must find each bug. This command
//! prints the tables, without the libraries' messages about failures:
//!
//! ```sh
//! cargo test -p garrick-rivals --test simulation -- --nocapture --test-threads 1 2> /dev/null
//! ```
//!
//! madsim needs a flag of the compiler for all crates, so it takes part only if this flag is set.
//! `cargo xtask rivals` sets it. To set it by hand, put
//! `RUSTFLAGS="--cfg madsim" CARGO_TARGET_DIR=target/madsim` before the command.
#![forbid(unsafe_code)]

mod row;

mod contenders;

mod bank;
mod order;
mod two_phase;

#[test]
fn each_finds_the_lost_deposit() {
    println!("{}", row::table(&bank::rows()));
}

#[test]
fn each_finds_the_late_vote() {
    println!("{}", row::table(&two_phase::rows()));
}

#[test]
fn each_finds_the_wrong_order() {
    println!("{}", row::table(&order::rows()));
}
