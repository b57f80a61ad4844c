//! Threads that should be asleep, observed from outside.

use std::fs;

/// Processor time that a thread may use just after it has become idle.
const SETTLE_NS: u64 = 20_000_000;

/// Processor time of the observing thread.
const WATCH_NS: u64 = 60_000_000;

/// Processor time that sleeping threads may use meanwhile, in total.
const ASLEEP_NS: u64 = 3_000_000;

/// Returns the running thread, by the name that [`assert_asleep`] uses.
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

/// Returns the processor time of a thread of this process, in nanoseconds.
fn busy_ns(thread: &str) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Uses up processor time of this thread; the others may use as much meanwhile.
fn work(ns: u64) {
    let end = busy_ns("thread-self") + ns;
    while busy_ns("thread-self") < end {}
}
