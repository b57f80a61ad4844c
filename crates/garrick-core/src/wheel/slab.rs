//! Where a wheel's entries live: a slab whose places are reused, threaded by lists of indices.
//!
//! A [`Key`] is a place and a generation. The generation grows when the place is vacated, so that a key
//! kept too long matches nothing.

/// The index that means "none".
const NIL: u32 = u32::MAX;

/// Names an entry of a [`Wheel`](super::Wheel), to cancel it; harmless once the entry is gone.
///
/// A key belongs to the wheel that made it. To another wheel it is a stranger's key, which may
/// name one of its own entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    pub(super) fn index(self) -> u32 {
        self.index
    }
}

/// The ends of a doubly linked list of entries.
#[derive(Clone)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self {
        first: NIL,
        last: NIL,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.first == NIL
    }

    /// The oldest entry of a list that is not empty.
    pub(super) fn first(&self) -> u32 {
        debug_assert!(!self.is_empty(), "a slot marked as in use is empty");
        self.first
    }

    pub(super) fn into_first(self) -> Option<u32> {
        some(self.first)
    }
}

struct Entry<T> {
    /// `None` while the place is vacant.
    payload: Option<T>,

    /// When the entry is due.
    tick: u64,

    /// The list it is in: its place in the wheel's array.
    slot: u16,

    /// How often the place was vacated.
    generation: u32,

    /// Neighbours in the list; `next` also links the vacant places.
    prev: u32,
    next: u32,
}

pub(super) struct Slab<T> {
    entries: Vec<Entry<T>>,
    /// The vacant place to use next.
    vacant: u32,
    len: usize,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            vacant: NIL,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Stores an entry, in no list yet.
    #[inline]
    pub(super) fn insert(&mut self, tick: u64, payload: T) -> Key {
        if self.vacant == NIL {
            self.grow();
        }
        let index = self.vacant;
        let entry = self.entry_mut(index);
        entry.payload = Some(payload);
        entry.tick = tick;
        let generation = entry.generation;
        self.vacant = self.entry(index).next;
        self.len += 1;
        Key { index, generation }
    }

    #[cold]
    fn grow(&mut self) {
        let index = self.entries.len();
        assert!(
            index < NIL as usize,
            "a wheel holds at most 2^32 - 1 entries"
        );
        self.entries.push(Entry {
            payload: None,
            tick: 0,
            slot: 0,
            generation: 0,
            prev: NIL,
            next: NIL,
        });
        self.vacant = index as u32;
    }

    /// Vacates the place of an entry that is in no list any more.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> T {
        let vacant = self.vacant;
        let entry = self.entry_mut(index);
        let payload = entry.payload.take();
        entry.next = vacant;
        // A place that has used up its generations is retired, so that no key ever matches again.
        if entry.generation < u32::MAX {
            entry.generation += 1;
            self.vacant = index;
        }
        self.len -= 1;
        payload.expect("an entry in a list has a payload")
    }

    /// The list that holds the entry of `key`, if that is still there.
    #[inline]
    pub(super) fn slot_of(&self, key: Key) -> Option<usize> {
        let entry = self.entries.get(key.index as usize)?;
        let is_live = entry.generation == key.generation && entry.payload.is_some();
        is_live.then_some(entry.slot as usize)
    }

    pub(super) fn tick(&self, index: u32) -> u64 {
        self.entry(index).tick
    }

    /// The entry after this one in its list.
    pub(super) fn next(&self, index: u32) -> Option<u32> {
        some(self.entry(index).next)
    }

    /// Appends an entry to `list`, which is the wheel's list number `slot`.
    #[inline]
    pub(super) fn push_back(&mut self, list: &mut List, index: u32, slot: usize) {
        let entry = self.entry_mut(index);
        entry.slot = slot as u16;
        entry.prev = list.last;
        entry.next = NIL;
        match list.last {
            NIL => list.first = index,
            last => self.entry_mut(last).next = index,
        }
        list.last = index;
    }

    /// Removes an entry from `list`, which must be the one it is in.
    #[inline]
    pub(super) fn unlink(&mut self, list: &mut List, index: u32) {
        let Entry { prev, next, .. } = *self.entry(index);
        match prev {
            NIL => list.first = next,
            prev => self.entry_mut(prev).next = next,
        }
        match next {
            NIL => list.last = prev,
            next => self.entry_mut(next).prev = prev,
        }
    }

    #[inline]
    fn entry(&self, index: u32) -> &Entry<T> {
        &self.entries[index as usize]
    }

    #[inline]
    fn entry_mut(&mut self, index: u32) -> &mut Entry<T> {
        &mut self.entries[index as usize]
    }
}

fn some(index: u32) -> Option<u32> {
    (index != NIL).then_some(index)
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_worn_out_place_is_retired() {
        let mut slab = Slab::new();
        let first = slab.insert(0, 'a');
        slab.entry_mut(first.index).generation = u32::MAX;
        slab.remove(first.index);
        let second = slab.insert(0, 'b');
        assert_ne!(first.index, second.index);
        let worn = Key {
            index: first.index,
            generation: u32::MAX,
        };
        assert_eq!(slab.slot_of(worn), None);
        assert_eq!(slab.len(), 1);
    }
}
