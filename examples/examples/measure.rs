//! Measures a function in fifteen lines. Run it with `cargo run --profile measure -p
//! garrick-examples --example measure -- --html sort.html`.

use std::process::ExitCode;

use garrick_measure::{Dut, Experiment, experiment};

fn shuffled(n: u64) -> Vec<u64> {
    (0..n)
        .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect()
}

fn sorting(name: &'static str, sort: fn(&mut [u64])) -> Dut {
    Dut::new(name, move |point| {
        let numbers = shuffled(point["n"]);
        move || {
            let mut copy = numbers.clone();
            sort(&mut copy);
            copy
        }
    })
}

fn main() -> ExitCode {
    experiment(
        Experiment::new("sort", "copying n numbers in no order and sorting them")
            .sweep("n", [10, 100, 1_000, 10_000])
            .dut(sorting("stable", <[u64]>::sort))
            .dut(sorting("unstable", <[u64]>::sort_unstable))
            .reference("stable")
            .seconds_per_row(0.1),
    )
}
