//! Counts the writes to each cache line, and records which threads write the line. This module
//! exists only under `cfg(garrick_count)`.
//!
//! Four things count as a write to a cache line: a write to an atomic, taking a lock, handing out
//! an `UnsafeCell` for writing, and parking or unparking a thread. A cache line *moves* when a
//! thread writes it and the previous writer was another thread. A failed exchange counts as a
//! write, because a failed exchange, too, needs exclusive access to the cache line. Unlocking does
//! not count, because it writes to the same cache line as the locking before it. The reference
//! counts of an `Arc` are not counted, nor are writes that bypass this module.
//!
//! In a build with `cfg(garrick_count)`, the counts are meaningful, but measured times are not.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{
    LazyLock, LockResult, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockResult,
};

/// Size of a cache line in bytes.
const LINE_BYTES: usize = 64;
/// Number of tables. The cache lines are distributed over several tables, so that threads seldom
/// wait for each other.
const SHARDS: usize = 64;
/// Bit that marks the number of a virtual cache line. This line stands for the state of a parked
/// thread, because the real address of that state is not known here.
const PARKED: usize = 1 << (usize::BITS - 1);

/// Number of a thread. Threads are numbered in the order of their first writes.
type Number = u32;

/// The counted writes to one cache line.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Memory address of the cache line, divided by the size of a cache line.
    pub number: usize,
    /// Number of the thread that wrote the cache line last, even if this write was before the count
    /// began.
    last: Option<Number>,
    /// Numbers of the threads that have written the cache line since the count began.
    pub writers: BTreeSet<Number>,
    /// Counts of the writes to the cache line, for each place in the code that writes to the line.
    pub words: HashMap<&'static Location<'static>, Writes>,
}

/// Counts of the writes that one place in the code made to one cache line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Writes {
    /// Total number of writes.
    pub all: u64,
    /// Number of writes for which the previous writer of the cache line was another thread.
    pub moves: u64,
}

type Shard = std::sync::Mutex<HashMap<usize, Line>>;

static SEES: AtomicBool = AtomicBool::new(false);
static TABLE: LazyLock<[Shard; SHARDS]> =
    LazyLock::new(|| std::array::from_fn(|_| Shard::default()));

thread_local! {
    static NUMBER: Number = {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        NEXT.fetch_add(1, Relaxed)
    };
    static LOOKS_AWAY: Cell<bool> = const { Cell::new(false) };
}

/// Begins a new count and discards the previous one. Only the last writer of each cache line is
/// remembered.
pub fn begin() {
    for shard in TABLE.iter() {
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        for line in shard.values_mut() {
            line.writers.clear();
            line.words.clear();
        }
    }
    SEES.store(true, Relaxed);
}

/// Returns the counts of all cache lines that were written since the count began. The counting
/// continues.
pub fn lines() -> Vec<Line> {
    let shards = TABLE.iter();
    let lines = shards.flat_map(|shard| {
        let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        shard.values().cloned().collect::<Vec<_>>()
    });
    lines.filter(|line| !line.words.is_empty()).collect()
}

/// Calls `f`. Writes of this thread are not counted while `f` runs.
pub fn unseen<R>(f: impl FnOnce() -> R) -> R {
    let before = LOOKS_AWAY.replace(true);
    let result = f();
    LOOKS_AWAY.set(before);
    result
}

/// Records a write of `bytes` bytes at `address`.
fn note_bytes(address: usize, bytes: usize, place: &'static Location<'static>) {
    if bytes > 0 {
        (address / LINE_BYTES..=(address + bytes - 1) / LINE_BYTES)
            .for_each(|line| note(line, place));
    }
}

/// Records a write to a value.
#[track_caller]
fn note_value<T>(value: &T) {
    let address = std::ptr::from_ref(value).addr();
    note_bytes(address, size_of::<T>(), Location::caller());
}

fn note(line: usize, place: &'static Location<'static>) {
    if !SEES.load(Relaxed) || LOOKS_AWAY.try_with(Cell::get).unwrap_or(true) {
        return;
    }
    let Ok(number) = NUMBER.try_with(|number| *number) else {
        return;
    };
    let mut shard = TABLE[line % SHARDS]
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let line = shard.entry(line).or_insert_with(|| Line {
        number: line,
        ..Line::default()
    });
    let moves = line.last.replace(number).is_some_and(|last| last != number);
    line.writers.insert(number);
    let writes = line.words.entry(place).or_default();
    writes.all += 1;
    writes.moves += u64::from(moves);
}

/// Atomics that count their writes.
pub mod atomic {
    use super::note_value;
    pub use std::sync::atomic::{Ordering, compiler_fence, fence};

    /// Defines a counting atomic with the operations that all atomics have.
    macro_rules! counting {
        ($name:ident $(<$of:ident>)?: $value:ty) => {
            /// An atomic that behaves like the atomic of the same name in `std`, and counts its
            /// writes.
            #[repr(transparent)]
            pub struct $name $(<$of>)? (std::sync::atomic::$name $(<$of>)?);

            impl $(<$of>)? Default for $name $(<$of>)? {
                fn default() -> Self {
                    Self(Default::default())
                }
            }

            impl $(<$of>)? std::fmt::Debug for $name $(<$of>)? {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.0.fmt(f)
                }
            }

            impl $(<$of>)? $name $(<$of>)? {
                /// Wraps `value`.
                pub const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }

                /// Unwraps the value.
                pub fn into_inner(self) -> $value {
                    self.0.into_inner()
                }

                /// Returns a mutable reference to the value. Does not count a write.
                pub fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }

                /// Loads the value.
                pub fn load(&self, order: Ordering) -> $value {
                    self.0.load(order)
                }

                /// Stores the value, and counts a write.
                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    note_value(self);
                    self.0.store(value, order);
                }

                /// Swaps the value, and counts a write.
                #[track_caller]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    note_value(self);
                    self.0.swap(value, order)
                }

                /// Exchanges the value if it is `old`. Counts a write in either case.
                #[track_caller]
                pub fn compare_exchange(
                    &self,
                    old: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    note_value(self);
                    self.0.compare_exchange(old, new, success, failure)
                }

                /// Exchanges the value if it is `old`, but may fail spuriously. Counts a write in
                /// all cases.
                #[track_caller]
                pub fn compare_exchange_weak(
                    &self,
                    old: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    note_value(self);
                    self.0.compare_exchange_weak(old, new, success, failure)
                }

                /// Updates the value, and counts one write.
                #[track_caller]
                pub fn fetch_update(
                    &self,
                    set: Ordering,
                    fetch: Ordering,
                    update: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    note_value(self);
                    self.0.fetch_update(set, fetch, update)
                }
            }
        };
    }

    /// Defines counting operations that return the previous value.
    macro_rules! fetching {
        ($name:ident: $value:ty, $($fetch:ident)+) => {
            impl $name {
                $(
                    /// Performs the operation of the same name in `std`, and counts a write.
                    #[track_caller]
                    pub fn $fetch(&self, value: $value, order: Ordering) -> $value {
                        note_value(self);
                        self.0.$fetch(value, order)
                    }
                )+
            }
        };
    }

    counting!(AtomicBool: bool);
    counting!(AtomicU8: u8);
    counting!(AtomicU32: u32);
    counting!(AtomicU64: u64);
    counting!(AtomicUsize: usize);
    counting!(AtomicPtr<T>: *mut T);

    fetching!(AtomicBool: bool, fetch_and fetch_or);
    fetching!(AtomicU8: u8, fetch_and fetch_or);
    fetching!(AtomicU32: u32, fetch_add fetch_sub fetch_and fetch_or);
    fetching!(AtomicU64: u64, fetch_add fetch_sub fetch_and fetch_or fetch_max);
    fetching!(AtomicUsize: usize, fetch_add fetch_sub fetch_and fetch_or fetch_max);
}

/// A cell that counts its writes.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// Calls `f` with a pointer to the value, for reading.
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer to the value, for reading and writing. Counts a write to each cache
    /// line of the value.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        note_value(self);
        f(self.0.get())
    }
}

/// A lock that counts a write each time it is locked. Writes to the value in the lock are not
/// counted.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks the mutex, and counts a write.
    ///
    /// # Errors
    /// Returns an error if the lock is poisoned.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.note();
        self.0.lock()
    }

    /// Locks the mutex unless it is already locked, and counts a write in both cases.
    ///
    /// # Errors
    /// Returns an error if the mutex is already locked or poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.note();
        self.0.try_lock()
    }

    #[track_caller]
    fn note(&self) {
        note_bytes(std::ptr::from_ref(self).addr(), 1, Location::caller());
    }
}

/// A reader-writer lock that counts a write each time it is locked.
#[derive(Debug, Default)]
pub struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    /// Locks for reading, and counts a write, because the lock stores the number of its readers.
    ///
    /// # Errors
    /// Returns an error if the lock is poisoned.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.note();
        self.0.read()
    }

    /// Locks for writing, and counts a write.
    ///
    /// # Errors
    /// Returns an error if the lock is poisoned.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.note();
        self.0.write()
    }

    #[track_caller]
    fn note(&self) {
        note_bytes(std::ptr::from_ref(self).addr(), 1, Location::caller());
    }
}

/// Threads that count a write when they park and when they are unparked.
pub mod thread {
    use super::{DefaultHasher, Hash, Hasher, Location, PARKED, note};
    use std::time::Duration;

    pub use std::thread::*;

    /// A handle to a thread.
    #[derive(Debug, Clone)]
    pub struct Thread(std::thread::Thread);

    impl Thread {
        /// Returns the identifier of the thread.
        pub fn id(&self) -> ThreadId {
            self.0.id()
        }

        /// Wakes the thread, and counts a write.
        #[track_caller]
        pub fn unpark(&self) {
            note_park(self.id(), Location::caller());
            self.0.unpark();
        }
    }

    /// Returns a handle to the calling thread.
    pub fn current() -> Thread {
        Thread(std::thread::current())
    }

    /// Parks the calling thread. Counts one write before parking and one write after it.
    #[track_caller]
    pub fn park() {
        let (id, place) = (current().id(), Location::caller());
        note_park(id, place);
        std::thread::park();
        note_park(id, place);
    }

    /// Parks the calling thread for at most `time`. Counts one write before parking and one write
    /// after it.
    #[track_caller]
    pub fn park_timeout(time: Duration) {
        let (id, place) = (current().id(), Location::caller());
        note_park(id, place);
        std::thread::park_timeout(time);
        note_park(id, place);
    }

    /// Records a write to the state of a thread that parks or is unparked.
    fn note_park(id: ThreadId, place: &'static Location<'static>) {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        note(PARKED | hasher.finish() as usize, place);
    }
}
