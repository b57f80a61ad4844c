//! An asymmetric fence: a pair of fences in which only the rarely used side is expensive.
//!
//! Suppose that each of two threads writes one word and then reads the word of the other thread
//! (Dekker's pattern). Both threads then need a full fence between these two steps. Otherwise each
//! thread may miss the write of the other. If one side runs a thousand times as often as the other
//! side, the rare side can pay for both fences. On Linux, `membarrier(2)`
//! (`MEMBARRIER_CMD_PRIVATE_EXPEDITED`, since 4.14) makes every running thread of the process pass
//! a full fence before the call returns. The frequent side then only has to prevent the compiler
//! from swapping its two steps. The technique is known as an asymmetric fence or asymmetric Dekker.
//! Folly, liburcu and Java's hotspot use it.
//!
//! ```text
//!     frequent side                  rare side
//!     x = 1                          y = 1
//!     light()  compiler only         heavy()  every core fences
//!     read y                         read x               at least one of them reads 1
//! ```
//!
//! If the system call is not available (older kernels, seccomp filters, other systems), both sides
//! are an ordinary `fence(SeqCst)`. [`Asymmetric::detect`] chooses the pair once per process, at
//! run time.
//!
//! Both sides are wait-free, and any thread may call either side. `heavy` is a system call. It
//! takes 0.1 to 0.5 µs if no other thread of the process is running. If it must interrupt another
//! thread, it takes at least 2 µs, and 20 µs in a virtual machine that forwards interrupts in
//! software. Each interrupted thread also loses time. So the pair pays off if the light side runs
//! about a thousand times as often as the heavy side. Otherwise [`Asymmetric::symmetric`] is
//! cheaper.
//!
//! # How each side orders the accesses
//!
//! | side | pair | in the program | in the processor | test that fails without it |
//! | --- | --- | --- | --- | --- |
//! | light | membarrier | `compiler_fence(SeqCst)`: the store comes before the load in the generated code | nothing: the store may wait in the store buffer | none, see below |
//! | heavy | membarrier | the system call: no compiler moves a memory access across it | a full barrier on this core, and during the call on each core that runs a thread of the process | `stress_tests`, in an optimized build |
//! | light | symmetric | `fence(SeqCst)` | a full barrier | models, and `stress_tests` in an optimized build |
//! | heavy | symmetric | `fence(SeqCst)` | a full barrier | models, and `stress_tests` in an optimized build |
//!
//! Under loom both sides are `fence(SeqCst)`, because loom has no `membarrier`. This is a valid
//! model of the real pair, for the following reason. A thread that is interrupted for the call
//! passes a full barrier at one point of its program. A thread that is not running passed a full
//! barrier when it was switched out, or will pass a full barrier when it is switched in. If the
//! barrier comes before the load of the light side, the load sees the store of the heavy side. If
//! the barrier comes after the load, it also comes after the store of the light side, and the heavy
//! side sees this store. This argument requires only that, on the light side, the store comes
//! before the load in the compiled program. The compiler fence prevents the compiler from swapping
//! these two accesses.
//!
//! No test in this module fails without the compiler fence. The language allows a compiler to move
//! a relaxed load before an earlier release store to another word, but LLVM does not do so. LLVM
//! keeps the program order of atomic loads and stores that are stronger than `unordered`. So the
//! generated code is the same with and without the fence, and a test can only observe the generated
//! code. We checked this with rustc 1.95 on x86-64, for a store and a load of two words: once, in a
//! loop and unrolled. The models without a light side (`deque::loom_tests` of `garrick-steal`) show
//! what would break if a compiler moved the load.
use crate::prim::atomic::{Ordering::SeqCst, fence};

/// A pair of memory fences: [`light`](Self::light) for the side that runs often, and
/// [`heavy`](Self::heavy) for the side that runs seldom. Both sides must use the same value of this
/// type. The [module](self) explains how the pair works.
///
/// # Examples
///
/// ```
/// use garrick_core::fence::Asymmetric;
///
/// let fence = Asymmetric::detect();
/// fence.light(); // the side that runs often
/// fence.heavy(); // the side that runs seldom
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asymmetric(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The process is registered with `membarrier(2)`. The light side is a compiler fence, and the
    /// heavy side is the system call.
    #[cfg(all(target_os = "linux", not(any(garrick_loom, garrick_portable))))]
    Membarrier,

    /// Both sides are `fence(SeqCst)`.
    Symmetric,

    /// A broken pair of fences, whose heavy side does nothing. A model uses it to show that the
    /// heavy side is needed.
    #[cfg(garrick_loom)]
    HeavyMissing,

    /// A broken pair of fences, whose light side does nothing. Models use it to show which
    /// guarantees depend on the light side, and which do not.
    #[cfg(garrick_loom)]
    LightMissing,
}

impl Asymmetric {
    /// Returns the best pair of fences that this process supports. The first call asks the
    /// operating system whether it supports `membarrier(2)`, and registers the process for this
    /// system call. Later calls return the result of the first call.
    #[cfg(all(target_os = "linux", not(any(garrick_loom, garrick_portable))))]
    pub fn detect() -> Self {
        if membarrier::is_registered() {
            Self(Kind::Membarrier)
        } else {
            Self::symmetric()
        }
    }

    /// Returns the best pair of fences that this process supports. On this system, this is the
    /// [symmetric](Self::symmetric) pair.
    #[cfg(any(not(target_os = "linux"), garrick_loom, garrick_portable))]
    pub fn detect() -> Self {
        Self::symmetric()
    }

    /// Returns the pair that is available on all systems: `fence(SeqCst)` on both sides.
    pub const fn symmetric() -> Self {
        Self(Kind::Symmetric)
    }

    /// Returns a broken pair of fences whose heavy side does nothing. Only loom models use this
    /// pair.
    #[cfg(garrick_loom)]
    #[doc(hidden)]
    pub const fn heavy_missing() -> Self {
        Self(Kind::HeavyMissing)
    }

    /// Returns a broken pair of fences whose light side does nothing. Only loom models use this
    /// pair.
    #[cfg(garrick_loom)]
    #[doc(hidden)]
    pub const fn light_missing() -> Self {
        Self(Kind::LightMissing)
    }

    /// Returns true if the light side contains no hardware fence.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_core::fence::Asymmetric;
    ///
    /// assert!(!Asymmetric::symmetric().is_light_free());
    /// ```
    #[inline]
    pub const fn is_light_free(self) -> bool {
        !matches!(self.0, Kind::Symmetric)
    }

    /// Executes the fence of the side that runs often. Orders the earlier writes of this thread
    /// before its later reads. Only a thread that calls [`heavy`](Self::heavy) can rely on this
    /// order.
    #[inline(always)]
    pub fn light(self) {
        match self.0 {
            #[cfg(all(target_os = "linux", not(any(garrick_loom, garrick_portable))))]
            Kind::Membarrier => crate::prim::atomic::compiler_fence(SeqCst),
            #[cfg(garrick_loom)]
            Kind::LightMissing => {}
            _ => full_fence(),
        }
    }

    /// Executes the fence of the side that runs seldom.
    ///
    /// For each call of [`light`](Self::light) on another thread, at least one of these two
    /// statements is true:
    /// - After `heavy` returns, this thread sees all writes that the other thread made before it
    ///   called `light`.
    /// - After `light` returns, the other thread sees all writes that this thread made before it
    ///   called `heavy`.
    ///
    /// # Panics
    ///
    /// Panics if `membarrier(2)` fails although the process was registered for it, for example
    /// because a seccomp filter was installed later. The other threads already rely on the system
    /// call, so `heavy` cannot use another fence instead.
    #[inline]
    pub fn heavy(self) {
        match self.0 {
            #[cfg(all(target_os = "linux", not(any(garrick_loom, garrick_portable))))]
            Kind::Membarrier => membarrier::expedited(),
            #[cfg(garrick_loom)]
            Kind::HeavyMissing => {}
            // SeqCst: pairs with the fence in `light`.
            _ => fence(SeqCst),
        }
    }
}

/// Executes a full fence, which is the light side if `membarrier(2)` is not used. The function is
/// marked as cold, so that the compiler optimizes [`Asymmetric::light`] for the case with
/// `membarrier(2)`.
#[cold]
#[inline(never)]
fn full_fence() {
    // SeqCst: pairs with the fence in `heavy`.
    fence(SeqCst);
}

impl Default for Asymmetric {
    fn default() -> Self {
        Self::detect()
    }
}

#[cfg(all(target_os = "linux", not(any(garrick_loom, garrick_portable))))]
mod membarrier {
    use std::sync::OnceLock;

    use libc::{
        MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
        SYS_membarrier, c_int,
    };

    /// Returns true if the process is registered and the system call works. The first call
    /// registers the process and tries the system call.
    pub(super) fn is_registered() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED.get_or_init(|| register() && command(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    }

    /// Waits until every running thread of the process has passed a full fence. If the system call
    /// fails, registers the process again and repeats the call. Panics if this fails too.
    pub(super) fn expedited() {
        // A process that lost its registration, for example by a fork, gets it back here.
        assert!(
            command(MEMBARRIER_CMD_PRIVATE_EXPEDITED)
                || register() && command(MEMBARRIER_CMD_PRIVATE_EXPEDITED),
            "membarrier(2) failed, although the process has registered for it"
        );
    }

    fn register() -> bool {
        command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    fn command(command: c_int) -> bool {
        const NO_FLAGS: c_int = 0;
        const NO_CPU: c_int = 0;
        // SAFETY:
        // - `membarrier` takes three integers and touches no memory of ours.
        // - an unknown call or command returns an error, which the callers handle.
        unsafe { libc::syscall(SYS_membarrier, command, NO_FLAGS, NO_CPU) == 0 }
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    #[test]
    fn detect_gives_the_same_answer_each_time() {
        assert_eq!(Asymmetric::detect(), Asymmetric::detect());
        assert_eq!(Asymmetric::default(), Asymmetric::detect());
    }

    #[test]
    fn both_pairs_can_be_called() {
        for fence in [Asymmetric::detect(), Asymmetric::symmetric()] {
            fence.light();
            fence.heavy();
        }
    }
}

/// Runs Dekker's pattern on two threads. Checks for each step that at least one side saw the write
/// of the other.
#[cfg(all(test, not(garrick_loom)))]
mod stress_tests {
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        },
        thread,
    };

    use crossbeam_utils::CachePadded;

    use super::*;

    /// Number of steps of the frequent side in a round. In an unoptimized build, there is so much
    /// code between the store and the load that the store is always seen. Only the optimized test
    /// is meaningful.
    const STEPS: usize = if cfg!(debug_assertions) {
        100_000
    } else {
        5_000_000
    };

    const ROUNDS: usize = 8;

    #[derive(Default)]
    struct Words {
        frequent: CachePadded<AtomicUsize>,
        rare: CachePadded<AtomicUsize>,
        is_over: CachePadded<AtomicBool>,
    }

    /// Writes 1, 2, 3, ... on the frequent side, and reads the value of the rare side after each
    /// write. Returns the values that were read.
    fn run_frequent(words: &Words, fence: Asymmetric) -> Vec<usize> {
        let mut seen = vec![0; STEPS];
        for (step, seen) in seen.iter_mut().enumerate() {
            words.frequent.store(step + 1, Relaxed);
            fence.light();
            *seen = words.rare.load(Relaxed);
        }
        words.is_over.store(true, Relaxed);
        seen
    }

    /// Writes 1, 2, 3, ... on the rare side until the frequent side has finished, and reads the
    /// value of the frequent side after each write. Returns the values that were read.
    fn run_rare(words: &Words, fence: Asymmetric) -> Vec<usize> {
        let mut seen = Vec::new();
        while !words.is_over.load(Relaxed) {
            words.rare.store(seen.len() + 1, Relaxed);
            fence.heavy();
            seen.push(words.frequent.load(Relaxed));
        }
        seen
    }

    /// Runs both sides once, each on its own thread. Returns the number of steps in which neither
    /// side saw the write of the other side.
    fn misses(fence: Asymmetric) -> usize {
        let (words, start) = (Words::default(), Barrier::new(2));
        let (frequent, rare) = thread::scope(|scope| {
            let rare = scope.spawn(|| {
                start.wait();
                run_rare(&words, fence)
            });
            start.wait();
            (run_frequent(&words, fence), rare.join().unwrap())
        });
        // The first step that the rare side did not see must have seen the rare side.
        let is_miss =
            |number: usize, saw: usize| frequent.get(saw).is_some_and(|seen| *seen < number);
        (1..)
            .zip(rare)
            .filter(|(number, saw)| is_miss(*number, *saw))
            .count()
    }

    #[test]
    fn one_of_two_sees_the_other() {
        for fence in [Asymmetric::detect(), Asymmetric::symmetric()] {
            // New threads for each round, which the system may put on other cores.
            let misses: usize = (0..ROUNDS).map(|_| misses(fence)).sum();
            assert_eq!(misses, 0, "steps in which both missed the other, {fence:?}");
        }
    }
}
