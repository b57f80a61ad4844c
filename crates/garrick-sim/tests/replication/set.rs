//! An observed-remove set, in a state-based form with tombstones (Shapiro, Preguica, Baquero and
//! Zawirski, "A comprehensive study of convergent and commutative replicated data types", 2011).
//! Each add has a tag of its own. A remove removes the tags that it has observed, so an add wins
//! over a concurrent remove.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use garrick_sim::Sim;

use crate::gossip::{Data, FAIR, Held, Log, UpdateId, replicate};
use crate::{assert_found, assert_right};

type Element = char;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Add(Element),
    Remove(Element),
}

use Op::{Add, Remove};

/// Mistakes of an implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A remove also removes the adds that it has not observed.
    RemovesByElement,
    /// All adds of a replica have the same tag.
    RepeatsTags,
    /// A removed tag is deleted, and a merge brings it back.
    ForgetsRemoved,
    /// A merge keeps the state with more tags instead of the union.
    KeepsLarger,
}

#[derive(Clone, PartialEq)]
struct Set {
    added: BTreeMap<UpdateId, Element>,
    removed: BTreeSet<UpdateId>,
    mistake: Mistake,
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.elements()).finish()
    }
}

impl Set {
    fn new(mistake: Mistake) -> Self {
        Self {
            added: BTreeMap::new(),
            removed: BTreeSet::new(),
            mistake,
        }
    }

    fn elements(&self) -> BTreeSet<Element> {
        let added = self.added.iter();
        let present = added.filter(|(tag, _)| !self.removed.contains(tag));
        present.map(|(_, element)| *element).collect()
    }

    fn remove(&mut self, element: Element) {
        if self.mistake == Mistake::ForgetsRemoved {
            self.added.retain(|_, other| *other != element);
            return;
        }
        let observed = self.added.iter().filter(|(_, other)| **other == element);
        self.removed.extend(observed.map(|(tag, _)| *tag));
    }

    fn size(&self) -> usize {
        self.added.len() + self.removed.len()
    }
}

impl Data for Set {
    type Op = Op;

    fn update(&mut self, op: &Op, id: UpdateId) {
        match *op {
            Add(element) if self.mistake == Mistake::RepeatsTags => {
                self.added.insert((id.0, 0), element);
            }
            Add(element) => {
                self.added.insert(id, element);
            }
            Remove(element) => self.remove(element),
        }
    }

    fn merge(&mut self, other: &Self) {
        if self.mistake == Mistake::KeepsLarger {
            if other.size() > self.size() {
                self.clone_from(other);
            }
            return;
        }
        self.added.extend(&other.added);
        self.removed.extend(&other.removed);
        if self.mistake == Mistake::RemovesByElement {
            let removed = self.removed.iter().filter_map(|tag| self.added.get(tag));
            let removed: BTreeSet<Element> = removed.copied().collect();
            for element in removed {
                self.remove(element);
            }
        }
    }
}

/// Returns the elements that are in the set: those with at least one add that no remove has
/// observed.
fn elements_after(log: &Log<Op>) -> BTreeSet<Element> {
    let is_seen = |add: &UpdateId, element| {
        let mut updates = log.values();
        updates.any(|update| update.op == Remove(element) && update.seen.contains(add))
    };
    let adds = log.iter().filter_map(|(id, update)| match update.op {
        Add(element) => Some((id, element)),
        Remove(_) => None,
    });
    let counting = adds.filter(|(id, element)| !is_seen(id, *element));
    counting.map(|(_, element)| element).collect()
}

const ADDS_COUNT: &str = "an add that no remove has seen counts";
const REMOVED_STAYS_AWAY: &str = "a removed element stays away";

fn set(sim: &mut Sim, mistake: Mistake) {
    sim.always(ADDS_COUNT, |facts| {
        let is_right =
            |held: &Held<Set>| held.data.elements().is_superset(&elements_after(&held.log));
        facts.last().is_none_or(is_right)
    });
    sim.always(REMOVED_STAYS_AWAY, |facts| {
        let is_right =
            |held: &Held<Set>| held.data.elements().is_subset(&elements_after(&held.log));
        facts.last().is_none_or(is_right)
    });
    replicate(
        sim,
        &Set::new(mistake),
        [
            &[Add('x'), Remove('x'), Add('x')],
            &[Remove('x'), Add('y')],
            &[Add('x'), Remove('y')],
        ],
    );
}

#[test]
fn an_observed_remove_set_is_right() {
    assert_right("set", FAIR, |sim| set(sim, Mistake::None));
}

#[test]
fn a_remove_by_element_is_found() {
    assert_found("set, remove by element", FAIR, &[ADDS_COUNT], 25, |sim| {
        set(sim, Mistake::RemovesByElement);
    });
}

#[test]
fn repeated_tags_are_found() {
    assert_found("set, repeated tags", FAIR, &[ADDS_COUNT], 25, |sim| {
        set(sim, Mistake::RepeatsTags);
    });
}

#[test]
fn a_removed_element_that_comes_back_is_found() {
    assert_found(
        "set, forgotten removes",
        FAIR,
        &[REMOVED_STAYS_AWAY],
        25,
        |sim| {
            set(sim, Mistake::ForgetsRemoved);
        },
    );
}

#[test]
fn a_merge_that_is_no_union_is_found() {
    assert_found(
        "set, larger state",
        FAIR,
        &[ADDS_COUNT, REMOVED_STAYS_AWAY],
        25,
        |sim| {
            set(sim, Mistake::KeepsLarger);
        },
    );
}
