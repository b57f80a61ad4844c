//! The tail word of a chunked queue. Producers claim slots by adding to this word.
//!
//! ```text
//!      63        48 47                           6  5 4   3        2      1   0
//!     [   index    |   address of the chunk       | 0 0 | CLOSED | DOZING | class ]
//! ```
//!
//! The index may exceed the length of the chunk, by one for each thread that found no free slot. If
//! the index wrapped to 0, a slot would be claimed twice. The process is aborted long before the
//! index can wrap ([`is_overrun`](Tail::is_overrun)). After the queue is closed, the index has no
//! meaning and may wrap. The index has the highest bits of the word, so its carry is lost and does
//! not affect the other bits.

use std::{fmt, ptr};

use super::chunk::{Chunk, Class};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail(pub(super) u64);

const INDEX_SHIFT: u32 = 48;
const ADDRESS: u64 = (1 << INDEX_SHIFT) - (1 << 6);
const CLASS: u64 = 0b11;

/// Largest index that is allowed: half of the range of the index. If the index becomes larger, the
/// process is aborted.
const INDEX_MAX: usize = 1 << 15;

impl Tail {
    /// Number that a producer adds to the word to claim one slot.
    pub(super) const ONE: u64 = 1 << INDEX_SHIFT;

    /// Mark that is set if the consumer has found no claimed slot. If the mark is set, the next
    /// producer must wake the consumer.
    pub(super) const DOZING: u64 = 1 << 2;

    /// Mark that is set when the consumer is dropped. If the mark is set, the index has no meaning.
    pub(super) const CLOSED: u64 = 1 << 3;

    const MARKS: u64 = Self::DOZING | Self::CLOSED;

    /// Creates a word without marks.
    ///
    /// # Panics
    ///
    /// Panics if the address of the chunk has more than 48 bits. No allocator returns such an
    /// address unless it is requested.
    #[inline]
    pub(super) fn new<T>(chunk: *mut Chunk<T>, class: Class, index: usize) -> Self {
        let address = chunk.expose_provenance() as u64;
        assert_eq!(
            address & !ADDRESS,
            0,
            "the address of a chunk has more than 48 bits"
        );
        Self((index as u64) << INDEX_SHIFT | address | u64::from(class.number()))
    }

    #[inline]
    pub(super) fn chunk<T>(self) -> *mut Chunk<T> {
        ptr::with_exposed_provenance_mut((self.0 & ADDRESS) as usize)
    }

    #[inline]
    pub(super) fn class(self) -> Class {
        Class::from_number((self.0 & CLASS) as u8)
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        (self.0 >> INDEX_SHIFT) as usize
    }

    #[inline]
    pub(super) fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    #[inline]
    pub(super) fn is_dozing(self) -> bool {
        self.0 & Self::DOZING != 0
    }

    /// Returns true if all slots of the chunk are claimed.
    #[inline]
    pub(super) fn is_full(self) -> bool {
        self.index() >= self.class().len()
    }

    pub(super) fn must_grow(self) -> bool {
        self.is_full() && !self.is_closed()
    }

    /// Returns true if the index has passed half of its range, so that the index might soon wrap.
    /// This happens only if very many threads have found no free slot in the chunk. Each thread
    /// calls this method before it adds again, so the other half of the range remains for threads
    /// that have not checked yet.
    pub(super) fn is_overrun(self) -> bool {
        self.index() > INDEX_MAX
    }

    pub(super) fn claimed(self) -> usize {
        self.index().min(self.class().len())
    }

    /// Returns the number of slots that are not claimed.
    pub(super) fn free(self) -> usize {
        self.class().len() - self.claimed()
    }

    /// Returns the word with `count` more slots claimed.
    pub(super) fn claim(self, count: usize) -> Self {
        debug_assert!(count <= self.free(), "claimed beyond the chunk's end");
        Self(self.0 + count as u64 * Self::ONE)
    }

    pub(super) fn dozing(self) -> Self {
        Self(self.0 | Self::DOZING)
    }

    pub(super) fn with_marks_of(self, other: Self) -> Self {
        Self(self.0 | (other.0 & Self::MARKS))
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail")
            .field("chunk", &self.chunk::<()>())
            .field("len", &self.class().len())
            .field("index", &self.index())
            .field("is_dozing", &self.is_dozing())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_overshooting_index_spoils_nothing() {
        let chunk = Chunk::<u8>::alloc(Class::FIRST);
        let word = Tail::new(chunk, Class::FIRST, 0).dozing();
        let mut overshot = Tail(word.0 | Tail::CLOSED);
        for _ in 0..1 << 16 {
            overshot = Tail(overshot.0.wrapping_add(Tail::ONE));
        }
        assert_eq!(overshot, Tail(word.0 | Tail::CLOSED));
        assert_eq!(overshot.chunk::<u8>(), chunk);
        // SAFETY: ours, out of a box, and published nowhere.
        drop(unsafe { Box::from_raw(chunk) });
    }

    #[test]
    fn an_overrun_is_seen_half_way() {
        let nowhere = ptr::without_provenance_mut::<Chunk<u8>>(1 << 20);
        for class in [Class::FIRST, Class::LAST] {
            assert!(!Tail::new(nowhere, class, class.len()).is_overrun());
            assert!(!Tail::new(nowhere, class, INDEX_MAX).is_overrun());
            assert!(Tail::new(nowhere, class, INDEX_MAX + 1).is_overrun());
            assert!(Tail::new(nowhere, class, (1 << 16) - 1).is_overrun());
        }
    }

    #[test]
    fn full_is_seen_in_the_word_alone() {
        let nowhere = ptr::without_provenance_mut::<Chunk<u8>>(1 << 20);
        let len = Class::FIRST.len();
        let last = Tail::new(nowhere, Class::FIRST, len - 1);
        assert_eq!((last.is_full(), last.free()), (false, 1));
        let full = last.claim(1);
        assert_eq!((full.is_full(), full.free()), (true, 0));
        let overshot = Tail(full.0 + 5 * Tail::ONE);
        assert_eq!((overshot.is_full(), overshot.claimed()), (true, len));
    }
}
