//! Threads that should be asleep, looked at from outside.

use std::fs;

/// Processor time in which a thread that has just become idle may look around.
const SETTLE_NS: u64 = 20_000_000;

/// Processor time of the one who looks on.
const WATCH_NS: u64 = 60_000_000;

/// What threads that sleep may use meanwhile, all together.
const ASLEEP_NS: u64 = 3_000_000;

/// The running thread, by the name that [`assert_asleep`] knows it by.
pub(crate) fn this_thread() -> String {
    let thread = fs::read_link("/proc/thread-self").unwrap();
    thread.to_str().unwrap().to_owned()
}

/// Fails if these threads use the processor while this one does.
pub(crate) fn assert_asleep(threads: &[String]) {
    let busy = || threads.iter().map(|thread| busy_ns(thread)).sum::<u64>();
    work(SETTLE_NS);
    let before = busy();
    work(WATCH_NS);
    let used = busy() - before;
    assert!(used < ASLEEP_NS, "{used} ns are not sleep");
}

/// Processor time of a thread of this process, in nanoseconds.
fn busy_ns(thread: &str) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Uses up processor time of this thread; the others may use as much meanwhile.
fn work(ns: u64) {
    let end = busy_ns("thread-self") + ns;
    while busy_ns("thread-self") < end {}
}
