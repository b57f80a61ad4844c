//! Counts of the cache lines that more than one thread writes, for each message, wake, gift of a
//! cell and claim of a cell. The test counts these lines, because few machines have enough cores to
//! measure the cost. Built under `--cfg garrick_count` only: `cargo xtask lines` prints the table.
#![cfg(garrick_count)]

#[path = "../common/mod.rs"]
mod common;

mod rig;

mod count;

mod scenes;

use std::thread;

use count::Count;
use garrick_core::prim::atomic::{AtomicU64, Ordering::Relaxed};
use garrick_testkit::alone;

#[test]
fn a_line_moves_when_another_thread_writes_it() {
    let _alone = alone();
    let word = AtomicU64::new(0);
    let add = || {
        word.fetch_add(1, Relaxed);
    };
    let elsewhere = || thread::scope(|scope| scope.spawn(add).join().unwrap());
    let count = Count::of("", 1, || {
        add();
        add();
    });
    assert_eq!(count.moves(), 0.0, "{count}");
    let count = Count::of("", 1, || {
        elsewhere();
        add();
        add();
        word.load(Relaxed);
    });
    assert_eq!(count.moves(), 2.0, "{count}");
}

#[test]
fn what_is_shared() {
    let _alone = alone();
    for workers in [2, 16] {
        println!("\n{workers} workers\n\n{}", Count::HEAD);
        let mut near = None;
        for count in scenes::all(workers) {
            println!("{count}");
            near.get_or_insert(count.moves());
        }
        let near = near.expect("there are scenes");
        assert!(near < 0.01, "a message at one worker moves {near} lines");
    }
}
