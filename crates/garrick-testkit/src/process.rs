//! The processor time and the memory of the process, as Linux reports them.

use std::fs;

/// Processor time that the calling thread uses first, to give the other threads time to fall
/// asleep.
const SETTLE_NS: u64 = 20_000_000;

/// Processor time that the calling thread uses while it measures the other threads.
const WATCH_NS: u64 = 60_000_000;

/// Total processor time that sleeping threads may use while they are measured.
const ASLEEP_NS: u64 = 3_000_000;

const PAGE_BYTES: usize = 4_096;

/// Returns an identifier of the current thread. Pass it to [`assert_asleep`].
///
/// # Panics
///
/// Panics if the system is not Linux.
pub fn this_thread() -> String {
    let thread = fs::read_link("/proc/thread-self").expect("only Linux has `/proc`");
    thread.to_str().expect("it should be a number").to_owned()
}

/// Asserts that the given threads are asleep: they use almost no processor time while the calling
/// thread is working. [`this_thread`] returns the identifier of a thread.
///
/// # Panics
///
/// Panics if the given threads use 3 ms or more of processor time, or if the system is not Linux.
pub fn assert_asleep(threads: &[String]) {
    let busy = || threads.iter().map(|thread| busy_ns(thread)).sum::<u64>();
    work(SETTLE_NS);
    let before = busy();
    work(WATCH_NS);
    let used = busy() - before;
    assert!(
        used < ASLEEP_NS,
        "the threads are not asleep: they used {used} ns of processor time"
    );
}

/// Returns the resident memory of this process, in bytes.
///
/// # Panics
///
/// Panics if the system is not Linux.
pub fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("only Linux has `/proc`");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    let pages: usize = pages.expect("it should be a number");
    pages * PAGE_BYTES
}

/// Returns the processor time of a thread of this process, in nanoseconds.
fn busy_ns(thread: &str) -> u64 {
    let stat =
        fs::read_to_string(format!("/proc/{thread}/schedstat")).expect("only Linux has `/proc`");
    let time = stat.split(' ').next().and_then(|time| time.parse().ok());
    time.expect("it should be a number")
}

/// Keeps the calling thread busy until it has used `ns` nanoseconds of processor time. Other
/// threads may run in the meantime.
fn work(ns: u64) {
    let end = busy_ns("thread-self") + ns;
    while busy_ns("thread-self") < end {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_at_work_is_not_asleep() {
        let this = this_thread();
        let failed = std::panic::catch_unwind(|| assert_asleep(&[this])).unwrap_err();
        let why = failed.downcast_ref::<String>().unwrap();
        assert!(why.ends_with("ns of processor time"), "{why}");
    }

    #[test]
    fn memory_that_was_written_is_resident() {
        const MORE: usize = 64 << 20;
        let before = resident_bytes();
        let written = vec![1_u8; MORE];
        let more = resident_bytes() - before;
        assert!(more > MORE / 2, "{more} bytes");
        drop(written);
    }
}
