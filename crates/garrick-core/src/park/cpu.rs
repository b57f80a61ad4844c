//! Which core the calling thread is on.

/// The number of the core that the calling thread is on now, if the system tells. It may be on another by the
/// time it has the answer, so this is good for guesses only. A few nanoseconds, without a system call.
///
/// # Examples
///
/// ```
/// if let Some(core) = garrick_core::park::current_core() {
///     println!("core {core}");
/// }
/// ```
#[cfg(target_os = "linux")]
#[inline]
pub fn current_core() -> Option<u32> {
    // SAFETY: the call has no conditions.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The number of the core that the calling thread is on, which this system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn current_core() -> Option<u32> {
    None
}
