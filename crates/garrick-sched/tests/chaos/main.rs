//! Chaos test: random programs that do everything that tasks can do, and that can be done to tasks.
//! At the end, the test checks that every value was made and dropped once, that every message,
//! watch and question had one end, and that no additional memory block is in use.
//!
//! A test round is generated from one number. A round differs from run to run, because its threads
//! do. But a round that has failed soon fails again. CONTRIBUTING.md explains how to run it for
//! hours.
#![forbid(unsafe_code)]

mod asking;
mod dice;
mod frame;
mod gate;
mod later;
mod ledger;
mod mind;
mod node;
mod outside;
mod round;
mod shapes;
mod sponsors;
mod watching;
mod will;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use garrick_testkit::{HANGS_AFTER, ends_or, setting};

/// Number of workers of each sponsor, for each round.
const WORKERS: [usize; 4] = [1, 2, 4, 8];
/// Number of steps in a round.
const FUEL: i64 = 2_000;

/// Returns the command that runs a round again.
fn again(seed: u64, workers: usize) -> String {
    format!(
        "GARRICK_CHAOS_SEED={seed} GARRICK_CHAOS_WORKERS={workers} GARRICK_CHAOS_ROUNDS=1 \
         cargo test -p garrick-sched --test chaos"
    )
}

fn run(seed: u64, workers: usize) {
    let hangs = move || {
        let wrong = ledger::take_wrong().join("\n");
        eprintln!(
            "seed {seed} hangs; so far:\n{wrong}\n{}",
            again(seed, workers)
        );
    };
    ends_or(move || round::run(seed, workers, FUEL), hangs);
    let wrong = ledger::take_wrong();
    assert!(
        wrong.is_empty(),
        "seed {seed}, {workers} workers:\n{}\n{}",
        wrong.join("\n"),
        again(seed, workers)
    );
}

/// Returns the number of threads of this process, if the system reports it.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Waits for the threads of sponsors that one of their own tasks has ended, because no other thread
/// joins them. If a thread still runs when the process ends, a sanitizer reports a leak.
fn wait_for_threads(most: usize) {
    let began = Instant::now();
    while threads() > most && began.elapsed() < HANGS_AFTER {
        thread::yield_now();
    }
}

#[test]
fn stress_everything_at_once() {
    frame::hook_panics();
    let threads = threads();
    let rounds = if cfg!(debug_assertions) { 40 } else { 200 };
    let first: u64 = setting("GARRICK_CHAOS_SEED").unwrap_or(1);
    let seconds = setting("GARRICK_CHAOS_SECONDS");
    let rounds = setting("GARRICK_CHAOS_ROUNDS").unwrap_or(if seconds.is_some() {
        u64::MAX
    } else {
        rounds
    });
    let workers = setting("GARRICK_CHAOS_WORKERS");
    let (began, limit) = (Instant::now(), seconds.map(Duration::from_secs));
    let mut done = 0;
    while done < rounds && limit.is_none_or(|limit| began.elapsed() < limit) {
        let seed = first.wrapping_add(done);
        let usual = WORKERS[seed as usize % WORKERS.len()];
        run(seed, workers.unwrap_or(usual));
        done += 1;
    }
    wait_for_threads(threads);
    println!("{done} rounds from seed {first} on, {:?}", began.elapsed());
}
