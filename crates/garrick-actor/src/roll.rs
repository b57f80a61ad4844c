//! A collection of members, in the order in which they were added. The key of a member is the id of
//! its task.
//!
//! ```text
//!   by_key  { task -> number }
//!   slots   [ 1 a | 2 - | 3 c | 5 d | 8 - | 9 f ]     sorted by number; `-` is a hole
//!   ranks   number of members up to a slot, as sums over powers of two (Fenwick 1994)
//! ```
//!
//! Members can be found and removed by key and by index. These operations and adding a member take
//! O(log n) on average. Iterating over all members takes O(n). Removing a member leaves a hole.
//! When there are more holes than members, all holes are closed. In a short collection, each hole
//! is closed immediately.

use std::mem;

use garrick_sched::TaskId;
use indexmap::IndexMap;

/// Maximum number of slots in a short collection. In a short collection, holes (slots whose members
/// have been removed) are closed immediately.
const SHORT_MAX: usize = 32;

struct Slot<T> {
    number: u64,
    key: TaskId,
    /// The member. `None` if it has been removed.
    member: Option<T>,
}

/// An ordered collection of members. Members are dropped in order.
pub(crate) struct Roll<T> {
    slots: Vec<Slot<T>>,
    /// Map from the key of each member to its sequence number. The map is never iterated.
    by_key: IndexMap<TaskId, u64>,
    /// Sequence number for the next member that is added. Numbers are never reused.
    next: u64,
    /// Index of the slot of the oldest member. All slots before this index are holes, which removed
    /// members have left.
    first: usize,
    /// Fenwick tree that counts the members, with one partial sum for each slot. Empty while there
    /// are no holes (slots whose members have been removed).
    ranks: Vec<usize>,
}

impl<T> Roll<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            by_key: IndexMap::new(),
            next: 1,
            first: 0,
            ranks: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(crate) fn contains(&self, key: TaskId) -> bool {
        self.by_key.contains_key(&key)
    }

    /// Returns the sequence number of the next member that is added.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// Returns the sequence number of the member with this key.
    pub(crate) fn number_of(&self, key: TaskId) -> Option<u64> {
        self.by_key.get(&key).copied()
    }

    /// Adds a member after all others. Returns `member` as an error if a member with this key
    /// already exists.
    pub(crate) fn add(&mut self, key: TaskId, member: T) -> Result<(), T> {
        if self.contains(key) {
            return Err(member);
        }
        let number = self.next;
        self.next += 1;
        self.by_key.insert(key, number);
        self.slots.push(Slot {
            number,
            key,
            member: Some(member),
        });
        if !self.ranks.is_empty() {
            self.push_rank(1);
        }
        Ok(())
    }

    /// Removes and returns the member with this key.
    pub(crate) fn remove(&mut self, key: TaskId) -> Option<T> {
        let number = self.by_key.get(&key)?;
        self.take(self.slots_up_to(*number) - 1)
    }

    /// Removes and returns the member at this index.
    pub(crate) fn remove_at(&mut self, index: usize) -> Option<T> {
        self.take(self.slot_of(index))
    }

    /// Returns the oldest member.
    pub(crate) fn first(&self) -> Option<&T> {
        self.slots.get(self.first)?.member.as_ref()
    }

    /// Returns the sequence number of the member at this index. Members are numbered in the order
    /// in which they were added. Numbers are never reused.
    #[track_caller]
    pub(crate) fn number(&self, index: usize) -> u64 {
        self.slots[self.slot_of(index)].number
    }

    #[track_caller]
    pub(crate) fn get(&self, index: usize) -> &T {
        let member = self.slots[self.slot_of(index)].member.as_ref();
        member.expect("the slot of a valid index contains a member")
    }

    #[track_caller]
    pub(crate) fn get_mut(&mut self, index: usize) -> &mut T {
        let at = self.slot_of(index);
        let member = self.slots[at].member.as_mut();
        member.expect("the slot of a valid index contains a member")
    }

    /// Returns the index of the first member whose sequence number is greater than `number`. If
    /// there is no such member, returns the length of the collection.
    pub(crate) fn after(&self, number: u64) -> usize {
        let mut at = self.slots_up_to(number);
        if self.ranks.is_empty() {
            return at;
        }
        let mut rank = 0;
        while at > 0 {
            rank += self.ranks[at - 1];
            at &= at - 1;
        }
        rank
    }

    /// Iterates over all members, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.numbered().map(|(_, member)| member)
    }

    /// Iterates over all members with their sequence numbers, oldest first.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u64, &T)> {
        let slots = self.slots[self.first..].iter();
        slots.filter_map(|slot| Some((slot.number, slot.member.as_ref()?)))
    }

    /// Removes and returns the members for which `stays` returns false, oldest first. If `stays`
    /// panics, no member is removed.
    pub(crate) fn extract(&mut self, mut stays: impl FnMut(&T) -> bool) -> Vec<T> {
        let slots = self.slots[self.first..].iter();
        let going = slots.filter(|slot| slot.member.as_ref().is_some_and(|member| !stays(member)));
        let going: Vec<TaskId> = going.map(|slot| slot.key).collect();
        going
            .into_iter()
            .filter_map(|key| self.remove(key))
            .collect()
    }

    /// Returns the number of slots with sequence numbers up to and including `number`.
    fn slots_up_to(&self, number: u64) -> usize {
        let first = self.slots.first();
        let Some(ahead) = first.and_then(|first| number.checked_sub(first.number)) else {
            return 0;
        };
        // From slot to slot, the number grows by 1, or by more if holes have been closed. So no
        // slot from here on has such a number.
        let end = usize::try_from(ahead).map_or(usize::MAX, |ahead| ahead.saturating_add(1));
        let slots = &self.slots[..end.min(self.slots.len())];
        match slots.last() {
            Some(last) if last.number > number => {
                slots.partition_point(|slot| slot.number <= number)
            }
            _ => slots.len(),
        }
    }

    /// Returns the slot of the member at this index, or the number of slots if there is no such
    /// member.
    fn slot_of(&self, index: usize) -> usize {
        if self.ranks.is_empty() {
            return index;
        }
        if index >= self.len() {
            return self.slots.len();
        }
        let (mut at, mut left) = (0, index);
        let mut step = (self.ranks.len() + 1).next_power_of_two() / 2;
        while step > 0 {
            if let Some(&sum) = self.ranks.get(at + step - 1)
                && sum <= left
            {
                at += step;
                left -= sum;
            }
            step /= 2;
        }
        at
    }

    fn take(&mut self, at: usize) -> Option<T> {
        let slot = self.slots.get_mut(at)?;
        let member = slot.member.take()?;
        self.by_key.swap_remove(&slot.key);
        if self.slots.len() <= SHORT_MAX && self.ranks.is_empty() {
            self.slots.remove(at);
            return Some(member);
        }
        if self.slots.len() > 2 * self.len() {
            self.move_up();
            return Some(member);
        }
        if self.ranks.is_empty() {
            self.count_ranks();
        } else {
            let mut at = at + 1;
            while let Some(sum) = self.ranks.get_mut(at - 1) {
                *sum -= 1;
                at += at & at.wrapping_neg();
            }
        }
        while let Some(Slot { member: None, .. }) = self.slots.get(self.first) {
            self.first += 1;
        }
        Some(member)
    }

    /// Closes all holes, which removed members have left in the collection.
    fn move_up(&mut self) {
        self.slots.retain(|slot| slot.member.is_some());
        self.first = 0;
        self.ranks = Vec::new();
    }

    fn count_ranks(&mut self) {
        self.ranks.reserve(self.slots.len());
        let slots = mem::take(&mut self.slots);
        for slot in &slots {
            self.push_rank(usize::from(slot.member.is_some()));
        }
        self.slots = slots;
    }

    /// Adds the partial sum of a new slot to the Fenwick tree. The slot contains `count` members: 0
    /// or 1.
    fn push_rank(&mut self, count: usize) {
        let place = self.ranks.len() + 1;
        let (mut sum, mut step) = (count, 1);
        while place & step == 0 {
            sum += self.ranks[place - step - 1];
            step *= 2;
        }
        self.ranks.push(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::nobody::Nobody;
    use crate::system::local::Local;
    use garrick_sched::Address;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add(usize),
        Remove(usize),
        RemoveAt(usize),
        After(u64),
        Extract(u64),
    }

    const MEMBERS: usize = 200;

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            60 => (0..MEMBERS).prop_map(Step::Add),
            20 => (0..MEMBERS).prop_map(Step::Remove),
            20 => (0..MEMBERS).prop_map(Step::RemoveAt),
            10 => (0..1000_u64).prop_map(Step::After),
            1 => (2..9_u64).prop_map(Step::Extract),
        ];
        prop::collection::vec(step, 0..1500)
    }

    /// Compares all properties of a collection (a [`Roll`]) with a model. The model is a list of
    /// numbers and members.
    fn assert_same(roll: &Roll<usize>, model: &[(u64, usize)], at: usize) {
        assert_eq!(
            (roll.len(), roll.is_empty()),
            (model.len(), model.is_empty())
        );
        assert_eq!(roll.first(), model.first().map(|(_, member)| member));
        if let Some((number, member)) = model.get(at % model.len().max(1)) {
            let at = at % model.len();
            assert_eq!((roll.number(at), roll.get(at)), (*number, member));
        }
        if at.is_multiple_of(16) {
            let members = model.iter().map(|(number, member)| (*number, member));
            assert!(roll.numbered().eq(members));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_roll_does_what_a_plain_list_does(steps in steps()) {
            let local = Local::new().unwrap();
            let members: Vec<Address<()>> = (0..MEMBERS).map(|_| local.spawn(Nobody)).collect();
            let (mut roll, mut model) = (Roll::new(), Vec::<(u64, usize)>::new());
            let mut next = 1;
            for (at, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Add(member) => {
                        let is_new = model.iter().all(|(_, other)| *other != member);
                        prop_assert_eq!(roll.add(members[member].id(), member).is_ok(), is_new);
                        if is_new {
                            model.push((next, member));
                            next += 1;
                        }
                    }
                    Step::Remove(member) => {
                        let place = model.iter().position(|(_, other)| *other == member);
                        prop_assert_eq!(roll.contains(members[member].id()), place.is_some());
                        let removed = place.map(|place| model.remove(place).1);
                        prop_assert_eq!(roll.remove(members[member].id()), removed);
                    }
                    Step::RemoveAt(place) if model.is_empty() => {
                        prop_assert_eq!(roll.remove_at(place), None);
                    }
                    Step::RemoveAt(place) => {
                        let place = place % model.len();
                        prop_assert_eq!(roll.remove_at(place), Some(model.remove(place).1));
                    }
                    Step::After(number) => {
                        let after = model.partition_point(|(other, _)| *other <= number);
                        prop_assert_eq!(roll.after(number), after);
                    }
                    Step::Extract(part) => {
                        let stays = |member: &usize| !(*member as u64).is_multiple_of(part);
                        let gone: Vec<_> = model.extract_if(.., |(_, member)| !stays(member)).collect();
                        let gone: Vec<_> = gone.into_iter().map(|(_, member)| member).collect();
                        prop_assert_eq!(roll.extract(stays), gone);
                    }
                }
                assert_same(&roll, &model, at);
            }
        }
    }
}
