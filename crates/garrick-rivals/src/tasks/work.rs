//! The work of a task: a fixed computation with a known answer.

use std::hint::black_box;

/// Index of the Fibonacci number to compute.
const FIBONACCI_OF: u64 = 15;

/// Number of times that a task computes the Fibonacci number.
const TIMES: u64 = 20;

/// Answer of a task: 20 times the 15th Fibonacci number.
pub(super) const ANSWER: u64 = TIMES * 610;

/// Does one task. Never inlined, so that all contenders run the same instructions.
#[inline(never)]
pub(super) fn work() -> u64 {
    (0..TIMES).map(|_| fibonacci(black_box(FIBONACCI_OF))).sum()
}

fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    fibonacci(n - 1) + fibonacci(n - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_known() {
        assert_eq!(work(), ANSWER);
    }
}
