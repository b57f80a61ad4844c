//! The core that the calling thread runs on.

/// Returns the number of the core that the calling thread is running on, if the system reports it.
///
/// The thread may have moved to another core by the time this call returns, so the number is only a
/// hint. The call takes a few nanoseconds and makes no system call.
///
/// # Examples
///
/// ```
/// if let Some(core) = garrick_core::park::current_core() {
///     println!("core {core}");
/// }
/// ```
#[cfg(all(target_os = "linux", not(garrick_portable)))]
#[inline]
pub fn current_core() -> Option<u32> {
    // SAFETY: the call has no conditions.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Returns `None`, because this system does not report the core that the calling thread runs on.
#[cfg(any(not(target_os = "linux"), garrick_portable))]
pub fn current_core() -> Option<u32> {
    None
}
