//! Storage of a wheel's entries: a slab whose places are reused. The entries form linked lists.
//! Their links are indices into the slab.
//!
//! A [`Key`] consists of a place and a generation. The generation of a place increases when the
//! place is vacated, so that an old key no longer matches.
//!
//! Vacant places at the end of the slab are removed immediately, and unused memory is freed in
//! portions. Both take amortized O(1). When a removed place is created again, it starts with a
//! generation that none of its earlier entries had. So the generation of new places increases, too.
//! A place that has used up half of its generations is therefore not removed any more, and neither
//! are the places before it. It stays vacant until it is used again, and is retired when it has
//! used up all generations. So each new place has at least 2^31 generations left, and the slab
//! grows by at most one retired place for every 2^31 entries.

use std::iter;

/// Index that stands for "no entry".
const NIL: u32 = u32::MAX;

/// A key that identifies an entry of a [`Wheel`](super::Wheel). After the entry has fired or was
/// cancelled, the key matches no entry.
///
/// Use a key only with the wheel that created it. In another wheel, the key may match an unrelated
/// entry.
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

/// First and last entry of a doubly linked list.
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

    /// Returns the index of the oldest entry of the list. The list must not be empty.
    pub(super) fn first(&self) -> u32 {
        debug_assert!(!self.is_empty(), "a list that is marked as in use is empty");
        self.first
    }

    pub(super) fn into_first(self) -> Option<u32> {
        some(self.first)
    }
}

struct Entry<T> {
    /// Payload of the entry. `None` while this storage element is vacant or reserved.
    payload: Option<T>,

    /// Tick at which the entry is due.
    tick: u64,

    /// Index, in `Wheel::lists`, of the list that holds the entry. [`RESERVED`] or [`VACANT`] if
    /// this storage element holds no entry.
    slot: u16,

    /// Generation of this storage element. Increases each time that the element is vacated.
    generation: u32,

    /// Previous entry in the list. `prev` and `next` also link the vacant storage elements.
    prev: u32,
    next: u32,
}

/// Value of `Entry::slot` for a storage element that is reserved and has no entry yet.
const RESERVED: u16 = u16::MAX;
/// Value of `Entry::slot` for a vacant storage element.
const VACANT: u16 = u16::MAX - 1;

/// First generation with which a vacant storage element is not removed any more: half of the range.
const WORN: u32 = 1 << 31;

/// The slab never frees the memory for this number of entries.
const ROOM_MIN: usize = 256;

pub(super) struct Slab<T> {
    entries: Vec<Entry<T>>,
    /// List of the vacant storage elements. The element that was vacated last is reused first,
    /// because it is most likely in the cache.
    vacant: List,
    len: usize,
    /// Generation of a newly appended storage element. Below [`WORN`].
    first_generation: u32,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            vacant: List::EMPTY,
            len: 0,
            first_generation: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Stores an entry. The caller must then add the entry to a list.
    #[inline]
    pub(super) fn insert(&mut self, tick: u64, payload: T) -> Key {
        let key = self.reserve();
        self.fill(key.index, tick, payload);
        key
    }

    /// Reserves a storage element for an entry that is stored later.
    #[inline]
    pub(super) fn reserve(&mut self) -> Key {
        let Some(index) = some(self.vacant.last) else {
            return self.grow();
        };
        self.unlink_vacant(index);
        let entry = self.entry_mut(index);
        entry.slot = RESERVED;
        let generation = entry.generation;
        Key { index, generation }
    }

    /// Stores an entry at `index`, which was reserved for it. The caller must then add the entry to
    /// a list.
    #[inline]
    pub(super) fn fill(&mut self, index: u32, tick: u64, payload: T) {
        let entry = self.entry_mut(index);
        entry.payload = Some(payload);
        entry.tick = tick;
        self.len += 1;
    }

    /// Returns the tick of each entry in a list.
    pub(super) fn ticks(&self, list: &List) -> impl Iterator<Item = u64> {
        let mut next = some(list.first);
        iter::from_fn(move || {
            let index = next?;
            next = self.next(index);
            Some(self.tick(index))
        })
    }

    /// Returns true if the storage element of `key` is still reserved.
    #[inline]
    pub(super) fn is_reserved(&self, key: Key) -> bool {
        self.entries.get(key.index as usize).is_some_and(|entry| {
            entry.generation == key.generation && entry.payload.is_none() && entry.slot == RESERVED
        })
    }

    /// Appends a new place for an entry, and reserves it.
    fn grow(&mut self) -> Key {
        let index = self.entries.len();
        assert!(
            index < NIL as usize,
            "a wheel holds at most 2^32 - 1 entries"
        );
        let generation = self.first_generation;
        self.entries.push(Entry {
            payload: None,
            tick: 0,
            slot: RESERVED,
            generation,
            prev: NIL,
            next: NIL,
        });
        let index = index as u32;
        Key { index, generation }
    }

    /// Removes the entry at `index` from the storage and returns its payload. The entry must not be
    /// in a list any more.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> T {
        let payload = self.entry_mut(index).payload.take();
        self.len -= 1;
        self.vacate(index);
        payload.expect("an entry in a list has a payload")
    }

    /// Marks the storage element at `index`, which has no payload, as vacant, so that it can store
    /// another entry.
    #[inline]
    pub(super) fn vacate(&mut self, index: u32) {
        let entry = self.entry_mut(index);
        entry.slot = VACANT;
        // A place that has used up its generations is retired, so that no key ever matches again.
        if entry.generation < u32::MAX {
            entry.generation += 1;
            let mut vacant = self.vacant.clone();
            self.push_back(&mut vacant, index, VACANT.into());
            self.vacant = vacant;
        }
        if index as usize + 1 == self.entries.len() {
            self.give_up_last();
        }
    }

    /// Removes the vacant elements at the end of the storage that are not worn, and frees memory
    /// that is no longer needed.
    fn give_up_last(&mut self) {
        while let Some(last) = self.entries.last()
            && last.payload.is_none()
            && last.slot != RESERVED
            && last.generation < WORN
        {
            self.first_generation = self.first_generation.max(last.generation);
            self.unlink_vacant(self.entries.len() as u32 - 1);
            self.entries.pop();
        }
        let kept = self.entries.len().max(ROOM_MIN);
        if self.entries.capacity() / 4 >= kept {
            self.entries.shrink_to(2 * kept);
        }
    }

    #[inline]
    fn unlink_vacant(&mut self, index: u32) {
        let mut vacant = self.vacant.clone();
        self.unlink(&mut vacant, index);
        self.vacant = vacant;
    }

    /// Returns the index of the list that holds the entry of `key`, if the entry still exists.
    #[inline]
    pub(super) fn slot_of(&self, key: Key) -> Option<usize> {
        let entry = self.entries.get(key.index as usize)?;
        let is_live = entry.generation == key.generation && entry.payload.is_some();
        is_live.then_some(entry.slot as usize)
    }

    pub(super) fn tick(&self, index: u32) -> u64 {
        self.entry(index).tick
    }

    /// Returns the index of the entry that follows entry `index` in its list.
    pub(super) fn next(&self, index: u32) -> Option<u32> {
        some(self.entry(index).next)
    }

    /// Appends an entry to `list`. `slot` is the index of this list in the wheel.
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

    /// Removes an entry from `list`. The entry must be in this list.
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

    #[test]
    fn memory_is_given_up_when_the_last_entries_go() {
        let count = 100 * ROOM_MIN;
        let mut slab = Slab::new();
        let keys: Vec<Key> = (0..count).map(|number| slab.insert(0, number)).collect();
        assert!(slab.entries.capacity() >= count);
        // Odd entries first, and then the others from the front, so that all are vacant before the
        // last one.
        for key in keys.iter().skip(1).step_by(2) {
            slab.remove(key.index);
        }
        for key in keys.iter().step_by(2) {
            slab.remove(key.index);
        }
        assert_eq!((slab.len(), slab.entries.len()), (0, 0));
        assert!(slab.entries.capacity() <= 4 * ROOM_MIN);
        // Places that are created again do not match keys from before.
        for number in 0..count {
            slab.insert(0, number);
        }
        assert!(keys.iter().all(|&key| slab.slot_of(key).is_none()));
    }

    #[test]
    fn a_reserved_place_is_not_given_up() {
        let mut slab = Slab::new();
        let key = slab.reserve();
        let other = slab.insert(0, 'a');
        slab.remove(other.index);
        assert_eq!((slab.len(), slab.entries.len()), (0, 1));
        assert!(slab.is_reserved(key));
        assert_eq!(slab.slot_of(key), None);
        slab.vacate(key.index);
        assert!(!slab.is_reserved(key));
        assert_eq!(slab.entries.len(), 0);
    }

    #[test]
    fn a_retired_place_is_not_given_up() {
        let mut slab = Slab::new();
        let key = slab.insert(0, 'a');
        slab.entry_mut(key.index).generation = u32::MAX;
        slab.remove(key.index);
        assert_eq!((slab.entries.len(), slab.first_generation), (1, 0));
    }

    #[test]
    fn a_worn_place_wears_out_no_other() {
        for worn in [WORN, u32::MAX] {
            let mut slab = Slab::new();
            let first = slab.insert(0, 0);
            slab.entry_mut(first.index).generation = worn - 10;
            slab.remove(first.index);
            let mut keys = Vec::new();
            for number in 0..1000 {
                let key = slab.insert(0, number);
                assert!(keys.iter().all(|&old| slab.slot_of(old).is_none()));
                slab.remove(key.index);
                keys.push(key);
            }
            assert!(slab.entries.len() <= 2, "one is worn, and one is in use");
            assert!(slab.first_generation < WORN);
        }
    }
}
